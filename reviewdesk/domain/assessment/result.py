"""What the recomputation of a verdict finds, as one record."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_

from msgspec import Struct

from reviewdesk.domain.assessment.flag_words import Breach, Flag, FlagNote, Mismatch
from reviewdesk.domain.assessment.seats import Seat
from reviewdesk.domain.jury.records import STOPPED_EARLY, AgreementPair, LabelVote, Spread
from reviewdesk.domain.jury.strategies import Rule, Votes
from reviewdesk.domain.jury.trim import Trim
from reviewdesk.domain.verdict import Band, Decision


class Values(Struct, frozen=True):
    """The panel score under each rule; ``None`` without a score or without what the rule reads."""

    mean: float | None
    trimmed_mean: float | None
    median: float | None
    weighted_average: float | None
    highest: float | None
    lowest: float | None
    majority: float | None = None
    """1.0 or 0.0; ``None`` on a tie."""
    unanimous: float | None = None
    """The mean if all votes agree, else ``None``."""


class Decisions(Struct, frozen=True):
    """The decision of each rule; ``None`` if nobody voted or a threshold or quorum is missing.

    All of them are an error if too few jurors answered.
    """

    quorum: Decision | None
    quorum_strict: Decision | None
    quorum_answered: Decision | None
    trimmed_mean: Decision | None
    median: Decision | None
    mean: Decision | None
    majority: Decision | None
    unanimous: Decision | None
    weighted_average: Decision | None
    highest: Decision | None
    lowest: Decision | None
    supermajority: Decision | None


class Closeness(Struct, frozen=True):
    """Agreement figures recomputed from the ballots."""

    spread: Spread
    alpha: float | None
    closeness: float | None
    sd: float | None
    range: float | None
    margin: float | None


class Assessment(Struct, frozen=True):
    """A recomputed verdict. ``derived`` names the fields that the report omits and we filled in."""

    seats: tuple[Seat, ...]
    votes: Votes
    values: Values
    decisions: Decisions
    trim: Trim
    agreement: Closeness
    rule: Rule
    decision: Decision | None
    score: float | None
    pair: AgreementPair
    """The agreement and its band, which are always shown together."""
    same_family: bool | None
    bias_warning: str | None
    pivotal: tuple[int, ...]
    degraded: tuple[str, ...]
    absent: str | None
    """Why answers that are not there leave no outcome, or one that they could change."""
    escalation: tuple[str, ...]
    """The recomputed reasons for an escalation; empty if there are none."""
    breaches: tuple[Mismatch, ...]
    derived: tuple[str, ...]
    notes: tuple[FlagNote, ...] = ()
    label_vote: LabelVote | None = None
    """The consensus of the labels if the rule reads them, else ``None``."""
    labels: Mapping[str, int] = {}
    """How many jurors said each label, if labels and not votes are what they said, else empty."""
    assumed_weights: tuple[str, ...] = ()
    """The jurors without a known weight, counted with weight 1 under a rule that weighs."""
    no_votes: bool = False
    """Whether there is no decision because no juror cast a vote."""

    @property
    def band(self) -> Band | None:
        """The band that belongs to the agreement."""
        return self.pair.band

    @property
    def flags(self) -> Flag:
        """All flags combined in one value."""
        return reduce(or_, (note.flag for note in self.notes), Flag(0))

    @property
    def split(self) -> bool:
        """Whether the jurors differ: in the labels if they said labels, else in pass and fail."""
        return len(self.labels) > 1 if self.labels else self.votes.split

    @property
    def stopped_early(self) -> bool:
        """Whether the panel stopped before it had asked every juror."""
        return self.agreement.spread.reason == STOPPED_EARLY

    @property
    def unanimous_scores(self) -> bool:
        """Whether two or more scores are all equal, and every juror was asked."""
        return (
            self.agreement.sd is not None and self.agreement.range == 0 and not self.stopped_early
        )

    @property
    def unanimous_votes(self) -> bool:
        """Whether two or more votes are all the same, and every juror was asked."""
        return self.votes.answered > 1 and not self.split and not self.stopped_early

    @property
    def ruled(self) -> Decision | None:
        """The decision to compare with other rules; ``None`` if it is an error that we derived.

        Too few answers are an error under every rule, so that one is compared.
        """
        ours = self.decision is Decision.ERROR and "decision" in self.derived
        few = self.decisions.majority is Decision.ERROR
        return None if ours and not few else self.decision

    @property
    def mismatches(self) -> tuple[str, ...]:
        """The texts of the breaches."""
        return tuple(breach.text for breach in self.breaches)

    @property
    def marks(self) -> Breach:
        """All breaches combined in one value, with ``ROUNDING`` if rounding decides the quorum."""
        rounded = self.decisions.quorum is not self.decisions.quorum_strict
        start = Breach.ROUNDING if rounded else Breach(0)
        return reduce(or_, (breach.kind for breach in self.breaches), start)
