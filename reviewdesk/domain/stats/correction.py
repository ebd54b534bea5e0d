"""Corrections of an imperfect judge's pass rate to the rate that people would find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, pvariance

from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.verdict import SLACK

Z = 1.959963984540054
"""The two-sided 95% point of the normal distribution."""


class CorrectionStatus(StrEnum):
    """Whether a rate was corrected, and whether the judge is strong enough to trust it."""

    OK = "ok"
    WEAK_JUDGE = "weak_judge"
    SKIPPED_NO_SIGNAL = "skipped_no_signal"


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected rate with its 95% interval and status."""

    rate: float
    low: float
    high: float
    status: CorrectionStatus


def rate_or_zero(part: float, whole: float) -> float:
    """Return ``part / whole``, or 0.0 if the whole is 0: the calibration document's convention."""
    return part / whole if whole > 0 else 0.0


def rogan_gladen(
    observed: float, sensitivity: float, specificity: float
) -> tuple[float, CorrectionStatus]:
    """Correct a rate: ``clamp01((observed + spec - 1) / J)`` with ``J = sens + spec - 1``.

    If ``J <= 0`` the judge carries no signal and the observed rate is returned unchanged; if
    ``J < 0.5`` the judge is weak. Source: Rogan and Gladen 1978, as the judge calibration document
    applies it.
    """
    youden = sensitivity + specificity - 1
    if youden <= 1e-12:
        return observed, CorrectionStatus.SKIPPED_NO_SIGNAL
    rate = min(max((observed + specificity - 1) / youden, 0.0), 1.0)
    return rate, CorrectionStatus.WEAK_JUDGE if youden < 0.5 - SLACK else CorrectionStatus.OK


def wald(observed: float, sensitivity: float, specificity: float, n: float) -> tuple[float, float]:
    """Return the document's 95% interval: Wald on the observed rate, with both ends corrected.

    ``n`` is the size of the trusted set; 0 gives zero width. The formula follows the document,
    although its coverage is poor near 0 and 1.
    """
    half = Z * math.sqrt(observed * (1 - observed) / n) if n > 0 else 0.0
    ends = [
        rogan_gladen(min(max(end, 0.0), 1.0), sensitivity, specificity)[0]
        for end in (observed - half, observed + half)
    ]
    return min(ends), max(ends)


def corrected(observed: float, sensitivity: float, specificity: float, n: float) -> Corrected:
    """Return the corrected rate with the document's interval and its status."""
    rate, status = rogan_gladen(observed, sensitivity, specificity)
    low, high = wald(observed, sensitivity, specificity, n)
    return Corrected(rate, low, high, status)


def lang_reiczigel(
    k: float, n: float, tp: float, fn: float, tn: float, fp: float
) -> tuple[float, float] | None:
    """Return the corrected rate's 95% interval, treating the trusted set as a sample as well.

    k of n verdicts of the run passed; with P = tp+fn and M = tn+fp, ``p = (k+z²/2)/(n+z²)``, ``se =
    (tp+1)/(P+2)``, ``sp = (tn+1)/(M+2)``, ``J = se+sp-1``, ``π = (p+sp-1)/J``; centre ``π +
    2z²(π·se(1-se)/(P+2) - (1-π)·sp(1-sp)/(M+2))``, half width ``z/J·√(p(1-p)/(n+z²) +
    π²·se(1-se)/(P+2) + (1-π)²·sp(1-sp)/(M+2))``, clamped to 0..1. The trusted set must not be drawn
    from the run. ``None`` if n is 0, a class is empty or J <= 0. Source: Lang and Reiczigel 2014.
    """
    positives, negatives = tp + fn, tn + fp
    if n <= 0 or positives <= 0 or negatives <= 0:
        return None
    p = (k + Z**2 / 2) / (n + Z**2)
    hit, reject = (tp + 1) / (positives + 2), (tn + 1) / (negatives + 2)
    youden = hit + reject - 1
    if youden <= 1e-12:
        return None
    rate = (p + reject - 1) / youden
    missed = hit * (1 - hit) / (positives + 2)
    passed = reject * (1 - reject) / (negatives + 2)
    centre = rate + 2 * Z**2 * (rate * missed - (1 - rate) * passed)
    variance = p * (1 - p) / (n + Z**2) + rate**2 * missed + (1 - rate) ** 2 * passed
    half = Z * math.sqrt(variance) / youden
    return _clamp01(centre - half), _clamp01(centre + half)


def rogan_gladen_clopper_pearson(
    k: int, n: int, sensitivity: float, specificity: float
) -> tuple[float, float]:
    """Return the exact 95% interval of k passes among n, with both ends corrected.

    The judge's sensitivity and specificity are taken as known. If the judge carries no signal, the
    ends are those of the observed rate.
    """
    ends = [rogan_gladen(end, sensitivity, specificity)[0] for end in clopper_pearson(k, n)]
    return min(ends), max(ends)


def clopper_pearson(k: int, n: int) -> tuple[float, float]:
    """Return the exact 95% interval of a rate: where k or more, or k or fewer, have chance 2.5%.

    Without data it is (0, 1). Source: Clopper and Pearson 1934.
    """
    low = 1 - _upper_end(n - k, n) if k > 0 else 0.0
    return low, _upper_end(k, n) if k < n else 1.0


def _upper_end(k: int, n: int) -> float:
    """Find by bisection the rate at which k or fewer of n have a chance of 2.5%."""
    low, high = k / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(k, n, middle) > 0.025 else (low, middle)
    return (low + high) / 2


def _at_most(k: int, n: int, rate: float) -> float:
    """Return the binomial ``P(X <= k)``; k is below the mean, so terms fall from k down."""
    if rate >= 1:
        return 0.0
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    term = math.exp(ways + k * math.log(rate) + (n - k) * math.log1p(-rate))
    total, odds = term, (1 - rate) / rate
    for i in range(k, 0, -1):
        term *= i / (n - i + 1) * odds
        total += term
        if term < total * 1e-17:
            break
    return total


def ppi_mean(
    truth: Sequence[float], judged: Sequence[float], unlabelled: Sequence[float]
) -> Estimate | None:
    """Estimate a run's mean from its judge, corrected by the labels: prediction-powered.

    ``mean(unlabelled) + mean(truth - judged)``, with half width ``z·√(var(unlabelled)/N + var(truth
    - judged)/n)`` of population variances; ``truth`` and ``judged`` pair up row by row. The labels
    must be a simple random sample. ``None`` if either part is empty. Raise ValueError if ``truth``
    and ``judged`` differ in length. Source: Angelopoulos et al. 2023.
    """
    off = [person - judge for person, judge in zip(truth, judged, strict=True)]
    if not off or not unlabelled:
        return None
    found = fmean(unlabelled) + fmean(off)
    half = Z * math.sqrt(pvariance(unlabelled) / len(unlabelled) + pvariance(off) / len(off))
    return Estimate(found, found - half, found + half)


def _clamp01(value: float) -> float:
    return min(max(value, 0.0), 1.0)
