"""What is said of a run and of several reviewers."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.cli.plain import document_text, section_text
from reviewdesk.desk.review.runs import overview, run_details
from reviewdesk.domain.labels.team import (
    Disagreement,
    Opinion,
    RatedStratum,
    TeamPage,
    rater_agreement,
)
from reviewdesk.domain.records import Progress, Truth
from reviewdesk.domain.run.details import RunDetails, RunLine
from reviewdesk.domain.verdict import Decision
from reviewdesk.views.run import run
from reviewdesk.views.team import chain_name, team
from tests.helpers import Clock, load, open_desk, report, verdict


def loaded(folder: Path, *bodies: dict[str, Any], labels: int = 1) -> tuple[RunLine, RunDetails]:
    folder.mkdir(exist_ok=True)
    desk = open_desk(folder / "desk.db", clock=Clock())
    header = {"generator": {"model": "gpt-4o", "vendor": "openai"}}
    run = load(desk, report(*bodies, **header), "report.json", seed="same")
    for key in list(desk.queue(run, "", "file"))[:labels]:
        desk.label(key, Truth.PASS)
    found = overview(desk)[0], run_details(desk, run)
    desk.close()
    return found


THREE = (
    verdict("a", 0.9, 0.8, 0.7),
    verdict("b", 0.9, 0.2, 0.8, flagged=True),
    verdict("c", 0.1, None, 0.3),
)


def text(found: RunDetails, *, blind: bool = False) -> str:
    lines = document_text(run(found, blind=blind)).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines)


def test_everything_about_a_run(tmp_path: Path) -> None:
    line, found = loaded(tmp_path, *THREE)
    drawn = text(found)
    for said in (
        "file report.json",
        "format canonical",
        "loaded 2025-01-31 12:00 UTC",
        "seed same",
        "verdicts 3",
        "ballots 9, 1 of them failed",
        "skipped rows 0",
        f"run hash {line.run.hash}",
        f"file sha256 {found.run.file_hash}",
        "generator gpt-4o, openai",
        "defaults threshold 0.6, quorum 0.5, strategy mean",
        "decided 1 of 3 (pass or fail)",
        "pass 2",
        "fail 1",
        "no decision 0",
        "escalated 1",
    ):
        assert said in drawn, said


def test_how_far_the_jurors_agree(tmp_path: Path) -> None:
    _, found = loaded(tmp_path, *THREE)
    drawn = text(found)
    # Votes TTT, TFT, FF: of 8 ballots 5 pass, unlike pairs in b alone, 4 of them over m - 1 = 2.
    # 1 - (2 / 8) / (2 * 5 * 3 / (8 * 7)) = .5333.
    for said in (
        "AGREEMENT of the jurors, over all verdicts",
        "alpha 0.431 interval, on the scores\n- an interval needs ten verdicts with two ballots",
        "on votes 0.533 nominal",
        "on ranks",
    ):
        assert said in drawn, said
    interval = replace(found.alphas, alpha_low=-0.25, alpha_high=0.75, reasons={})
    assert "[-0.250, 0.750] 95% interval" in text(replace(found, alphas=interval))


def test_the_audit_counts_the_verdicts_that_break_a_rule(tmp_path: Path) -> None:
    _, found = loaded(tmp_path, *THREE)
    assert "none no verdict breaks a rule of the report" in text(found)
    # The mean of .9 .8 .7 passes, and that of .1 .3 fails.
    wrong = [{**THREE[0], "decision": "fail"}, {**THREE[2], "decision": "pass"}]
    _, found = loaded(tmp_path / "wrong", *wrong)
    assert "decision 2 the stated rule does not give the stated decision" in text(found)
    assert "of another band" not in text(found)


def test_notes_and_what_a_report_says_of_itself_or_not_are_told(tmp_path: Path) -> None:
    _, found = loaded(tmp_path, *THREE)
    assert "NOTES what the reader noticed\n" in text(found)
    note = "a note " + "that goes on " * 30 + "to its end"
    drawn = text(replace(found, run=replace(found.run, notes=(note, "second"))))
    assert note in " ".join(drawn.replace("·", "").split())
    assert "second" in drawn
    drawn = text(replace(found, run=replace(found.run, header={}), filled={"threshold": 0.7}))
    assert "generator - not stated" in drawn
    assert "defaults - none stated" in drawn
    assert "set by you threshold 0.7" in drawn
    header = {
        "title": "A *title*",
        "created_at": "2025-01-30T09:15:00+01:00",
        "producer": {"name": "juror.py", "version": "2"},
    }
    drawn = text(replace(found, run=replace(found.run, header=header)))
    assert "title A *title*\nmade 2025-01-30 09:15\nproducer juror.py, 2\n" in drawn


def test_labels_that_came_with_the_file_are_counted_unless_blind(tmp_path: Path) -> None:
    labelled = [verdict(name, human={"label": "pass"}) for name in ("a", "b")]
    for place, (bodies, labels, said) in enumerate(
        (
            (labelled, 0, "2 human labels in the file; --import-labels takes them"),
            (labelled[:1], 0, "1 human label in the file; --import-labels takes it"),
            (labelled, 1, "2 human labels in the file; --import-labels takes 1 of 2"),
            (labelled, 2, "2 human labels in the file, none left to take"),
        )
    ):
        _, found = loaded(tmp_path / str(place), *bodies, labels=labels)
        assert said in text(found)
        assert "human" not in text(found, blind=True)
    _, found = loaded(tmp_path / "none", verdict("c"), labels=0)
    assert "human" not in text(found)


def test_the_progress_is_told_unless_blind(tmp_path: Path) -> None:
    _, found = loaded(tmp_path, *THREE)
    assert "have a label" not in text(found)
    found = replace(found, progress=Progress(3, 1, 1, 0, 2, 1, 0, 0, 0))
    assert "flagged 0 of 1 have a label\nrandom check 1 of 2 have a label" in text(found)
    assert "have a label" not in text(found, blind=True)


AT = "2025-01-31T12:00:00+00:00"
NOTED = Opinion("ann", Truth.PASS, AT, "the contract says thirty days")
OTHER = Opinion("ben-of-the-long-name", Truth.FAIL, AT, None)


def page(*strata: RatedStratum, drawn: bool = False) -> TeamPage:
    return TeamPage((), rater_agreement(strata, ("ann", "ben")), 10, drawn, 1, 1)


def test_each_name_heads_its_column_and_a_note_stands_once() -> None:
    settled = Disagreement(1, "v1", "ab", Decision.PASS, 0.9, (NOTED, OTHER), NOTED)
    heads, row, *below = section_text(team(page(), [settled]).sections[1]).splitlines()[1:]
    assert heads.split() == ["item", "ann", "ben-of-the-long-name", "panel", "truth"]
    assert row.index("pass") == heads.index("ann")
    assert row.index("fail") == heads.index("ben-of")
    # Who settles an item may have noted the same before.
    assert [line.count("thirty days") for line in below] == [1]


def test_agreement_is_a_count_with_its_weighted_share() -> None:
    # 8 of 8 stand for 9 verdicts and 1 of 2 for 2: (9 + 1) / 11 = .909.
    alike = RatedStratum({("pass", "pass"): 8}, 9)
    apart = RatedStratum({("pass", "fail"): 1, ("fail", "fail"): 1}, 2)
    assert "9 of 10 (0.91 after weighting by group)" in document_text(
        team(page(alike, apart, drawn=True))
    )
    nobody = page(RatedStratum({}))
    assert "--double" in document_text(team(nobody))
    assert "--double" not in document_text(team(nobody, double=0.2))
    alone = document_text(team(page(RatedStratum({("pass", "pass"): 3, ("pass", "fail"): 1}))))
    assert "ann and ben  3 of 4  [" in alone
    assert "weighting" not in alone


@pytest.mark.parametrize(
    ("reviewer", "name"),
    [
        ("ann", "ann on desk 223bd6b3"),
        ("@desk", "desk 223bd6b3 itself"),
        ("@agent", "agents on desk 223bd6b3"),
        ("a\nwhole: 9 events", "a⏎whole: 9 events on desk 223bd6b3"),
    ],
)
def test_a_chain_is_named_in_words(reviewer: str, name: str) -> None:
    assert chain_name(reviewer, "223bd6b3" + "0" * 24) == name
