"""Statistics of verdicts that merge, in any order, into the figures of a whole archive."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import add
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, field
from msgspec.structs import fields, replace

from reviewdesk.domain import whatif
from reviewdesk.domain.assessment.result import Breach, Flag
from reviewdesk.domain.run.columns import Columns, unpacked, vote_units
from reviewdesk.domain.run.details import DecisionCounts, RunAlphas, RunMeasures, Undefined
from reviewdesk.domain.run.packing import COLUMNS, UNKNOWN, Bar, PackedRun
from reviewdesk.domain.run.window import DERIVED_ESCALATION, Counts, VerdictWindow, WindowReader
from reviewdesk.domain.stats.alpha import ENOUGH, AlphaState, NominalState, merged_ci, rank_state
from reviewdesk.domain.stats.dense import Bools, Floats
from reviewdesk.domain.verdict import Decision
from reviewdesk.domain.whatif import MOST_LEFT_OUT, PolicyCounts, Variant, whole


def run_measures(
    names: Iterable[str],
    quorums: Iterable[Bar],
    scores: Callable[[], Iterable[Floats]],
    state: AlphaState,
    votes: NominalState,
) -> RunMeasures:
    """Compute the alphas of a run and its disagreement ``W``.

    Each call of ``scores`` yields the scores of all verdicts, ``[seats, verdicts]``, by parts.
    """
    interval = merged_ci(state, scores())
    found: dict[str, float | None] = {
        "alpha": state.alpha,
        "alpha_low": interval and interval[0],
        "alpha_high": interval and interval[1],
        "alpha_ordinal": rank_state(scores).alpha,
        "alpha_votes": votes.alpha,
    }
    why = Undefined.NO_VARIATION if state.units else Undefined.NO_PAIRS
    no_interval = why
    if state.alpha is not None:
        no_interval = Undefined.ONE_UNIT if state.splits else Undefined.NO_DISAGREEMENT
        no_interval = Undefined.FEW_UNITS if state.units < ENOUGH else no_interval
    reasons = dict.fromkeys(found, why) | {
        "alpha_low": no_interval,
        "alpha_high": no_interval,
        "alpha_votes": Undefined.NO_VARIATION if votes.values else Undefined.NO_PAIRS,
    }
    return RunMeasures(
        names=tuple(names),
        quorums=tuple(quorums),
        alphas=RunAlphas(
            **found, reasons={name: reasons[name] for name in found if found[name] is None}
        ),
        mass=state.W if state.splits else None,
    )


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


class JurorSums(Struct, frozen=True):
    """Sums of one juror; a residual is a score minus its panel's mean, of two or more."""

    seats: int = 0
    failed: int = 0
    answered: int = 0
    passes: int = 0
    scores: ScoreSums = ScoreSums()
    residuals: ScoreSums = ScoreSums()


class Stats(Struct, frozen=True):
    """The sufficient statistics of some verdicts; those of disjoint parts can be merged."""

    counts: Counts = field(default_factory=Counts)
    decisions: Mapping[str, int] = {}
    flags: Mapping[int, int] = {}
    """Counts by bit, including ``DERIVED_ESCALATION``."""
    breaches: Mapping[int, int] = {}
    unanimous_scores: int = 0
    unanimous_votes: int = 0
    unknown_ballots: int = 0
    scores: ScoreSums = ScoreSums()
    bins: tuple[int, ...] = _NO_BINS
    """The number of verdicts with a score in each bin."""
    bin_passes: tuple[int, ...] = _NO_BINS
    alpha: AlphaState = AlphaState()
    votes: NominalState = NominalState()
    jurors: Mapping[str, JurorSums] = {}
    standing: PolicyCounts = PolicyCounts()
    policies: tuple[PolicyCounts, ...] = ()
    """Other rules, each applied to all verdicts; ``Variant()`` is each verdict's own rule."""

    def merge(self, other: "Stats") -> "Stats":
        """Return the statistics of both, which must not share a verdict."""
        made = _summed(replace(self, policies=()), replace(other, policies=()))
        if not self.standing.verdicts or not other.standing.verdicts:
            return replace(made, policies=self.policies or other.policies)
        variants = dict.fromkeys([one.variant for one in (*self.policies, *other.policies)])
        pairs = [(self.under(variant), other.under(variant)) for variant in variants]
        policies = [ours.merge(theirs) for ours, theirs in pairs if ours and theirs]
        return replace(made, policies=tuple(policies))

    def under(self, variant: Variant) -> PolicyCounts | None:
        """Return the counts of a policy; ``None`` if they were not kept.

        Verdicts without the juror that a policy leaves out keep their own decisions.
        """
        known = {one.variant: one for one in self.policies}
        if variant in known or variant.dropped is None or variant.dropped in self.jurors:
            return known.get(variant)
        return replace(known[Variant()], variant=variant)

    def decision_counts(self) -> DecisionCounts:
        """Return the counts by decision, flag and breach, as those of a loaded run."""
        flags = {flag: self.flags[flag] for flag in Flag if self.flags.get(flag)}
        derived = self.flags.get(DERIVED_ESCALATION, 0)
        if derived and not self.counts.stated_escalation:
            flags[Flag.ESCALATED] = derived
        return DecisionCounts(
            {
                None if word == NO_DECISION else Decision(word): count
                for word, count in self.decisions.items()
            },
            flags,
            {kind: self.breaches[kind] for kind in Breach if self.breaches.get(kind)},
            self.unanimous_scores,
            self.unanimous_votes,
            self.unknown_ballots,
        )


def _summed(one: Record, other: Record) -> Record:
    made = {f.name: _sum(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)}
    return replace(one, **made)


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, int | float):
        return one + other
    if isinstance(one, tuple):
        return tuple(map(add, one, other))
    if isinstance(one, Mapping):
        both = {key: _sum(one[key], other[key]) for key in one if key in other}
        return {**one, **other, **both}
    return one.merge(other) if hasattr(one, "merge") else _summed(one, other)


WINDOWS = 20
"""Windows that are counted together, because other rules cost the same for fewer verdicts."""
_ESCALATIONS = (*map(int, Flag), DERIVED_ESCALATION)


def window_stats(reader: WindowReader, windows: Sequence[VerdictWindow]) -> Stats:
    """Return the statistics of the newest windows of a reader, without its ``counts``."""
    packed = {name: b"".join([one.packed[name] for one in windows]) for name in COLUMNS}
    found = PackedRun(packed, tuple(reader.known.names), tuple(reader.known.quorums))
    start = windows[0].first
    end = reader.tally.verdicts
    columns = unpacked(found, range(start, end))
    flags = np.array(reader.tally.preliminary[start:end])
    # The policies of the whole table, and each verdict's own rule.
    variants = (Variant(), *whole(columns.names[:MOST_LEFT_OUT]))

    def column(name: str) -> list[Any]:
        return [value for one in windows for value in one.columns[name]]

    decisions = column("decision")
    spread, mass, scores = (
        np.array(column(name), np.float64) for name in ("range", "mass", "score")
    )
    answered, passes = (np.array(column(name)) for name in ("answered", "passes"))
    alike = ((passes == 0) | (passes == answered)) & (flags & int(Flag.SPLIT) == 0)
    passed = np.array([one == Decision.PASS for one in decisions], np.bool_)
    breaches: Counter[int] = Counter()
    for value, count in Counter(column("marks")).items():
        breaches.update({int(kind): count for kind in Breach(value)})
    return Stats(
        flags={bit: n for bit in _ESCALATIONS if (n := int((flags & bit != 0).sum()))},
        unknown_ballots=packed["failed"].count(UNKNOWN),
        alpha=AlphaState.of(columns.scores.T),
        votes=NominalState.of(vote_units(found).T),
        jurors=dict(_jurors(columns)),
        standing=whatif.counts(columns, columns.decision),
        policies=tuple(counts for *_, counts in whatif.decided(columns, variants)),
        decisions={word or NO_DECISION: n for word, n in Counter(decisions).items()},
        breaches=dict(breaches),
        unanimous_scores=int((~np.isnan(mass) & (spread == 0)).sum()),
        unanimous_votes=int(((answered > 1) & alike).sum()),
        scores=_moments(scores),
        bins=_bins(scores),
        bin_passes=_bins(scores[passed]),
    )


def _moments(values: Floats) -> ScoreSums:
    known = values[~np.isnan(values)]
    return ScoreSums(len(known), float(known.sum()), float(known @ known))


def _bins(scores: Floats) -> tuple[int, ...]:
    known = scores[~np.isnan(scores)]
    places = np.clip((known * BINS).astype(np.int64), 0, BINS - 1)
    return tuple(np.bincount(places, minlength=BINS).tolist())


def _jurors(columns: Columns) -> Iterator[tuple[str, JurorSums]]:
    given = ~np.isnan(columns.scores)
    scored = given.sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(given, columns.scores, 0).sum(axis=0) / scored
    residuals = np.where(scored >= 2, columns.scores - mean, np.nan)
    for place, name in enumerate(columns.names):
        mine: Bools = columns.juror == place
        if not mine.any():
            continue
        votes = columns.votes[mine]
        yield (
            name,
            JurorSums(
                seats=int(mine.sum()),
                failed=int(columns.failed[mine].sum()),
                answered=int((votes >= 0).sum()),
                passes=int((votes == 1).sum()),
                scores=_moments(columns.scores[mine]),
                residuals=_moments(residuals[mine]),
            ),
        )
