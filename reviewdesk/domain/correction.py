"""From an imperfect judge's pass rate to the rate a person would find."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

Z = 1.959963984540054
"""The two-sided 95% point of the normal distribution."""


class Status(StrEnum):
    """How the correction came out."""

    OK = "ok"
    WEAK_JUDGE = "weak_judge"
    SKIPPED_NO_SIGNAL = "skipped_no_signal"


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected rate with its interval and status."""

    rate: float
    low: float
    high: float
    status: Status


def rate_or_zero(part: float, whole: float) -> float:
    """``part / whole``, and 0.0 where the whole is 0: the calibration document's convention."""
    return part / whole if whole > 0 else 0.0


def rogan_gladen(observed: float, sensitivity: float, specificity: float) -> tuple[float, Status]:
    """``clamp01((observed + spec - 1) / J)`` with ``J = sens + spec - 1``.

    ``J <= 0`` carries no signal and leaves the observed rate as it is; ``J < 0.5`` is a weak judge.
    Source: Rogan and Gladen 1978, as the judge calibration document applies it.
    """
    youden = sensitivity + specificity - 1
    if youden <= 1e-12:
        return observed, Status.SKIPPED_NO_SIGNAL
    rate = min(max((observed + specificity - 1) / youden, 0.0), 1.0)
    return rate, Status.WEAK_JUDGE if youden < 0.5 else Status.OK


def wald(observed: float, sensitivity: float, specificity: float, n: int) -> tuple[float, float]:
    """The document's 95% interval: Wald on the observed rate, both ends corrected and ordered.

    ``n`` is the size of the trusted set; none gives zero width. Kept as documented; its coverage is
    loose near 0 and 1.
    """
    half = Z * math.sqrt(observed * (1 - observed) / n) if n > 0 else 0.0
    ends = [
        rogan_gladen(min(max(end, 0.0), 1.0), sensitivity, specificity)[0]
        for end in (observed - half, observed + half)
    ]
    return min(ends), max(ends)


def corrected(observed: float, sensitivity: float, specificity: float, n: int) -> Corrected:
    """The corrected rate with the document's interval."""
    rate, status = rogan_gladen(observed, sensitivity, specificity)
    low, high = wald(observed, sensitivity, specificity, n)
    return Corrected(rate, low, high, status)
