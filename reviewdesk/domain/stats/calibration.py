"""How well a judge's stated confidence matches how often it is right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import CELLS, Cells
from reviewdesk.errors import UsageError
from reviewdesk.frozen import Frozen

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
BINS = 10


class Rows(Frozen):
    """Labelled verdicts as columns of equal length.

    ``correct`` is whether the judge agrees with the label, and ``passed`` whether it passed the
    response: ``None`` for a labels file without the judge's decisions.
    """

    confidence: Floats
    correct: Bools
    weight: Floats
    passed: Bools | None = None

    @staticmethod
    def of(
        confidence: Sequence[float],
        correct: Sequence[bool],
        weight: Sequence[float] | None = None,
        passed: Sequence[bool] | None = None,
    ) -> Rows:
        """Build the columns; without weights every row weighs 1.

        Raise UsageError if the columns differ in length, a confidence lies outside 0..1, or a
        weight is negative or not finite.
        """
        sure = np.asarray(confidence, dtype=np.float64)
        mass = np.ones(len(sure)) if weight is None else np.asarray(weight, dtype=np.float64)
        given = {"correct": correct, "weight": mass, "passed": passed}
        for name, column in given.items():
            if column is not None and len(column) != len(sure):
                text = f"{name} has {len(column)} rows and confidence {len(sure)}"
                raise UsageError(text, "Give columns of one length")
        _check_bounds("confidence", sure, (sure >= 0) & (sure <= 1), "Give numbers from 0 to 1")
        _check_bounds(
            "weight", mass, (mass >= 0) & (mass < np.inf), "Give finite numbers, 0 or more"
        )
        return Rows(
            sure,
            np.asarray(correct, dtype=np.bool_),
            mass,
            None if passed is None else np.asarray(passed, dtype=np.bool_),
        )

    def weighted(self, weight: Sequence[float] | Floats) -> Rows:
        """Return the rows whose new weight is positive, with the new weights."""
        heavy = np.asarray(weight, dtype=np.float64)
        kept = heavy > 0
        return Rows(
            self.confidence[kept],
            self.correct[kept],
            heavy[kept],
            None if self.passed is None else self.passed[kept],
        )


def _check_bounds(name: str, column: Floats, fine: Bools, hint: str) -> None:
    """Raise UsageError at the first number that is not ``fine``; NaN is outside any bounds."""
    if not fine.all():
        row = int(np.argmin(fine))
        raise UsageError(f"{name} is {float(column[row])} in row {row}", hint)


def bin_index(confidence: Floats) -> npt.NDArray[np.int64]:
    """Return the bin of each confidence: ten of equal width, ``min(floor(10c + 1e-9), 9)``."""
    return np.minimum(np.floor(confidence * BINS + 1e-9), BINS - 1).astype(np.int64)


class CalibrationRow(Frozen):
    """One labelled verdict: the judge's confidence, whether it was right, whether it passed."""

    confidence: float
    correct: bool
    passed: bool

    @property
    def cell(self) -> int:
        """The row's cell of the confusion, as an index into ``CELLS``."""
        return (0 if self.passed else 2) if self.correct else (3 if self.passed else 1)


_MASS, _SQUARES, _OFF, _RIGHT, _LOSS, _CELLS = range(6)
_BINS = _CELLS + len(CELLS)
_PLACES = _BINS + BINS


@dataclass(slots=True)
class Counters:
    """Counts and weighted sums over labelled rows, and the figures that follow from them.

    ``of`` fills them from columns, ``move`` row by row, ``blend`` from strata. Every
    sum carries its rounding error, so that removing a row undoes what adding it did. A stratum is
    counted at weight 1 and weighted by ``blend``, so that a label that changes the weight of its
    whole stratum needs no pass over the stratum.
    """

    decided: bool = True
    """Whether the rows say what the judge decided; without it there is no confusion."""
    counts: list[int] = field(default_factory=lambda: [0] * (1 + len(CELLS)))
    """The number of all rows, then of the rows in each cell."""
    sums: list[float] = field(default_factory=lambda: [0.0] * _PLACES)
    """Weights, squared weights, confidence less right, right, squared error, cells, bins.

    A cell's sum is its weight, a bin's that of confidence less right.
    """
    errors: list[float] = field(default_factory=lambda: [0.0] * _PLACES)

    @staticmethod
    def of(rows: Rows) -> Counters:
        """Count columns; rows of weight 0 are counted in ``n`` alone."""
        off, weight, right = rows.confidence - rows.correct, rows.weight, rows.correct
        made = Counters(decided=rows.passed is not None)
        counts, masses = [0] * len(CELLS), [0.0] * len(CELLS)
        if (passed := rows.passed) is not None:
            cells = (passed & right, ~passed & ~right, ~passed & right, passed & ~right)
            counts = [int(cell.sum()) for cell in cells]
            masses = [float(weight[cell].sum()) for cell in cells]
        made.counts = [len(weight), *counts]
        totals = (weight, weight**2, off * weight, right * weight, off**2 * weight)
        bins = np.bincount(bin_index(rows.confidence), weights=weight * off, minlength=BINS)
        made.sums = [*(float(total.sum()) for total in totals), *masses, *bins.tolist()]
        return made

    @staticmethod
    def blend(parts: Iterable[tuple[Counters, float]]) -> Counters:
        """Return the counters of several sets of rows, each with its weights times its factor."""
        made, columns = Counters(), []
        for one, factor in parts:
            made.counts = [a + b for a, b in zip(made.counts, one.counts, strict=True)]
            column = [(s + e) * factor for s, e in zip(one.sums, one.errors, strict=True)]
            column[_SQUARES] *= factor
            columns.append(column)
        if columns:
            made.sums = [math.fsum(places) for places in zip(*columns, strict=True)]
        return made

    def move(self, row: CalibrationRow | None, sign: int = 1) -> None:
        """Add a row at weight 1, or remove it with ``sign`` -1; ``None`` is no row."""
        if row is None:
            return
        off, cell = row.confidence - row.correct, row.cell
        index = min(math.floor(row.confidence * BINS + 1e-9), BINS - 1)
        self.counts[0] += sign
        self.counts[1 + cell] += sign
        for place, value in (
            (_OFF, sign * off),
            (_LOSS, sign * off * off),
            (_BINS + index, sign * off),
        ):
            # Source: Neumaier 1974.
            before = self.sums[place]
            self.sums[place] = after = before + value
            large, small = (before, value) if abs(before) >= abs(value) else (value, before)
            self.errors[place] += (large - after) + small
        for place in (_MASS, _SQUARES, _CELLS + cell):
            self.sums[place] += sign
        self.sums[_RIGHT] += sign * row.correct

    @property
    def n(self) -> int:
        """The number of rows, whatever their weights."""
        return self.counts[0]

    @property
    def ess(self) -> float | None:
        """Kish's effective sample size ``(Σw)² / Σw²``; ``None`` if no row has weight."""
        squares = self._total(_SQUARES)
        return self._mass**2 / squares if squares > 0 else None

    @property
    def ece(self) -> float:
        """The expected calibration error ``Σ w_b/W · |mean confidence - accuracy|``.

        0.0 without rows. Source: the judge calibration document.
        """
        bins = zip(self.sums[_BINS:], self.errors[_BINS:], strict=True)
        off = math.fsum(abs(total + error) for total, error in bins)
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
        cells, fixed = self.cells if self.decided else None, None
        if cells and observed is not None:
            fixed = cells.correct(observed, self.n)
        tp, fn, tn, fp = self.counts[1:] if self.decided else (None,) * len(CELLS)
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
        )

    @property
    def _mass(self) -> float:
        return self._total(_MASS) if self.n else 0.0

    def _total(self, place: int) -> float:
        return self.sums[place] + self.errors[place]

    def _mean(self, place: int) -> float | None:
        return self._total(place) / self._mass if self._mass > 0 else None


def ece(rows: Rows) -> float:
    """Compute the expected calibration error of some rows; see ``Counters.ece``."""
    return Counters.of(rows).ece


def brier(rows: Rows) -> float | None:
    """Compute the weighted mean squared error of confidence against 0/1; ``None`` without rows."""
    return Counters.of(rows).brier


def accuracy(rows: Rows) -> float | None:
    """Compute the weighted share of verdicts that match the label; ``None`` without rows."""
    return Counters.of(rows).accuracy


def effective_sample_size(weight: Floats | Sequence[float]) -> float | None:
    """Compute Kish's effective sample size ``(Σw)² / Σw²``; ``None`` if no row has weight."""
    given = np.asarray(weight, dtype=np.float64)
    squares = float((given**2).sum())
    return float(given.sum() ** 2 / squares) if squares > 0 else None


def measure(rows: Rows, observed: float | None) -> Metrics:
    """Compute all figures of some rows; ``observed`` is the judge's pass rate over the whole run.

    Counts are unweighted, rates weighted. Without the judge's decisions, the figures of the
    confusion are ``None``.
    """
    return Counters.of(rows).metrics(observed)
