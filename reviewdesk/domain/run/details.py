"""Records about one run as a whole: its line in the list of runs, its counts and its details."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from reviewdesk.domain.assessment.flag_words import Breach
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.records import Progress, Run
from reviewdesk.domain.run.measures import RunAlphas
from reviewdesk.domain.verdict import Decision


class DecisionCounts(Struct, frozen=True):
    """A run's verdicts counted by decision, by flag and by breach."""

    decisions: Mapping[Decision | None, int]
    flags: Mapping[Flag, int]
    breaches: Mapping[Breach, int] = field(default_factory=dict)
    unanimous_scores: int = 0
    """Verdicts with two or more scores, all equal."""
    unanimous_votes: int = 0
    """Verdicts with two or more votes, all the same."""
    unknown_ballots: int = 0
    """Ballots whose answer was not understood."""


class RunLine(Struct, frozen=True):
    """A run in the list of runs, with the number of labelled verdicts and its alphas."""

    run: Run
    labelled: int
    alphas: RunAlphas = field(default_factory=RunAlphas)


class StratumDraw(Struct, frozen=True):
    """A stratum of a run's draw, with its number of verdicts and the size of its audit."""

    name: str
    size: int
    audit: int


class LabelCounts(Struct, frozen=True):
    """Counts of a run's labelled verdicts; ``decided`` are those with a pass or a fail."""

    decided: int
    unsure: int
    disputed: int

    @property
    def given(self) -> int:
        return self.decided + self.unsure + self.disputed


class RunDetails(Struct, frozen=True):
    """Everything about one run. ``filled`` is the policy that the user gave when loading it.

    ``unlabelled`` counts the verdicts with a human label in the file but no label in this desk.
    """

    run: Run
    file_hash: str
    filled: Mapping[str, Any]
    tally: DecisionCounts
    strata: tuple[StratumDraw, ...]
    labels: LabelCounts
    desk: str
    head: str
    alphas: RunAlphas = field(default_factory=RunAlphas)
    unlabelled: int = 0
    progress: Progress | None = None
    """How far the reviewer has come; ``None`` where it was not counted."""
