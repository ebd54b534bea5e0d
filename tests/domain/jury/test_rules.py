"""Which rule decides: a stated strategy, a regime, a quorum, or the median for a failed juror."""

from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.jury.rules import Rule, rule_for
from reviewdesk.domain.verdict import Decision, Policy, Strategy
from tests.domain.bodies import assessed, body, juror, panel, read

PASS, FAIL = Decision.PASS, Decision.FAIL
SCORES = (0.0, 0.6, 0.7, 0.75, 0.9)
"""Mean 2.95/5 = .59; without 0 and .9: 2.05/3 = .683; median .7."""


@pytest.mark.parametrize(
    ("regime", "strategy", "score", "decision"),
    [
        ("routine", Strategy.TRIMMED_MEAN, 2.05 / 3, FAIL),
        ("irreversible", Strategy.MEDIAN, 0.7, PASS),
        # Without a regime the known quorum decides: three of five are over .7 and .6 is asked.
        (None, Strategy.QUORUM, 0.59, PASS),
    ],
)
def test_the_regime_chooses_where_no_strategy_is_stated(
    regime: str | None, strategy: Strategy, score: float, decision: Decision
) -> None:
    found = assessed(panel(*SCORES, regime=regime), threshold=0.7, quorum=0.6)
    assert found.rule == Rule(strategy, strategy, None)
    assert found.score == pytest.approx(score)
    assert (found.decision, "strategy" in found.derived) == (decision, True)


def test_a_dispute_is_decided_by_a_person_alone() -> None:
    found = assessed(panel(0.9, 0.9, 0.9, regime="dispute"), threshold=0.7, quorum=0.5)
    assert found.rule == Rule(None, None, "regime dispute: a person decides")
    assert found.decision is None
    assert Flag.DISPUTE in found.flags
    # The rules are worked out all the same: the whole panel goes to that person.
    assert found.decisions.quorum is found.decisions.median is PASS


def _rule(strategy: str | None, *jurors: dict[str, Any], **more: Any) -> Rule:
    verdict = read(body(*jurors), strategy=strategy, quorum=0.5)
    policy = replace(verdict.policy, failed_jurors=Strategy.MEDIAN)
    return rule_for(policy, verdict.ballots, **more)


AVERAGES = (Strategy.MEAN, Strategy.TRIMMED_MEAN, Strategy.WEIGHTED_AVERAGE)


@pytest.mark.parametrize("strategy", [*Strategy])
def test_a_panel_may_let_the_median_stand_in_for_an_average_and_nothing_else(
    strategy: Strategy,
) -> None:
    failed = juror("b", status="timeout"), juror("c", error={"message": "x"})
    jurors = juror("a", 0.5), *failed
    asked = Strategy(strategy)
    falls = asked in AVERAGES
    expected = Rule(asked, Strategy.MEDIAN, "failed: b, c") if falls else Rule(asked, asked, None)
    assert _rule(strategy, *jurors) == expected
    # Abstaining is not failing.
    quiet = juror("a", 0.5), juror("b")
    assert _rule(strategy, *quiet) == Rule(asked, asked, None)


def test_the_policy_for_failed_jurors_is_no_matter_of_reports() -> None:
    assert Policy.from_body({"failed_jurors": "median"}).failed_jurors is None
    own = Policy(failed_jurors=Strategy.MEDIAN)
    assert Policy().over(own).failed_jurors is own.over(Policy()).failed_jurors is Strategy.MEDIAN
