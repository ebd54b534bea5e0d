"""Finds jurors of a run that vote alike more often than independent jurors would."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from reviewdesk.domain.run.columns import Columns, Ints

MOST_PAIRS = 500
"""The most pairs that are kept: those with the most verdicts in common."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Counts over the n verdicts on which both jurors of a pair voted."""

    n: int
    alike: int
    first_passes: int
    second_passes: int

    @property
    def share(self) -> float | None:
        """The share of equal votes, ``alike / n``; ``None`` without a verdict in common."""
        return self.alike / self.n if self.n else None

    @property
    def expected(self) -> float | None:
        """The share of equal votes of independent jurors: ``p q + (1 - p)(1 - q)``.

        ``p`` and ``q`` are the pass rates over the verdicts in common; ``None`` without one.
        """
        if not self.n:
            return None
        p, q = self.first_passes / self.n, self.second_passes / self.n
        return p * q + (1 - p) * (1 - q)

    @property
    def z(self) -> float | None:
        """The distance of ``alike`` from its expectation, in standard deviations.

        Given a and b passes, the number of common passes is hypergeometric, and ``alike`` changes
        by two with each, so that ``sd = 2 sqrt(a b (n - a) (n - b) / (n^2 (n - 1)))``. ``None`` if
        a juror always votes the same, or under two verdicts. Source: Fisher 1935, fixed margins.
        """
        n, a, b = self.n, self.first_passes, self.second_passes
        spread = a * b * (n - a) * (n - b)
        if n < 2 or not spread or self.expected is None:
            return None
        return (self.alike - n * self.expected) / (2 * math.sqrt(spread / (n * n * (n - 1))))


@dataclass(frozen=True, slots=True)
class JurorPair:
    """Two jurors of a run; good jurors too agree beyond ``expected``, since they judge one truth.

    ``halves`` are the first and the second half of the run's verdicts, in file order, and show a
    pair that begins to agree. Both jurors scored ``scored`` verdicts, ``equal_scores`` of them
    equally.
    """

    first: str
    second: str
    votes: Alike
    halves: tuple[Alike, Alike]
    scored: int
    equal_scores: int


def pairs(columns: Columns) -> tuple[JurorPair, ...]:
    """Return the ``MOST_PAIRS`` pairs of jurors that sat on most verdicts together, most first."""
    counts: dict[tuple[int, int], Ints] = {}
    for codes, facts in _seat_pairs(columns):
        different, places = np.unique(codes, return_inverse=True)
        sums = np.stack([np.bincount(places, fact, len(different)) for fact in facts], axis=1)
        for code, row in zip(different.tolist(), sums.astype(np.int64), strict=True):
            key = divmod(code, len(columns.names))
            counts[key] = counts[key] + row if key in counts else row
    most = sorted(counts, key=lambda key: (-int(counts[key][[0, 4]].sum()), key))[:MOST_PAIRS]
    return tuple(_pair(columns.names, key, counts[key].tolist()) for key in most)


def _seat_pairs(columns: Columns) -> Iterator[tuple[Ints, list[Ints]]]:
    """Yield for every two seats each verdict's pair of jurors as a code, and its counts (0, 1)."""
    early = np.arange(len(columns)) < (len(columns) + 1) // 2
    for i, j in combinations(range(columns.juror.shape[1]), 2):
        both = (columns.juror[:, i] >= 0) & (columns.juror[:, j] >= 0)
        swap = columns.juror[both, i] > columns.juror[both, j]
        first, second = (np.where(swap, columns.juror[both, b], columns.juror[both, a])
                         for a, b in ((i, j), (j, i)))  # fmt: skip
        one, other = (np.where(swap, columns.votes[both, b], columns.votes[both, a])
                      for a, b in ((i, j), (j, i)))  # fmt: skip
        voted = (one >= 0) & (other >= 0)
        scores = columns.scores[both, i], columns.scores[both, j]
        scored = ~(np.isnan(scores[0]) | np.isnan(scores[1]))
        halves = [voted & early[both], voted & ~early[both]]
        facts = [
            fact
            for half in halves
            for fact in (half, half & (one == other), half & (one == 1), half & (other == 1))
        ]
        facts += [scored, scored & (scores[0] == scores[1])]
        yield first * len(columns.names) + second, [fact.astype(np.int64) for fact in facts]


def _pair(names: tuple[str, ...], key: tuple[int, int], found: list[int]) -> JurorPair:
    early, late = Alike(*found[:4]), Alike(*found[4:8])
    both = Alike(*(a + b for a, b in zip(found[:4], found[4:8], strict=True)))
    return JurorPair(names[key[0]], names[key[1]], both, (early, late), found[8], found[9])
