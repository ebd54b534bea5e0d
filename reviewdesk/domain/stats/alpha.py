"""Krippendorff's alpha of a run: how far its jurors agree beyond what chance would give.

Units are a matrix ``[verdicts, jurors]``, NaN where a ballot is missing. A unit is *pairable* with
two ballots or more; the others are left out of the observed and of the expected disagreement.
Source: Krippendorff, Content Analysis, 4th ed., ch. 12; Hayes and Krippendorff 2007.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.stats.student import t_quantile
from reviewdesk.domain.verdict import SLACK

Floats: TypeAlias = npt.NDArray[np.float64]
Units: TypeAlias = Floats | Sequence[Sequence[float | None]]

ENOUGH = 10
"""Units from which an interval is given."""
_BLOCK = 8192
"""Units worked on at once, so that what lies between the steps stays in the processor's cache."""


@dataclass(frozen=True, slots=True)
class AlphaState:
    """What the interval alpha of a run rests on; states of disjoint parts merge to the whole's.

    ``units`` pairable ones, their ``N`` ballots, the ``mean`` of these, ``M2`` their squared
    distances from it, and ``W = Σ m·s²`` within units (m ballots, s² their sample variance).
    """

    units: int = 0
    N: int = 0
    mean: float = 0.0
    M2: float = 0.0
    W: float = 0.0

    @staticmethod
    def of(units: Units) -> AlphaState:
        """The state of one part; ``ValueError`` where a value is infinite."""
        given, state = _matrix(units), AlphaState()
        for start in range(0, len(given), _BLOCK):
            state = state.merge(_Pairable.of(given[start : start + _BLOCK]).state())
        return state

    def merge(self, other: AlphaState) -> AlphaState:
        """The state of both parts together: associative and commutative to rounding."""
        if not self.N or not other.N:
            return self if self.N else other
        total, step = self.N + other.N, other.mean - self.mean
        return AlphaState(
            units=self.units + other.units,
            N=total,
            mean=self.mean + step * (other.N / total),
            M2=self.M2 + other.M2 + step * step * (self.N * (other.N / total)),
            W=self.W + other.W,
        )

    @property
    def varies(self) -> bool:
        """Whether the values differ at all; a spread under 1e-9 of their size is rounding."""
        return not self._is_rounding(self.M2)

    @property
    def splits(self) -> bool:
        """Whether any unit's ballots differ, by the same measure."""
        return not self._is_rounding(self.W)

    def _is_rounding(self, squares: float) -> bool:
        return squares <= SLACK**2 * (self.M2 + self.N * self.mean**2)

    @property
    def alpha(self) -> float | None:
        """``1 - (W / N) / S²`` with ``S² = M2 / (N - 1)``; ``None`` without pairs or variation."""
        if not self.varies:
            return None
        return 1 - (self.W / self.N) / (self.M2 / (self.N - 1))


@dataclass(frozen=True, slots=True)
class Contributions:
    """What each unit adds to the run's alpha: ``contribution`` and ``weight`` are ``[units]``.

    ``contribution = 1 - s² / S²`` and ``weight = m / N``; their products sum to ``alpha``. A unit
    that is not pairable has a NaN contribution and weight 0.
    """

    contribution: Floats
    weight: Floats
    alpha: float


def alpha_interval(units: Units) -> float | None:
    """Interval alpha ``1 - Σ (m/N)·(s²/S²)``; ``None`` without pairs or without variation.

    s² is a unit's sample variance over its m ballots, S² that of all N pairable ballots.
    """
    return AlphaState.of(units).alpha


def alpha_ordinal(units: Units) -> float | None:
    """Ordinal alpha: interval alpha on the mid-ranks of all pairable ballots; ``None`` likewise."""
    found = _Pairable.of(units)
    _, place, count = np.unique(
        found.values[found.present], return_inverse=True, return_counts=True
    )
    middle = np.cumsum(count) - (count - 1) / 2
    ranks = np.full(found.values.shape, np.nan)
    ranks[found.present] = middle[place]
    return AlphaState.of(ranks.T).alpha


def alpha_nominal(units: Units) -> float | None:
    """Nominal alpha of votes or coded labels: values are alike or not; ``None`` likewise.

    ``1 - D_o / D_e``, D_o the share of unlike pairs within units (each pair over m - 1), D_e that
    among all N pairable ballots.
    """
    found = _Pairable.of(units)
    _, count = np.unique(found.values[found.present], return_counts=True)
    if len(count) < 2:
        return None
    alike = np.zeros(len(found.ballots), np.int64)
    for lag in range(1, len(found.values)):
        both = found.present[lag:] & found.present[:-lag]
        alike += ((found.values[lag:] == found.values[:-lag]) & both).sum(axis=0)
    total = int(found.ballots.sum())
    observed = 1 - float((2 * alike / (found.ballots - 1)).sum()) / total
    expected = 1 - float((count / total * ((count - 1) / (total - 1))).sum())
    return 1 - observed / expected


def contributions(units: Units) -> Contributions | None:
    """Each given unit's part in the interval alpha; ``None`` where alpha is undefined."""
    found = _Pairable.of(units)
    state = found.state()
    if state.alpha is None:
        return None
    pooled = state.M2 / (state.N - 1)
    contribution, weight = np.full(len(found.kept), np.nan), np.zeros(len(found.kept))
    contribution[found.kept] = 1 - found.squares() / (found.ballots - 1) / pooled
    weight[found.kept] = found.ballots / state.N
    return Contributions(contribution, weight, state.alpha)


def shares(units: Units) -> Floats:
    """Each verdict's share ``m·s² / W`` of the run's disagreement, ``[verdicts]``, summing to 1.

    NaN under two ballots, and everywhere where nobody disagrees.
    """
    found = _Pairable.of(units)
    state, made = found.state(), np.full(len(found.kept), np.nan)
    if state.splits:
        made[found.kept] = found.within() / state.W
    return made


def interval_ci(units: Units, level: float = 0.95) -> tuple[float, float] | None:
    """Interval of the interval alpha: a jackknife over units on ``log(1 - alpha)`` with t(n - 1).

    ``None`` under ten pairable units, and where alpha, or alpha without some one unit, is undefined
    or 1. Leaving out a unit is a closed form of the sums. Source: Efron and Stein 1981.
    """
    found = _Pairable.of(units)
    state, n = found.state(), len(found.ballots)
    if n < ENOUGH or not (state.varies and state.splits):
        return None
    left = state.N - found.ballots
    off = found.means() - state.mean
    spread = state.M2 - found.squares() - off**2 * (found.ballots * (state.N / left))
    within = state.W - found.within()
    # What is left of a difference of like sums is rounding, and would pass for agreement.
    if (spread <= 1e-12 * state.M2).any() or (within <= 1e-12 * state.W).any():
        return None
    whole = math.log(state.W / state.N / (state.M2 / (state.N - 1)))
    without = np.log(within / left / (spread / (left - 1)))
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    half = t_quantile((1 + level) / 2, n - 1) * error
    return 1 - math.exp(whole + half), 1 - math.exp(whole - half)


def _matrix(units: Units) -> Floats:
    given = np.asarray(units, dtype=np.float64)
    if given.ndim == 2:
        return given
    if given.size:
        raise ValueError("units are a matrix: a row for each verdict, a column for each juror")
    return np.zeros((len(given), 0))


@dataclass(frozen=True, slots=True)
class _Pairable:
    """The p pairable units, seat after seat: ``values`` ``[s, p]`` (0 where missing), ``present``.

    ``ballots`` ``[p]`` are how many each has, and ``kept`` marks their places among all units.
    """

    values: Floats
    present: npt.NDArray[np.bool_]
    ballots: Floats
    kept: npt.NDArray[np.bool_]

    @staticmethod
    def of(units: Units) -> _Pairable:
        given = np.ascontiguousarray(_matrix(units).T)
        if np.isinf(given).any():
            raise ValueError("a ballot is a finite number, or NaN where it is missing")
        present = ~np.isnan(given)
        ballots = present.sum(axis=0).astype(np.float64)
        kept = ballots >= 2
        if not kept.all():
            given, present, ballots = given[:, kept], present[:, kept], ballots[kept]
        return _Pairable(np.where(present, given, 0.0), present, ballots, kept)

    def means(self) -> Floats:
        """Each unit's mean."""
        made: Floats = self.values.sum(axis=0) / self.ballots
        return made

    def squares(self) -> Floats:
        """Each unit's squared distances from its own mean."""
        apart = (self.values - self.means()) * self.present
        made: Floats = np.einsum("ij,ij->j", apart, apart)
        return made

    def within(self) -> Floats:
        """Each unit's ``m·s²``."""
        made: Floats = self.squares() * (self.ballots / (self.ballots - 1))
        return made

    def state(self) -> AlphaState:
        """What alpha rests on; M2 is what lies within units and what lies between them."""
        total = int(self.ballots.sum())
        if not total:
            return AlphaState()
        means, squares = self.means(), self.squares()
        mean = float((self.ballots * means).sum()) / total
        return AlphaState(
            units=len(self.ballots),
            N=total,
            mean=mean,
            M2=float(squares.sum() + (self.ballots * (means - mean) ** 2).sum()),
            W=float((squares * (self.ballots / (self.ballots - 1))).sum()),
        )
