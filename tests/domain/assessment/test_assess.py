"""Assessments: properties, worked numbers of the source documents, and where jurors are trimmed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment, Flag, State
from reviewdesk.domain.assessment.trail import Trail, remarks, trail
from reviewdesk.domain.jury.scores import closeness
from reviewdesk.domain.verdict import Band, Decision, Status, Strategy
from tests.domain.bodies import MODELS, assessed, bodies, body, juror, maybe, panel, read
from tests.helpers import verdict_problem


def judged(*scores: float | None, **defaults: Any) -> Assessment:
    return assess(read(panel(*scores), **({"threshold": 0.7} | defaults)))


def test_a_failed_judge_does_not_tank_the_score() -> None:
    # Of .9 .9 .55 .1 with weights 1 1 1 8 the average is .286, and the median, .725, decides.
    seats = [juror(f"j{n}", score) for n, score in enumerate((0.9, 0.9, 0.55))]
    seats += [juror("heavy", 0.1, weight=8), juror("late", status="timeout")]
    found = assess(read(body(*seats), threshold=0.7, strategy="weighted_average"))
    assert found.score == pytest.approx(0.725)
    assert found.decision == found.decisions.weighted_average == found.decisions.median == "pass"


def test_the_floor_of_the_records_agreement() -> None:
    # (1 - 0)² / 16 = .0625. Of .5 and 1 the variance is .125: over the floor, so 0.
    assert closeness([0.5, 1.0]) == 0.0
    # Of .8 .7 .9 it is .01: 1 - .16.
    assert closeness([0.8, 0.7, 0.9]) == pytest.approx(0.84)
    assert closeness([0.7, 0.7]) == 1.0


def test_a_lone_juror_has_no_agreement_and_no_escalation() -> None:
    # It reads low and true for gates alone.
    found = judged(0.9)
    assert (found.agreement.alpha, found.band, found.escalation) == (None, None, ())


def test_a_judge_that_times_out_leaves_what_the_trim_tolerates() -> None:
    verdict = read(panel(0.5, 0.5, 0.5, 0.5, None), threshold=0.7, strategy="trimmed_mean")
    told = next(one for one in remarks(verdict, assess(verdict)) if one.startswith("breakdown"))
    assert told == "breakdown: tolerates 1 of 4, breaks at 2"


@pytest.mark.parametrize(
    ("scores", "reasons"),
    # Six of seven lost a juror; three of three never had enough; four of five are both.
    [([0.5] * 5, 0), ([*[0.5] * 6, None], 1), ([0.5] * 3, 1), ([*[0.5] * 4, None], 2)],
)
def test_too_few_jurors_and_a_lost_one_each_degrade_a_panel(scores: Any, reasons: int) -> None:
    assert len(judged(*scores, strategy="trimmed_mean").degraded) == reasons


ANY = {"value": bodies(), "generator": maybe(st.sampled_from(MODELS)), "stated": st.booleans()}
YES = {"pass": True}
LOSING = {Decision.PASS: False, Decision.FAIL: True}


def _states(found: Assessment) -> list[str]:
    return [seat.state.value for seat in found.seats]


@given(bodies())
def test_these_bodies_are_what_a_report_may_hold(value: dict[str, Any]) -> None:
    assert verdict_problem(value) is None


@given(**ANY)
def test_no_body_is_beyond_assessing(value: Any, generator: str | None, stated: bool) -> None:
    verdict = read(value, generator)
    found = assess(verdict, escalation_stated=stated)
    assert [seat.ballot for seat in found.seats] == list(verdict.ballots)
    for seat in found.seats:
        # Exactly one state, and failed exactly where no answer came.
        assert (seat.state is State.FAILED) == (seat.ballot.status is not Status.OK)
        losing = LOSING.get(found.decision) if found.decision else None
        assert seat.dissent == (losing is not None and seat.ballot.vote is losing)
    assert found.votes.passes <= found.votes.answered <= found.votes.seated == len(found.seats)


@given(**ANY)
def test_what_the_report_states_stands(value: Any, generator: str | None, stated: bool) -> None:
    found = assess(read(value, generator), escalation_stated=stated)
    for name in ("decision", "score", "band", "same_family"):
        if value.get(name) is not None:
            assert getattr(found, name) == value[name]
            assert name not in found.derived
        else:
            assert (name in found.derived) == (getattr(found, name) is not None)
    if value.get("bias_warning"):
        assert found.bias_warning == value["bias_warning"]
        assert "bias_warning" not in found.derived
    else:
        assert ("bias_warning" in found.derived) == (found.bias_warning is not None)
    assert ("strategy" in found.derived) == (
        value.get("strategy") is None and found.rule.strategy is not None
    )
    for seat, one in enumerate(value["jurors"]):
        named = f"jurors[{seat}].pass" in found.derived
        assert named == ("pass" not in one and found.seats[seat].ballot.vote is not None)


def test_states_are_the_reports_own_where_it_names_them_and_failed_is_failed() -> None:
    trim = {"method": "quantile", "fraction": 0.2, "dropped_low": ["j3"], "dropped_high": []}
    seats = panel(0.1, 0.5, 0.9, 0.8, trim=trim)
    assert _states(assessed(seats)) == ["counted", "counted", "counted", "trimmed_low"]
    # Ours drops .1 and .9: 20% of 4 is .8, over a half.
    del seats["trim"]
    assert _states(assessed(seats)) == ["trimmed_low", "counted", "trimmed_high", "counted"]
    seats["trim"] = {"method": "none"}
    assert _states(assessed(seats)) == ["counted"] * 4
    seats = panel(0.1, 0.5, 0.9, trim={"method": "quantile", "fraction": 0.0})
    found = assessed(seats, trim_fraction=0.3)
    assert _states(found) == ["counted"] * 3
    # All three count: 1.5 / 3.
    assert found.values.trimmed_mean == pytest.approx(0.5)
    trim = {"method": "quantile", "dropped_low": ["j1"], "dropped_high": []}
    assert _states(assessed(panel(0.5, None, trim=trim))) == ["counted", "failed"]


def test_trimmed_and_dissenting_are_two_things_and_a_tie_at_our_cut_is_marked() -> None:
    # At .5 j0 fails and is trimmed low; j4 passes and is trimmed high; j1 fails and is counted.
    # The three that are kept average 1.6 / 3.
    found = assessed(panel(0.1, 0.3, 0.6, 0.7, 0.9), threshold=0.5, strategy="trimmed_mean")
    assert found.decision is Decision.PASS
    assert [(seat.trimmed, seat.dissent) for seat in found.seats] == [
        (True, True), (False, True), (False, False), (False, False), (True, False),
    ]  # fmt: skip
    seats = panel(0.5, 0.5, 0.9)
    assert [seat.tied for seat in assessed(seats).seats] == [True, False, False]
    seats["trim"] = {"method": "quantile", "dropped_low": ["j0"], "dropped_high": ["j2"]}
    assert not any(seat.tied for seat in assessed(seats).seats)


def test_figures_beside_each_other() -> None:
    # .68 .71 .72 at .7: mean 2.11/3, sd sqrt(.0078/9/2), range .04, margin .01/3; a 2-1 split.
    found = assessed(panel(0.68, 0.71, 0.72), threshold=0.7, quorum=0.67)
    close = found.agreement
    assert close.spread.raw == pytest.approx(0.9948)
    assert close.sd == pytest.approx((0.0078 / 18) ** 0.5)
    assert close.range == pytest.approx(0.04)
    assert close.margin == pytest.approx(0.01 / 3)
    # The variance .00043333 times 16.
    assert close.closeness == pytest.approx(1 - 0.0078 / 18 * 16)
    # They agree closely and still split: unit alpha says 0.
    assert (close.alpha, found.band) == (0.0, Band.HIGH)
    assert (found.votes.passes, found.votes.fails) == (2, 1)
    assert (found.decisions.quorum, found.decisions.quorum_strict) == (Decision.PASS, Decision.FAIL)


def test_why_it_would_be_escalated() -> None:
    # .9 .9 .1: squares .0711 + .0711 + .2844 = .4267; / 2 * 12 = 2.56: low. 2-1 against .5: either
    # pass turns it.
    split = assessed(panel(0.9, 0.9, 0.1), threshold=0.5, quorum=0.5)
    assert split.escalation == ("low agreement", "one vote decides")
    # Close scores, but a split that turns.
    close = assessed(panel(0.68, 0.71, 0.72), threshold=0.7, quorum=0.67)
    assert close.escalation == ("one vote decides",)
    # 4-1 against .5: three of five still meet it, so that no single vote turns the split.
    firm = assessed(panel(0.68, 0.71, 0.72, 0.73, 0.74), threshold=0.7, quorum=0.5)
    assert firm.split
    assert firm.escalation == ()
    # Unanimity that one vote would turn is no split.
    united = assessed(panel(0.9, 0.9, 0.9), threshold=0.7, quorum=1.0)
    assert united.pivotal == (0, 1, 2)
    assert united.escalation == ()


def test_the_report_may_mark_a_panel_as_degraded_itself() -> None:
    assert assessed(panel(0.5, 0.6, trim={"method": "none", "degraded": True})).degraded
    assert not assessed(panel(0.5, 0.6, trim={"method": "none", "degraded": False})).degraded


@pytest.mark.parametrize("rule", ["quorum", "weighted_average", "external", None])
def test_a_panel_that_failed_whole_is_an_error(rule: str | None) -> None:
    value = panel(None, None, threshold=0.5, quorum=0.5, **({"strategy": rule} if rule else {}))
    found = assessed(value)
    assert (found.decision, found.score, found.ruled) == (Decision.ERROR, None, None)
    assert "decision" in found.derived
    reasons = {note.flag: note.reason for note in found.notes}
    assert reasons[Flag.NO_VERDICT] == "no juror answered"
    # A stated one is the report's own, and other rules are compared with it.
    stated = assessed(value | {"decision": "error"})
    assert (stated.ruled, "decision" in stated.derived) == (Decision.ERROR, False)


def test_a_consensus_word_that_decides_nothing_is_left_undecided() -> None:
    votes = [juror("a", 0.9, **{"pass": True}), juror("b", 0.8, **{"pass": True})]
    stated = assessed(body(*votes, label="UNCLEAR", strategy="unanimous"))
    assert stated.decision is None
    assert "decision" not in stated.derived
    (note,) = [note for note in stated.notes if note.flag is Flag.NO_VERDICT]
    assert note.reason == "the report's consensus is UNCLEAR, which is neither pass nor fail"
    # Without a word of the report's own, the same two votes pass by its rule.
    assert assessed(body(*votes, strategy="unanimous")).decision is Decision.PASS
    assert assessed(body(*votes, label="KEEP", strategy="unanimous")).decision is Decision.PASS
    # What the report itself decides stands, whatever its word.
    assert assessed(body(*votes, label="UNCLEAR", decision="fail")).decision is Decision.FAIL


def test_a_raw_score_waits_for_its_scale_and_is_no_failure() -> None:
    raw = [juror("a", raw_score=4), juror("b", raw_score=2)]
    found = assessed(body(*raw, strategy="mean"), threshold=0.7)
    assert [seat.ballot.unscaled for seat in found.seats] == [True, True]
    assert found.degraded == ("2 scores wait for --scale",)
    reasons = {note.flag: note.reason for note in found.notes}
    assert reasons[Flag.DEGRADED] == "2 scores wait for --scale"
    assert reasons[Flag.NO_VERDICT] == "2 scores wait for --scale"
    # Beside a juror that failed, that one is to be asked again.
    mixed = assessed(body(raw[0], juror("c", status="timeout")))
    reasons = {note.flag: note.reason for note in mixed.notes}
    told = "1 of 2 jurors answered; 1 score waits for --scale: re-run the missing jurors"
    assert reasons[Flag.DEGRADED] == told
    # One that failed, and one whose number comes beside a vote, wait for nothing.
    others = assessed(body(juror("a", raw_score=4, status="error"), juror("b", raw_score=2, **YES)))
    assert [seat.ballot.unscaled for seat in others.seats] == [False, False]


def walked(value: dict[str, Any], **defaults: Any) -> Trail:
    verdict = read(value, **defaults)
    return trail(verdict, assess(verdict))


def test_scores_before_the_trim_and_after_ours_or_the_stated_one() -> None:
    found = walked(panel(0.1, 0.8, None, 0.9, 0.7, 0.6), strategy="trimmed_mean")
    assert found.pre_trim == (0.1, 0.8, None, 0.9, 0.7, 0.6)
    # A fifth of five drops .1 and .9; (.6 + .7 + .8) / 3.
    assert found.post_trim == pytest.approx(0.7)
    stated = {"method": "quantile", "dropped_low": ["j0"], "dropped_high": [], "rule_version": "7"}
    found = walked(panel(0.1, 0.8, 0.9, trim=stated))
    # Only .1 went: (.8 + .9) / 2.
    assert found.post_trim == pytest.approx(0.85)
    assert found.rule_version == "7"


def test_the_span_of_the_ballots_crosses_time_zones() -> None:
    times = ("2025-09-18T07:00:00Z", "2025-09-18T08:59:59+02:00", None, "2025-09-18T07:00:01Z")
    found = walked(body(*(juror(f"j{i}", 0.5, at=at) for i, at in enumerate(times))))
    # 08:59:59 at +02:00 is 06:59:59 UTC.
    assert found.span == (times[1], times[3])
    assert found.ballots_at == times
    assert walked(panel(0.5)).span is None


@pytest.mark.parametrize(
    ("metric", "ours"),
    [
        # Votes at .7 are pass, pass, fail: one pair of three agrees.
        ("pairwise", 1 / 3),
        # Of one verdict any split would read 0, whatever the run's alpha is.
        ("krippendorff_alpha", None),
        # .8 .9 .1: mean .6, squares .04 + .09 + .25 = .38, / 2 = .19, times 12 = 2.28.
        ("r_wg", -1.28),
        ("consensus_share", None),
        ("unknown", None),
    ],
)
def test_agreement_is_recomputed_only_where_the_metric_is_sure(metric: str, ours: Any) -> None:
    value = panel(0.8, 0.9, 0.1, agreement={"value": 0.5, "metric": metric})
    found = walked(value, threshold=0.7)
    assert found.agreement == (None if ours is None else pytest.approx(ours))
    named = metric == "krippendorff_alpha"
    assert found.agreement_reason == ("not derivable" if named else None)


@given(bodies())
def test_any_verdict_has_a_trail(value: dict[str, Any]) -> None:
    found = walked(value)
    assert len(found.pre_trim) == len(found.ballots_at) == len(value["jurors"])
    scored = [score for score in found.pre_trim if score is not None]
    if found.post_trim is not None:
        assert min(scored) - 1e-9 <= found.post_trim <= max(scored) + 1e-9


SCORES = (0.1, 0.78, 0.81, 0.84, 0.89)


def states(**more: Any) -> tuple[list[str], list[bool], bool]:
    found = assess(read(panel(*SCORES, threshold=0.7, **more)))
    return (
        [seat.state.value for seat in found.seats],
        [seat.would_trim for seat in found.seats],
        Flag.TRIMMED_DISSENT in found.flags,
    )


# A fifth of five is one at each end: j0, which is against the others, and j4.
CUT = ["trimmed_low", "counted", "counted", "counted", "trimmed_high"]
WHOLE, ENDS, NOBODY = ["counted"] * 5, [True, False, False, False, True], [False] * 5


@pytest.mark.parametrize("rule", [one for one in Strategy if one is not Strategy.TRIMMED_MEAN])
def test_another_rule_counts_everyone_and_says_whom_a_trim_would_leave_out(rule: Strategy) -> None:
    assert states(strategy=rule.value, quorum=0.6) == (WHOLE, ENDS, False)


def test_which_trim_stands_beside_the_rule() -> None:
    assert states(quorum=0.6) == (WHOLE, ENDS, False)
    assert states(regime="irreversible") == (WHOLE, ENDS, False)
    # A dispute goes to a person with its full panel.
    assert states(regime="dispute") == (WHOLE, ENDS, False)
    assert states(strategy="trimmed_mean", decision="pass") == (CUT, NOBODY, True)
    assert states(regime="routine", decision="pass") == (CUT, NOBODY, True)
    assert states(decision="pass") == (CUT, NOBODY, True)
    trim = {"method": "quantile", "dropped_low": ["j1"], "dropped_high": ["j3"]}
    stated = ["counted", "trimmed_low", "counted", "trimmed_high", "counted"]
    assert states(strategy="quorum", quorum=0.6, trim=trim) == (stated, NOBODY, False)
    none = {"method": "none"}
    assert states(strategy="trimmed_mean", trim=none) == (WHOLE, NOBODY, False)
    # As a live report under a quorum states it: the fraction is part of the panel, not of the rule.
    nameless = {"method": "quantile", "fraction": 0.2, "rounding": "down"}
    assert states(strategy="quorum", quorum=0.6, trim=nameless) == (WHOLE, ENDS, False)


def test_the_median_that_stands_in_trims_nobody() -> None:
    value = panel(*SCORES, None, threshold=0.7, strategy="trimmed_mean")
    value["meta"] = {"reviewdesk": {"failed_jurors": "median"}}
    found = assess(read(value))
    assert found.rule.used is Strategy.MEDIAN
    assert [seat.state.value for seat in found.seats] == [*WHOLE, "failed"]


@given(bodies())
def test_every_ballot_has_one_state_by_the_rule_that_decided(value: dict[str, Any]) -> None:
    verdict = read(value)
    found = assess(verdict)
    for seat in found.seats:
        assert not (seat.would_trim and seat.state is not State.COUNTED)
        if verdict.trim.low is None and found.rule.used not in {None, Strategy.TRIMMED_MEAN}:
            assert seat.state not in {State.TRIMMED_LOW, State.TRIMMED_HIGH}


def test_the_trail_keeps_the_trimmed_mean_of_any_rule() -> None:
    verdict = read(panel(*SCORES, threshold=0.7, quorum=0.6))
    # .78, .81 and .84 are left.
    assert trail(verdict, assess(verdict)).post_trim == pytest.approx(0.81)
