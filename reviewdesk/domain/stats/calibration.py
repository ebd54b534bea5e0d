"""Labels as rows and as clusters, and how well stated confidence matches being right."""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import CELLS, Cells
from reviewdesk.domain.stats.dense import Bools, Floats, Ints
from reviewdesk.domain.stats.distributions import t_quantile
from reviewdesk.domain.stats.figures import ALONE, Effect, LabelSpread, Target
from reviewdesk.domain.verdict import SLACK
from reviewdesk.errors import UsageError

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
        """Build the columns; raise UsageError for unlike lengths or numbers out of bounds."""
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
        """Return one row for each content and outcome, weights added, as tests assume."""
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
        columns = (self.confidence, self.correct, heavy, self.passed, self.content)
        some: list[Any] = [None if one is None else one[kept] for one in columns]
        return Rows(*some)


def numbered(contents: Sequence[Hashable]) -> Ints | None:
    known: dict[Hashable, int] = {}
    found = [known.setdefault(content, len(known)) for content in contents]
    return None if len(known) == len(found) else np.array(found, np.int64)


def _check_bounds(name: str, column: Floats, fine: Bools, hint: str) -> None:
    """Raise UsageError at the first number that is not ``fine``; NaN is outside any bounds."""
    if not fine.all():
        row = int(np.argmin(fine))
        raise UsageError(f"{name} is {float(column[row])} in row {row}", hint)


def bin_index(confidence: Floats) -> Ints:
    """Return the bin of each confidence, ten of equal width: ``min(floor(10c + 1e-9), 9)``."""
    return np.minimum(np.floor(confidence * BINS + 1e-9), BINS - 1).astype(np.int64)


def _confusions(passed: Bools, rows: Rows) -> tuple[Cells, Cells]:
    """Return the confusion in labels and in weights; a content may be shared between cells."""
    right = rows.correct
    cells = (passed & right, ~passed & ~right, ~passed & right, passed & ~right)
    counts, masses = (
        Cells(*(float(each[cell].sum()) for cell in cells)) for each in (rows.share, rows.weight)
    )
    return counts, masses


def scaled_confusion(rows: Rows) -> Cells | None:
    """Return the confusion in labels, or in weights scaled to their number if these differ."""
    if rows.passed is None:
        return None
    counts, masses = _confusions(rows.passed, rows)
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

    Counts are unweighted, as is the n of the document's interval; rates are weighted. ``ess`` is
    Kish's effective number of labels. Without the judge's decisions, the figures of the confusion
    are ``None``.
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
    if rows.passed is not None:
        counts, cells = _confusions(rows.passed, rows)
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


class Clusters(Struct, frozen=True):
    """The labels that count: one entry for each content, or for its part in each stratum.

    ``stratum, content, test`` are numbers ``[k]``, ``weight`` is what the content stands for, and
    ``cells`` ``[k, 4]`` the number of its verdicts in each of ``CELLS``.
    """

    stratum: Ints
    content: Ints
    test: Ints
    weight: Floats
    cells: Floats

    @staticmethod
    def of(
        stratum: Ints, content: Ints, test: Ints, weight: Floats, cell: Ints
    ) -> "Clusters | None":
        """Gather verdicts by content and stratum; ``None`` if no two share a content or a case."""
        if len(np.unique(content)) == len(np.unique(test)) == len(stratum):
            return None
        pairs = np.column_stack([content, stratum])
        _, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        count = len(first) * len(CELLS)
        cells = np.bincount(place.reshape(-1) * len(CELLS) + cell, minlength=count)
        return Clusters(
            stratum[first],
            content[first],
            test[first],
            weight[first],
            cells.reshape(-1, len(CELLS)).astype(np.float64),
        )

    @property
    def repeated(self) -> bool:
        return int(self.cells.sum()) > len(np.unique(self.content))

    def of_stratum(self, h: int, mass: float | None = None) -> tuple[Cells, LabelSpread]:
        """Return a stratum's confusion and spread; ``mass`` is its size in verdicts, if known."""
        mine = self.stratum == h
        weight = self.weight[mine]
        cells = self.cells[mine]
        rows = weight * cells.sum(axis=1)
        total = float(rows.sum())
        labels = len(rows)
        if not labels:
            return Cells(), LabelSpread(0.0, 0.0, 0.0, mass or 0.0)
        counts = weight @ cells / total * cells.sum()
        factor = 1.0 if mass is None else mass / total
        contents = max(round(float(weight.sum()) * factor, 6), labels)
        effective = total**2 / float((rows**2).sum())
        return Cells(*counts.tolist()), LabelSpread(contents, labels, effective, total * factor)

    def effect(self, hits: Sequence[int], misses: Sequence[int], target: Target) -> Effect:
        """Return the design effect of the rate ``hits / (hits + misses)``, given as cells.

        Within strata, the squared residuals ``w(a - Rb)`` of the contents, a their hits and b their
        hits and misses, are divided by those of as many verdicts drawn one by one; at least 1. For
        such items those of cases are compared with those of single contents too, with t at C - 1
        degrees of freedom. Source: Miller 2024, arXiv 2411.00640; Kish 1965.
        """
        a = self.cells[:, list(hits)].sum(axis=1)
        b = a + self.cells[:, list(misses)].sum(axis=1)
        total = float(self.weight @ b)
        if not total:
            return ALONE
        rate = float(self.weight @ a) / total
        off = self.weight * (a - rate * b)
        deff = self._of_contents(a, b, rate, off, target)
        if target is Target.RUN:
            return Effect(deff)
        return self._of_tests(b, off, max(deff, self._of_run(b, rate, off)), rate)

    def _of_contents(self, a: Floats, b: Floats, rate: float, off: Floats, target: Target) -> float:
        size = self.cells.sum(axis=1)
        if not (size > 1).any():
            return 1.0
        found = expected = 0.0
        for h in np.unique(self.stratum):
            mine = self.stratum == h
            mass = self.weight[mine] * size[mine]
            m = len(mass)
            total = float(mass.sum())
            left = 1 - m / max(float(self.weight[mine].sum()), m) if target is Target.RUN else 1.0
            hit = float(self.weight[mine] @ a[mine]) / total
            miss = float(self.weight[mine] @ (b - a)[mine]) / total
            mean = hit * (1 - rate) - miss * rate
            variance = hit * (1 - rate) ** 2 + miss * rate**2 - mean**2
            expected += left * variance * float((mass**2).sum())
            found += left * float(((off[mine] - mean * mass) ** 2).sum())
        return max(found / expected, 1.0) if expected > 0 else 1.0

    def _of_run(self, b: Floats, rate: float, off: Floats) -> float:
        """Return the design effect of the run itself, as a sample of contents of unlike sizes."""
        size = self.cells.sum(axis=1)
        mass = self.weight * b
        n = float(mass.sum()) ** 2 / float((mass**2).sum())
        if not (size > 1).any() or n <= 1 or not 0 < rate < 1:
            return 1.0
        found = n / (n - 1) * float((off**2 / self.weight).sum()) / float(mass.sum())
        contents = 0.0
        for h in np.unique(self.stratum):
            mine = self.stratum == h
            rows = self.weight[mine] * size[mine]
            kish = float(rows.sum()) ** 2 / float((rows**2).sum()) / len(rows)
            contents += float(self.weight[mine].sum()) * kish
        return found * contents / float(self.weight @ size) / (rate * (1 - rate))

    def _of_tests(self, b: Floats, off: Floats, deff: float, rate: float) -> Effect:
        known = b > 0
        tests = self.test[known]
        contents = self.content[known]
        n = len(np.unique(contents))
        c = len(np.unique(tests))
        grouped = 1 < c < n
        if not grouped and len(contents) == int(self.cells[known].sum()):
            return ALONE
        mass = (self.weight * b)[known]
        # Groups of unequal size have the degrees of freedom of this many groups of one size.
        groups = float(mass.sum()) ** 2 / _squares(mass, tests if grouped else contents)
        z = t_quantile(0.975, max(groups - 1, 1))
        if not grouped:
            return Effect(deff, z)
        most = _squares(mass, tests) / _squares(mass, contents)
        alone = n / (n - 1) * _squares(off[known], contents)
        together = c / (c - 1) * _squares(off[known], tests)
        wrong = off < 0 if rate > 0.5 else off > 0
        k = len(np.unique(self.test[wrong & known]))
        excess = max(together / alone - 1, 0.0) if k and alone > 0 else 0.0
        excess = (k * min(excess, most - 1) + most - 1) / (k + 1)
        return Effect(deff * (1 + excess), z)


def _squares(values: Floats, groups: Ints) -> float:
    place = np.unique(groups, return_inverse=True)[1]
    return float((np.bincount(place, weights=values) ** 2).sum())
