"""From sums over labelled rows to the record of figures, however the sums came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import corrected, rate_or_zero

CELLS = ("tp", "fn", "tn", "fp")
"""A positive is a response that should pass; it is true where the judge passed it."""
_OF_CONFUSION = (
    *CELLS,
    *("sensitivity", "specificity", "youden_j"),
    *("corrected_rate", "corrected_rate_low", "corrected_rate_high", "corrected_status"),
)


@dataclass(frozen=True, slots=True)
class BasicFigures:
    """The figures that need confidences and outcomes alone; ``n`` is a raw count."""

    n: int
    ess: float | None
    ece: float
    brier: float | None
    gap: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Confusion:
    """Rows per cell of ``CELLS`` and their weight."""

    counts: Sequence[int]
    mass: Sequence[float]


def metrics(basics: BasicFigures, confusion: Confusion | None, observed: float | None) -> Metrics:
    """All figures; ``observed`` is the judge's pass rate over the whole run.

    Sensitivity and specificity are weighted and 0.0 without their class, counts are raw, and the
    document's interval takes the raw n. Without a confusion all that rests on it is ``None``.
    """
    common: dict[str, Any] = {name: getattr(basics, name) for name in BasicFigures.__slots__}
    common["observed_positive_rate"] = observed
    if confusion is None:
        unknown: dict[str, Any] = dict.fromkeys(_OF_CONFUSION)
        return Metrics(**common, **unknown)
    tp, fn, tn, fp = confusion.mass
    sensitivity, specificity = rate_or_zero(tp, tp + fn), rate_or_zero(tn, tn + fp)
    fixed = None if observed is None else corrected(observed, sensitivity, specificity, basics.n)
    return Metrics(
        **common,
        **dict(zip(CELLS, confusion.counts, strict=True)),
        sensitivity=sensitivity,
        specificity=specificity,
        youden_j=sensitivity + specificity - 1,
        corrected_rate=fixed.rate if fixed else None,
        corrected_rate_low=fixed.low if fixed else None,
        corrected_rate_high=fixed.high if fixed else None,
        corrected_status=fixed.status.value if fixed else None,
    )
