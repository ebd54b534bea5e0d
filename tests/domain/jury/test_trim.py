from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.jury.rules import Rule, breakdown, rule_for, trim_count
from reviewdesk.domain.jury.scores import trim, trimmed_mean
from reviewdesk.domain.verdict import Decision, Policy, Rounding, Strategy
from reviewdesk.errors import UsageError
from tests.domain.bodies import assessed, body, juror, panel, read


@pytest.mark.parametrize(
    ("n", "fraction", "down", "nearest", "up"),
    [
        # x = fraction * n; nobody is dropped of one or two, and at most (n-1)//2 of more.
        (0, 0.2, 0, 0, 0),
        (1, 0.4, 0, 0, 0),
        (2, 0.4, 0, 0, 0),
        (3, 0.2, 1, 1, 1),  # x = 0.6: over 1/2; rounds to 1; ceiling 1
        (4, 0.2, 1, 1, 1),  # x = 0.8
        (5, 0.2, 1, 1, 1),  # x = 1 exactly, though 0.2 is no binary fraction
        (5, 0.1, 0, 0, 1),  # x = 1/2 is not over 1/2; half goes to even 0; ceiling 1
        (5, 0.3, 1, 2, 2),  # x = 3/2: floor 1; half goes to even 2; ceiling 2
        (5, 0.49, 2, 2, 2),  # x = 2.45: cap 2; ceiling 3 is capped to 2
        (3, 0.49, 1, 1, 1),  # x = 1.47: ceiling 2 is capped to 1
        (7, 0.2, 1, 1, 2),  # x = 1.4
        (9, 0.2, 1, 2, 2),  # x = 1.8
        (10, 0.2, 2, 2, 2),
        (10, 0.3, 3, 3, 3),  # x = 3, where 0.3 * 10 in floats is 3.0000000000000004
        (15, 0.1, 1, 2, 2),  # x = 3/2: half to even 2
        (25, 0.1, 2, 2, 3),  # x = 5/2: half to even 2
        (100, 0.29, 29, 29, 29),  # 0.29 * 100 in floats is 28.999999999999996
        (11, 0.0, 0, 0, 0),
    ],
)
def test_how_many_are_dropped(n: int, fraction: float, down: int, nearest: int, up: int) -> None:
    assert trim_count(n, fraction) == trim_count(n, fraction, Rounding.DOWN) == down
    assert trim_count(n, fraction, Rounding.NEAREST) == nearest
    assert trim_count(n, fraction, Rounding.UP) == up


def test_a_fifth_is_trimmed_where_nothing_is_said_and_of_nobody_nothing() -> None:
    assert trimmed_mean([], 0.2) is None
    assert trimmed_mean([None, None], 0.2) is None
    # A fifth of five is one at each end: 78 + 81 + 84 = 243 of three.
    assert trimmed_mean([72, 78, 81, 84, 89]) == pytest.approx(81, abs=1e-12)
    assert trim([72, 78, 81, 84, 89]).per_side == trim_count(5) == breakdown(5).tolerates == 1


@pytest.mark.parametrize(
    ("scores", "low", "high", "tied"),
    [
        # An empty seat keeps its number: 1 -> 0.9, 2 -> 0.1, 4 -> 0.5; x = 0.6 drops one each.
        ([None, 0.9, 0.1, None, 0.5], (2,), (1,), set()),
        # Ranked by (score, seat): (0.5, 0) (0.5, 1) (0.5, 3) (0.8, 2) (0.9, 4): the low cut could
        # as well have taken seat 1 or 3, the high cut nobody else.
        ([0.5, 0.5, 0.8, 0.5, 0.9], (0,), (4,), {0}),
        # The high cut takes the .9 of seat 4, and could as well have taken that of seat 3.
        ([0.1, 0.5, 0.8, 0.9, 0.9], (0,), (4,), {4}),
        # Ten scores drop two at each end: 0.1 and 0.1 both go, and the first kept is 0.2.
        ([0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9, 0.9], (0, 1), (8, 9), set()),
        ([0.4, 0.4, 0.4], (0,), (2,), {0, 2}),
    ],
)
def test_who_is_dropped_and_which_cut_was_tie(scores: Any, low: Any, high: Any, tied: Any) -> None:
    cut = trim(scores, 0.2)
    assert (cut.low, cut.high, cut.per_side) == (low, high, len(low))
    assert cut.tied == tied


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.2, 0.3, 0.49])
@pytest.mark.parametrize("n", range(1, 12))
def test_a_trim_bears_as_many_bought_jurors_as_it_says(n: int, fraction: float) -> None:
    borne = breakdown(n, fraction).tolerates
    # Honest jurors give .6; a bought one gives 0. What is borne leaves .6, one more does not.
    assert trimmed_mean([0.0] * borne + [0.6] * (n - borne), fraction) == pytest.approx(0.6)
    broken = trimmed_mean([0.0] * (borne + 1) + [0.6] * (n - borne - 1), fraction)
    assert broken is not None
    assert broken < 0.6


@pytest.mark.parametrize(("n", "price"), [(0, None), (-1, 1.0), (5, -1.0), (5, float("nan"))])
def test_a_breakdown_of_nobody_or_at_no_amount(n: int, price: float | None) -> None:
    with pytest.raises(UsageError):
        breakdown(n, price=price)


def test_a_rounding_may_be_given_as_text() -> None:
    # x = .25 * 10 = 2.5: down 2, nearest 2 (half to even), up 3. The words come first, so that
    # whatever a word leaves behind would be found under the member that equals it.
    for word, count in (("down", 2), ("nearest", 2), ("up", 3)):
        assert trim_count(10, 0.25, word) == count
        assert trim_count(10, 0.25, Rounding(word)) == count
        assert breakdown(10, 0.25, word).tolerates == count
    # Of ten squares 0, 1, 4, ... 81, two at each end leave 4 + 9 + 16 + 25 + 36 + 49 = 139 of six.
    squares = [float(n * n) for n in range(10)]
    assert trimmed_mean(squares, 0.25, "down") == pytest.approx(139 / 6, abs=1e-12)
    assert trim(squares, 0.25, "down") == trim(squares, 0.25, Rounding.DOWN)
    assert trim(squares, 0.25, "down").rounding is Rounding.DOWN


@pytest.mark.parametrize("n", [0, 2, 10])
def test_an_unknown_rounding_is_an_error(n: int) -> None:
    scores = [0.5] * n
    for call in (
        lambda: trim_count(n, 0.2, "bogus"),
        lambda: trim(scores, 0.2, "bogus"),
        lambda: trimmed_mean(scores, 0.2, "bogus"),
    ):
        with pytest.raises(UsageError, match="no rounding 'bogus'") as caught:
            call()
        assert "down, nearest, up" in str(caught.value)


@pytest.mark.parametrize("fraction", [0.5, -0.1, float("nan"), float("inf")])
def test_a_fraction_that_leaves_nobody_is_an_error(fraction: float) -> None:
    for n in (0, 5):
        with pytest.raises(UsageError, match=f"fraction is {fraction}"):
            trim_count(n, fraction)


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


@pytest.mark.parametrize("strategy", [*Strategy])
def test_panel_may_let_median_stand_in_for_an_average_and_nothing_else(strategy: Strategy) -> None:
    failed = juror("b", status="timeout"), juror("c", error={"message": "x"})
    jurors = juror("a", 0.5), *failed
    asked = Strategy(strategy)
    falls = asked in (Strategy.MEAN, Strategy.TRIMMED_MEAN, Strategy.WEIGHTED_AVERAGE)
    expected = Rule(asked, Strategy.MEDIAN, "failed: b, c") if falls else Rule(asked, asked, None)
    assert _rule(strategy, *jurors) == expected
    # Abstaining is not failing.
    quiet = juror("a", 0.5), juror("b")
    assert _rule(strategy, *quiet) == Rule(asked, asked, None)


def test_the_policy_for_failed_jurors_is_no_matter_of_reports() -> None:
    assert Policy.from_body({"failed_jurors": "median"}).failed_jurors is None
    own = Policy(failed_jurors=Strategy.MEDIAN)
    assert Policy().over(own).failed_jurors is own.over(Policy()).failed_jurors is Strategy.MEDIAN
