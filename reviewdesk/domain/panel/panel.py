"""The panel rule of the library: settings that decide a case from ballots that exist already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from reviewdesk.domain import arguments
from reviewdesk.domain.assessment.assess import Assessment, assess
from reviewdesk.domain.jury.ballot import as_juror
from reviewdesk.domain.jury.label_rules import Aggregate, LabelRules
from reviewdesk.domain.jury.strategies import strategy_named
from reviewdesk.domain.jury.supermajority import DEFAULT_SHARE
from reviewdesk.domain.verdict import (
    DEFAULT_TRIM_FRACTION,
    Ballot,
    Generator,
    Policy,
    Regime,
    Rounding,
    Status,
    Strategy,
    Verdict,
    verdict_from_body,
)
from reviewdesk.errors import NoJurorsError, UsageError


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
            "rounding": _enum_member(Rounding, "rounding", self.rounding),
            "regime": None if self.regime is None else _enum_member(Regime, "regime", self.regime),
            "routes": {tag: strategy_named(word) for tag, word in self.routes.items()},
            "priority": tuple(self.priority),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    def route(self, tags: Iterable[str]) -> Strategy | None:
        """Return the strategy of the first route that matches a tag of the case, or ``None``."""
        case_tags = set(tags)
        routes = (strategy for tag, strategy in self.routes.items() if tag in case_tags)
        found = next(routes, None)
        return None if found is None else Strategy(found)

    def _default_strategy(self) -> Strategy | None:
        if self.aggregate is not None:
            return Strategy.EXTERNAL
        if self.strategy is not None:
            return Strategy(self.strategy)
        return Strategy.WEIGHTED_AVERAGE if self.regime is None else None

    def decide(
        self,
        ballots: Iterable[Ballot],
        *,
        tags: Iterable[str] = (),
        generator: Generator | str | None = None,
        case: str = "case",
    ) -> Assessment:
        """Decide one case from ballots in seat order, as a desk does for the same panel.

        If every juror abstains, the assessment has no decision.

        Raises:
            NoJurorsError: no juror answered, and not all of them abstained.
        """
        case_tags = tuple(tags)
        verdict = self.verdict(ballots, tags=case_tags, generator=generator, case=case)
        statuses = {cast.status for cast in verdict.ballots}
        if Status.OK not in statuses and statuses != {Status.ABSTAINED}:
            missing = ", ".join(f"{cast.id} ({cast.status})" for cast in verdict.ballots)
            raise NoJurorsError(
                f"{case}: no juror answered: {missing or 'the panel is empty'}",
                "Ask them again; a panel without an answer has no score",
            )
        routed = self.route(case_tags) is not None
        counting = LabelRules(
            priority=self.priority,
            use_confidence=self.use_confidence,
            aggregate=None if routed else self.aggregate,
        )
        return assess(verdict, escalation_stated=False, counting=counting)

    def verdict(
        self,
        ballots: Iterable[Ballot],
        *,
        tags: Iterable[str] = (),
        generator: Generator | str | None = None,
        case: str = "case",
    ) -> Verdict:
        """Return the verdict that the ballots form under this rule, before anything is computed."""
        case_tags = list(tags)
        writer = generator if isinstance(generator, Generator) else Generator(generator)
        body = {
            "id": case,
            "case": {"test": case, "tags": case_tags},
            "jurors": [as_juror(cast) for cast in ballots],
            "regime": self.regime,
            "strategy": self.route(case_tags) or self._default_strategy(),
        }
        policy = Policy(
            threshold=self.threshold,
            quorum=self.quorum,
            trim_fraction=self.trim,
            weights=self.weights,
            failed_jurors=Strategy(self.failed_jurors) if self.failed_jurors else None,
            supermajority=self.supermajority,
        )
        made = verdict_from_body(body, policy, writer)
        return replace(made, trim=replace(made.trim, rounding=Rounding(self.rounding)))


def _enum_member(kind: type[Rounding | Regime], place: str, word: str) -> Rounding | Regime:
    try:
        return kind(word)
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise UsageError(f"{place} is {word!r}", f"Known: {known}") from None
