from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk import Panel
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Decisions, State, ballot_counts, silent_words
from reviewdesk.domain.jury.rules import Votes, quorum_met, quorum_met_strictly
from reviewdesk.domain.jury.scores import weighted_average
from reviewdesk.domain.verdict import Decision, Status, Strategy, as_juror, ballot
from reviewdesk.errors import NoJurorsError, UsageError
from tests.domain.bodies import bodies, body, columns, juror, read

PASS, FAIL, OPEN = Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE
COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def _decisions(votes: Votes, *scores: float | None, **policy: Any) -> Decisions:
    """Every rule's decision of a panel with such votes and scores; the others were not asked."""
    seats = []
    for seat in range(max(votes.seated, len(scores))):
        score = scores[seat] if seat < len(scores) else None
        vote = {"pass": seat < votes.passes} if seat < votes.answered else {}
        silent = {"status": "not_asked"} if score is None and not vote else {}
        seats.append(juror(f"j{seat}", score, **vote, **silent))
    return assess(read(body(*seats), **policy)).decisions


@pytest.mark.parametrize(
    ("passes", "n", "quorum", "rounded", "strict"),
    [
        # 2/3 = .6667 rounds to .67; bare it is less.
        (2, 3, 0.67, True, False),
        (1, 3, 0.67, False, False),
        # 2/3 rounds to .667 with three decimals written, to .6667 with four.
        (2, 3, 0.667, True, False),
        (2, 3, 0.6667, True, False),
        (2, 3, 0.668, False, False),
        # Half up: 1/8 = .125 -> .13; 1/40 = .025 -> .03.
        (1, 8, 0.13, True, False),
        (1, 40, 0.03, True, False),
        # Written with one decimal it is still compared with two: 11/20 = .55, not .6.
        (11, 20, 0.6, False, False),
        (3, 5, 0.6, True, True),
        (4, 5, 0.8, True, True),
        # Four jurors evenly split.
        (2, 4, 0.5, True, True),
        (2, 4, 0.6, False, False),
        # Unanimity is exact: 999 of 1000 does not round into it.
        (3, 3, 1.0, True, True),
        (2, 3, 1.0, False, False),
        (999, 1000, 1.0, False, False),
        (999, 1000, 1, False, False),
        # A ratio is exact.
        (2, 3, "2/3", True, True),
        (66, 100, "2/3", False, False),
        (3, 5, "3/5", True, True), (3, 3, "3/3", True, True), (2, 3, "3/3", False, False),
        (0, 3, 0.5, False, False), (1, 300, 0.001, True, True),
    ],
)  # fmt: skip
def test_quorum(passes: int, n: int, quorum: float | str, rounded: bool, strict: bool) -> None:
    assert quorum_met(passes, n, quorum) is rounded
    assert quorum_met_strictly(passes, n, quorum) is strict


@given(COUNTS, COUNTS.filter(lambda counts: counts[0] > 0))
def test_a_written_ratio_is_exact(counts: tuple[int, int], ratio: tuple[int, int]) -> None:
    (passes, n), (over, under) = counts, ratio
    assert quorum_met(passes, n, f"{over}/{under}") is (passes * under >= over * n)


def test_weighted_average_at_its_edges() -> None:
    # Only the jurors that answered: (.9 * 2 + .4 * 1) / 3.
    assert weighted_average([0.9, None, 0.4], [2, 1, None]) == pytest.approx(2.2 / 3)
    assert weighted_average([None, None], [1, 2]) is None
    assert weighted_average([], []) is None
    # Finite weights may have no finite sum; equal ones give the plain mean of .2 and .6.
    assert weighted_average([0.2, 0.6], [1.7e308, 1.7e308]) == pytest.approx(0.4)
    assert weighted_average([0.2, 0.6], [5e-324, 5e-324]) == pytest.approx(0.4)


def test_score_rules_forgive_a_billionth() -> None:
    votes = Votes(0, 0, 1)
    assert _decisions(votes, 0.7 - 9e-10, threshold=0.7).mean is PASS
    assert _decisions(votes, 0.7 - 2e-9, threshold=0.7).mean is FAIL
    assert _decisions(votes, 0.1 + 0.2, threshold=0.3).median is PASS


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
    assert verdict.missing == (("c",) if asked_again else ())
    assert bool(found.degraded) is (status is not Status.NOT_ASKED)
    assert columns([(0, verdict)]).failed[:, 0].tolist() == [False, False, failed]


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


def test_a_ballot_says_what_it_was_given_and_how_its_call_ended() -> None:
    cast = ballot(
        "claude", score=0.9, passed=False, label="KEEP", confidence=0.8, weight=2,
        model="claude-opus-4-7", vendor="anthropic", reason="names the tag",
    )  # fmt: skip
    assert (cast.id, cast.score, cast.vote, cast.label) == ("claude", 0.9, False, "KEEP")
    assert (cast.confidence, cast.weight, cast.model) == (0.8, 2.0, "claude-opus-4-7")
    assert (cast.vendor, cast.reason, cast.status) == ("anthropic", "names the tag", Status.OK)
    assert ballot("a").status is Status.ABSTAINED
    assert ballot("a", error="503").status is Status.ERROR
    assert ballot("a", error="slow", status="timeout").status is Status.TIMEOUT
    assert ballot("a", status=Status.EMPTY).status is Status.EMPTY
    assert ballot("a", error="503").error == "503"
    assert ballot("a", score=0.5, withheld=True).withheld


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"score": 1.2}, "ballot of 'a': score is 1.2. Give a number from 0 to 1"),
        ({"score": float("nan")}, "ballot of 'a': score is nan. Give a number from 0 to 1"),
        ({"score": True}, "ballot of 'a': score is True. Give a number from 0 to 1"),
        ({"score": "0.9"}, "ballot of 'a': score is '0.9'. Give a number from 0 to 1"),
        ({"confidence": -0.1}, "ballot of 'a': confidence is -0.1. Give a number from 0 to 1"),
        ({"weight": 0}, "ballot of 'a': weight is 0. Give a finite number above 0"),
        ({"weight": float("inf")}, "ballot of 'a': weight is inf. Give a finite number above 0"),
        ({"passed": 1}, "ballot of 'a': passed is 1. Give True or False, or withhold it"),
        ({"passed": True, "withheld": True},
         "ballot of 'a': passed is True. Give True or False, or withhold it"),
        ({"label": 3}, "ballot of 'a': label is 3. Give a word"),
        ({"status": "gone"},
         ("ballot of 'a': status is 'gone'. Known: ok, error, timeout, parse_fail, empty, "
          "abstained, missing_key, unknown, not_asked")),
        ({"score": 0.5, "error": "503"},
         "ballot of 'a': it failed and has a score or a vote. Leave one of them out"),
        ({"passed": True, "status": "timeout"},
         "ballot of 'a': it failed and has a score or a vote. Leave one of them out"),
    ],
)  # fmt: skip
def test_what_is_refused(said: Any, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        ballot("a", **said)
    assert str(caught.value) == text


def test_a_juror_has_a_name() -> None:
    with pytest.raises(UsageError, match="a juror is named ''"):
        ballot("")


@given(bodies(), st.sampled_from([None, 0.5]))
def test_a_ballot_survives_being_written_and_read(value: Any, threshold: float | None) -> None:
    first = read(value, threshold=threshold)
    again = read(body(*map(as_juror, first.ballots)), threshold=first.policy.threshold)
    # Where a report left a juror out of its count, a panel decides that anew.
    assert again.ballots == first.ballots
