"""The confusion of decisions and labels, and the record of figures built from sums over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import corrected, rate_or_zero

CELLS = ("tp", "fn", "tn", "fp")
"""The cells of the judge's decisions against the labels; a positive is a pass."""
_OF_CONFUSION = (
    *CELLS,
    *("sensitivity", "specificity", "youden_j"),
    *("corrected_rate", "corrected_rate_low", "corrected_rate_high", "corrected_status"),
)


@dataclass(frozen=True, slots=True)
class BasicFigures:
    """The figures that need only confidences and outcomes; ``n`` is an unweighted count."""

    n: int
    ess: float | None
    ece: float
    brier: float | None
    gap: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Confusion:
    """The number of rows in each cell of ``CELLS``, and their total weight."""

    counts: Sequence[int]
    mass: Sequence[float]


def metrics(basics: BasicFigures, confusion: Confusion | None, observed: float | None) -> Metrics:
    """Assemble all figures; ``observed`` is the judge's pass rate over the whole run.

    Sensitivity and specificity are weighted, and 0.0 if no label is of their class. Counts are
    unweighted, as is the n of the document's interval. Without a confusion, every figure that
    needs one is ``None``.
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
