from pathlib import Path

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.runs import overview, run_details, tallies
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.records import Truth
from reviewdesk.domain.run.details import LabelCounts
from tests.helpers import load, numbered, open_desk, report, traced, verdict


def mixed() -> bytes:
    return report(
        verdict("a", 0.9, 0.8, 0.7), verdict("b", 0.9, 0.2, 0.8, flagged=True),
        verdict("c", 0.1, None, 0.3), verdict("d", None, None, decision="error"),
        verdict("e", 0.9, 0.9, decision="inconclusive"), verdict("f", None, decision=None),
        generator={"model": "gpt-4o", "vendor": "openai"},
    )  # fmt: skip


def test_labels_are_counted_for_every_run_that_holds_their_content(desk: Desk) -> None:
    first = load(desk, numbered(9), "first.json")
    # The same contents under another name, and one run without any of them.
    again = load(desk, numbered(6, report_id="again"), "again.json")
    empty = load(desk, mixed().replace(b'"run"', b'"mixed"'), "mixed.json")
    gone = load(desk, numbered(3, report_id="gone"), "gone.json")
    for name in ("v0", "v5", "v8"):
        desk.label(desk.find(first, name), Truth.FAIL)
    desk.remove(gone)
    # v8 is not among the six of the second.
    assert [(line.run.name, line.labelled) for line in overview(desk)] == [
        ("run", 3),
        ("again", 2),
        ("mixed", 0),
    ]
    assert [line.labelled for line in overview(desk)] == [
        desk.progress(run).labelled for run in (first, again, empty)
    ]


def test_all_runs_take_three_statements(desk: Desk) -> None:
    counts = []
    for number in range(3):
        load(desk, numbered(4, report_id=f"r{number}"), f"{number}.json")
        with traced(desk.conn) as seen:
            overview(desk)
        counts.append(sum(text.lstrip().startswith("SELECT") for text in seen))
    assert counts == [3, 3, 3]


def test_decisions_and_flags_are_counted(desk: Desk) -> None:
    other = load(desk, numbered(8, report_id="other"), "other.json")
    run = load(desk, mixed())
    found = tallies(desk)[run.key]
    # b's mean of .9 .2 .8 passes; c's of .1 and .3 fails; a panel that failed whole is an error.
    assert found.decisions == {"pass": 2, "fail": 1, "error": 2, "inconclusive": 1}
    # Only b is escalated; d, e and f are no verdicts; b splits.
    assert found.flags[Flag.ESCALATED] == 1
    assert found.flags[Flag.NO_VERDICT] == 3
    assert found.flags[Flag.SPLIT] == 1
    # The same, counted by the queue's own filters.
    for made in (run, other):
        for flag, count in tallies(desk)[made.key].flags.items():
            assert len(desk.queue(made, flag.label)) == count, flag
        for decision, count in tallies(desk)[made.key].decisions.items():
            word = decision.value if decision else "none"
            assert len(desk.queue(made, f"decision:{word}")) == count
    assert run_details(desk, run).tally == found


def test_details_of_a_run(tmp_path: Path, desk: Desk) -> None:
    load(desk, numbered(4, report_id="other"), "other.json")
    run = load(desk, mixed(), "mixed.json", quorum=0.67)
    ben = open_desk(tmp_path / "desk.db", "ben")
    for name, truth in {"a": Truth.PASS, "b": Truth.FAIL, "c": Truth.UNSURE}.items():
        desk.label(desk.find(run, name), truth)
    desk.label(desk.find(run, "d"), Truth.PASS)
    ben.label(ben.find(run, "d"), Truth.FAIL)
    found = run_details(desk, run)
    assert found.labels == LabelCounts(decided=2, unsure=1, disputed=1)
    assert (found.run.file, found.run.verdicts, found.run.ballots) == ("mixed.json", 6, 14)
    assert found.filled == {"quorum": 0.67}
    assert found.run.header["generator"]["model"] == "gpt-4o"
    assert found.run.header["defaults"]["threshold"] == 0.6
    assert found.desk == str(tmp_path / "desk.db")
    assert len(found.run.file_hash) == 64


def test_a_run_without_verdicts_has_details(desk: Desk) -> None:
    found = run_details(desk, load(desk, report()))
    assert (found.tally.decisions, found.tally.flags) == ({}, {})
    assert tallies(desk) == {}
