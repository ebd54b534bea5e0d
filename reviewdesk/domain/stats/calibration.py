"""How well a judge's stated confidence matches how often it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.confusion import BasicFigures, Confusion, metrics
from reviewdesk.errors import UsageError

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
BINS = 10


@dataclass(frozen=True, slots=True)
class Rows:
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


def ece(rows: Rows) -> float:
    """Compute the expected calibration error ``Σ w_b/W · |mean confidence - accuracy|``.

    0.0 without rows. Bins are found by multiplication, because linspace misplaces 0.3. Source: the
    judge calibration document.
    """
    total = rows.weight.sum()
    if total <= 0:
        return 0.0
    difference = rows.weight * (rows.confidence - rows.correct)
    per_bin = np.bincount(bin_index(rows.confidence), weights=difference, minlength=BINS)
    return float(np.abs(per_bin).sum() / total)


def brier(rows: Rows) -> float | None:
    """Compute the weighted mean squared error of confidence against 0/1; ``None`` without rows."""
    return _mean((rows.confidence - rows.correct) ** 2, rows.weight)


def accuracy(rows: Rows) -> float | None:
    """Compute the weighted share of verdicts that match the label; ``None`` without rows."""
    return _mean(rows.correct.astype(np.float64), rows.weight)


def gap(rows: Rows) -> float | None:
    """Compute mean confidence less accuracy (positive: overconfident); ``None`` without rows."""
    return _mean(rows.confidence - rows.correct, rows.weight)


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
    basics = BasicFigures(
        n=len(rows.confidence),
        ess=effective_sample_size(rows.weight),
        ece=ece(rows),
        brier=brier(rows),
        gap=gap(rows),
        accuracy=accuracy(rows),
    )
    return metrics(basics, confusion_of(rows), observed)


def confusion_of(rows: Rows) -> Confusion | None:
    """Count and weigh the rows in each cell; ``None`` without the judge's decisions."""
    if rows.passed is None:
        return None
    right, passed = rows.correct, rows.passed
    cells = (passed & right, ~passed & ~right, ~passed & right, passed & ~right)
    return Confusion(
        counts=[int(cell.sum()) for cell in cells],
        mass=[float(rows.weight[cell].sum()) for cell in cells],
    )


def _mean(values: Floats, weight: Floats) -> float | None:
    total = float(weight.sum())
    return float((values * weight).sum() / total) if total > 0 else None
