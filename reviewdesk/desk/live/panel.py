"""The library's ``Panel``: jurors that are asked, and the rule that decides by their ballots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.jury.label_rules import Aggregate
from reviewdesk.domain.jury.supermajority import DEFAULT_SHARE
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.panel import PanelRule as Rule
from reviewdesk.domain.panel.spec import Juror, PanelSpec
from reviewdesk.domain.panel.vendors import Vendor
from reviewdesk.domain.verdict import (
    DEFAULT_TRIM_FRACTION,
    Ballot,
    Decision,
    Generator,
    Policy,
    Regime,
    Rounding,
    Strategy,
    Verdict,
    read_ballot,
)
from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.live.records import Clock, Keep, Transport

Cast: TypeAlias = Ballot | Mapping[str, Any]
"""A ballot, or the mapping that a canonical report holds for a juror."""


@dataclass(frozen=True, slots=True)
class LiveVerdict:
    """The verdict of a panel on a case: its canonical body and the assessment of it."""

    case: Case
    verdict: dict[str, Any]
    assessment: Assessment

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        """The ballots in seat order."""
        return tuple(seat.ballot for seat in self.assessment.seats)

    @property
    def decision(self) -> Decision | None:
        """The panel's decision; ``None`` if it made none."""
        return self.assessment.decision

    @property
    def score(self) -> float | None:
        """The panel's score; ``None`` if the rule gives none."""
        return self.assessment.score


class Panel:
    """Jurors and the rule they decide by; without jurors, it decides by ballots you collected.

    Without a ``strategy``, the regime selects it, and without a regime it is the weighted average.
    A case with a tag in ``routes`` takes that tag's strategy. ``aggregate`` is a custom label rule
    in place of a strategy: ``(ballots) -> (label, disagreement)``.
    """

    __slots__ = ("_spec",)

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        threshold: float = 0.7,
        quorum: float | str = 0.5,
        weights: Mapping[str, float] | None = None,
        trim: float = DEFAULT_TRIM_FRACTION,
        rounding: Rounding | str = Rounding.DOWN,
        failed_jurors: Strategy | str | None = None,
        regime: Regime | str | None = None,
        routes: Mapping[str, Strategy | str] | None = None,
        aggregate: Aggregate | None = None,
        priority: tuple[str, ...] = (),
        use_confidence: bool = True,
        supermajority: float | str = DEFAULT_SHARE,
        *,
        jurors: Iterable[Juror] = (),
        rubric: str | None = None,
        name: str = "panel",
    ) -> None:
        """Check every argument, and that no two jurors share a name."""
        given = dict(weights or {})
        seats = _distinct_jurors(
            tuple(replace(one, weight=given.get(one.name, one.weight)) for one in jurors)
        )
        own = {juror.name: juror.weight for juror in seats if juror.weight is not None}
        rule = Rule(
            strategy, threshold, quorum, {**own, **given}, trim, rounding,
            failed_jurors, regime, routes or {}, aggregate, priority, use_confidence,
            supermajority,
        )  # fmt: skip
        self._spec = PanelSpec(name, seats, rule, rubric)

    @classmethod
    def from_file(cls, path: str | Path) -> Panel:
        """Read a panel from a YAML or TOML file; raise PanelError if it cannot be used."""
        from reviewdesk.reports.panels.panel_file import read_panel

        return cls.of(read_panel(path))

    @classmethod
    def of(cls, spec: PanelSpec) -> Panel:
        """Make the panel that a specification describes."""
        made = cls.__new__(cls)
        object.__setattr__(made, "_spec", spec)
        return made

    @property
    def spec(self) -> PanelSpec:
        """The whole panel, as a panel file describes it."""
        return self._spec

    @property
    def jurors(self) -> tuple[Juror, ...]:
        """The jurors that are asked, in seat order."""
        return self.spec.jurors

    @property
    def rule(self) -> Rule:
        """The rule by which the panel decides, with strategy, threshold, quorum, trim and more."""
        return self.spec.rule

    def __getattr__(self, name: str) -> Any:
        """Return a field of the rule, such as ``threshold``."""
        if name.startswith("_") or name not in Rule.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.spec.rule, name)

    def __eq__(self, other: object) -> bool:
        """Return True if both have the same jurors, rubric and rule."""
        return isinstance(other, Panel) and self.spec == other.spec

    def __hash__(self) -> int:
        """Hash name, jurors and rubric; a rule holds mappings, which cannot be hashed."""
        return hash((self.spec.name, self.spec.jurors, self.spec.rubric))

    def __repr__(self) -> str:
        """Return the name, the seats and the rule."""
        return f"Panel({self.spec.name!r}, {len(self.jurors)} jurors, {self.rule!r})"

    def route(self, tags: Iterable[str]) -> Strategy | None:
        """Return the strategy that ``routes`` gives for the tags of a case, or ``None``."""
        return self.rule.route(tags)

    def verdict(
        self,
        ballots: Iterable[Cast],
        *,
        tags: Iterable[str] = (),
        generator: Generator | str | None = None,
        case: str = "case",
    ) -> Verdict:
        """Make a verdict of the ballots, before it is assessed."""
        cast = map(_as_ballot, ballots)
        return self.rule.verdict(cast, tags=tags, generator=generator, case=case)

    def aggregate(
        self,
        ballots: Iterable[Cast],
        *,
        tags: Iterable[str] = (),
        generator: Generator | str | None = None,
        case: str = "case",
    ) -> Assessment:
        """Decide by ballots that were collected before, without any call.

        If no juror answered, this raises NoJurorsError and never gives a score of 0.
        """
        cast = map(_as_ballot, ballots)
        return self.rule.decide(cast, tags=tags, generator=generator, case=case)

    decide = aggregate

    async def judge(
        self,
        item: Case | Mapping[str, Any],
        *,
        transport: Transport | None = None,
        clock: Clock | None = None,
        keep: Keep | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> LiveVerdict:
        """Ask every juror about a case, or a mapping with the keys of a cases file, and decide.

        A case that fails one of its own checks makes no call. API keys come from the environment,
        ``keep`` stores each reply before it is used, and a ``transport`` that you pass stays open.
        """
        from reviewdesk.desk.live.case import judge

        return await judge(self.spec, item, transport, clock, keep, environment)


def aggregate(
    ballots: Iterable[Cast],
    strategy: Strategy | str | None = None,
    *,
    tags: Iterable[str] = (),
    generator: Generator | str | None = None,
    **rule: Any,
) -> Assessment:
    """Decide by collected ballots in one call; ``rule`` takes the options of a ``Panel``."""
    return Panel(strategy, **rule).aggregate(ballots, tags=tags, generator=generator)


def _distinct_jurors(jurors: tuple[Juror, ...]) -> tuple[Juror, ...]:
    names: set[str] = set()
    for juror in jurors:
        if juror.name in names:
            raise UsageError(f"two jurors are named {juror.name!r}", "Give each its own name")
        names.add(juror.name)
        if juror.vendor not in {vendor.value for vendor in Vendor}:
            known = ", ".join(Vendor)
            raise UsageError(f"{juror.name}: no vendor {juror.vendor!r}", f"Known: {known}")
    return jurors


def _as_ballot(one: Cast) -> Ballot:
    if isinstance(one, Ballot):
        return one
    if not isinstance(one, Mapping) or not isinstance(one.get("id"), str):
        raise UsageError(f"a ballot is {type(one).__name__}", 'Give a ballot, or {"id": ...}')
    return read_ballot(0, one, Policy())
