"""Other rules that could have decided a panel, and the result of each.

The figures are over the ``n_labelled`` verdicts that have a pass or fail label and that the policy
decides, weighted like the headline of the calibration page. The confidence is the policy's value
for a pass, and one minus it for a fail; rules on votes take the mean of the scores or, if a verdict
that they decide has no score, the share of votes for the decision throughout. Panels with labels
alone stay undecided.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations, groupby, product
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from reviewdesk.domain.jury.panels import FAIL, PASS, Panels, revoted, without
from reviewdesk.domain.jury.rules import exact_share
from reviewdesk.domain.jury.scores import OUTLIERS
from reviewdesk.domain.jury.verdicts import verdicts_of
from reviewdesk.domain.labels.label_columns import LabelledRows
from reviewdesk.domain.records import Design, Metrics, Truth
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.run.packing import DECISION_OF, ROUNDINGS, STRATEGIES, seat_names
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.dense import Bools, Small
from reviewdesk.domain.verdict import SLACK, Decision, Rounding, Strategy, Verdict

RULES = (
    Strategy.QUORUM, Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.WEIGHTED_AVERAGE,
    Strategy.MEAN, Strategy.MEDIAN, Strategy.HIGHEST, Strategy.LOWEST, Strategy.TRIMMED_MEAN,
    Strategy.SUPERMAJORITY,
)  # fmt: skip
FRACTIONS = (0.0, 0.1, 0.2, 0.3, 0.4)
QUORUMS: tuple[float | str, ...] = (0.5, 0.6, "2/3", 0.67, 0.75, 0.8, 1.0)
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
MOST_LEFT_OUT = 40
"""The maximum number of jurors that a whole table leaves out, one at a time."""


class Group(StrEnum):
    """What a policy changes, in the order of the table."""

    STANDING = "as it stands"
    RULES = "rules"
    TRIMS = "trims"
    QUORUMS = "quorums"
    THRESHOLDS = "thresholds"
    JURORS = "jurors left out"


class Variant(Struct, frozen=True):
    """The rule of a run with some settings changed; ``None`` keeps the setting of each verdict.

    A changed ``threshold`` is also the pass line of jurors that gave a score and withheld no
    vote. A ``dropped`` juror is neither seated nor counted.
    """

    strategy: Strategy | None = None
    fraction: float | None = None
    rounding: Rounding | None = None
    quorum: float | str | None = None
    threshold: float | None = None
    dropped: str | None = None
    supermajority: float | str | None = None
    """The share of committed jurors that a supermajority needs; only that strategy reads it."""
    outliers: str | None = None
    """A rule in ``OUTLIERS``, whose mean replaces the strategy; only for a single panel."""

    @property
    def group(self) -> Group:
        """What the variant changes; of several changes, the last in the table's order."""
        changes = {
            Group.JURORS: (self.dropped,),
            Group.THRESHOLDS: (self.threshold,),
            Group.QUORUMS: (self.quorum,),
            Group.TRIMS: (self.fraction, self.rounding),
            Group.RULES: (self.strategy, self.outliers),
        }
        made = (group for group, settings in changes.items() if set(settings) != {None})
        return next(made, Group.STANDING)

    @property
    def name(self) -> str:
        """The policy in words; only a juror's name in it comes from outside."""
        fraction = None if self.fraction is None else f"{100 * self.fraction:.6g}%"
        bars = [written(bar) for bar in (self.quorum, self.supermajority) if bar is not None]
        words = [self.strategy, self.outliers, fraction, self.rounding, *bars]
        parts = [" ".join(filter(None, words))]
        parts += [] if self.threshold is None else [f"threshold {self.threshold:g}"]
        parts += [] if self.dropped is None else [f"without {self.dropped}"]
        return ", ".join(filter(None, parts)) or Group.STANDING.value


class PolicyCounts(Struct, frozen=True):
    """Counts of one policy's decisions; ``valued`` if all have a value, ``own`` if it is theirs."""

    variant: Variant = Variant()
    verdicts: int = 0
    flipped: int = 0
    decided: int = 0
    undecided: int = 0
    passes: int = 0
    valued: bool = True
    own: bool = True

    def merge(self, other: "PolicyCounts") -> "PolicyCounts":
        names = ("verdicts", "flipped", "decided", "undecided", "passes")
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        marks = {name: getattr(self, name) and getattr(other, name) for name in ("valued", "own")}
        return replace(self, **sums, **marks)

    @property
    def inconclusive(self) -> int:
        return self.verdicts - self.decided

    @property
    def pass_rate(self) -> float | None:
        return self.passes / self.decided if self.decided else None


class Result(PolicyCounts, frozen=True, kw_only=True):
    """The counts of one policy over a run, and its figures, ``None`` if ``n_labelled`` is 0."""

    n_labelled: int
    accuracy: float | None
    brier: float | None
    ece: float | None
    confidence: str


class WhatIfTable(Struct, frozen=True):
    """The policies of one run beside the run as it stands; not all ``jurors`` are left out."""

    design: Design
    standing: Result
    rows: tuple[Result, ...]
    jurors: int = 0


class PolicyResult(Struct, frozen=True):
    """The value and the decision of one panel under one policy; each is ``None`` if undefined."""

    variant: Variant
    value: float | None
    decision: Decision | None


def written(quorum: float | str) -> str:
    return quorum if isinstance(quorum, str) else f"{quorum:g}"


def settings(names: Iterable[str]) -> tuple[Variant, ...]:
    """Return each trim, quorum and threshold as a variant, then one without each named juror."""
    return (
        *(Variant(Strategy.TRIMMED_MEAN, *cut) for cut in product(FRACTIONS, Rounding)),
        *(Variant(Strategy.QUORUM, quorum=quorum) for quorum in QUORUMS),
        *(Variant(threshold=threshold) for threshold in THRESHOLDS),
        *(Variant(dropped=name) for name in names),
    )


def most_seated(seats: Mapping[str, int]) -> tuple[str, ...]:
    """Return the jurors with the most seats, at most ``MOST_LEFT_OUT``, in the order given."""
    most = sorted(seats, key=lambda name: -seats[name])[:MOST_LEFT_OUT]
    return tuple(name for name in seats if name in most)


def outliers() -> tuple[Variant, ...]:
    return tuple(Variant(outliers=one) for one in OUTLIERS)


def whole(names: Iterable[str]) -> tuple[Variant, ...]:
    """Return a whole table's variants: each strategy with the run's settings, then ``settings``."""
    return (*map(Variant, RULES), *settings(names))


def combined(
    strategies: Sequence[Strategy],
    fractions: Sequence[float],
    roundings: Sequence[Rounding],
    quorums_: Sequence[float | str],
    thresholds_: Sequence[float],
    dropped: Sequence[str],
    shares: Sequence[float | str] = (),
) -> tuple[Variant, ...]:
    """Return each combination of settings; a trim, quorum or share alone names its strategy."""
    cuts = product(fractions or (None,), roundings or (None,))
    own: dict[Strategy | None, list[Variant]] = {
        Strategy.TRIMMED_MEAN: [Variant(Strategy.TRIMMED_MEAN, *cut) for cut in cuts],
        Strategy.QUORUM: [Variant(Strategy.QUORUM, quorum=one) for one in quorums_ or (None,)],
        Strategy.SUPERMAJORITY: [
            Variant(Strategy.SUPERMAJORITY, supermajority=one) for one in shares or (None,)
        ],
    }
    given = ([*fractions, *roundings], quorums_, shares)
    selected = [strategy for strategy, some in zip(own, given, strict=True) if some]
    ruled = [
        variant
        for one in strategies or selected or (None,)
        for variant in own.get(one, [Variant(one)])
    ]
    found = (
        replace(one, threshold=threshold, dropped=name)
        for one, threshold, name in product(ruled, thresholds_ or (None,), dropped or (None,))
    )
    return tuple(dict.fromkeys(found))


def ruled(columns: Columns, variant: Variant) -> Columns:
    """Return the columns with the settings of a variant's rule; the ballots stay."""
    made: dict[str, Any] = {}
    given: dict[str, Any] = {}
    if variant.supermajority is not None:
        made["shares"] = (variant.supermajority,)
        given["share"] = np.int32(0)
    if variant.quorum is not None:
        made["quorums"] = (variant.quorum,)
        given["quorum"] = np.int32(0)
    if variant.strategy is not None:
        given["strategy"] = np.int8(STRATEGIES.index(variant.strategy))
    if variant.rounding is not None:
        given["rounding"] = np.int8(ROUNDINGS.index(variant.rounding))
    for name in ("fraction", "threshold"):
        if (value := getattr(variant, name)) is not None:
            given[name] = np.float64(value)
    # One setting for all verdicts takes no memory per verdict.
    made |= {name: np.broadcast_to(value, len(columns)) for name, value in given.items()}
    return replace(columns, **made)


def changed(panels: Panels, variant: Variant) -> Panels:
    """Return the panels with the ballots of a variant: without a juror, or at another threshold."""
    columns = panels.columns
    if variant.dropped is not None:
        columns = without(columns, variant.dropped)
    if variant.threshold is not None:
        columns = replace(columns, votes=revoted(columns, variant.threshold))
    if columns is panels.columns:
        return panels
    made = Panels(columns, exact=panels.cast.exact)
    if columns.scores is panels.columns.scores:
        made.cast.scores = panels.scores
    return made


def under(panels: Panels, variant: Variant) -> Panels:
    """Return panels that already have the ballots of a variant, under the variant's rule."""
    return panels.ruled(ruled(panels.columns, variant))


def result(found: PolicyCounts, headline: Metrics, confidence: str) -> Result:
    """Return the result of a policy, or of the run as it stands with its calibration's headline."""
    return Result(
        **asdict(found),
        n_labelled=headline.n,
        accuracy=headline.accuracy,
        brier=headline.brier,
        ece=headline.ece if headline.n else None,
        confidence=confidence,
    )


def counts(columns: Columns, made: Small, **more: Any) -> PolicyCounts:
    """Count decisions, also those that differ from the run's own, which are those as it stands."""
    before = columns.decision
    now = _is_decided(made)
    return PolicyCounts(
        verdicts=len(columns),
        flipped=int((now & _is_decided(before) & (made != before)).sum()),
        decided=int(now.sum()),
        undecided=int((made < 0).sum()),
        passes=int((made == PASS).sum()),
        **more,
    )


def results(
    columns: Columns,
    variants: Iterable[Variant],
    labels: LabelledRows,
    known: Mapping[Variant, PolicyCounts] | None = None,
) -> tuple[Result, ...]:
    """Return each variant's counts and figures; those of an archive's verdicts are ``known``."""
    weight = labels.weighing.weights
    if labels.weighing.design is not Design.WEIGHTED:
        weight = np.ones(len(weight))
    given = labels.columns
    counted = np.flatnonzero(given.is_truth(Truth.PASS, Truth.FAIL) & (weight > 0))
    given = given.at(counted)
    # The verdicts of a run have consecutive keys.
    places = given.key - (int(columns.key[0]) if len(columns) else 0)
    rows = []
    for panels, made, ours in decided(columns, variants):
        found = ours if known is None else known[ours.variant]
        # The labelled verdicts that the policy decides; values are computed exactly for them alone.
        kept = _is_decided(made[places])
        row = places[kept]
        labelled = panels.at(row)
        passed = made[row] == PASS
        cast = labelled.cast
        # One mapping to a confidence serves all verdicts that the policy decides.
        sure = labelled.value if found.valued else cast.passes / cast.answered
        figures = measure(
            Rows(
                np.where(passed, sure, 1 - sure),
                passed == given.is_truth(Truth.PASS)[kept],
                weight[counted][kept],
                passed,
                None if given.content is None else given.content[kept],
            )
        )
        rows.append(result(found, figures, "support" if found.valued else "vote_share"))
    return tuple(rows)


def decided(
    columns: Columns, variants: Iterable[Variant]
) -> Iterator[tuple[Panels, Small, PolicyCounts]]:
    """Yield the panels under each variant, their decisions, and the counts of these."""
    panels = Panels(columns)
    # Variants that change the ballots in the same way are adjacent, so that one changed form of
    # them is in memory at a time.
    for (threshold, dropped), same in groupby(variants, lambda one: (one.threshold, one.dropped)):
        ours = changed(panels, Variant(threshold=threshold, dropped=dropped))
        for variant in same:
            found = under(ours, variant)
            made = found.decision
            valued = bool((found.valued | ~_is_decided(made)).all())
            own = is_own(columns, variant)
            yield found, made, counts(columns, made, variant=variant, valued=valued, own=own)
        del ours


def _is_decided(decision: Small) -> Bools:
    return np.asarray((decision == PASS) | (decision == FAIL))


def is_own(columns: Columns, variant: Variant) -> bool:
    """Return True if every verdict of the run already has the settings of a variant."""
    if not len(columns) or variant.dropped is not None or variant == Variant():
        return False
    made = ruled(columns, variant)
    same = [
        np.abs(getattr(made, name) - getattr(columns, name)) < SLACK
        for name in ("strategy", "fraction", "rounding", "threshold")
        if getattr(variant, name) is not None
    ]
    if variant.quorum is not None:
        # The last entry is for the index -1, which verdicts without a quorum have.
        known = [quorum == variant.quorum for quorum in columns.quorums]
        same.append(np.array([*known, False])[columns.quorum])
    if variant.supermajority is not None:
        wanted = exact_share(variant.supermajority)
        equal = [exact_share(share) == wanted for share in columns.shares]
        same.append(np.array(equal)[columns.share])
    return all(one.all() for one in same)


def busiest(columns: Columns) -> tuple[str, ...]:
    """Return the jurors with the most seats, at most ``MOST_LEFT_OUT``, in column order."""
    seats = np.bincount(columns.juror[columns.juror >= 0], minlength=len(columns.names))
    return most_seated(dict(zip(columns.names, seats.tolist(), strict=True)))


def outcomes(verdict: Verdict, variants: Iterable[Variant]) -> tuple[PolicyResult, ...]:
    """Decide one panel by each variant; only a variant with a strategy decides one of labels."""
    panels = _panels(verdict)
    found = []
    for variant in variants:
        [value], [decision] = _results(changed(panels, variant), variant)
        found.append(PolicyResult(variant, value, decision))
    return tuple(found)


def _panels(verdict: Verdict) -> Panels:
    """Return one verdict as panels that can be replayed from scores and votes."""
    found = verdicts_of([verdict])
    columns = found.columns
    if found.says[0] and found.counts[0]:
        external = np.array([STRATEGIES.index(Strategy.EXTERNAL)], np.int8)
        columns = replace(columns, strategy=external)
    names = seat_names([ballot.id for ballot in verdict.ballots])
    seats = np.arange(len(names)).reshape(-1, 1)
    return Panels(replace(columns, names=tuple(names), juror=seats), exact=True)


def _results(panels: Panels, variant: Variant) -> tuple[list[float | None], list[Decision | None]]:
    """Return the value and the decision of each panel, whose ballots are those of the variant."""
    found = under(panels, variant)
    value = found.value
    decision = found.decision
    if variant.outliers is not None:
        rule = OUTLIERS[variant.outliers]
        given = [row[~np.isnan(row)].tolist() for row in found.columns.scores.T]
        value = np.array([rule(scores) if scores else np.nan for scores in given])
        decision = found.compared(value, cautious=False)
    values = [None if np.isnan(one) else one for one in value.tolist()]
    return values, [DECISION_OF[one] for one in decision.tolist()]


class Attack(Struct, frozen=True):
    """What ``bought`` jurors could force: the range of values, and other decisions."""

    bought: int
    low: float | None
    high: float | None
    change: float | None
    """The largest distance from the panel's present value; ``None`` if either value is missing."""
    decisions: tuple[Decision | None, ...]
    """The reachable decisions that differ from the one that the rule gives now."""


def attacks(verdict: Verdict, variant: Variant) -> tuple[Attack, ...]:
    """Return what 1, 2, ... bought jurors could force under a rule, up to all that answered.

    Every set of jurors of each size is tried; all of a set give the same score, 0 or 1, and votes
    by it. A rule on outliers may fall as a score rises, so each score of the panel is tried too.
    """
    if variant.group is not Group.RULES:
        return ()
    panels = _panels(verdict)
    columns = panels.columns
    usable = np.flatnonzero((~columns.missing & ~columns.not_asked)[:, 0]).tolist()
    offers = sorted({0.0, 1.0, *columns.scores[~np.isnan(columns.scores)].tolist()})
    if variant.outliers is None:
        offers = [0.0, 1.0]
    [base] = outcomes(verdict, [variant])
    line = 0.5 if np.isnan(columns.threshold[0]) else float(columns.threshold[0])
    found = []
    for size in range(1, len(usable) + 1):
        # 9 of 18 are too many already; the numbers for thousands of jurors take minutes.
        if math.comb(len(usable), min(size, len(usable) - size, 9)) * len(offers) > 400:
            continue
        pairs = list(product(combinations(usable, size), offers))
        tries = columns.at(np.zeros(len(pairs), np.int64))
        bought = np.zeros(tries.scores.shape, np.bool_)
        for at, (group, _) in enumerate(pairs):
            bought[list(group), at] = True
        paid = np.array([offer for _, offer in pairs])
        scores = np.where(bought & ~np.isnan(tries.scores), paid, tries.scores)
        votes = np.where(bought, paid >= line - SLACK, tries.votes).astype(np.int8)
        tries = replace(tries, scores=scores, votes=votes, withheld=tries.withheld & ~bought)
        values, decisions = _results(Panels(tries, exact=True), variant)
        known = [value for value in values if value is not None]
        change = None
        if base.value is not None:
            change = max((abs(base.value - value) for value in known), default=None)
        others = sorted(set(decisions) - {base.decision}, key=str)
        ends = min(known, default=None), max(known, default=None)
        found.append(Attack(size, *ends, change, tuple(others)))
    return tuple(found)
