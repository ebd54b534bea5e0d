"""Krippendorff's alpha of a run: how far its jurors agree beyond chance.

The units are a matrix ``[verdicts, jurors]``, NaN where a ballot is missing; the transpose of a
juror-major matrix is fastest. A unit is *pairable* if it has two ballots or more; other units
count in neither observed nor expected disagreement.
Every function raises ValueError if the units are not a matrix or a ballot is infinite.
Source: Krippendorff, Content Analysis, 4th ed., ch. 12; Hayes and Krippendorff 2007.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec import Struct

from reviewdesk.domain.stats.dense import Floats, Moments, Rows, cases, counted, dense, given, parts
from reviewdesk.domain.stats.distributions import t_quantile
from reviewdesk.domain.verdict import SLACK

Units = Floats | Sequence[Sequence[float | None]]

ENOUGH = 10
"""The fewest pairable units for which an interval is given."""


class AlphaState(Struct, frozen=True):
    """The sums that give a run's interval alpha; states of disjoint parts can be merged.

    ``units`` counts the pairable units and ``N`` their ballots, ``mean`` is the mean of these
    ballots, ``M2`` the sum of their squared distances from it, and ``W = Σ m·s²`` over the units
    (m ballots with sample variance s²).
    """

    units: int = 0
    N: int = 0
    mean: float = 0.0
    M2: float = 0.0
    W: float = 0.0

    @staticmethod
    def of(units: Units) -> "AlphaState":
        """Compute the state of one part; raise ValueError if a value is infinite."""
        state = AlphaState()
        for _, values in _pairable(units):
            m, k = values.shape
            means, squares = _spread(values)
            within = float(squares.sum())
            over = Moments.of(means)
            total = within + m * over.squares
            state = state.merge(AlphaState(k, m * k, over.mean, total, within * (m / (m - 1))))
        return state

    def merge(self, other: "AlphaState") -> "AlphaState":
        """Return the state of both parts together; associative and commutative up to rounding."""
        mine, theirs = (Moments(one.N, one.mean, one.M2) for one in (self, other))
        both = mine.merge(theirs)
        units = self.units + other.units
        return AlphaState(units, both.n, both.mean, both.squares, self.W + other.W)

    @property
    def splits(self) -> bool:
        return not self._is_rounding(self.W)

    def _is_rounding(self, squares: float) -> bool:
        return squares <= SLACK**2 * (self.M2 + self.N * self.mean**2)

    @property
    def alpha(self) -> float | None:
        if self._is_rounding(self.M2):
            return None
        return 1 - (self.W / self.N) / (self.M2 / (self.N - 1))


class NominalState(Struct, frozen=True):
    """The counts that give a run's nominal alpha; states of disjoint parts can be merged.

    ``values`` counts the pairable ballots of each value, and ``alike`` the pairs of like ballots
    within units, each weighted by 2/(m - 1).
    """

    values: tuple[tuple[float, int], ...] = ()
    alike: float = 0.0

    @staticmethod
    def of(units: Units) -> "NominalState":
        """Count one part; raise ValueError if a value is infinite."""
        count: Counter[float] = Counter()
        alike = 0.0
        for _, cast in _pairable(units):
            values, times = np.unique(cast, return_counts=True)
            count.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
            # Count the ballots of each unit that have the value; these form the like pairs.
            for value in values:
                same = counted(cast == value).astype(np.int64)
                alike += int((same * (same - 1)).sum()) / (len(cast) - 1)
        return NominalState(tuple(sorted(count.items())), alike)

    def merge(self, other: "NominalState") -> "NominalState":
        """Return the state of both parts together; associative and commutative up to rounding."""
        values = Counter(dict(self.values))
        values.update(dict(other.values))
        return NominalState(tuple(sorted(values.items())), self.alike + other.alike)

    @property
    def alpha(self) -> float | None:
        if len(self.values) < 2:
            return None
        count = np.array([count for _, count in self.values], np.int64)
        total = int(count.sum())
        observed = 1 - self.alike / total
        expected = 1 - float((count / total * ((count - 1) / (total - 1))).sum())
        return 1 - observed / expected


class Contributions(Struct, frozen=True):
    """Each unit's part in the run's interval alpha: ``contribution`` and ``weight``, ``[units]``.

    ``contribution = 1 - s² / S²`` and ``weight = m / N``; their products sum to ``alpha``. A unit
    that is not pairable has a NaN contribution and weight 0.
    """

    contribution: Floats
    weight: Floats
    alpha: float


def alpha_interval(units: Units) -> float | None:
    """Compute interval alpha ``1 - Σ (m/N)·(s²/S²)``; ``None`` without pairs or variation.

    s² is a unit's sample variance over its m ballots, S² that of all N pairable ballots.
    """
    return AlphaState.of(units).alpha


def alpha_ordinal(units: Units) -> float | None:
    """Compute interval alpha on mid-ranks of all ballots; ``None`` without pairs or variation."""
    _pairable(units)
    return rank_state(lambda: [_matrix(units).T]).alpha


def rank_state(blocks: Callable[[], Iterable[Floats]]) -> AlphaState:
    """Compute the state of mid-ranks of pairable ballots, given ``[jurors, verdicts]`` blocks."""
    values: Floats = np.empty(0)
    count: Floats = np.empty(0)
    for block in blocks():
        kept = block[:, np.asarray(given(block)) >= 2]
        more, times = np.unique(kept[~np.isnan(kept)], return_counts=True)
        values, place = np.unique(np.concatenate([values, more]), return_inverse=True)
        count = np.bincount(place, np.concatenate([count, times]), len(values)).astype(np.float64)
    middle = np.cumsum(count) - (count - 1) / 2
    state = AlphaState()
    for block in blocks() if len(values) else ():
        ranks = middle.take(values.searchsorted(block), mode="clip")
        state = state.merge(AlphaState.of(np.where(np.isnan(block), np.nan, ranks).T))
    return state


def alpha_nominal(units: Units) -> float | None:
    """Compute nominal alpha ``1 - D_o / D_e`` of votes or coded labels, which match or differ.

    D_o is the share of unlike pairs within units (each pair weighted by 1/(m - 1)), D_e the share
    among all N pairable ballots. ``None`` without pairs or variation.
    """
    return NominalState.of(units).alpha


def contributions(units: Units) -> Contributions | None:
    """Return each unit's part in the interval alpha; ``None`` if alpha is undefined."""
    state = AlphaState.of(units)
    if state.alpha is None:
        return None
    n = len(_matrix(units))
    pooled = state.M2 / (state.N - 1)
    contribution = np.full(n, np.nan)
    weight = np.zeros(n)
    for rows, values in _pairable(units):
        m = len(values)
        contribution[rows] = 1 - _spread(values)[1] / (m - 1) / pooled
        weight[rows] = m / state.N
    return Contributions(contribution, weight, state.alpha)


def interval_ci(units: Units, level: float = 0.95) -> tuple[float, float] | None:
    """Return the ends of interval alpha at ``level``: a jackknife over the n pairable units.

    It uses ``log(1 - alpha)`` and t with n - 1 degrees of freedom; alpha without one unit is a
    closed form of the sums. ``None`` under ten pairable units, and if alpha is undefined or 1 with
    all units or without one of them. Source: Efron and Stein 1981.
    """
    return merged_ci(AlphaState.of(units), [_matrix(units).T], level)


def merged_ci(
    state: AlphaState, blocks: Iterable[Floats], level: float = 0.95
) -> tuple[float, float] | None:
    """Return ``interval_ci`` from the merged state and juror-major blocks of all units."""
    n = state.units
    if n < ENOUGH or state.alpha is None or not state.splits:
        return None
    made = Moments()
    for values in (values for block in blocks for _, values in _pairable(block.T)):
        m = len(values)
        means, squares = _spread(values)
        left = state.N - m
        off = means - state.mean
        # The sums of all units but each one, in turn.
        spread = state.M2 - squares - off * off * (m * (state.N / left))
        within = state.W - squares * (m / (m - 1))
        # A tiny difference of two nearly equal sums is rounding, and would look like agreement.
        if spread.min() <= 1e-12 * state.M2 or within.min() <= 1e-12 * state.W:
            return None
        made = made.merge(Moments.of(np.log(within / spread * ((left - 1) / left))))
    whole = math.log(state.W / state.N / (state.M2 / (state.N - 1)))
    half = t_quantile((1 + level) / 2, n - 1) * math.sqrt((n - 1) / n * made.squares)
    return 1 - math.exp(whole + half), 1 - math.exp(whole - half)


def _matrix(units: Units) -> Floats:
    given = np.asarray(units, dtype=np.float64)
    if given.ndim == 2:
        return given
    if given.size:
        raise ValueError("units are a matrix: a row for each verdict, a column for each juror")
    return np.zeros((len(given), 0))


def _spread(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean of each column, and the sum of its squared distances from it."""
    means = values.mean(axis=0)
    return means, ((values - means) ** 2).sum(axis=0)


def _pairable(units: Units) -> list[tuple[Rows, Floats]]:
    """Return pairable units by their number m of ballots: rows, and finite ballots ``[m, k]``."""
    found = _matrix(units).T
    ends = (np.fmin.reduce(found, axis=None), np.fmax.reduce(found, axis=None)) if found.size else 0
    if np.isinf(ends).any():
        raise ValueError("a ballot is a finite number, or NaN where it is missing")
    made = []
    for (m,), rows in cases(given(found)):
        if m >= 2:
            (values,) = dense(rows, m, found)
            made += [
                (here if isinstance(rows, slice) else rows[here], values[:, here])
                for here in parts(values.shape[1])
            ]
    return made
