"""The rules that turn many labels into one, and the few labels that mean pass or fail."""

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
"""A custom label rule: it takes usable ballots and returns the label and whether they disagree."""


@dataclass(frozen=True, slots=True)
class LabelRules:
    """Options for counting labels, in addition to the strategy."""

    priority: tuple[str, ...] = ()
    """Labels that win a tie, in this order; if none of them is tied, the label seen first wins."""
    use_confidence: bool = True
    """Whether a weighted vote multiplies a juror's weight by its confidence."""
    fallback: str = UNCLEAR
    """The label of a panel whose count gives none."""
    aggregate: Aggregate | None = None
    """A custom rule that counts in place of the strategy."""
    share: float | str | None = None
    """The share of the committed jurors that a supermajority needs; 2/3 if ``None``."""


@dataclass(frozen=True, slots=True)
class LabelConsensus:
    """The result of a label rule: the label, whether the ballots differ, and notes on the count."""

    label: str
    disagreement: bool | None
    tie: str | None = None
    tied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None
    """Why the rule found no label, or why ``disagreement`` is ``None``."""


def label_decision(label: str | None) -> Decision | None:
    """Return the decision that a label means, in any case, or ``None`` if it means none.

    Pass: PASS, KEEP, YES, TRUE, CORRECT, ACCEPT. Fail: FAIL, REJECT, NO, FALSE, INCORRECT.
    """
    return _DECISIONS.get(folded(label))


def _label_weights(counted: Sequence[Ballot], weights: Sequence[float]) -> dict[str, float]:
    """Sum the weights per label, each spelled as first written, in the order of the seats."""
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


def _label_counts(counted: Sequence[Ballot]) -> dict[str, float]:
    return _label_weights(counted, [1.0] * len(counted))


def _plurality(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    return _leader(_label_counts(counted), rules)


def _unanimous(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    first, *others = _label_counts(counted)
    return LabelConsensus(rules.fallback if others else first, bool(others))


def _first_disagreement(counted: Sequence[Ballot], _rules: LabelRules) -> LabelConsensus:
    first, *others = _label_counts(counted)
    return LabelConsensus(DISAGREE if others else first, bool(others))


def _weighted(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    """Count weight times confidence; a ballot without a confidence counts 0 beside others.

    The source reads a missing confidence as 0. If no ballot gave one, the label seen first would
    win by order, so then the weights alone decide.
    """
    given = [1.0 if ballot.weight is None else ballot.weight for ballot in counted]
    # Weights are divided by the heaviest, so that no sum of finite weights overflows.
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
    return _leader(_label_weights(counted, weights), rules, notes)


def _supermajority(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    share = DEFAULT_SHARE if rules.share is None else rules.share
    found = supermajority([ballot.label for ballot in counted], share)
    label = rules.fallback if found.label is None else found.label
    return LabelConsensus(label, len(_label_counts(counted)) > 1, reason=found.reason)


LABEL_RULES: Mapping[Strategy, Callable[[Sequence[Ballot], LabelRules], LabelConsensus]] = {
    Strategy.MAJORITY: _plurality,
    Strategy.UNANIMOUS: _unanimous,
    Strategy.WEIGHTED_VOTE: _weighted,
    Strategy.FIRST_DISAGREEMENT: _first_disagreement,
    Strategy.SUPERMAJORITY: _supermajority,
}
"""The strategies that can count labels; each needs at least one usable ballot."""
