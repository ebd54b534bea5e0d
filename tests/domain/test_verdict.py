import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.jury.rules import Votes, rule_for
from reviewdesk.domain.verdict import Decision, Policy, Rounding, Status, Strategy
from tests.domain.bodies import STATUSES, ballot, body, juror, maybe, panel, read


def contradicted(juror: Any, threshold: float | None = 0.7) -> bool:
    return assess(read(body(juror), threshold=threshold)).seats[0].contradicts


@pytest.mark.parametrize(
    ("answer", "vote", "contradicts"),
    [
        # The pass key left out: the threshold .7 decides, forgiving 1e-9.
        ({"score": 0.7}, True, False),
        ({"score": 0.7 - 9e-10}, True, False),
        ({"score": 0.7 - 2e-9}, False, False),
        ({"score": 0.2}, False, False),
        # Stated: it is kept, and marked where the score says otherwise.
        ({"score": 0.9, "pass": True}, True, False),
        ({"score": 0.2, "pass": True}, True, True),
        ({"score": 0.9, "pass": False}, False, True),
        ({"pass": True}, True, False),
        ({"pass": False, "score": None}, False, False),
        # Null withholds the vote, whatever the score.
        ({"score": 0.9, "pass": None}, None, False),
        ({"score": 0.2, "pass": None}, None, False),
    ],
)
def test_the_pass_line(answer: dict[str, Any], vote: bool | None, contradicts: bool) -> None:
    read_ = ballot({"id": "j", **answer})
    assert read_.status is Status.OK
    assert read_.vote is vote
    assert contradicted({"id": "j", **answer}) is contradicts
    assert read_.score == answer.get("score")
    assert read_.usable


def test_a_score_without_a_threshold_and_a_failed_ballot_contradict_nothing() -> None:
    read_ = ballot({"id": "j", "score": 0.9}, threshold=None)
    assert (read_.vote, read_.score, read_.usable) == (None, 0.9, True)
    # Nor can it contradict what is stated.
    assert not contradicted({"id": "j", "score": 0.1, "pass": True}, threshold=None)
    # What such a juror states beside its failure is no answer.
    verdict = read(body(juror("a", 0.0, status="empty", **{"pass": True})), threshold=0.7)
    assert verdict.ballots[0].score is None
    assert assess(verdict).mismatches == ()


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        # Neither score nor pass: failed where an error or a status says so, else abstained.
        ({}, Status.ABSTAINED),
        ({"score": None, "pass": None}, Status.ABSTAINED),
        ({"status": "ok"}, Status.ABSTAINED),
        ({"error": {"message": "down"}}, Status.ERROR),
        ({"status": "ok", "error": {"message": "down"}}, Status.ERROR),
        *(({"status": status}, Status(status)) for status in STATUSES if status != "ok"),
        ({"status": "timeout", "error": {"message": "down"}}, Status.TIMEOUT),
    ],
)
def test_no_answer(answer: dict[str, Any], status: Status) -> None:
    read_ = ballot({"id": "j", **answer})
    assert read_.status is status
    assert (read_.score, read_.vote, read_.usable) == (None, None, False)
    assert not contradicted({"id": "j", **answer})


@pytest.mark.parametrize("status", [{}, {"status": "ok"}, {"status": None}])
def test_an_error_outweighs_a_score(status: dict[str, Any]) -> None:
    failed = {"error": {"type": "http", "message": "503"}}
    read_ = ballot({"id": "j", "score": 0.9, **failed, **status})
    assert (read_.status, read_.score, read_.vote) == (Status.ERROR, None, None)
    assert read_.error == "503"


@pytest.mark.parametrize(
    ("given_", "kept"),
    [(0, 0.0), (0.4, 0.4), (1, 1.0), (-0.01, None), (1.01, None), (math.nan, None),
     (math.inf, None), (True, None), ("0.5", None), (None, None)],
)  # fmt: skip
def test_confidence_out_of_range_is_null(given_: Any, kept: float | None) -> None:
    assert ballot({"id": "j", "score": 0.5, "confidence": given_}).confidence == kept


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "0.9"])
def test_what_is_no_finite_number_is_no_score(value: Any) -> None:
    read_ = ballot({"id": "j", "score": value})
    assert (read_.score, read_.status) == (None, Status.ABSTAINED)


def test_tally_seats_those_who_did_not_vote() -> None:
    # Votes: pass by score, fail stated, withheld, failed, abstained.
    value = body(
        juror("a", 0.9), juror("b", 0.9, **{"pass": False}), juror("c", 0.9, **{"pass": None}),
        juror("d", status="timeout"), juror("e"),
    )  # fmt: skip
    found = assess(read(value, threshold=0.7))
    votes = found.votes
    assert votes == Votes(passes=1, answered=2, seated=5, withheld=1, missing=2)
    assert (votes.returned, votes.not_asked) == (3, 0)
    assert votes.fails == 1
    assert found.split


def test_jurors_are_their_seats_not_their_names() -> None:
    value = body(juror("twin", 0.2, model="m"), juror("twin", 0.9, model="m"))
    assert [(one.seat, one.vote) for one in read(value, threshold=0.5).ballots] == [
        (0, False),
        (1, True),
    ]


def test_policy_is_the_verdicts_then_the_reports_and_else_unknown() -> None:
    value = panel(0.6, threshold=0.5, weights={"j0": 3.0})
    verdict = read(value, threshold=0.9, quorum="2/3", strategy="mean", weights={"j0": 1, "x": 2})
    assert verdict.policy == Policy(0.5, "2/3", Strategy.MEAN, None, {"j0": 3.0, "x": 2})
    assert verdict.ballots[0].vote is True
    assert verdict.ballots[0].weight == 3.0
    assert read(panel(0.6)).policy == Policy()
    # 0 must not read as absent and give way to the report's .9.
    verdict = read(panel(0.6, threshold=0), threshold=0.9)
    assert (verdict.policy.threshold, verdict.ballots[0].vote) == (0.0, True)
    value = body(juror("a", 0.5, weight=2.5), juror("b", 0.5))
    verdict = read(value, weights={"a": 1.0, "b": 4.0})
    assert [one.weight for one in verdict.ballots] == [2.5, 4.0]


def test_stated_trims_come_from_the_list_or_from_the_ballots() -> None:
    listed = read(panel(0.1, 0.5, 0.9, trim={"method": "quantile", "dropped_low": ["j0"]})).trim
    assert (listed.low, listed.high) == (("j0",), ())
    marked = read(body(juror("a", 0.1), juror("b", 0.9, trimmed="high"))).trim
    assert (marked.low, marked.high) == ((), ("b",))
    silent = read(panel(0.1, 0.5, trim={"method": "quantile", "rounding": "up"})).trim
    assert (silent.low, silent.high, silent.rounding) == (None, None, Rounding.UP)
    for nobody in ("none", "median"):
        trim = read(panel(0.1, 0.5, trim={"method": nobody})).trim
        assert (trim.low, trim.high) == ((), ())


def test_what_a_report_leaves_unsaid_is_none() -> None:
    verdict = read(panel(0.5))
    names = "decision score agreement band escalate same_family bias_warning regime"
    assert {getattr(verdict, name) for name in names.split()} == {None}
    assert (verdict.trim.low, verdict.trim.high, verdict.trim.fraction) == (None, None, None)


def test_what_a_report_states_is_kept() -> None:
    value = panel(
        0.5, decision="inconclusive", score=0.25, agreement={"value": None, "metric": "r_wg"},
        escalate_for_review=False, same_family=False, rubric="Be kind.", generator={"model": "own"},
    )  # fmt: skip
    verdict = read(value, generator="the report's")
    assert verdict.decision is Decision.INCONCLUSIVE
    assert verdict.score == 0.25
    assert verdict.agreement is not None
    assert verdict.agreement.value is None
    assert (verdict.escalate, verdict.same_family) == (False, False)
    assert verdict.generator.model == "own"
    assert verdict.text("rubric") == "Be kind."
    assert verdict.text("output") is None


@given(
    maybe(st.sampled_from(STATUSES)), maybe(st.floats(0, 1)), maybe(st.booleans()), st.booleans()
)
def test_only_ok_ballot_is_ever_usable(status: Any, score: Any, passed: Any, failed: bool) -> None:
    value = {"id": "j", "status": status, "score": score, "pass": passed}
    read_ = ballot(value | ({"error": {"message": "m"}} if failed else {}))
    assert read_.usable == (read_.status is Status.OK)
    assert (read_.vote is not None) <= read_.usable
    assert (read_.score is not None) <= read_.usable
    assert read_.stated_pass is passed
    assert (read_.status is Status.OK) <= (score is not None or passed is not None)


@pytest.mark.parametrize(
    ("regime", "own", "defaults", "rule"),
    [
        ("irreversible", None, "quorum", "median"),
        ("routine", None, "quorum", "trimmed_mean"),
        ("routine", None, "trimmed_mean", "trimmed_mean"),
        ("irreversible", "quorum", "mean", "quorum"),
        ("irreversible", None, None, "median"),
        # A dispute has no rule of its own to put in the place of the file's.
        ("dispute", None, "quorum", "quorum"),
        (None, None, "quorum", "quorum"),
    ],
)
def test_a_regime_of_its_own_comes_before_the_files_strategy(
    regime: str | None, own: str | None, defaults: str | None, rule: str
) -> None:
    # .9 .9 .2 .1: two of four meet the half; the median and the mean without the ends are .55.
    value = panel(0.9, 0.2, 0.1, 0.9, regime=regime, strategy=own)
    found = read(value, threshold=0.6, quorum=0.5, strategy=defaults)
    assert rule_for(found.policy, found.ballots, found.regime).strategy == rule
    assert assess(found).decision == ("pass" if rule == "quorum" else "fail")
