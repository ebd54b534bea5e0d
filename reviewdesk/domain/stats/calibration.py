"""How well a judge's stated confidence matches how often it is right."""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import astuple

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import CELLS, Cells
from reviewdesk.domain.verdict import SLACK
from reviewdesk.errors import UsageError

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.integer[Any]]
BINS = 10


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
    return np.minimum(np.floor(confidence * BINS + 1e-9), BINS - 1).astype(np.int64)


def confusions(rows: Rows) -> tuple[Cells, Cells] | None:
    """Return the confusion in labels and in weights; ``None`` without the judge's decisions.

    A label of a content that was decided in several ways is shared between cells.
    """
    passed = rows.passed
    right = rows.correct
    if passed is None:
        return None
    cells = (passed & right, ~passed & ~right, ~passed & right, passed & ~right)
    counts, masses = (
        Cells(*(float(each[cell].sum()) for cell in cells)) for each in (rows.share, rows.weight)
    )
    return counts, masses


def scaled_confusion(rows: Rows) -> Cells | None:
    """Return the confusion in labels, or in weights scaled to their number if these differ."""
    found = confusions(rows)
    if found is None:
        return None
    counts, masses = found
    n = counts.n
    total = masses.n
    scaled = [cell * n / total if total else cell for cell in astuple(masses)]
    pairs = zip(scaled, astuple(counts), strict=True)
    even = all(abs(one - count) <= SLACK * max(n, 1) for one, count in pairs)
    return Cells(*map(_whole, astuple(counts) if even else scaled))


def _whole(count: float) -> float:
    """Return a count of labels as a whole number if only rounding errors separate it from one."""
    return round(count) if abs(count - round(count)) < 1e-9 * max(count, 1) else count


def measure(rows: Rows, observed: float | None = None) -> Metrics:
    """Compute all figures of some rows; ``observed`` is the judge's pass rate over the whole run.

    Counts are unweighted, as is the n of the document's interval; rates are weighted. Rows of
    weight 0 are counted in ``n`` alone. ``ess`` is Kish's effective number of labels, ``(Σw)² /
    Σw²``, with the weights of a label's rows added. Without the judge's decisions, the figures of
    the confusion are ``None``.
    """
    weight = rows.weight
    off = rows.confidence - rows.correct
    mass = float(weight.sum())
    squares = float((weight**2 / rows.share).sum())
    means = {"gap": off * weight, "accuracy": rows.correct * weight, "brier": off**2 * weight}
    bins = np.bincount(bin_index(rows.confidence), weights=weight * off, minlength=BINS)
    made: dict[str, Any] = {
        "n": rows.labels,
        "ess": mass**2 / squares if squares > 0 else None,
        "ece": math.fsum(map(abs, bins.tolist())) / mass if mass > 0 else 0.0,
        **{name: float(one.sum()) / mass if mass > 0 else None for name, one in means.items()},
    }
    if (found := confusions(rows)) is not None:
        counts, cells = found
        made |= zip(CELLS, map(_whole, astuple(counts)), strict=True)
        made |= {name: getattr(cells, name) for name in ("sensitivity", "specificity", "kappa")}
        made["youden_j"] = cells.sensitivity + cells.specificity - 1
        if observed is not None:
            fixed = cells.correct(observed, rows.labels)
            made["corrected_rate"] = fixed.rate
            made["corrected_rate_low"] = fixed.low
            made["corrected_rate_high"] = fixed.high
            made["corrected_status"] = fixed.status.value
    return Metrics(**made, observed_positive_rate=observed)


def ece(rows: Rows) -> float:
    """Compute the expected calibration error ``Σ w_b/W · |mean confidence - accuracy|``, else 0."""
    return measure(rows).ece


def brier(rows: Rows) -> float | None:
    """Compute the weighted mean squared error of confidence against 0/1; ``None`` without rows."""
    return measure(rows).brier


def accuracy(rows: Rows) -> float | None:
    """Compute the weighted share of verdicts that match the label; ``None`` without rows."""
    return measure(rows).accuracy


def effective_sample_size(weight: Floats | Sequence[float]) -> float | None:
    """Compute Kish's effective sample size ``(Σw)² / Σw²``; ``None`` if no row has weight."""
    given = np.asarray(weight, dtype=np.float64)
    squares = float((given**2).sum())
    return float(given.sum() ** 2 / squares) if squares > 0 else None
