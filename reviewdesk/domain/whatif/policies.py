"""Other rules that could have decided a panel, and the result of each.

``flipped`` counts verdicts that change from pass to fail or the reverse, against the decision as it
stands (the report's, else ours).
``inconclusive`` are decided neither way; ``undecided`` of these lack a threshold, a quorum, a score
or a vote. ``pass_rate`` is passes / (passes + fails).

``accuracy``, ``brier`` and ``ece`` are computed over the ``n_labelled`` verdicts that have a pass
or fail label and that the policy decides, weighted like the headline of the calibration page. The
confidence is the policy's value for a pass, and one minus it for a fail. A majority has confidence
1 either way; other rules on votes take the mean of the scores, or, if a verdict that they decide
has no score, the share of votes for the decision throughout. No policy here reads labels: panels
with labels alone stay undecided.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import product
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from reviewdesk.domain.jury.scores import Outliers
from reviewdesk.domain.records import Design
from reviewdesk.domain.verdict import Decision, Rounding, Strategy

T = TypeVar("T")

STRATEGIES = (
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
    outliers: Outliers | None = None
    """A rule on outliers, whose mean replaces the strategy; only for a single panel."""

    @property
    def group(self) -> Group:
        """What the variant changes; of several changes, the last in the table's order."""
        if self.dropped is not None:
            return Group.JURORS
        if self.threshold is not None:
            return Group.THRESHOLDS
        if self.quorum is not None:
            return Group.QUORUMS
        if self.fraction is not None or self.rounding is not None:
            return Group.TRIMS
        ruled = self.strategy is not None or self.outliers is not None
        return Group.RULES if ruled else Group.STANDING

    @property
    def name(self) -> str:
        """The policy in words; only a juror's name in it comes from outside."""
        fraction = None if self.fraction is None else f"{100 * self.fraction:.6g}%"
        bars = [written(bar) for bar in (self.quorum, self.supermajority) if bar is not None]
        words = [self.strategy, self.outliers, fraction, self.rounding, *bars]
        parts = [" ".join(word for word in words if word is not None)]
        parts += [] if self.threshold is None else [f"threshold {self.threshold:g}"]
        parts += [] if self.dropped is None else [f"without {self.dropped}"]
        return ", ".join(filter(None, parts)) or Group.STANDING.value


class PolicyCounts(Struct, frozen=True):
    """The counts of one policy's decisions over some verdicts; the counts of two parts add up.

    Every verdict that it decides has a value if ``valued``, and names it itself if ``own``.
    """

    variant: Variant = field(default_factory=Variant)
    verdicts: int = 0
    flipped: int = 0
    decided: int = 0
    undecided: int = 0
    passes: int = 0
    valued: bool = True
    own: bool = True

    def merge(self, other: "PolicyCounts") -> "PolicyCounts":
        """Return the counts over the verdicts of both."""
        names = ("verdicts", "flipped", "decided", "undecided", "passes")
        sums: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in names}
        valued = self.valued and other.valued
        return replace(self, **sums, valued=valued, own=self.own and other.own)

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

    verdicts: int
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
    """Format a quorum as people write it."""
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
    names = list(seats)
    most = sorted(names, key=lambda name: -seats[name])[:MOST_LEFT_OUT]
    return tuple(name for name in names if name in most)


def outliers() -> tuple[Variant, ...]:
    return tuple(Variant(outliers=one) for one in Outliers)


def whole(names: Iterable[str]) -> tuple[Variant, ...]:
    """Return a whole table's variants: each strategy with the run's settings, then ``settings``."""
    return (*map(Variant, STRATEGIES), *settings(names))


def combined(
    strategies: Sequence[Strategy],
    fractions: Sequence[float],
    roundings: Sequence[Rounding],
    quorums_: Sequence[float | str],
    thresholds_: Sequence[float],
    dropped: Sequence[str],
    shares: Sequence[float | str] = (),
) -> tuple[Variant, ...]:
    """Return every combination of the given settings, each once.

    Without a strategy, a trim selects the trimmed mean, a quorum or a share theirs.
    """
    cuts = product(_or_none(fractions), _or_none(roundings))
    own = {
        Strategy.TRIMMED_MEAN: [Variant(Strategy.TRIMMED_MEAN, *cut) for cut in cuts],
        Strategy.QUORUM: [Variant(Strategy.QUORUM, quorum=one) for one in _or_none(quorums_)],
        Strategy.SUPERMAJORITY: [
            Variant(Strategy.SUPERMAJORITY, supermajority=one) for one in _or_none(shares)
        ],
    }
    given = ([*fractions, *roundings], quorums_, shares)
    selected = [strategy for strategy, some in zip(own, given, strict=True) if some]
    ruled = [
        variant for one in strategies or selected for variant in own.get(one, [Variant(one)])
    ] or [Variant()]
    found = (
        replace(one, threshold=threshold, dropped=name)
        for one, threshold, name in product(ruled, _or_none(thresholds_), _or_none(dropped))
    )
    return tuple(dict.fromkeys(found))


def _or_none(given: Sequence[T]) -> Sequence[T | None]:
    return given or (None,)
