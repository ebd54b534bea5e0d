"""Files that contradict themselves, or hold what was never measured: shown, flagged, not voted."""

from pathlib import Path
from typing import Any

import pytest

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment, Flag
from reviewdesk.domain.verdict import Decision, verdict_reader
from reviewdesk.reports import ReadOptions, Source, read

HERE = Path(__file__).parent / "contradictions"


def opened(name: str) -> tuple[list[str], dict[str, Assessment]]:
    """Return the notes on a file, and its verdicts by id."""
    report = read(Source.from_path(HERE / f"{name}.json"), ReadOptions())
    read_body = verdict_reader(report.header, {})
    found = {body["id"]: assess(read_body(body)) for body in report.verdicts()}
    return report.notes, found


def votes(found: Assessment) -> dict[str, Any]:
    return {seat.ballot.id: seat.ballot.vote for seat in found.seats}


def test_a_metric_without_a_score_is_not_measured_and_casts_no_vote() -> None:
    notes, found = opened("unmeasured")
    # dan has a score in neither, but an error: it failed.
    assert votes(found["c1"]) == {"ann": True, "ben": True, "cat": None, "dan": None}
    assert votes(found["c2"]) == {"ann": None, "ben": True, "cat": False, "dan": None}
    assert [one.ballot.status.failed for one in found["c1"].seats] == [False] * 3 + [True]
    assert {one.decision for one in found.values()} == {Decision.FAIL}
    assert "a pass or fail beside an empty score is not measured, and casts no vote (2x)" in notes
    assert "replaced 2 numbers NaN or Infinity by null" in notes


def test_a_row_that_fails_beside_a_jury_that_passes_is_flagged() -> None:
    _, found = opened("promptfoo")
    one = found["crashing check"]
    assert one.decision is Decision.PASS
    assert Flag.MISMATCH in one.flags
    assert one.mismatches == ("promptfoo fails the whole test, and this jury passes",)


def test_a_pass_that_no_juror_voted_for_is_flagged() -> None:
    _, found = opened("promptfoo")
    one = found["threshold zero"]
    assert (one.decision, votes(one)) == (Decision.PASS, {"ann": False, "ben": False})
    assert Flag.MISMATCH in one.flags
    assert one.mismatches == (
        "decision: reported pass, but 0 of 2 votes are for it; the test's own threshold is 0",
    )


def test_a_pass_that_contradicts_its_score_is_flagged_and_counted() -> None:
    notes, found = opened("promptfoo")
    one = found["contradictions"]
    assert votes(one) == {"contra": True, "nopass": True, "contra75": False, "ann": True}
    assert one.mismatches == (
        "contra: stated pass with score 0",
        "nopass: stated pass with score 0",
        "contra75: stated fail with score 0.75 against threshold 0.5",
    )
    assert notes[0] == "a grader's pass contradicts its own score; both are kept, and flagged (3x)"


@pytest.mark.parametrize("name", ["promptfoo", "unmeasured"])
def test_columns_settle_them_as_each_verdict_on_its_own(name: str) -> None:
    from tests.domain.run.test_window import same

    report = read(Source.from_path(HERE / f"{name}.json"))
    bodies = list(report.written())
    same(report.header, {}, bodies)
    same(report.header, {"threshold": 0.5, "quorum": "2/3"}, bodies)
