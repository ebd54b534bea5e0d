"""A juror is trimmed where a trim decided, and nowhere else."""

from typing import Any

import pytest
from hypothesis import given

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Flag, State
from reviewdesk.domain.verdict import Strategy
from tests.domain.bodies import bodies, panel, read

SCORES = (0.1, 0.78, 0.81, 0.84, 0.89)
TRIMMED = {State.TRIMMED_LOW, State.TRIMMED_HIGH}


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


def test_a_quorum_without_a_strategy_is_a_rule_as_well() -> None:
    assert states(quorum=0.6) == (WHOLE, ENDS, False)
    assert states(regime="irreversible") == (WHOLE, ENDS, False)
    # A dispute goes to a person with its full panel.
    assert states(regime="dispute") == (WHOLE, ENDS, False)


def test_our_trim_stands_where_it_decided_or_no_rule_is_known() -> None:
    assert states(strategy="trimmed_mean", decision="pass") == (CUT, NOBODY, True)
    assert states(regime="routine", decision="pass") == (CUT, NOBODY, True)
    assert states(decision="pass") == (CUT, NOBODY, True)


def test_a_stated_trim_stands_under_any_rule() -> None:
    trim = {"method": "quantile", "dropped_low": ["j1"], "dropped_high": ["j3"]}
    stated = ["counted", "trimmed_low", "counted", "trimmed_high", "counted"]
    assert states(strategy="quorum", quorum=0.6, trim=trim) == (stated, NOBODY, False)
    none = {"method": "none"}
    assert states(strategy="trimmed_mean", trim=none) == (WHOLE, NOBODY, False)


def test_the_rule_of_a_trim_without_names_is_no_stated_trim() -> None:
    # As a live report under a quorum states it: the fraction is part of the panel, not of the rule.
    trim = {"method": "quantile", "fraction": 0.2, "rounding": "down"}
    assert states(strategy="quorum", quorum=0.6, trim=trim) == (WHOLE, ENDS, False)


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
        assert (seat.state is State.FAILED) == (not seat.ballot.usable)
        assert not (seat.would_trim and seat.state is not State.COUNTED)
        if verdict.trim.low is None and found.rule.used not in {None, Strategy.TRIMMED_MEAN}:
            assert seat.state not in TRIMMED


def test_the_trail_keeps_the_trimmed_mean_of_any_rule() -> None:
    from reviewdesk.domain.audit.trail import trail

    verdict = read(panel(*SCORES, threshold=0.7, quorum=0.6))
    # .78, .81 and .84 are left.
    assert trail(verdict, assess(verdict)).post_trim == pytest.approx(0.81)
