"""Counts and sums over labelled rows, and figures from them; no numpy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import CELLS, Cells

BINS = 10
EDGE = 1e-9
"""The bins of confidence, and the share of one by which a confidence may miss its lower edge."""
_MASS, _SQUARES, _OFF, _RIGHT, _LOSS, _CELLS = range(6)
_BINS = _CELLS + len(CELLS)
_PLACES = _BINS + BINS


@dataclass(slots=True)
class Counters:
    """Counts and weighted sums over labelled rows, and the figures that follow from them.

    ``calibration.counters_of`` fills them from columns, ``blend`` from strata.
    """

    decided: bool = True
    """Whether the rows say what the judge decided; without it there is no confusion."""
    counts: list[float] = field(default_factory=lambda: [0.0] * (1 + len(CELLS)))
    """The number of all labels, then of those in each cell.

    A label of a content on which the judge decided differently is shared between cells.
    """
    sums: list[float] = field(default_factory=lambda: [0.0] * _PLACES)
    """Weights, squared weights, confidence less right, right, squared error, cells, bins.

    A cell's sum is its weight, a bin's that of confidence less right.
    """

    @staticmethod
    def blend(parts: Iterable[tuple[Counters, float]]) -> Counters:
        """Return the counters of several sets of rows, each with its weights times its factor."""
        made = Counters()
        columns = []
        for one, factor in parts:
            made.counts = [a + b for a, b in zip(made.counts, one.counts, strict=True)]
            column = [total * factor for total in one.sums]
            column[_SQUARES] *= factor
            columns.append(column)
        if columns:
            made.sums = [math.fsum(places) for places in zip(*columns, strict=True)]
        return made

    @property
    def n(self) -> int:
        """The number of labels, whatever their weights."""
        return round(self.counts[0])

    @property
    def ess(self) -> float | None:
        """Kish's effective sample size ``(Σw)² / Σw²`` over labels; ``None`` without weight.

        The weight of a label is the sum of those of its rows.
        """
        squares = self.sums[_SQUARES]
        return self._mass**2 / squares if squares > 0 else None

    @property
    def ece(self) -> float:
        """The expected calibration error ``Σ w_b/W · |mean confidence - accuracy|``.

        0.0 without rows. Source: the judge calibration document.
        """
        off = math.fsum(map(abs, self.sums[_BINS:]))
        return off / self._mass if self._mass > 0 else 0.0

    @property
    def brier(self) -> float | None:
        """The weighted mean squared error of confidence against 0/1; ``None`` without rows."""
        return self._mean(_LOSS)

    @property
    def gap(self) -> float | None:
        """Mean confidence less accuracy (positive: overconfident); ``None`` without rows."""
        return self._mean(_OFF)

    @property
    def accuracy(self) -> float | None:
        """The weighted share of verdicts that match the label; ``None`` without rows."""
        return self._mean(_RIGHT)

    @property
    def cells(self) -> Cells:
        """The weighted confusion."""
        return Cells(*self.sums[_CELLS:_BINS])

    def metrics(self, observed: float | None = None) -> Metrics:
        """Compute all figures; ``observed`` is the judge's pass rate over the whole run.

        Counts are unweighted, as is the n of the document's interval; rates are weighted. If the
        rows do not say what the judge decided, the figures of the confusion are ``None``.
        """
        cells = self.cells if self.decided else None
        fixed = None
        if cells and observed is not None:
            fixed = cells.correct(observed, self.n)
        tp, fn, tn, fp = map(whole, self.counts[1:]) if self.decided else (None,) * len(CELLS)
        return Metrics(
            n=self.n,
            ess=self.ess,
            ece=self.ece,
            brier=self.brier,
            gap=self.gap,
            accuracy=self.accuracy,
            tp=tp,
            fn=fn,
            tn=tn,
            fp=fp,
            sensitivity=cells.sensitivity if cells else None,
            specificity=cells.specificity if cells else None,
            youden_j=cells.sensitivity + cells.specificity - 1 if cells else None,
            observed_positive_rate=observed,
            corrected_rate=fixed.rate if fixed else None,
            corrected_rate_low=fixed.low if fixed else None,
            corrected_rate_high=fixed.high if fixed else None,
            corrected_status=fixed.status.value if fixed else None,
            kappa=cells.kappa if cells else None,
        )

    @property
    def _mass(self) -> float:
        return self.sums[_MASS] if self.n else 0.0

    def _mean(self, place: int) -> float | None:
        return self.sums[place] / self._mass if self._mass > 0 else None


def whole(count: float) -> float:
    """Return a count of labels as a whole number, if it is one but for rounding errors."""
    return round(count) if abs(count - round(count)) < 1e-9 * max(count, 1) else count
