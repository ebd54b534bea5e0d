"""``ask``: a question to a run, its answer, and what is refused."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.question import answer, asked_keys
from reviewdesk.domain.records import Run, Truth
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent, append
from reviewdesk.store.figures import QUESTION as KIND
from tests.cli.conftest import Cli
from tests.helpers import mostly_slow, numbered, open_desk, report, verdict


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> Cli:
    """The command line with a run of forty verdicts."""
    path = tmp_path / "report.json"
    path.write_bytes(numbered(40))
    cli("ingest", path)
    return cli


def label_all(desk: Desk, run: Run) -> None:
    """Label what a question asks for, each as the panel decided."""
    while keys := [key for key in asked_keys(desk, run) if key not in desk.decided(run)]:
        for row in desk.rows(keys):
            desk.label(row.key, Truth(row.decision or ""))


def test_a_question_is_asked_answered_and_closed(run: Cli, desk_path: Path) -> None:
    empty = run("ask")
    assert empty.code == 2
    assert "no question was asked yet" in empty.err
    asked = run("ask", "accuracy >= 0.8", "--json").json
    assert (asked["question"], asked["reply"]) == ("accuracy >= 0.8", "not yet")
    assert (asked["low"], asked["high"], asked["safe_to_stop"]) == (0.0, 1.0, False)
    with closing(open_desk(desk_path)) as desk:
        (one,) = desk.runs()
        label_all(desk, one)
        found = answer(desk, one)
        assert found is not None
        assert found.look.labels == 40
    done = run("ask", "--json").json
    assert (done["reply"], done["safe_to_stop"], done["low"], done["high"]) == ("yes", True, 1, 1)
    assert "You may stop; this interval stays valid." in run("ask").out
    assert run("ask", "--close", "--json").json["closed"] is True
    again = run("ask", "--close")
    assert (again.code, "no question is open" in again.err) == (2, True)


def test_undo_takes_back_a_label_and_never_a_question(run: Cli) -> None:
    run("ask", "accuracy >= 0.8")
    run("label", "v1", "pass")
    assert run("undo").code == 0
    assert "nothing to undo" in run("undo").err
    assert run("ask", "--json").json["question"] == "accuracy >= 0.8"


def test_labels_from_before_count_as_known(run: Cli) -> None:
    run("label", "v1", "pass")
    found = run("ask", "pass rate <= 40%", "--json").json
    assert (found["known"], found["labels"], found["low"]) == (1, 0, pytest.approx(1 / 40))
    assert "1 label, which count as known" in run("ask").out


def test_what_cannot_be_asked(run: Cli) -> None:
    for arguments, says in (
        (("kappa >= 1",), "no figure 'kappa'"),
        (("accuracy",), "neither a limit nor a width"),
        (("accuracy >= 0.9", "--close"), "a question is given too"),
        (("accuracy of nobody >= 0.9",), "no juror 'nobody' to ask about. One of panel, "),
        (("accuracy of j1 less j2 >= 0",), "j1 and j2 decided alike on all items"),
    ):
        found = run("ask", *arguments)
        assert (found.code, says in found.err) == (2, True), found.err


def test_a_label_undone_before_the_question_leaves_the_draw_be(run: Cli, desk_path: Path) -> None:
    run("label", "v1", "pass")
    run("undo")
    run("label", "v2", "pass")
    run("ask", "accuracy >= 0.8")
    with closing(open_desk(desk_path)) as desk:
        (one,) = desk.runs()
        drawn = asked_keys(desk, one)
        again = desk.find(one, "v1")
        known = desk.find(one, "v2")
        assert known not in drawn
        desk.label(again, Truth.PASS)
        assert asked_keys(desk, one) == drawn
        desk.label(known, Truth.FAIL)
        assert asked_keys(desk, one) == drawn
        found = answer(desk, one)
        assert found is not None
        # v1 counts once it is drawn, v2 from before, with the label that it has now.
        assert found.known == 1


@pytest.mark.parametrize(
    "detail",
    mostly_slow(
        [
            {"question": 5},
            {"question": {"figure": "kappa", "op": ">=", "limit": 0.5}},
            {"question": {"figure": "accuracy", "op": ">=", "limit": 7}},
            {"question": {"figure": "accuracy", "op": ">=", "limit": 0.5, "guesses": {"0": 9}}},
            {"question": {"figure": "accuracy", "width": 0.5, "planned": 10**9}},
            {"question": {"figure": "accuracy", "width": 0.5, "of": ["panel", "nobody"]}},
            {"question": {"figure": "accuracy", "width": 0.5, "of": ["a", "b", "c"]}},
        ]
    ),
)
def test_question_that_another_desk_made_up_is_none(run: Cli, desk_path: Path, detail: Any) -> None:
    with closing(open_desk(desk_path)) as desk:
        (one,) = desk.runs()
        entry = NewEvent(KIND, desk.at(), run=one.hash, detail=detail)
        with writing(desk.conn):
            append(desk.conn, "ben", [entry])
    found = run("ask")
    assert (found.code, "no question was asked yet" in found.err) == (2, True)
    assert run("calibrate").code == 0
    assert run("ask", "accuracy >= 0.8").code == 0


def test_two_desks_that_both_close_a_question_close_it_once(run: Cli, desk_path: Path) -> None:
    run("ask", "accuracy >= 0.8")
    with closing(open_desk(desk_path)) as desk:
        (one,) = desk.runs()
        for name in ("ann", "ben"):
            entry = NewEvent(KIND, desk.at(), run=one.hash, detail={"closed": True})
            with writing(desk.conn):
                append(desk.conn, name, [entry])
    assert run("ask", "--json").json["closed"] is True


def test_difference_asks_for_labels_only_where_two_raters_differ(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    # j3 fails what the panel passes on 8 of 40; of the last, nobody knows what it decided.
    differ = [verdict(f"v{i}", 0.9, 0.8, 0.2 if i % 5 == 0 else 0.9) for i in range(40)]
    path.write_bytes(report(*differ, verdict("v40", 0.9, 0.8, None)))
    cli("ingest", path)
    asked = cli("ask", "accuracy of panel less j3 >= -5%", "--json").json
    assert (asked["of"], asked["limit"]) == (["panel", "j3"], -0.05)
    assert (asked["low"], asked["high"]) == (-0.2, 0.2)
    assert "8 items on which the two differ" in cli("ask").out
    for i in range(0, 40, 5):
        cli("label", f"v{i}", "fail" if i == 5 else "pass")
    done = cli("ask", "--json").json
    # The panel is right on seven of the eight: (7 - 1)/40.
    assert (done["labels"], done["reply"], done["safe_to_stop"]) == (8, "yes", True)
    assert done["low"] == done["high"] == done["estimate"] == pytest.approx(6 / 40)
    alone = cli("ask", "accuracy of j3 >= 0.9", "--json").json
    # Of the 40 it voted on, the 8 labels from before are known: right on one.
    assert (alone["known"], alone["low"]) == (8, pytest.approx(1 / 40))
    assert alone["high"] == pytest.approx(33 / 40)
    assert alone["reply"] == "no"


SUITE = """
calibration:
  - name: asked
    run: run
    question: {{ text: accuracy >= 0.8 }}
    expect:
      - {{ target: question_low, matcher: {{ schema: {{ minimum: {0} }} }} }}
"""


@pytest.mark.parametrize("before", [1, 0])
def test_exports_and_gates_carry_the_question(run: Cli, tmp_path: Path, before: int) -> None:
    ids = ["v1", "v2", "v4", "v5"]
    for name in ids[:before]:
        run("label", name, "pass")
    run("ask", "accuracy >= 0.8")
    for name in ids[before:]:
        run("label", name, "pass")
    out = tmp_path / "full.jsonl"
    assert run("labels", "export", "--format", "full", "-o", out).code == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["question"] for row in rows} == {"accuracy >= 0.8"}
    assert {row["id"]: row["labelled_before"] for row in rows}["v1"] is (before == 1)
    assert sum(row["labelled_before"] for row in rows) == before
    assert run("calibrate", out).code == 0

    folder = tmp_path / "suite"
    assert run("labels", "export", "--format", "suite", "-o", folder).code == 0
    text = (folder / "suite.yml").read_text()
    assert 'question: { text: "accuracy >= 0.8", asked_at: "20' in text
    for suite in (folder / "suite.yml", tmp_path / "gate.yml"):
        if not suite.exists():
            suite.write_text(SUITE.format(0.05))
        (entry,) = json.loads(run("gate", suite, "--json").out)["entries"]
        asked = entry["question"]
        assert (asked["text"], asked["labels_before"]) == ("accuracy >= 0.8", before)
        assert asked["asked_at"].startswith("20")
        after = "after 1 label: " if before else ": "
        assert f"{after}accuracy >= 0.8?" in str(entry["notes"])


def test_gate_holds_on_interval_of_the_question(run: Cli, desk_path: Path, tmp_path: Path) -> None:
    suite = tmp_path / "gate.yml"

    def gate(minimum: float) -> tuple[int, str]:
        suite.write_text(SUITE.format(minimum))
        found = run("gate", suite, "--json")
        return found.code, str(json.loads(found.out)["entries"][0]["checks"])

    for _ in range(2):
        code, checks = gate(0.5)
        assert (code, 'was not asked "accuracy >= 0.8" last' in checks) == (1, True)
        run("ask", "accuracy >= 0.9")
    run("ask", "accuracy >= 0.8")
    assert gate(0.5)[0] == 1
    with closing(open_desk(desk_path)) as desk:
        (one,) = desk.runs()
        label_all(desk, one)
    # Every label says what the panel decided: the accuracy is 1.
    assert gate(0.99)[0] == 0
    # The same words once more are a look. Asked anew after labels, the question keeps its level and
    # what was won before; asked at a lower level, it is no gate.
    assert run("ask", "accuracy >= 0.8", "--json").json["level"] == 0.95
    run("ask", "accuracy >= 0.9")
    again = run("ask", "accuracy >= 0.8", "--json").json
    assert (again["level"], again["reply"], again["low"]) == (0.95, "yes", 1.0)
    assert gate(0.99)[0] == 0
    assert run("ask", "accuracy >= 0.8", "--level", "0.5", "--json").json["level"] == 0.5
    assert gate(0.5)[0] == 1
    suite.write_text(SUITE.format(0.9).replace("run: run", "labels: full.jsonl"))
    found = run("gate", suite)
    assert (found.code, "question_low needs run" in found.err) == (2, True)
