"""Finds jurors of a run that vote alike more often than independent jurors would."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from msgspec import Struct

from reviewdesk.domain.run.columns import Columns, Ints
from reviewdesk.domain.stats.dense import Rows, cases

MOST_PAIRS = 500
"""The most pairs that are kept: those with the most verdicts in common."""


class Alike(Struct, frozen=True):
    """Counts over the n verdicts on which both jurors of a pair voted."""

    n: int
    alike: int
    first_passes: int
    second_passes: int

    @property
    def share(self) -> float | None:
        return self.alike / self.n if self.n else None

    @property
    def expected(self) -> float | None:
        """The share of equal votes of independent jurors: ``p q + (1 - p)(1 - q)``.

        ``p`` and ``q`` are the pass rates over the verdicts in common; ``None`` without one.
        """
        if not self.n:
            return None
        p = self.first_passes / self.n
        q = self.second_passes / self.n
        return p * q + (1 - p) * (1 - q)

    @property
    def z(self) -> float | None:
        """The distance of ``alike`` from its expectation, in standard deviations.

        Given a and b passes, the number of common passes is hypergeometric, and ``alike`` changes
        by two with each, so that ``sd = 2 sqrt(a b (n - a) (n - b) / (n^2 (n - 1)))``. ``None`` if
        a juror always votes the same, or under two verdicts. Source: Fisher 1935, fixed margins.
        """
        n = self.n
        a = self.first_passes
        b = self.second_passes
        spread = a * b * (n - a) * (n - b)
        if n < 2 or not spread or self.expected is None:
            return None
        return (self.alike - n * self.expected) / (2 * math.sqrt(spread / (n * n * (n - 1))))


class JurorPair(Struct, frozen=True):
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
    for seats in combinations(range(len(columns.juror)), 2):
        for who, rows in cases(*columns.juror[list(seats)]):
            if min(who) >= 0:
                first, second = (seat for _, seat in sorted(zip(who, seats, strict=True)))
                key = (min(who), max(who))
                found = _counts(columns, first, second, rows)
                counts[key] = counts.get(key, 0) + np.array(found)
    most = sorted(counts, key=lambda key: (-int(counts[key][[0, 4]].sum()), key))[:MOST_PAIRS]
    return tuple(_pair(columns.names, key, counts[key].tolist()) for key in most)


def _counts(columns: Columns, first: int, second: int, rows: Rows) -> list[int]:
    """Count the votes of two seats on some verdicts, by half of the run, and their scores."""
    one = columns.votes[first, rows]
    other = columns.votes[second, rows]
    voted = (one >= 0) & (other >= 0)
    early = np.zeros(len(columns), np.bool_)
    early[: (len(columns) + 1) // 2] = True
    scores = columns.scores[first, rows], columns.scores[second, rows]
    scored = ~(np.isnan(scores[0]) | np.isnan(scores[1]))
    marks = [
        fact
        for half in (voted & early[rows], voted & ~early[rows])
        for fact in (half, half & (one == other), half & (one == 1), half & (other == 1))
    ]
    marks += [scored, scored & (scores[0] == scores[1])]
    return [int(np.count_nonzero(mark)) for mark in marks]


def _pair(names: tuple[str, ...], key: tuple[int, int], found: list[int]) -> JurorPair:
    early = Alike(*found[:4])
    late = Alike(*found[4:8])
    both = Alike(*(a + b for a, b in zip(found[:4], found[4:8], strict=True)))
    return JurorPair(names[key[0]], names[key[1]], both, (early, late), found[8], found[9])
