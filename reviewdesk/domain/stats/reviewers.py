"""Estimates how often people err, from second opinions, and what an accuracy may then be."""

from __future__ import annotations

import math

from msgspec import Struct

from reviewdesk.domain.stats.figures import Estimate, Ranged
from reviewdesk.domain.stats.rates import bisect, wilson

_MOST = 100_000
"""The most second opinions that the search looks ahead."""


class ReviewerError(Struct, frozen=True):
    """How often a reviewer's label is wrong, from ``n`` items that two people labelled blind.

    ``ceiling`` is the accuracy that a perfect panel would get from such labels, and ``more`` the
    number of further second opinions that would halve the interval of ``rate``.
    """

    n: int
    disagreement: Ranged
    rate: Ranged
    more: int

    @property
    def ceiling(self) -> float | None:
        """The share of labels that are right: no panel can be measured to agree with more."""
        return None if self.rate.value is None else 1 - self.rate.value


class SensitivityBand(Struct, frozen=True):
    """What an accuracy may be, given that people err: sensitivity, not a confidence interval.

    ``corrected`` is ``(a - e)/(1 - 2e)``, right if people's errors are independent of the
    panel's; ``None`` if e is a half or more.
    """

    corrected: float | None
    low: float
    high: float


def error_rate(disagreement: float) -> float:
    """Return ``e = (1 - √(1 - 2d))/2``, at most a half: the error rate of people who differ on d.

    Their errors are taken to be independent; errors that both make do not show.
    """
    return (1 - math.sqrt(max(1 - 2 * disagreement, 0.0))) / 2


def reviewer_error(n: int, alike: Estimate) -> ReviewerError:
    """Estimate the error rate from the share of items on which two labels are alike.

    ``alike`` is through the draw, with its 95% interval. Undefined without an item.
    """
    if not n or alike.estimate is None:
        reason = "no item has two labels of different people"
        return ReviewerError(n, Ranged(None, reason=reason), Ranged(None, reason=reason), 0)
    d = Ranged(1 - alike.estimate, 1 - alike.high, 1 - alike.low)
    ends = (error_rate(1 - alike.high), error_rate(1 - alike.low))
    share = 1 - alike.estimate

    def width(items: float) -> float:
        low, high = wilson(share * items, items)
        return error_rate(high) - error_rate(low)

    needed = bisect(lambda items: width(items) > width(n) / 2, n, _MOST)
    rate = Ranged(error_rate(share), *ends)
    return ReviewerError(n, d, rate, math.ceil(needed - 1e-9) - n)


def sensitivity(accuracy: Estimate, error: ReviewerError) -> SensitivityBand | None:
    """Return the band of an accuracy a under people's error e; ``None`` if either is undefined.

    It contains ``(a - e)/(1 - 2e)``, for errors independent of the panel's, and ``a - e`` to
    ``a + e``, for errors that follow or oppose the panel's. Its lower end reaches ``a - d``, d the
    share of items on which two people differ: people who err where the panel errs, up to half the
    time there, are wrong that often and differ no more. The intervals are joined as by MOVER:
    ``a - d - √((a - l)² + (u - d)²)``, and the upper end likewise with e. Source: Zou and Donner
    2008 for the joining; Rogan and Gladen 1978 for the correction.
    """
    a = accuracy.estimate
    d = error.disagreement
    e = error.rate
    if a is None or d.value is None or d.high is None or e.value is None or e.high is None:
        return None
    low = a - d.value - math.hypot(a - accuracy.low, d.high - d.value)
    high = a + e.value + math.hypot(accuracy.high - a, e.high - e.value)
    corrected = None
    if e.value < 0.5:
        corrected = min(max((a - e.value) / (1 - 2 * e.value), 0.0), 1.0)
        low = min(low, corrected)
        high = max(high, corrected)
    return SensitivityBand(corrected, max(low, 0.0), min(high, 1.0))
