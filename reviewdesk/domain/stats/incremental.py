"""Calibration figures that follow each label: sums to add and remove a row in O(1)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.confusion import (
    CELLS,
    BasicFigures,
    Confusion,
    metrics,
)

BINS = 10
_MASS, _SQUARES, _SURE, _RIGHT, _LOSS, _CELLS = range(6)
_BINS = _CELLS + len(CELLS)
_PLACES = _BINS + BINS


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """One labelled verdict; ``passed`` is the judge's decision, ``None`` where it is not known."""

    confidence: float
    correct: bool
    passed: bool | None = None

    @property
    def cell(self) -> int | None:
        """The row's cell of the confusion, as an index into ``CELLS``; ``None`` if unknown."""
        if self.passed is None:
            return None
        return (0 if self.passed else 2) if self.correct else (3 if self.passed else 1)


@dataclass(slots=True)
class RunningSums:
    """Sums over rows that can be added, removed and reweighed, and the figures they give.

    Every sum carries its rounding error, so that removing a row undoes what adding it did. A
    stratum is summed at weight 1 and weighted by ``scaled`` and ``plus``, so that a label that
    changes the weight of its whole stratum needs no pass over the stratum.
    """

    counts: list[int] = field(default_factory=lambda: [0] * (1 + len(CELLS)))
    """The number of all rows, then of the rows in each cell."""
    sums: list[float] = field(default_factory=lambda: [0.0] * _PLACES)
    errors: list[float] = field(default_factory=lambda: [0.0] * _PLACES)

    def add(self, row: CalibrationRow, weight: float = 1.0) -> None:
        """Add a row; a row of weight 0 changes nothing."""
        if weight > 0:
            self._count(row, 1)
            self._move(row, weight, 1)

    def remove(self, row: CalibrationRow, weight: float = 1.0) -> None:
        """Remove a row that was added with this weight."""
        if weight > 0:
            self._count(row, -1)
            self._move(row, weight, -1)

    def metrics(self, observed: float | None = None) -> Metrics:
        """Compute all figures, as ``calibration.measure`` does for the same rows.

        ``observed`` is the judge's pass rate over the whole run. Unless the decision of every row
        is known, the figures of the confusion are ``None``.
        """
        n, mass, squares = self.counts[0], self.total(_MASS), self.total(_SQUARES)
        if not n:
            nothing = BasicFigures(0, None, 0.0, None, None, None)
            return metrics(nothing, Confusion((0,) * 4, (0.0,) * 4), observed)
        accuracy = self.total(_RIGHT) / mass
        basics = BasicFigures(
            n=n,
            ess=mass**2 / squares,
            ece=math.fsum(abs(self.total(_BINS + place)) for place in range(BINS)) / mass,
            brier=self.total(_LOSS) / mass,
            gap=self.total(_SURE) / mass - accuracy,
            accuracy=accuracy,
        )
        counts = self.counts[1:]
        masses = [self.total(_CELLS + place) for place in range(len(CELLS))]
        # A cell without rows has no mass, whatever rounding left in its sum.
        held = [mass if count else 0.0 for count, mass in zip(counts, masses, strict=True)]
        known = sum(counts) == n
        return metrics(basics, Confusion(counts, held) if known else None, observed)

    def _count(self, row: CalibrationRow, sign: int) -> None:
        cell = row.cell
        self.counts[0] += sign
        if cell is not None:
            self.counts[1 + cell] += sign

    def _move(self, row: CalibrationRow, weight: float, sign: int) -> None:
        off = row.confidence - row.correct
        index = min(math.floor(row.confidence * BINS + 1e-9), BINS - 1)
        signed, cell = sign * weight, row.cell
        self.enter(_MASS, signed)
        self.enter(_SQUARES, signed * weight)
        self.enter(_SURE, signed * row.confidence)
        self.enter(_LOSS, signed * off * off)
        self.enter(_BINS + index, signed * off)
        if row.correct:
            self.enter(_RIGHT, signed)
        if cell is not None:
            self.enter(_CELLS + cell, signed)

    def enter(self, place: int, value: float) -> None:
        """Add a value to one sum and keep the rounding error. Source: Neumaier 1974."""
        before = self.sums[place]
        self.sums[place] = after = before + value
        if abs(before) >= abs(value):
            self.errors[place] += (before - after) + value
        else:
            self.errors[place] += (value - after) + before

    def total(self, place: int) -> float:
        """Return one sum, corrected by its rounding error."""
        return self.sums[place] + self.errors[place]


def blend(parts: Iterable[tuple[RunningSums, float]]) -> RunningSums:
    """Return the sums over several sets of rows, each with its weights multiplied by its factor.

    A set whose factor is 0 or less adds no rows.
    """
    made = RunningSums()
    columns = []
    for one, factor in parts:
        if factor > 0:
            made.counts = [a + b for a, b in zip(made.counts, one.counts, strict=True)]
            column = [(s + e) * factor for s, e in zip(one.sums, one.errors, strict=True)]
            column[_SQUARES] *= factor
            columns.append(column)
    if columns:
        made.sums = [math.fsum(parts) for parts in zip(*columns, strict=True)]
    return made
