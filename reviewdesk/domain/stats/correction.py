"""The confusion of decisions and labels, and the pass rate corrected for it."""

import math
from enum import StrEnum

from msgspec import Struct

from reviewdesk.domain.verdict import SLACK

CELLS = ("tp", "fn", "tn", "fp")
"""The cells of decisions against labels; a positive should pass."""

RIGHT = (0, 2)
WRONG = (1, 3)
"""The cells of decisions that match the label, and of those that contradict it."""

Z = 1.959963984540054
"""The two-sided 95% point of the normal distribution."""


class CorrectionStatus(StrEnum):
    """Whether a rate was corrected, and whether the judge is strong enough to trust it."""

    OK = "ok"
    WEAK_JUDGE = "weak_judge"
    SKIPPED_NO_SIGNAL = "skipped_no_signal"


class Corrected(Struct, frozen=True):
    """A corrected rate with its 95% interval and status."""

    rate: float
    low: float
    high: float
    status: CorrectionStatus


def rate_or_zero(part: float, whole: float) -> float:
    """Return ``part / whole``, or 0.0 if the whole is 0: the calibration document's convention."""
    return part / whole if whole > 0 else 0.0


class Cells(Struct, frozen=True):
    """A rater's decisions by the labels, in counts or weights; a positive should pass."""

    tp: float = 0
    fn: float = 0
    tn: float = 0
    fp: float = 0

    @property
    def n(self) -> float:
        return self.tp + self.fn + self.tn + self.fp

    @property
    def right(self) -> float:
        return self.tp + self.tn

    @property
    def deserved(self) -> float:
        return self.tp + self.fn

    @property
    def sensitivity(self) -> float:
        """The share of passes among what should pass; 0.0 if nothing should."""
        return rate_or_zero(self.tp, self.tp + self.fn)

    @property
    def specificity(self) -> float:
        """The share of fails among what should fail; 0.0 if nothing should."""
        return rate_or_zero(self.tn, self.tn + self.fp)

    @property
    def kappa(self) -> float | None:
        """Cohen's ``(p_o - p_e)/(1 - p_e)``; ``None`` if chance would agree on all decisions."""
        n = self.n
        chance = (self.tp + self.fn) * (self.tp + self.fp)
        chance += (self.tn + self.fp) * (self.tn + self.fn)
        room = n * n - chance
        # Weights are not integers, so rounding may leave a little where the room is 0.
        return (n * self.right - chance) / room if room > 1e-12 * n * n else None

    def plus(self, other: "Cells", weight: float = 1) -> "Cells":
        """Return the sum with other cells, each multiplied by ``weight``."""
        return Cells(
            self.tp + weight * other.tp,
            self.fn + weight * other.fn,
            self.tn + weight * other.tn,
            self.fp + weight * other.fp,
        )

    def correct(self, observed: float, n: float | None = None) -> Corrected:
        """Correct an observed pass rate; the interval is for ``n`` labels, by default all."""
        sensitivity = self.sensitivity
        specificity = self.specificity
        rate, status = rogan_gladen(observed, sensitivity, specificity)
        ends = wald(observed, sensitivity, specificity, self.n if n is None else n)
        return Corrected(rate, *ends, status)


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
    positives = tp + fn
    negatives = tn + fp
    if n <= 0 or positives <= 0 or negatives <= 0:
        return None
    p = (k + Z**2 / 2) / (n + Z**2)
    hit = (tp + 1) / (positives + 2)
    reject = (tn + 1) / (negatives + 2)
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


def _clamp01(value: float) -> float:
    return min(max(value, 0.0), 1.0)
