"""The figures computed from a whole run's ballots, and why one of them may be undefined."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from reviewdesk.domain.run.packing import Bar


class Undefined(StrEnum):
    """The reason why a figure of a run is undefined."""

    NO_PAIRS = "no_pairs"
    NO_VARIATION = "no_variation"
    FEW_UNITS = "under_ten_units"
    NO_DISAGREEMENT = "no_disagreement"
    ONE_UNIT = "rests_on_one_unit"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS = {
    Undefined.NO_PAIRS: "no verdict has two answers to compare",
    Undefined.NO_VARIATION: "all ballots are the same",
    Undefined.FEW_UNITS: "an interval needs ten verdicts with two ballots",
    Undefined.NO_DISAGREEMENT: "no two jurors of a verdict disagree",
    Undefined.ONE_UNIT: "it rests on a single verdict",
}


class RunAlphas(Struct, frozen=True):
    """A run's alphas; ``reasons`` says by name why one of them is ``None``.

    ``alpha`` is the interval alpha on scores, ``alpha_low`` and ``alpha_high`` its 95% interval,
    ``alpha_votes`` the nominal alpha on votes, ``alpha_ordinal`` the ordinal alpha on the scores.
    """

    alpha: float | None = None
    alpha_low: float | None = None
    alpha_high: float | None = None
    alpha_votes: float | None = None
    alpha_ordinal: float | None = None
    reasons: Mapping[str, Undefined] = field(default_factory=dict)


class RunMeasures(Struct, frozen=True):
    """The figures of a run, computed once all of its ballots have been packed.

    ``mass`` is the disagreement ``W = Σ m·s²`` of all verdicts; ``None`` if no jurors disagree.
    """

    names: tuple[str, ...]
    quorums: tuple[Bar, ...]
    alphas: RunAlphas
    mass: float | None
