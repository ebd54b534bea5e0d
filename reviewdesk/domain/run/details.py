"""Records about one run as a whole: its line in the list of runs, its counts and its details."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from reviewdesk.domain.assessment.result import Breach, Flag
from reviewdesk.domain.records import Progress, Run
from reviewdesk.domain.run.packing import Bar
from reviewdesk.domain.verdict import Decision


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
    """A run's alphas, on scores with its 95% interval, on votes, ordinal; why they are ``None``."""

    alpha: float | None = None
    alpha_low: float | None = None
    alpha_high: float | None = None
    alpha_votes: float | None = None
    alpha_ordinal: float | None = None
    reasons: Mapping[str, Undefined] = {}


class RunMeasures(Struct, frozen=True):
    """The figures of all ballots of a run; ``mass`` is ``W = Σ m·s²``, ``None`` for 0."""

    names: tuple[str, ...]
    quorums: tuple[Bar, ...]
    alphas: RunAlphas
    mass: float | None


class DecisionCounts(Struct, frozen=True):
    """A run's verdicts counted by decision, by flag and by breach."""

    decisions: Mapping[Decision | None, int]
    flags: Mapping[Flag, int]
    breaches: Mapping[Breach, int] = {}
    unanimous_scores: int = 0
    """Verdicts with two or more scores, all equal."""
    unanimous_votes: int = 0
    """Verdicts with two or more votes, all equal."""
    unknown_ballots: int = 0
    """Ballots whose answer was not understood."""


class RunLine(Struct, frozen=True):
    """A run in the list of runs, with the number of labelled verdicts and its alphas."""

    run: Run
    labelled: int
    alphas: RunAlphas = RunAlphas()


class LabelCounts(Struct, frozen=True):
    """Counts of a run's labelled verdicts; ``decided`` are those with a pass or a fail."""

    decided: int
    unsure: int
    disputed: int

    @property
    def given(self) -> int:
        return self.decided + self.unsure + self.disputed


class RunDetails(Struct, frozen=True):
    """Everything about one run; ``unlabelled`` counts human labels that only the file has."""

    run: Run
    filled: Mapping[str, Any]
    tally: DecisionCounts
    labels: LabelCounts
    desk: str
    alphas: RunAlphas = RunAlphas()
    unlabelled: int = 0
    progress: Progress | None = None
    """The progress of the reviewer; ``None`` if it was not counted."""
