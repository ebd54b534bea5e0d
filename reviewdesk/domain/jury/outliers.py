"""Rules that drop or pull in outliers, for comparison with the trim rule.

A single bought juror shifts the mean and the spread, so a rule that measures outliers by them may
drop an honest juror, or nobody. Every rule takes at least one score and returns a value in 0..1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from reviewdesk.domain.jury.trim import trim_count
from reviewdesk.domain.verdict import SLACK

DEVIATIONS = 2.0
FENCE = 1.5


class Outliers(StrEnum):
    """How scores far from the others are treated before the mean is taken."""

    SIGMA = "sigma"
    TUKEY = "tukey"
    WINSORISED = "winsorised"


def sigma(scores: Sequence[float], k: float = DEVIATIONS) -> float:
    """Return the mean of the scores within ``k`` sample standard deviations (n - 1) of the mean.

    Outliers are dropped in one pass; of one score, or of equal ones, none is dropped.
    """
    if len(scores) < 2:
        return _mean(scores)
    from statistics import stdev

    middle = _mean(scores)
    spread = stdev(scores)
    return _mean([one for one in scores if abs(one - middle) <= k * spread + SLACK])


def tukey(scores: Sequence[float], fence: float = FENCE) -> float:
    """Return the mean of the scores within ``fence`` interquartile ranges of the quartiles.

    Quartiles are interpolated linearly, as by default in numpy and R (type 7). Source: Tukey 1977.
    """
    if len(scores) < 2:
        return _mean(scores)
    from statistics import quantiles

    low, _, high = quantiles(scores, n=4, method="inclusive")
    reach = fence * (high - low) + SLACK
    return _mean([one for one in scores if low - reach <= one <= high + reach])


def winsorised(scores: Sequence[float]) -> float:
    """Return the mean, with scores that the default trim drops set to the nearest kept score."""
    ranked = sorted(scores)
    cut = trim_count(len(scores))
    kept = ranked[cut : len(ranked) - cut]
    return _mean([kept[0]] * cut + kept + [kept[-1]] * cut)


VALUES: Mapping[Outliers, Callable[[Sequence[float]], float]] = {
    Outliers.SIGMA: sigma,
    Outliers.TUKEY: tukey,
    Outliers.WINSORISED: winsorised,
}


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores)
