"""How well a judge's stated confidence matches how often it is right."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import BINS, CELLS, EDGE, Counters
from reviewdesk.errors import UsageError

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.integer[Any]]


class Rows(Struct, frozen=True):
    """Labelled verdicts as columns of equal length.

    ``correct`` is whether the judge agrees with the label, and ``passed`` whether it passed the
    response: ``None`` for a labels file without the judge's decisions. ``content`` numbers the
    judged contents; rows with the same number share one label; ``None`` if no two share a label.
    """

    confidence: Floats
    correct: Bools
    weight: Floats
    passed: Bools | None = None
    content: Ints | None = None

    @staticmethod
    def of(
        confidence: Sequence[float],
        correct: Sequence[bool],
        weight: Sequence[float] | None = None,
        passed: Sequence[bool] | None = None,
        content: Sequence[Hashable] | None = None,
    ) -> "Rows":
        """Build the columns; without weights every row weighs 1.

        Raise UsageError if the columns differ in length, a confidence lies outside 0..1, or a
        weight is neither 0 nor from 1e-15 to 1e15: squares of others are 0 or not finite.
        """
        sure = np.asarray(confidence, dtype=np.float64)
        mass = np.ones(len(sure)) if weight is None else np.asarray(weight, dtype=np.float64)
        given = {"correct": correct, "weight": mass, "passed": passed, "content": content}
        for name, column in given.items():
            if column is not None and len(column) != len(sure):
                text = f"{name} has {len(column)} rows and confidence {len(sure)}"
                raise UsageError(text, "Give columns of one length")
        _check_bounds("confidence", sure, (sure >= 0) & (sure <= 1), "Give numbers from 0 to 1")
        fine = (mass == 0) | (mass >= 1e-15) & (mass <= 1e15)
        _check_bounds("weight", mass, fine, "Give 0, or numbers from 1e-15 to 1e15")
        return Rows(
            sure,
            np.asarray(correct, dtype=np.bool_),
            mass,
            None if passed is None else np.asarray(passed, dtype=np.bool_),
            None if content is None else numbered(content),
        )

    @property
    def labels(self) -> int:
        return len(self.weight) if self.content is None else len(np.unique(self.content))

    @property
    def share(self) -> Floats:
        """The share of a label that each row has: 1, or 1 over the count of rows on its content."""
        if self.content is None:
            return np.ones(len(self.weight))
        _, place, times = np.unique(self.content, return_inverse=True, return_counts=True)
        return np.asarray(1 / times[place], np.float64)

    def masses(self) -> Floats:
        """Return the weight of each label: the sum over the rows on its content."""
        if self.content is None:
            return self.weight
        place = np.unique(self.content, return_inverse=True)[1]
        return np.bincount(place, weights=self.weight).astype(np.float64)

    def by_label(self) -> "Rows":
        """Return rows for tests that assume independence: one for each content and outcome.

        Weights are added, and the confidence is their weighted mean.
        """
        if self.content is None:
            return self
        passed = self.correct if self.passed is None else self.passed
        code = self.content * 4 + passed * 2 + self.correct
        _, first, place = np.unique(code, return_index=True, return_inverse=True)
        weight = np.bincount(place, weights=self.weight).astype(np.float64)
        sure = np.bincount(place, weights=self.weight * self.confidence)
        even = np.bincount(place, weights=self.confidence) / np.bincount(place)
        return Rows(
            np.clip(np.divide(sure, weight, out=even, where=weight > 0), 0, 1),
            self.correct[first],
            weight,
            None if self.passed is None else self.passed[first],
        )

    def weighted(self, weight: Sequence[float] | Floats) -> "Rows":
        """Return the rows whose new weight is positive, with the new weights."""
        heavy = np.asarray(weight, dtype=np.float64)
        kept = heavy > 0
        return Rows(
            self.confidence[kept],
            self.correct[kept],
            heavy[kept],
            None if self.passed is None else self.passed[kept],
            None if self.content is None else self.content[kept],
        )


def numbered(contents: Sequence[Hashable]) -> Ints | None:
    known: dict[Hashable, int] = {}
    found = [known.setdefault(content, len(known)) for content in contents]
    return None if len(known) == len(found) else np.array(found, np.int64)


def _check_bounds(name: str, column: Floats, fine: Bools, hint: str) -> None:
    """Raise UsageError at the first number that is not ``fine``; NaN is outside any bounds."""
    if not fine.all():
        row = int(np.argmin(fine))
        raise UsageError(f"{name} is {float(column[row])} in row {row}", hint)


def bin_index(confidence: Floats) -> npt.NDArray[np.int64]:
    """Return the bin of each confidence, ten of equal width: ``min(floor(10c + 1e-9), 9)``."""
    return np.minimum(np.floor(confidence * BINS + EDGE), BINS - 1).astype(np.int64)


def counters_of(rows: Rows) -> Counters:
    """Count columns; rows of weight 0 are counted in ``n`` alone."""
    off = rows.confidence - rows.correct
    weight = rows.weight
    right = rows.correct
    share = rows.share
    counts = [0.0] * len(CELLS)
    masses = [0.0] * len(CELLS)
    if (passed := rows.passed) is not None:
        cells = (passed & right, ~passed & ~right, ~passed & right, passed & ~right)
        counts = [float(share[cell].sum()) for cell in cells]
        masses = [float(weight[cell].sum()) for cell in cells]
    totals = (weight, weight**2 / share, off * weight, right * weight, off**2 * weight)
    bins = np.bincount(bin_index(rows.confidence), weights=weight * off, minlength=BINS)
    return Counters(
        rows.passed is not None,
        [rows.labels, *counts],
        [*(float(total.sum()) for total in totals), *masses, *bins.tolist()],
    )


def ece(rows: Rows) -> float:
    """Compute the expected calibration error of some rows; see ``Counters.ece``."""
    return counters_of(rows).ece


def brier(rows: Rows) -> float | None:
    """Compute the weighted mean squared error of confidence against 0/1; ``None`` without rows."""
    return counters_of(rows).brier


def accuracy(rows: Rows) -> float | None:
    """Compute the weighted share of verdicts that match the label; ``None`` without rows."""
    return counters_of(rows).accuracy


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
    return counters_of(rows).metrics(observed)
