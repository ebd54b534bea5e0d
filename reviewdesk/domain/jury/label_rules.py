"""The rules that make one label out of many, and the few labels that mean pass or fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reviewdesk.domain.jury.supermajority import DEFAULT_SHARE, supermajority
from reviewdesk.domain.verdict import SLACK, UNCLEAR, Ballot, Decision, Strategy, folded

DISAGREE = "DISAGREE"
BY_ORDER = "tie broken by order"
BY_PRIORITY = "tie broken by priority"

_PASSES = ("pass", "keep", "yes", "true", "correct", "accept")
_FAILS = ("fail", "reject", "no", "false", "incorrect")
_DECISIONS = dict.fromkeys(_PASSES, Decision.PASS) | dict.fromkeys(_FAILS, Decision.FAIL)


Aggregate: TypeAlias = Callable[[Sequence[Ballot]], tuple[str, bool]]
"""A label rule of one's own: usable ballots in, the label and whether they disagree out."""


@dataclass(frozen=True, slots=True)
class LabelRules:
    """How labels are counted, beside the strategy."""

    priority: tuple[str, ...] = ()
    """Labels that win a tie, the first one first; without one of them, the first seen wins."""
    use_confidence: bool = True
    """Whether a weighted vote multiplies a juror's weight by its confidence."""
    fallback: str = UNCLEAR
    """The label of a panel that gives none."""
    aggregate: Aggregate | None = None
    """Counts in the place of the strategy."""
    share: float | str | None = None
    """What a supermajority needs of those who committed; 2/3 without one."""


@dataclass(frozen=True, slots=True)
class LabelConsensus:
    """What a rule makes of usable ballots: the label, whether they differ, and what to know."""

    label: str
    disagreement: bool | None
    tie: str | None = None
    tied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None
    """Why the panel has no label of its own, or why ``disagreement`` is ``None``."""


def label_decision(label: str | None) -> Decision | None:
    """PASS KEEP YES TRUE CORRECT ACCEPT pass and FAIL REJECT NO FALSE INCORRECT fail, in any case.

    Every other word decides nothing.
    """
    return _DECISIONS.get(folded(label))


def _sums(counted: Sequence[Ballot], weights: Sequence[float]) -> dict[str, float]:
    """Weight per label as first written, in the order of the seats."""
    sums: dict[str, float] = {}
    spelled: dict[str, str] = {}
    for ballot, weight in zip(counted, weights, strict=True):
        label = (ballot.label or "").strip()
        first = spelled.setdefault(folded(label), label)
        sums[first] = sums.get(first, 0.0) + weight
    return sums


def _leader(
    sums: Mapping[str, float], rules: LabelRules, notes: tuple[str, ...] = ()
) -> LabelConsensus:
    best = max(sums.values())
    level = {folded(label): label for label, total in sums.items() if total >= best - SLACK}
    tied = tuple(level.values())
    if len(tied) == 1:
        return LabelConsensus(tied[0], len(sums) > 1, notes=notes)
    for label in map(folded, rules.priority):
        if label in level:
            return LabelConsensus(
                level[label], disagreement=True, tie=BY_PRIORITY, tied=tied, notes=notes
            )
    return LabelConsensus(tied[0], disagreement=True, tie=BY_ORDER, tied=tied, notes=notes)


def _once(counted: Sequence[Ballot]) -> dict[str, float]:
    return _sums(counted, [1.0] * len(counted))


def _plurality(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    return _leader(_once(counted), rules)


def _unanimous(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    first, *others = _once(counted)
    return LabelConsensus(rules.fallback if others else first, bool(others))


def _first_disagreement(counted: Sequence[Ballot], _rules: LabelRules) -> LabelConsensus:
    first, *others = _once(counted)
    return LabelConsensus(DISAGREE if others else first, bool(others))


def _weighted(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    """Weight times confidence; a ballot without a confidence weighs nothing beside others.

    The source reads a confidence that is not given as 0. Where no ballot gives one, that would let
    the first seen win by order, so the weights alone decide.
    """
    given = [1.0 if ballot.weight is None else ballot.weight for ballot in counted]
    # Taken relative to the heaviest, so that no sum of finite weights overflows.
    weights = [weight / max(given) for weight in given]
    notes: tuple[str, ...] = ()
    silent = [ballot.id for ballot in counted if ballot.confidence is None]
    if rules.use_confidence and len(silent) == len(counted):
        notes = ("no confidence given: weights alone",)
    elif rules.use_confidence:
        weights = [
            weight * (ballot.confidence or 0.0)
            for weight, ballot in zip(weights, counted, strict=True)
        ]
        notes = (f"no confidence, so no weight: {', '.join(silent)}",) if silent else ()
    return _leader(_sums(counted, weights), rules, notes)


def _supermajority(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    share = DEFAULT_SHARE if rules.share is None else rules.share
    found = supermajority([ballot.label for ballot in counted], share)
    label = rules.fallback if found.label is None else found.label
    return LabelConsensus(label, len(_once(counted)) > 1, reason=found.reason)


LABEL_RULES: Mapping[Strategy, Callable[[Sequence[Ballot], LabelRules], LabelConsensus]] = {
    Strategy.MAJORITY: _plurality,
    Strategy.UNANIMOUS: _unanimous,
    Strategy.WEIGHTED_VOTE: _weighted,
    Strategy.FIRST_DISAGREEMENT: _first_disagreement,
    Strategy.SUPERMAJORITY: _supermajority,
}
"""The strategies that can count labels, each over at least one usable ballot."""
