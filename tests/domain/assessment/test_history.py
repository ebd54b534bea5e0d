from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.history import Trail, trail
from tests.domain.bodies import bodies, body, juror, panel, read


def walked(value: dict[str, Any], **defaults: Any) -> Trail:
    verdict = read(value, **defaults)
    return trail(verdict, assess(verdict))


def test_scores_before_the_trim_and_what_is_left_after_it() -> None:
    found = walked(panel(0.1, 0.8, None, 0.9, 0.7, 0.6), strategy="trimmed_mean")
    assert found.pre_trim == (0.1, 0.8, None, 0.9, 0.7, 0.6)
    # A fifth of five drops .1 and .9; (.6 + .7 + .8) / 3.
    assert found.post_trim == pytest.approx(0.7)
    assert (found.strategy, found.strategy_used) == ("trimmed_mean", "trimmed_mean")


def test_the_trim_that_a_report_states_is_the_one_that_counts() -> None:
    stated = {"method": "quantile", "dropped_low": ["j0"], "dropped_high": [], "rule_version": "7"}
    found = walked(panel(0.1, 0.8, 0.9, trim=stated))
    # Only .1 went: (.8 + .9) / 2.
    assert found.post_trim == pytest.approx(0.85)
    assert found.rule_version == "7"


def test_the_stand_in_rule_says_why() -> None:
    found = walked(panel(0.9, 0.8, None), threshold=0.7, strategy="weighted_average")
    assert (found.strategy, found.strategy_used) == ("weighted_average", "median")
    assert "j2" in (found.fallback_reason or "")


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
def test_agreement_is_recomputed_only_where_the_metric_is_sure(
    metric: str, ours: float | None
) -> None:
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
