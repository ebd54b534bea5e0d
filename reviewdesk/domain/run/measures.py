"""What is worked out of a whole run's ballots, and why a figure of it may be undefined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.audit.mismatches import Breach
from reviewdesk.domain.run.packing import Bar


class Undefined(StrEnum):
    """Why a run has no such figure."""

    NO_PAIRS = "no_pairs"
    NO_VARIATION = "no_variation"
    FEW_UNITS = "under_ten_units"
    NO_DISAGREEMENT = "no_disagreement"
    ONE_UNIT = "rests_on_one_unit"
    NOT_MEASURED = "not_measured"

    @property
    def words(self) -> str:
        """The reason in a sentence's place."""
        return _WORDS[self]


_WORDS = {
    Undefined.NO_PAIRS: "no verdict has two answers to compare",
    Undefined.NO_VARIATION: "all ballots are the same",
    Undefined.FEW_UNITS: "an interval needs ten verdicts with two ballots",
    Undefined.NO_DISAGREEMENT: "no two jurors of a verdict disagree",
    Undefined.ONE_UNIT: "it rests on a single verdict",
    Undefined.NOT_MEASURED: "loaded by an older version; opening the run works it out",
}


@dataclass(frozen=True, slots=True)
class RunAlphas:
    """A run's alphas; each that is ``None`` has its reason under its own name.

    ``alpha`` is the interval alpha on scores, ``alpha_low`` and ``alpha_high`` its 95% interval,
    ``alpha_votes`` the nominal alpha on votes, ``alpha_ordinal`` that on the ranks of the scores.
    """

    alpha: float | None = None
    alpha_low: float | None = None
    alpha_high: float | None = None
    alpha_votes: float | None = None
    alpha_ordinal: float | None = None
    reasons: Mapping[str, Undefined] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        """Whether the run has been measured at all."""
        return self.reasons.get("alpha") is not Undefined.NOT_MEASURED


UNMEASURED = RunAlphas(
    reasons=dict.fromkeys(
        ("alpha", "alpha_low", "alpha_high", "alpha_votes", "alpha_ordinal"),
        Undefined.NOT_MEASURED,
    )
)


@dataclass(frozen=True, slots=True)
class RunMeasures:
    """What is known of a run once all of its ballots have been packed.

    ``mass`` is the disagreement ``W = Σ m·s²`` of all verdicts; ``None`` where nobody disagrees.
    """

    names: tuple[str, ...]
    quorums: tuple[Bar, ...]
    alphas: RunAlphas
    mass: float | None


@dataclass(frozen=True, slots=True)
class Measures:
    """What one verdict adds: the range of its scores, its disagreement, the rules it breaks.

    ``mass`` is ``m·s²``, m the number of scores and s² their sample variance; ``None`` under two
    scores. Its share of the run's is what the verdict adds to ``1 - alpha``.
    """

    range: float | None
    mass: float | None
    marks: Breach

    @staticmethod
    def of(found: Assessment) -> Measures:
        """The measures of an assessed verdict."""
        close, m = found.agreement, sum(seat.ballot.score is not None for seat in found.seats)
        mass = None if close.sd is None else m * close.sd**2
        return Measures(close.range, mass, found.marks)
