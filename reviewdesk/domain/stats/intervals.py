"""Intervals of kappa, gap and Brier from a draw's strata, without resampling.

Those for such items take the run as a sample: the distance of each end from the figure is combined
by squares with that of a whole run of the same size, as ``stratified.stratified_rate`` does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from reviewdesk.domain.stats.calibration import Floats, Rows
from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.figures import ConfidenceSums, Part, Target
from reviewdesk.domain.stats.rates import bisect, midp, t_quantile, wilson
from reviewdesk.domain.stats.stratified import drawn_rate, midp_interval


class Known(Struct, frozen=True):
    """The mean, variance and uncertainty of a quantity over all verdicts of a stratum.

    ``off`` is the distance of the mean from the ends of its 95% interval, 0 if all are known.
    """

    mean: float
    variance: float
    off: float = 0.0


class Bounded(Struct, frozen=True):
    """The mean of some values and of their squares, with the ends of the values' range."""

    mean: float
    square: float
    least: float
    most: float

    def interval(self, n: float, size: float | None, z: float) -> tuple[float, float]:
        """Return the interval of the mean of ``size`` values, or of a process, from n of them.

        It is that of a share of the range at n/f values: mid-p in a stratum of ``size``, Wilson's
        without one. f is the variance as a share of the largest that the mean allows, with one
        value added at either end of the range, so that few values never count as many.
        """
        span = self.most - self.least
        if span <= 0:
            return self.mean, self.mean
        share = min(max((self.mean - self.least) / span, 0.0), 1.0)
        square = (self.square - 2 * self.least * self.mean + self.least**2) / span**2
        mean = (share * n + 1) / (n + 2)
        moment = (square * n + 1) / (n + 2)
        factor = min(max((moment - mean**2) / (mean * (1 - mean)), 1e-9), 1.0)
        hits = share * n / factor
        n = n / factor
        if size is None:
            low, high = wilson(hits, n, z)
        else:
            low, high = midp_interval(Part(size / factor, n, hits), z)
        return self.least + span * low, self.least + span * high


class LossStratum(Struct, frozen=True):
    """One stratum for Brier and gap: its labels, and what is known without labels.

    The squared error of a verdict with confidence c, wrong (e = 1) or right (e = 0), is
    ``(1-c)² + e(2c-1)``. ``part`` counts its labels and how many are right; ``confidence`` and
    ``sure`` describe c and ``(1-c)²``; ``excess`` describes ``e(2c-1)``.
    """

    part: Part
    confidence: Known
    sure: Known
    excess: Bounded


def loss_strata(
    rows: Rows,
    stratum: Sequence[int],
    parts: Mapping[int, Part],
    sums: Mapping[int, ConfidenceSums] | None = None,
) -> list[LossStratum]:
    """Describe the strata of labelled rows; ``parts`` counts the labels of each and its size.

    ``sums`` describes all verdicts. Without it the rows also estimate the confidence,
    with the spread of all rows for each stratum, as some strata have few; confidences beyond those
    of the rows are assumed not to occur.
    """
    place = np.asarray(stratum)
    c = rows.confidence
    columns = c, (1 - c) ** 2
    n = len(c)
    # The half widths of the 95% t intervals of a mean of one row.
    doubts = [1.0, 1.0]
    if n > 1:
        off = t_quantile(0.975, n - 1)
        spreads = [_moments(column, rows.weight)[1] * n / (n - 1) for column in columns]
        doubts = [off * math.sqrt(spread) for spread in spreads]
    excess = np.where(rows.correct, 0.0, 2 * c - 1)
    made = []
    for h, part in parts.items():
        mine = place == h
        weight = rows.weight[mine]
        if sums is not None:
            one, two, three, four = (power / sums[h].n for power in sums[h].powers)
            # The moments of c, and of (1-c)².
            mean = 1 - 2 * one + two
            square = 1 - 4 * one + 6 * two - 4 * three + four
            known = [Known(one, max(two - one**2, 0.0)), Known(mean, max(square - mean**2, 0.0))]
            low = sums[h].low
            high = sums[h].high
        elif part.labelled:
            scale = math.sqrt(max(1 - part.labelled / part.size, 0.0) / part.labelled)
            known = [
                Known(*_moments(column[mine], weight), scale * doubt)
                for column, doubt in zip(columns, doubts, strict=True)
            ]
            low = float(c.min())
            high = float(c.max())
        else:
            known = [Known(0.5, 0.0, 0.5), Known(0.0, 0.0)]
            low = 0.5
            high = 1.0
        mean, variance = _moments(excess[mine], weight)
        held = Bounded(mean, variance + mean**2, min(2 * low - 1, 0.0), max(2 * high - 1, 0.0))
        made.append(LossStratum(part, known[0], known[1], held))
    return made


def _moments(values: Floats, weight: Floats) -> tuple[float, float]:
    """Return the weighted mean and variance; both 0 without values."""
    if not len(values):
        return 0.0, 0.0
    mean = float(np.average(values, weights=weight))
    return mean, float(np.average((values - mean) ** 2, weights=weight))


def gap_interval(
    strata: Sequence[LossStratum], target: Target, z: float = Z
) -> tuple[float, float]:
    """Return the 95% ends of mean confidence less accuracy.

    They are the mean confidence less the ends of the accuracy's interval. The uncertainty of the
    mean confidence is combined in by squares. Source: Zou and Donner 2008.
    """
    parts = [one.part for one in strata]
    right = drawn_rate(parts, target, z)
    mean, off = _mean_of([one.confidence for one in strata], parts, target, z)
    # If a stratum has no label, there is no estimate, and the ends are used as bounds.
    low = right.low if right.estimate is None else right.estimate
    high = right.high if right.estimate is None else right.estimate
    return (
        max(mean - high - math.hypot(right.high - high, off), -1.0),
        min(mean - low + math.hypot(low - right.low, off), 1.0),
    )


def _mean_of(
    found: Sequence[Known], parts: Sequence[Part], target: Target, z: float
) -> tuple[float, float]:
    """Return the mean of a quantity over all strata, and the distance of its ends."""
    shares = _shares(parts)
    means, variances, offs = np.array([(one.mean, one.variance, one.off) for one in found]).T
    mean = float(shares @ means)
    off = float(((shares * offs) ** 2).sum())
    if target is Target.ITEMS:
        variance = float(shares @ (variances + means**2)) - mean**2
        off += z * z * max(variance, 0.0) / sum(part.size for part in parts)
    return mean, math.sqrt(off)


def brier_interval(
    strata: Sequence[LossStratum], target: Target, z: float = Z
) -> tuple[float, float]:
    """Return the 95% ends of the mean squared error of confidence.

    Only ``e(2c-1)`` needs labels, see ``Bounded``. MOVER combines the strata; one without labels
    adds its range. Source: Zou and Donner 2008.
    """
    parts = [one.part for one in strata]
    mean, off = _mean_of([one.sure for one in strata], parts, target, z)
    below = above = off**2
    # The excess of all strata, with those without labels at one end of their range.
    means = [0.0, 0.0]
    squares = [0.0, 0.0]
    for share, one in zip(_shares(parts).tolist(), strata, strict=True):
        held = one.excess
        known = bool(one.part.labelled)
        if known:
            low, high = held.interval(one.part.labelled, one.part.size, z)
            below += (share * (held.mean - low)) ** 2
            above += (share * (high - held.mean)) ** 2
        for end, value in enumerate((held.least, held.most)):
            means[end] += share * (held.mean if known else value)
            squares[end] += share * (held.square if known else value**2)
    if target is Target.ITEMS:
        size = sum(part.size for part in parts)
        least = min(one.excess.least for one in strata)
        most = max(one.excess.most for one in strata)
        ends = [Bounded(*pair, least, most) for pair in zip(means, squares, strict=True)]
        below += (means[0] - ends[0].interval(size, None, z)[0]) ** 2
        above += (ends[1].interval(size, None, z)[1] - means[1]) ** 2
    return (
        max(mean + means[0] - math.sqrt(below), 0.0),
        min(mean + means[1] + math.sqrt(above), 1.0),
    )


def kappa_interval(
    parts: Sequence[Part], passed: Sequence[bool], target: Target, z: float = Z
) -> tuple[float, float]:
    """Return the 95% ends of Cohen's kappa of a rater with the labels.

    ``parts`` count, for each stratum and decision, the labels that agree with it; ``passed`` is the
    decision. A part without a label may have any rate. Source: Donner and Zou 2012; Cohen 1960.
    """
    found = _kappa_ends(parts, passed, z)
    if target is Target.RUN:
        return found
    made = []
    for at, side in enumerate((-1, 1)):
        # The run as a sample, each decision as one part; parts without a label are at this end.
        whole = []
        for decision in (True, False):
            mine = [p for p, one in zip(parts, passed, strict=True) if one is decision]
            size = sum(part.size for part in mine)
            mass = sum(part.share for part in mine)
            hits = sum(
                part.share * (part.hits / part.labelled if part.labelled else side > 0)
                for part in mine
            )
            rate = min(hits / mass, 1.0) if mass else 0.0
            whole.append(Part(size, size, rate * size, mass))
        middle = _kappa_ends(whole, [True, False], z)[at]
        off = middle - _kappa_ends(whole, [True, False], z, process=True)[at]
        made.append(middle + side * math.hypot(found[at] - middle, off))
    return max(made[0], -1.0), min(made[1], 1.0)


def _kappa_ends(
    parts: Sequence[Part], passed: Sequence[bool], z: float, *, process: bool = False
) -> tuple[float, float]:
    """Return the ends for the verdicts of the parts, or for the process that they are drawn from.

    With the shares of decisions known, ``po - pe - k(1 - pe)`` is linear in the rates of the parts,
    and kappa is the k at which it is 0: the lower end is the k at which MOVER's lower end of it is
    0, the upper likewise. For a process the shares vary as well, as in a multinomial sample.
    """
    size = sum(part.size for part in parts)
    mass = sum(part.share for part in parts)
    # Plain numbers: arrays of a few parts take ten times as long.
    rows = []
    for part, one in zip(parts, passed, strict=True):
        ends = midp(part.hits, part.labelled, z) if process else midp_interval(part, z)
        rate = part.hits / part.labelled if part.labelled else None
        rows.append((part.share / mass, 1 if one else -1, rate, *ends))
    passes = sum(share for share, sign, *_ in rows if sign > 0)
    lean = 2 * passes - 1
    deserved = 1 - passes + sum(share * sign * (rate or 0.0) for share, sign, rate, *_ in rows)

    def edge(kappa: float, side: int) -> float:
        """Return the lower (side -1) or upper end of ``po - pe - kappa(1 - pe)``."""
        rest = 1 - kappa
        value = squares = mean = square_mean = 0.0
        for share, sign, rate, low, high in rows:
            factor = 1 - rest * lean * sign
            up = side * factor > 0
            value += share * factor * (up if rate is None else rate)
            if rate is not None:
                squares += (share * factor * (high - rate if up else rate - low)) ** 2
            # How far a pass by the rater, and a pass by the labels, lowers the value.
            move = factor * (rate or 0.0) - rest * (2 * deserved - 1 if sign > 0 else lean)
            mean += share * move
            square_mean += share * move * move
        if process:
            squares += z * z * max(square_mean - mean * mean, 0.0) / size
        return value - kappa - rest * (1 - passes) * (1 + lean) + side * math.sqrt(squares)

    return (
        bisect(lambda kappa: edge(kappa, -1) > 0, -1.0, 1.0),
        bisect(lambda kappa: edge(kappa, 1) > 0, -1.0, 1.0),
    )


def _shares(parts: Sequence[Part]) -> Floats:
    masses = np.array([part.share for part in parts], np.float64)
    return np.asarray(masses / masses.sum())
