"""What a juror's status means wherever panels are counted: three sets, kept in one place."""

from __future__ import annotations

from typing import Any

import pytest

from reviewdesk import Panel
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.seats import State, ballot_counts, silent_words
from reviewdesk.domain.jury.ballot import ballot
from reviewdesk.domain.panel.rerun import missing
from reviewdesk.domain.verdict import Decision, Status, Strategy
from reviewdesk.errors import NoJurorsError
from tests.domain.bodies import body, columns, juror, read

FAILED = {"error", "timeout", "parse_fail", "empty", "missing_key"}
RULE = {"threshold": 0.5, "quorum": 0.5, "strategy": "weighted_average"}


def beside(status: str, **more: Any) -> Any:
    """Two jurors that answered, and one of that status."""
    seats = [juror("a", 0.9), juror("b", 0.8), {"id": "c", "status": status, **more}]
    return body(*seats, **RULE)


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.OK}))
def test_what_each_status_is_counted_as(status: Status) -> None:
    verdict = read(beside(status))
    found = assess(verdict)
    failed = status.value in FAILED
    assert found.seats[2].state is State.FAILED
    assert status.failed is failed
    # Only a failure lets the median stand in for the weighted average.
    assert found.rule.used is (Strategy.MEDIAN if failed else Strategy.WEIGHTED_AVERAGE)
    # Who abstained has answered, and who was not asked is not lacking.
    asked_again = failed or status is Status.UNKNOWN
    assert missing(verdict) == (("c",) if asked_again else ())
    assert bool(found.degraded) is (status is not Status.NOT_ASKED)
    laid = columns([(0, verdict)]).failed[:, 0].tolist()
    assert laid == [False, False, failed]


@pytest.mark.parametrize(
    ("status", "counted", "words"),
    [
        ("timeout", "failed", "1 failed"),
        ("abstained", "abstained", "1 abstained"),
        ("unknown", "unknown", "1 not understood"),
        ("not_asked", "not_asked", "1 not asked"),
    ],
)
def test_each_kind_of_silence_has_a_count_and_a_word(status: str, counted: str, words: str) -> None:
    found = assess(read(beside(status)))
    counts = ballot_counts(found.seats)
    assert (counts["ok"], counts[counted], sum(counts.values())) == (2, 1, 3)
    assert silent_words(found.seats) == words


def test_a_degraded_panel_asks_again_for_the_missing_alone() -> None:
    def advice(status: str) -> str:
        notes = assess(read(beside(status))).notes
        return next(note.reason for note in notes if note.flag.label == "degraded")

    assert advice("unknown") == "2 of 3 jurors answered: re-run the missing jurors"
    # Nobody is missing where one abstained: a re-run of the missing would be refused.
    assert advice("abstained") == "2 of 3 jurors answered: re-run the panel"


@pytest.mark.parametrize(
    ("statuses", "decision"),
    [
        (["error", "timeout"], Decision.ERROR),
        # Nobody who was asked gave an answer.
        (["error", "not_asked"], Decision.ERROR),
        (["error", "abstained"], None),
        (["error", "unknown"], None),
        (["unknown", "unknown"], None),
        (["not_asked"], None),
        ([], None),
    ],
)
def test_an_error_is_a_panel_that_failed_whole(
    statuses: list[str], decision: Decision | None
) -> None:
    seats = [{"id": f"j{n}", "status": status} for n, status in enumerate(statuses)]
    assert assess(read(body(*seats, **RULE))).decision is decision


def test_an_abstention_of_a_live_reply_does_not_wait_for_a_scale() -> None:
    said = {"pass": None, "score": None, "raw_score": 0.9}
    told = assess(read(beside("abstained", **said))).seats[2]
    assert (told.ballot.unscaled, told.words) == (False, "abstained")
    # A number alone does: the juror gave it, and nobody said what it means.
    waits = assess(read(body(juror("a", 0.9), {"id": "c", "raw_score": 7}))).seats[1]
    assert (waits.ballot.unscaled, waits.words) == (True, "waits for --scale")


def test_a_library_panel_that_abstains_has_no_decision() -> None:
    quiet = [ballot(name, status="abstained") for name in "abc"]
    for strategy in Strategy:
        found = Panel(strategy).decide(quiet)
        assert (found.decision, found.score) == (None, None)
    # There is somebody to ask again.
    with pytest.raises(NoJurorsError):
        Panel().decide([*quiet, ballot("d", error="503")])
