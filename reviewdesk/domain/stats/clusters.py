"""The effect on a rate of several verdicts on one content, and of several contents of one case.

The verdicts on a content share its label, so a label of fifty verdicts is one observation and not
fifty. Contents of one case (its epochs, say) are alike, which matters for such items.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from reviewdesk.domain.stats.calibration import Bools, Floats, Ints
from reviewdesk.domain.stats.correction import CELLS, Cells
from reviewdesk.domain.stats.distributions import t_quantile
from reviewdesk.domain.stats.figures import ALONE, Effect, LabelSpread, Target


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
        """Gather verdicts, each with the index of its cell, by content and stratum.

        Return ``None`` if no two of them share a content or a case.
        """
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
    def tests(self) -> int:
        return len(np.unique(self.test))

    @property
    def repeated(self) -> bool:
        return int(self.cells.sum()) > len(np.unique(self.content))

    def among(self, kept: Bools) -> "Clusters":
        return Clusters(*(getattr(self, name)[kept] for name in Clusters.__struct_fields__))

    def of_stratum(self, h: int, mass: float | None = None) -> tuple[Cells, LabelSpread]:
        """Return a stratum's confusion and spread; ``mass`` is its size in verdicts, if known."""
        mine = self.among(self.stratum == h)
        rows = mine.weight * mine.cells.sum(axis=1)
        total = float(rows.sum())
        labels = len(rows)
        if not labels:
            return Cells(), LabelSpread(0.0, 0.0, 0.0, mass or 0.0)
        cells = mine.weight @ mine.cells / total * mine.cells.sum()
        factor = 1.0 if mass is None else mass / total
        contents = max(round(float(mine.weight.sum()) * factor, 6), labels)
        effective = total**2 / float((rows**2).sum())
        return Cells(*cells.tolist()), LabelSpread(contents, labels, effective, total * factor)

    def effect(self, hits: Sequence[int], misses: Sequence[int], target: Target) -> Effect:
        """Return the design effect of the rate ``hits / (hits + misses)``, given as cells.

        Within strata, the squared residuals ``w(a - Rb)`` of the contents, a their hits and b their
        hits and misses, are divided by those of as many verdicts drawn one by one; at least 1. For
        such items those of the whole run are compared too, and those of cases with those of single
        contents: ``C/(C-1) Σ_c(Σ r)²`` over ``n/(n-1) Σ r²``, with t at C - 1 degrees of freedom
        for z. The excess over 1 is averaged with that of cases whose contents are all alike, which
        counts as one wrong case: without an observed error the effective number of labels is C.
        Source: Miller 2024, arXiv 2411.00640; Kish 1965.
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
