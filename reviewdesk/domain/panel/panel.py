"""The rule of a panel: the settings by which ballots become a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from reviewdesk.domain import arguments
from reviewdesk.domain.jury.label_rules import Aggregate
from reviewdesk.domain.jury.strategies import strategy_named
from reviewdesk.domain.jury.supermajority import DEFAULT_SHARE
from reviewdesk.domain.verdict import DEFAULT_TRIM_FRACTION, Regime, Rounding, Strategy, Verdict
from reviewdesk.errors import UsageError


@dataclass(frozen=True, slots=True)
class PanelRule:
    """The rule by which a panel decides. Every field is checked when the rule is built.

    Without a ``strategy``, the regime's strategy decides, or the weighted average if there is no
    regime. A case with a tag in ``routes`` takes the strategy of the first route that matches.
    """

    strategy: Strategy | str | None = None
    threshold: float = 0.7
    quorum: float | str = 0.5
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights by juror name; a juror without a weight counts as 1."""
    trim: float = DEFAULT_TRIM_FRACTION
    rounding: Rounding | str = Rounding.DOWN
    failed_jurors: Strategy | str | None = None
    """With ``median``, the median replaces any strategy when a juror failed."""
    regime: Regime | str | None = None
    routes: Mapping[str, Strategy | str] = field(default_factory=dict)
    aggregate: Aggregate | None = None
    """A caller's label rule that replaces the strategy: ``(ballots) -> (label, bool)``."""
    priority: tuple[str, ...] = ()
    """The labels that win a tie, in order of preference."""
    use_confidence: bool = True
    """Whether a weighted vote of labels multiplies weight by confidence."""
    supermajority: float | str = DEFAULT_SHARE
    """The share of committed jurors that a supermajority needs; "2/3" is exact."""

    def __post_init__(self) -> None:
        """Raise UsageError for settings that no panel can use, and turn words into enum members."""
        if self.aggregate is not None and self.strategy is not None:
            raise UsageError("a panel with both a strategy and an aggregate", "Give one of them")
        if self.aggregate is not None and not callable(self.aggregate):
            raise UsageError(f"aggregate is {self.aggregate!r}", "Give (ballots) -> (label, bool)")
        if self.failed_jurors not in {None, Strategy.MEDIAN}:
            raise UsageError(f"failed_jurors is {self.failed_jurors!r}", "Give median, or None")
        arguments.unit("threshold", self.threshold)
        arguments.trim_fraction("trim", self.trim)
        arguments.quorum("quorum", self.quorum)
        arguments.supermajority("supermajority", self.supermajority)
        weights = {
            name: arguments.weight(f"weights: {name}", value)
            for name, value in self.weights.items()
        }
        kept = {
            "strategy": None if self.strategy is None else strategy_named(self.strategy),
            "weights": weights,
            "rounding": arguments.member(Rounding, self.rounding, "rounding is"),
            "regime": None
            if self.regime is None
            else arguments.member(Regime, self.regime, "regime is"),
            "routes": {tag: strategy_named(word) for tag, word in self.routes.items()},
            "priority": tuple(self.priority),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)


def rule_of(verdict: Verdict, other: PanelRule) -> PanelRule:
    """Return the rule of a verdict; ``other`` fills in what its report leaves unknown."""
    policy, trim = verdict.policy, verdict.trim
    return replace(
        other,
        strategy=policy.strategy or other.strategy,
        threshold=other.threshold if policy.threshold is None else policy.threshold,
        quorum=other.quorum if policy.quorum is None else policy.quorum,
        weights={**other.weights, **policy.weights},
        trim=trim.fraction_under(policy, other.trim),
        rounding=trim.rounding or other.rounding,
        regime=verdict.regime or other.regime,
        failed_jurors=policy.failed_jurors or other.failed_jurors,
        supermajority=other.supermajority if policy.supermajority is None else policy.supermajority,
        routes={},
    )
