"""One recomputed verdict: its seats, its flags, and their names in words."""

from collections.abc import Iterable, Mapping
from enum import IntFlag, StrEnum
from functools import reduce
from operator import or_

from msgspec import Struct

from reviewdesk.domain.jury.family import Family
from reviewdesk.domain.jury.rules import STOPPED_EARLY, LabelVote, Rule, Spread, Trim, Votes
from reviewdesk.domain.values import AgreementSource
from reviewdesk.domain.verdict import Ballot, Band, Decision, Status, Strategy


class AgreementPair(Struct, frozen=True):
    """An agreement and its band from one source; ``metric`` is ``None`` for a band stated alone."""

    value: float | None
    band: Band | None
    source: AgreementSource
    metric: str | None

    @property
    def reported(self) -> bool:
        return self.source is AgreementSource.REPORTED


class Flag(IntFlag):
    """A fact that a reviewer should see. The values are stored: never renumber them."""

    ESCALATED = 1
    BIAS_WARNING = 2
    SAME_FAMILY = 4
    DERIVED_LOW = 8
    SPLIT = 16
    PIVOTAL = 32
    DEGRADED = 64
    REGIME_SENSITIVE = 128
    SINGLE_JUROR = 256
    DISPUTE = 512
    MISMATCH = 1024
    TRIMMED_DISSENT = 2048
    SUSPICIOUS_TEXT = 4096
    NO_VERDICT = 8192
    POSITION_FLIP = 16384

    @property
    def label(self) -> str:
        return (self.name or "").lower()


_SPELLED = {
    Flag.ESCALATED: ("esc", "escalated", "the report, or else its ballots, ask for a person"),
    Flag.BIAS_WARNING: ("bias", "bias", "stated, or jurors differ and one is of the same family"),
    Flag.TRIMMED_DISSENT: ("trim!", "dissent trimmed", "the trim left out a juror who disagreed"),
    Flag.PIVOTAL: ("pivot", "one vote decides", "a single vote would turn the decision"),
    Flag.DISPUTE: ("disp", "dispute", "a disputed item: the whole panel goes to a person"),
    Flag.NO_VERDICT: ("none", "no decision", "the panel came to neither pass nor fail"),
    Flag.SUSPICIOUS_TEXT: ("susp", "suspicious text", "a text speaks to its judge, or hides text"),
    Flag.POSITION_FLIP: ("order", "position flip", "a juror's vote follows the order of the pair"),
    Flag.REGIME_SENSITIVE: ("rule", "rules disagree", "quorum, mean and median decide differently"),
    Flag.MISMATCH: ("mism", "differs from its rule", "does not follow from its ballots or rule"),
    Flag.DEGRADED: ("degr", "few jurors", "jurors are missing, or too few for the trim"),
    Flag.DERIVED_LOW: ("low", "agreement low", "agreement recomputed from the ballots is low"),
    Flag.SPLIT: ("split", "votes split", "votes on both sides"),
    Flag.SAME_FAMILY: ("kin", "same model family", "a juror of the generator's own model family"),
    Flag.SINGLE_JUROR: ("one", "one juror", "one ballot only, so there is no agreement"),
}
"""The short name of each flag, its words, and its meaning, the most important first."""
SHORT = {flag: short for flag, (short, _, _) in _SPELLED.items()}
WORDS = {flag: words for flag, (_, words, _) in _SPELLED.items()}
MEANINGS = {flag: meaning for flag, (_, _, meaning) in _SPELLED.items()}


def in_words(flags: Flag) -> str:
    return ", ".join(word for flag, word in WORDS.items() if flag in flags)


class Breach(IntFlag):
    """A rule that a verdict may break; ``ROUNDING``, which is stored too, is not a mismatch."""

    QUORUM = 1
    DECISION = 2
    BAND = 4
    ESCALATION = 8
    SAME_FAMILY = 16
    TRIM = 32
    PASS_SCORE = 64
    LABEL = 128
    ROUNDING = 256
    STOPPED_EARLY = 512
    AGAINST_ALL = 1024
    CONTRADICTION = 2048

    @property
    def label(self) -> str:
        return _BREACH_WORDS.get(self, self.key)

    @property
    def key(self) -> str:
        return (self.name or "").lower()


_BREACH_WORDS = {
    Breach.SAME_FAMILY: "same model family",
    Breach.PASS_SCORE: "pass/score",
    Breach.LABEL: "label vote",
    Breach.ROUNDING: "quorum rounding",
    Breach.STOPPED_EARLY: "stopped early",
    Breach.AGAINST_ALL: "against every vote",
}


class Mismatch(Struct, frozen=True):
    """One place where a report disagrees with its own rule, in words that name both sides."""

    kind: Breach
    text: str


class FlagNote(Struct, frozen=True):
    """A flag of one verdict, and the reason for it."""

    flag: Flag
    reason: str


class State(StrEnum):
    """The state of a ballot, apart from dissent; ``failed`` is every ballot without an answer."""

    COUNTED = "counted"
    TRIMMED_LOW = "trimmed_low"
    TRIMMED_HIGH = "trimmed_high"
    FAILED = "failed"


class Seat(Struct, frozen=True):
    """One juror within the verdict: its ballot, its state, and whether it dissents."""

    ballot: Ballot
    family: Family | None
    state: State
    dissent: bool
    tied: bool
    contradicts: bool = False
    """Whether the stated pass differs from the vote by score, at any threshold or at the known."""
    would_trim: bool = False
    """Whether a trimmed mean would leave the seat out, although the rule reads every answer."""

    @property
    def words(self) -> str:
        """The state in words for the screen; a ballot that does not count says why."""
        if self.state is State.FAILED:
            return "waits for --scale" if self.ballot.unscaled else self.ballot.status.words
        return self.state.value.replace("_", " ") + (" (tie)" if self.tied else "")

    @property
    def aside(self) -> str:
        """The text after the state of a ballot that a trimmed mean would leave out, else empty."""
        return " · a trimmed mean would leave it out" if self.would_trim else ""

    @property
    def trimmed(self) -> bool:
        return self.state in {State.TRIMMED_LOW, State.TRIMMED_HIGH}


_STATUS_WORDS = {
    "ok": "answered",
    "failed": "failed",
    "abstained": "abstained",
    "unknown": "not understood",
    "not_asked": "not asked",
}


def ballot_counts(found: Iterable[Seat]) -> dict[str, int]:
    """Count the jurors by status: answered, failed, abstained, not understood or not asked."""
    counts = dict.fromkeys(_STATUS_WORDS, 0)
    for status in (seat.ballot.status for seat in found):
        counts["failed" if status.failed else status.value] += 1
    return counts


def silent_words(found: Iterable[Seat]) -> str:
    """Return how many jurors gave no answer and why, in words; empty if all of them answered."""
    seats = [*found]
    if all(seat.ballot.status is Status.OK for seat in seats):
        return ""
    counts = ballot_counts(seats)
    parts = [f"{n} {_STATUS_WORDS[kind]}" for kind, n in counts.items() if n and kind != "ok"]
    return ", ".join(parts)


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
    """The decision of each rule; ``None`` if it lacks a vote, a threshold or a quorum."""

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
    """Why missing answers prevent an outcome or could change it."""
    escalation: tuple[str, ...]
    """The recomputed reasons for an escalation; empty if no reason was found."""
    breaches: tuple[Mismatch, ...]
    derived: tuple[str, ...]
    notes: tuple[FlagNote, ...] = ()
    label_vote: LabelVote | None = None
    """The consensus of the labels if the rule reads them, else ``None``."""
    labels: Mapping[str, int] = {}
    """How many jurors gave each label; empty if they answered by vote instead of by label."""
    assumed_weights: tuple[str, ...] = ()
    """The jurors of unknown weight, which count with weight 1 under a weighted rule."""
    no_votes: bool = False
    """Whether there is no decision because no juror cast a vote."""

    @property
    def band(self) -> Band | None:
        return self.pair.band

    @property
    def flags(self) -> Flag:
        return reduce(or_, (note.flag for note in self.notes), Flag(0))

    @property
    def split(self) -> bool:
        """Whether the jurors differ: in labels if they answered by label, else in pass and fail."""
        return Flag.SPLIT in self.flags

    @property
    def stopped_early(self) -> bool:
        return self.agreement.spread.reason == STOPPED_EARLY

    @property
    def unanimous_scores(self) -> bool:
        """Whether two or more scores are all equal, and every juror was asked."""
        several = self.agreement.sd is not None
        return several and self.agreement.range == 0 and not self.stopped_early

    @property
    def unanimous_votes(self) -> bool:
        """Whether two or more votes are all equal, and every juror was asked."""
        return self.votes.answered > 1 and not self.split and not self.stopped_early

    @property
    def ruled(self) -> Decision | None:
        """The decision to compare with other rules: not an error of ours, unless each gives it."""
        ours = self.decision is Decision.ERROR and "decision" in self.derived
        few = self.decisions.majority is Decision.ERROR
        return None if ours and not few else self.decision

    @property
    def of_votes(self) -> bool:
        """Whether the quorum of the votes given decides, which that of all jurors does not."""
        made = self.decisions
        quorum = self.rule.used is Strategy.QUORUM and made.quorum is not made.quorum_answered
        return quorum and self.decision is made.quorum_answered

    @property
    def mismatches(self) -> tuple[str, ...]:
        return tuple(breach.text for breach in self.breaches)

    @property
    def marks(self) -> Breach:
        """All breaches combined in one value, with ``ROUNDING`` if rounding decides the quorum."""
        rounded = self.decisions.quorum is not self.decisions.quorum_strict
        start = Breach.ROUNDING if rounded else Breach(0)
        return reduce(or_, (breach.kind for breach in self.breaches), start)
