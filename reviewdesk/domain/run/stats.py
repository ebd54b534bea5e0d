"""Sufficient statistics of verdicts, from which the figures of a whole archive are merged.

``Stats.merge`` is associative and commutative: exact for counts, up to rounding for sums of
scores. A part of an archive becomes one ``Stats``, whatever its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import add
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import fields, replace

from reviewdesk.domain.assessment.result import Breach, Flag
from reviewdesk.domain.run.details import DecisionCounts, RunAlphas, RunMeasures, Undefined
from reviewdesk.domain.run.packing import Bar
from reviewdesk.domain.run.tally import DERIVED_ESCALATION, Counts
from reviewdesk.domain.stats.alpha import (
    ENOUGH,
    AlphaState,
    NominalState,
    RankTables,
    merged_ci,
    rank_state,
)
from reviewdesk.domain.stats.dense import Floats
from reviewdesk.domain.verdict import Decision
from reviewdesk.domain.whatif.policies import PolicyCounts, Variant


def run_measures(
    names: tuple[str, ...],
    quorums: tuple[Bar, ...],
    scores: Callable[[], Iterable[Floats]],
    tables: RankTables,
    state: AlphaState,
    votes: NominalState,
) -> RunMeasures:
    """Compute the alphas of a run and its disagreement ``W``.

    Each call of ``scores`` yields the scores of all verdicts, ``[seats, verdicts]``, some verdicts
    at a time. ``state`` and ``votes`` are the merged states of the parts. The ranks of all
    ballots are stored in ``tables``.
    """
    alpha = state.alpha
    nominal = votes.alpha
    ordinal = rank_state(scores, tables).alpha
    interval = merged_ci(state, scores())
    low, high = interval or (None, None)
    reasons: dict[str, Undefined] = {}
    if alpha is None:
        reasons |= dict.fromkeys(("alpha", "alpha_low", "alpha_high"), _why_no_alpha(state))
    elif interval is None:
        why = Undefined.ONE_UNIT if state.splits else Undefined.NO_DISAGREEMENT
        why = Undefined.FEW_UNITS if state.units < ENOUGH else why
        reasons |= dict.fromkeys(("alpha_low", "alpha_high"), why)
    if ordinal is None:
        reasons["alpha_ordinal"] = _why_no_alpha(state)
    if nominal is None:
        reasons["alpha_votes"] = Undefined.NO_VARIATION if votes.values else Undefined.NO_PAIRS
    return RunMeasures(
        names=names,
        quorums=quorums,
        alphas=RunAlphas(alpha, low, high, nominal, ordinal, reasons),
        mass=state.W if state.splits else None,
    )


def _why_no_alpha(state: AlphaState) -> Undefined:
    return Undefined.NO_VARIATION if state.units else Undefined.NO_PAIRS


BINS = 10
"""Equal bins of the scores from 0 to 1."""
NO_DECISION = "none"
Key = TypeVar("Key")
Record = TypeVar("Record", "ScoreSums", "JurorSums", "Stats")
_NO_BINS = (0,) * BINS


class ScoreSums(Struct, frozen=True):
    """The count of some numbers, their sum and the sum of their squares."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    def merge(self, other: ScoreSums) -> ScoreSums:
        return _summed(self, other)


class JurorSums(Struct, frozen=True):
    """The seats, votes and scores of one juror, and the residuals of its scores.

    A residual is a juror's score minus the mean score of its panel, if two or more gave scores.
    """

    seats: int = 0
    failed: int = 0
    answered: int = 0
    passes: int = 0
    scores: ScoreSums = field(default_factory=ScoreSums)
    residuals: ScoreSums = field(default_factory=ScoreSums)

    def merge(self, other: JurorSums) -> JurorSums:
        return _summed(self, other)


class Stats(Struct, frozen=True):
    """The sufficient statistics of some verdicts; those of disjoint parts can be merged."""

    counts: Counts = field(default_factory=Counts)
    decisions: Mapping[str, int] = field(default_factory=dict)
    flags: Mapping[int, int] = field(default_factory=dict)
    """Counts by bit, including ``DERIVED_ESCALATION``."""
    breaches: Mapping[int, int] = field(default_factory=dict)
    unanimous_scores: int = 0
    unanimous_votes: int = 0
    unknown_ballots: int = 0
    scores: ScoreSums = field(default_factory=ScoreSums)
    bins: tuple[int, ...] = _NO_BINS
    """The number of verdicts with a score in each bin."""
    bin_passes: tuple[int, ...] = _NO_BINS
    alpha: AlphaState = field(default_factory=AlphaState)
    votes: NominalState = field(default_factory=NominalState)
    jurors: Mapping[str, JurorSums] = field(default_factory=dict)
    standing: PolicyCounts = field(default_factory=PolicyCounts)
    """The verdicts as they stand."""
    policies: tuple[PolicyCounts, ...] = ()
    """Other rules, each applied to all verdicts; ``Variant()`` is each verdict's own rule."""

    def merge(self, other: Stats) -> Stats:
        """Return the statistics of both, which must not share a verdict."""
        bare = replace(self, policies=())
        more = replace(other, policies=())
        return replace(_summed(bare, more), policies=_merged_policies(self, other))

    def decision_counts(self) -> DecisionCounts:
        """Return the counts by decision, flag and breach, as those of a loaded run."""
        flags = {flag: self.flags[flag] for flag in Flag if self.flags.get(flag)}
        derived = self.flags.get(DERIVED_ESCALATION, 0)
        if derived and not self.counts.stated_escalation:
            flags[Flag.ESCALATED] = derived
        return DecisionCounts(
            {_decision(word): count for word, count in self.decisions.items()},
            flags,
            {kind: self.breaches[kind] for kind in Breach if self.breaches.get(kind)},
            self.unanimous_scores,
            self.unanimous_votes,
            self.unknown_ballots,
        )

    def as_json(self) -> str:
        """Return the statistics as JSON, which ``from_json`` reads."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def from_json(text: str) -> Stats:
        """Read what ``as_json`` wrote."""
        return msgspec.json.decode(text, type=Stats)


def _decision(word: str) -> Decision | None:
    return None if word == NO_DECISION else Decision(word)


def _summed(one: Record, other: Record) -> Record:
    """Return a record whose fields are the sums of those of both."""
    made = {f.name: _sum(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)}
    return replace(one, **made)


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, int | float):
        return one + other
    if isinstance(one, tuple):
        return tuple(map(add, one, other))
    if isinstance(one, Mapping):
        return merged(one, other)
    return one.merge(other)


def merged(one: Mapping[Key, Any], other: Mapping[Key, Any]) -> dict[Key, Any]:
    """Return the sums of the values of both under each key."""
    made = dict(one)
    for key, value in other.items():
        made[key] = _sum(made[key], value) if key in made else value
    return made


def _merged_policies(one: Stats, other: Stats) -> tuple[PolicyCounts, ...]:
    """Merge the counts of each policy.

    If a policy leaves out a juror that a part does not have, the part keeps its own decisions.
    """
    if not one.standing.verdicts or not other.standing.verdicts:
        return one.policies or other.policies
    made = []
    for variant in dict.fromkeys([kept.variant for part in (one, other) for kept in part.policies]):
        ours = _under(one, variant)
        theirs = _under(other, variant)
        if ours is not None and theirs is not None:
            made.append(ours.merge(theirs))
    return tuple(made)


def _under(part: Stats, variant: Variant) -> PolicyCounts | None:
    """Return the counts of a policy in a part; ``None`` if they were not kept."""
    known = {one.variant: one for one in part.policies}
    if variant in known or variant.dropped is None or variant.dropped in part.jurors:
        return known.get(variant)
    return replace(known[Variant()], variant=variant)
