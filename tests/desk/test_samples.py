"""The sample runs: they load without a remark, fit the schema and say what their figures say."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.gates.suite import run_suite
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.desk.review.items import flips
from reviewdesk.domain.assessment.result import Breach, Flag
from reviewdesk.domain.gates.expect import GateStatus
from reviewdesk.domain.records import Design
from reviewdesk.domain.verdict import Decision
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from reviewdesk.views.json import review as shapes
from tests.domain.bodies import item_hash
from tests.helpers import SAMPLES, mostly_slow
from tests.reports.canonical.schema import report_schema

FIRST, SECOND, CODE = "support-bot.jsonl", "support-bot-second-panel.jsonl", "code-review.json"
NOTES, LIBRARY = "release-notes.json", "library-desk.jsonl"
OTHERWISE = {
    "crash-liability", "delete-account-now", "lock-the-bike-short", "outage-at-night",
    "partner-trip-history", "refund-after-30-days", "storm-closure-long", "zone-edge-fee",
}  # fmt: skip
"""What the two support runs decide differently, as their files state it."""


def document(name: str) -> dict[str, Any]:
    """A canonical sample as one document, whichever of the two forms it has."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    if name.endswith(".json"):
        return dict(json.loads(text))
    header, *verdicts = map(json.loads, text.splitlines())
    return {**header, "verdicts": verdicts}


@pytest.mark.parametrize("name", mostly_slow([FIRST, SECOND, CODE, LIBRARY]))
def test_a_sample_loads_without_a_remark(desk: Desk, name: str) -> None:
    sample = document(name)
    assert list(Draft202012Validator(report_schema()).iter_errors(sample)) == []
    loaded = desk.load(Source.from_path(SAMPLES / name))
    assert (loaded.notes, loaded.run.skipped) == ((), 0)
    assert loaded.run.name == sample["report_id"]
    assert loaded.run.verdicts == len(sample["verdicts"])
    # Its figures follow from its ballots.
    for key in desk.queue(loaded.run):
        item = desk.item(key)
        assert item.assessment.mismatches == (), item.verdict.id


def test_a_sample_shows_a_quorum_that_rounding_decides(desk: Desk) -> None:
    run = desk.load(Source.from_path(SAMPLES / NOTES)).run
    item = desk.item(desk.find(run, "rollback statement for a column drop"))
    votes, made = item.assessment.votes, item.assessment.decisions
    # Two of three are .6667, which is .67 as written and under it to the letter.
    assert (votes.passes, votes.seated, item.verdict.policy.quorum) == (2, 3, 0.67)
    assert (made.quorum, made.quorum_strict) == (Decision.PASS, Decision.FAIL)
    assert Breach.ROUNDING in item.assessment.marks
    assert any(
        text.startswith("quorum rounding: 2 of 3") for text in shapes.verdict(item)["remarks"]
    )


def test_a_sample_shows_a_vote_that_denies_its_score(desk: Desk) -> None:
    run = desk.load(Source.from_path(SAMPLES / NOTES)).run
    found = [desk.item(key).assessment.breaches for key in desk.queue(run)]
    assert [breach.kind for one in found for breach in one] == [Breach.PASS_SCORE]


def test_the_second_panel_judges_the_same_content(desk: Desk) -> None:
    ours, theirs = ({v["id"]: v for v in document(n)["verdicts"]} for n in (FIRST, SECOND))
    assert 24 <= len(theirs) < len(ours)
    assert all(item_hash(v, "second") == item_hash(ours[name], "") for name, v in theirs.items())
    decided = {n for n, v in theirs.items() if v["decision"] != ours[n]["decision"]}
    assert decided == OTHERWISE
    run, other = (desk.load(Source.from_path(SAMPLES / name)).run for name in (FIRST, SECOND))
    assert flips(desk, run, other) == (len(theirs), len(OTHERWISE))


def test_the_first_items_of_the_draw_show_what_the_desk_is_for(desk: Desk) -> None:
    run = desk.load(Source.from_path(SAMPLES / FIRST)).run
    items = [desk.item(key) for key in desk.queue(run)[:5]]
    flagged = [item.assessment.flags for item in items]
    for flag in (
        Flag.ESCALATED, Flag.BIAS_WARNING, Flag.TRIMMED_DISSENT, Flag.REGIME_SENSITIVE,
        Flag.PIVOTAL, Flag.SUSPICIOUS_TEXT,
    ):  # fmt: skip
        assert any(flag in flags for flags in flagged), flag
    assert not all(flagged)
    bodies = {v["id"]: v for v in document(FIRST)["verdicts"]}
    first = [bodies[item.verdict.id] for item in items]
    assert any(body.get("alternative") for body in first)
    assert any("```" in body["output"] and body["checks"] for body in first)
    assert any(len(body["input"].splitlines()) > 30 for body in first)
    assert any("\u0600" <= letter <= "\u06ff" for body in first for letter in body["output"])


@pytest.mark.parametrize(("ending", "kind"), [("jsonl", "mcptest"), ("yaml", "yaml")])
def test_labels_of_library_are_exported_from_its_run(desk: Desk, ending: str, kind: str) -> None:
    run = desk.load(Source.from_path(SAMPLES / LIBRARY)).run
    rows = read_labels(Source.from_path(SAMPLES / "library-desk-truth.jsonl"))
    assert import_labels(desk, run, rows).design is Design.CENSUS
    text, found = files.export(desk, run, kind)
    assert text == (SAMPLES / f"library-desk-labels.{ending}").read_text(encoding="utf-8")
    assert found.warnings == ()
    line = calibration_page(desk, run).calibration.headline
    cells = f"tp: {line.tp}, fn: {line.fn}, tn: {line.tn}, fp: {line.fp}"
    suite = (SAMPLES / "library-gates.yml").read_text(encoding="utf-8")
    assert suite.count(f"reliability: {{ {cells} }}") == 2


def test_the_gates_of_the_library_pass() -> None:
    def no_desk() -> Desk:
        raise AssertionError("the suite names no run")

    found = run_suite(str(SAMPLES / "library-gates.yml"), no_desk)
    assert [entry.status for entry in found.entries] == [GateStatus.PASS, GateStatus.PASS]
    first, second = (
        [(one.expected.target, one.reading.value) for one in entry.findings]
        for entry in found.entries
    )
    # The same rows in two forms, held to other limits.
    assert first == second
