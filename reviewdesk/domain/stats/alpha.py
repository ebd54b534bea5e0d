"""Krippendorff's alpha of a run: how far its jurors agree beyond chance.

The units are a matrix ``[verdicts, jurors]``, NaN where a ballot is missing. A unit is *pairable*
if it has two ballots or more; other units count in neither observed nor expected disagreement.
Every function raises ValueError if the units are no matrix or a ballot is infinite.
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
"""The fewest pairable units for which an interval is given."""
_BLOCK = 8192
"""Units processed at a time, so that intermediate arrays stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class AlphaState:
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
    def of(units: Units) -> AlphaState:
        """Compute the state of one part; raise ValueError if a value is infinite."""
        given, state = _matrix(units), AlphaState()
        for start in range(0, len(given), _BLOCK):
            state = state.merge(_Pairable.of(given[start : start + _BLOCK]).state())
        return state

    def merge(self, other: AlphaState) -> AlphaState:
        """Return the state of both parts together; associative and commutative up to rounding."""
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
        """Whether the values differ at all. A spread under 1e-9 of their size is rounding."""
        return not self._is_rounding(self.M2)

    @property
    def splits(self) -> bool:
        """Whether the ballots of any unit differ. A spread under 1e-9 of their size is rounding."""
        return not self._is_rounding(self.W)

    def _is_rounding(self, squares: float) -> bool:
        return squares <= SLACK**2 * (self.M2 + self.N * self.mean**2)

    @property
    def alpha(self) -> float | None:
        """Alpha ``1 - (W/N)/S²``, ``S² = M2/(N - 1)``; ``None`` without pairs or variation."""
        if not self.varies:
            return None
        return 1 - (self.W / self.N) / (self.M2 / (self.N - 1))


@dataclass(frozen=True, slots=True)
class Contributions:
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
    """Compute ordinal alpha: interval alpha on the mid-ranks of all pairable ballots.

    ``None`` without pairs or variation.
    """
    found = _Pairable.of(units)
    _, place, count = np.unique(
        found.values[found.present], return_inverse=True, return_counts=True
    )
    middle = np.cumsum(count) - (count - 1) / 2
    ranks = np.full(found.values.shape, np.nan)
    ranks[found.present] = middle[place]
    return AlphaState.of(ranks.T).alpha


def alpha_nominal(units: Units) -> float | None:
    """Compute nominal alpha ``1 - D_o / D_e`` of votes or coded labels, which match or differ.

    D_o is the share of unlike pairs within units (each pair weighted by 1/(m - 1)), D_e the share
    among all N pairable ballots. ``None`` without pairs or variation.
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
    """Return each unit's part in the interval alpha; ``None`` if alpha is undefined."""
    found = _Pairable.of(units)
    state = found.state()
    if state.alpha is None:
        return None
    pooled = state.M2 / (state.N - 1)
    contribution, weight = np.full(len(found.kept), np.nan), np.zeros(len(found.kept))
    contribution[found.kept] = 1 - found.squares() / (found.ballots - 1) / pooled
    weight[found.kept] = found.ballots / state.N
    return Contributions(contribution, weight, state.alpha)


def interval_ci(units: Units, level: float = 0.95) -> tuple[float, float] | None:
    """Return the ends of interval alpha at ``level``: a jackknife over the n pairable units.

    It uses ``log(1 - alpha)`` and t with n - 1 degrees of freedom; alpha without one unit is a
    closed form of the sums. ``None`` under ten pairable units, and if alpha is undefined or 1 with
    all units or without one of them. Source: Efron and Stein 1981.
    """
    found = _Pairable.of(units)
    state, n = found.state(), len(found.ballots)
    if n < ENOUGH or not (state.varies and state.splits):
        return None
    left = state.N - found.ballots
    off = found.means() - state.mean
    spread = state.M2 - found.squares() - off**2 * (found.ballots * (state.N / left))
    within = state.W - found.within()
    # A tiny difference of two nearly equal sums is rounding, and would look like agreement.
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
    """The p pairable units by seat: ``values`` ``[s, p]``, 0 unless ``present`` ``[s, p]``.

    ``ballots`` ``[p]`` counts the ballots of each, and ``kept`` marks them among all units.
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
        """Return each unit's mean: ``[p]``."""
        made: Floats = self.values.sum(axis=0) / self.ballots
        return made

    def squares(self) -> Floats:
        """Return each unit's sum of squared distances from its mean: ``[p]``."""
        apart = (self.values - self.means()) * self.present
        made: Floats = np.einsum("ij,ij->j", apart, apart)
        return made

    def within(self) -> Floats:
        """Return each unit's ``m·s²``: ``[p]``."""
        made: Floats = self.squares() * (self.ballots / (self.ballots - 1))
        return made

    def state(self) -> AlphaState:
        """Compute the sums behind alpha; M2 adds the squares within units and between them."""
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
