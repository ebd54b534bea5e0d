"""The library's ``Panel``: jurors that are asked, and the rule that decides by their ballots."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.jury.rules import DEFAULT_SHARE, LabelVote, least_answered
from reviewdesk.domain.panel.asking import LiveProgress
from reviewdesk.domain.panel.case import Case, case_key
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.spec import Cast, PanelSpec
from reviewdesk.domain.panel.spec import PanelRule as Rule
from reviewdesk.domain.values import Aggregate, Decision, Regime, Rounding, Strategy
from reviewdesk.domain.verdict import (
    DEFAULT_TRIM_FRACTION,
    Ballot,
    CanonicalVerdict,
    Generator,
    verdict_from_body,
)
from reviewdesk.errors import UsageError
from reviewdesk.live.keys import PROCESS
from reviewdesk.live.records import Clock, Transport


def use_references(commands: Mapping[str, Sequence[str]], entries: Mapping[str, str]) -> None:
    """Let ``@NAME`` stand for a command's or a keyring's key."""
    PROCESS.refer(commands, entries)


class LiveVerdict(Struct, frozen=True):
    """The verdict of a panel on a case: its canonical body and the assessment of it."""

    case: Case
    verdict: CanonicalVerdict
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
    def label_vote(self) -> LabelVote | None:
        """The consensus of the labels; ``None`` if labels do not decide."""
        return self.assessment.label_vote

    @property
    def score(self) -> float | None:
        """The panel's score; ``None`` if the rule gives none."""
        return self.assessment.score


@dataclass(frozen=True, init=False, repr=False)
class Panel(PanelSpec):
    """Jurors and the rule they decide by; without jurors, it decides by ballots you collected.

    Without a ``strategy``, the regime selects it, and without a regime it is the weighted average.
    A case with a tag in ``routes`` takes that tag's strategy. ``aggregate`` is a custom label rule
    in place of a strategy: ``(ballots) -> (label, disagreement)``; live jurors then answer by a
    label. ``labels`` are those that jurors may answer by, ``passing`` and ``failing`` those that
    pass and fail; the winning label decides, by ``majority`` if no strategy is given.
    ``fallback`` is the label of a count that gives none. ``stop_when_decided`` asks the
    jurors in their order, as long as they can turn the decision, and ``swap`` shows a pair of
    responses in both orders.
    """

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
        priority: Sequence[str] = (),
        use_confidence: bool = True,
        supermajority: float | str = DEFAULT_SHARE,
        stop_when_decided: bool = False,
        swap: bool = False,
        *,
        min_answered: float | str | None = None,
        fallback: str | None = None,
        labels: Sequence[str] = (),
        passing: Sequence[str] = (),
        failing: Sequence[str] = (),
        jurors: Iterable[Juror] = (),
        rubric: str | None = None,
        name: str = "panel",
    ) -> None:
        """Check every argument, and that no two jurors share a name."""
        given = dict(weights or {})
        names = set[str]()
        made = []
        for one in jurors:
            if one.name in names:
                raise UsageError(f"two jurors are named {one.name!r}", "Give each its own name")
            names.add(one.name)
            # Imported for jurors alone: a panel that only decides on ballots reads no files.
            from reviewdesk.reports.panels.prices import price_of

            price = one.price or price_of(one.vendor, one.model)
            weight = given.get(one.name, one.weight)
            made.append(dataclasses.replace(one, weight=weight, price=price))
        seats = tuple(made)
        own = {juror.name: juror.weight for juror in seats if juror.weight is not None}
        rule = Rule(
            strategy, threshold, quorum, {**own, **given}, trim, rounding,
            failed_jurors, min_answered, regime, routes or {}, aggregate, priority, use_confidence,
            supermajority, fallback, stop_when_decided, swap, labels, passing, failing,
        )  # fmt: skip
        count = len(seats)
        if seats and least_answered(rule.min_answered, count) > count:
            has = f"the panel has {count} juror{'s' * (count != 1)}"
            hint = "Ask for as many as there are, or fewer"
            raise UsageError(f"min_answered is {min_answered}, and {has}", hint)
        PanelSpec.__init__(self, name, seats, rule, rubric)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a panel from a YAML or TOML file; raise PanelError if it cannot be used."""
        from reviewdesk.reports.panels.panel_file import read_panel

        return cls.of(read_panel(path))

    @classmethod
    def of(cls, spec: PanelSpec) -> Self:
        """Make the panel that a specification describes."""
        made = cls.__new__(cls)
        PanelSpec.__init__(made, spec.name, spec.jurors, spec.rule, spec.rubric)
        return made

    def __getattr__(self, name: str) -> Any:
        """Return a field of the rule, such as ``threshold``."""
        if name.startswith("_") or name not in Rule.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.rule, name)

    def __repr__(self) -> str:
        """Return the name, the number of seats and the rule."""
        return f"Panel({self.name!r}, {len(self.jurors)} jurors, {self.rule!r})"

    async def judge(self, item: Case | Mapping[str, Any], **options: Any) -> LiveVerdict:
        """Ask every juror about a case, or a mapping with the keys of a cases file, and decide.

        The options are those of ``judge_many``.
        """
        (found,) = await self.judge_many([item], **options)
        return found

    async def judge_many(
        self,
        items: Iterable[Case | Mapping[str, Any]],
        *,
        report: str | Path | None = None,
        resume: bool = False,
        force: bool = False,
        max_cost: float | None = None,
        concurrency: int = 16,
        per_host: int | None = None,
        told: Callable[[LiveProgress], None] = lambda _: None,
        transport: Transport | None = None,
        clock: Clock | None = None,
        environment: Mapping[str, str] = PROCESS,
        deadline: float | None = None,
        max_wait: float | None = None,
    ) -> tuple[LiveVerdict, ...]:
        """Ask every juror about every case, and return the verdicts in the order of the cases.

        A case that fails one of its own checks makes no call. With ``report`` the verdicts are
        written to that file, and every reply is on disk beside it before it is used, so that
        ``resume`` continues a run that was cut off; ``force`` replaces a report. ``max_cost`` is
        a ceiling in US dollars, for which each juror needs a price. ``told`` hears of the progress.
        API keys come from the environment, and a ``transport`` that you pass stays open.
        ``deadline`` is the seconds of trying that each ballot has, and ``max_wait`` those that a
        model may be paused before its ballots are lost; both are 600 if you give none.

        Raises:
            UsageError: the panel cannot be asked about a case.
            NoJurorsError: no juror answered, and an ``aggregate`` has nothing to count.
            CeilingError: the next call might exceed the ceiling.
        """
        from reviewdesk.desk.live.judge import BatchRun, Cases, Order
        from reviewdesk.domain.panel.asking import Listener
        from reviewdesk.live.limits import World
        from reviewdesk.live.records import Clock
        from reviewdesk.live.wires.transport import HttpTransport
        from reviewdesk.reports.panels.cases_file import case_from
        from reviewdesk.reports.wording import FieldError, spell_path

        cases = []
        ids = set[str]()
        for item in items:
            if not self.jurors:
                raise UsageError("a panel without jurors", "Give jurors, or read a panel file")
            try:
                case = item if isinstance(item, Case) else case_from(item)
            except FieldError as error:
                raise UsageError(f"{spell_path(error.path)}: {error.text}", error.hint) from None
            if not (case.rubric or self.rubric):
                problem = f"case {case.id!r} has no rubric, and the panel has none"
                raise UsageError(problem, "Give one of them")
            if report and case.id in ids:
                problem = f"two cases have the id {case.id!r}, and a report has each once"
                raise UsageError(problem, "Give each its own")
            ids.add(case.id)
            cases.append(case)
        if not cases:
            return ()
        made: dict[int, LiveVerdict] = {}

        def kept(place: int, body: CanonicalVerdict) -> None:
            # Imported here because it loads numpy.
            from reviewdesk.domain.assessment.assess import assess

            made[place] = LiveVerdict(cases[place], body, assess(verdict_from_body(body)))

        order = Order(
            cases="", panel="", report=str(report or ""), resume=resume, force=force, yes=True,
            max_cost=max_cost, concurrency=concurrency, per_host=per_host, deadline=deadline,
            max_wait=max_wait,
        )  # fmt: skip
        world = World(
            environment,
            clock or Clock(),
            HttpTransport if transport is None else lambda: transport,
            closes=transport is None,
        )
        text = "\n".join(map(case_key, cases))
        found = Cases("cases", lambda: iter(cases), sha256(text.encode()).hexdigest)
        run = BatchRun(self, found, order, Listener(told=told), world, kept=kept)
        with run.begun():
            await run.ask()
        return tuple(made[place] for place in range(len(cases)))

    def judge_many_sync(
        self, items: Iterable[Case | Mapping[str, Any]], **options: Any
    ) -> tuple[LiveVerdict, ...]:
        """Do what ``judge_many`` does, with the same options, where no event loop runs."""
        import asyncio

        return asyncio.run(self.judge_many(items, **options))


def with_prompt(juror: Juror, path: str | Path) -> Juror:
    """Return the juror with the texts and the version of a YAML prompt file."""
    from reviewdesk.reports.panels.panel_file import read_prompt

    found = read_prompt(path)
    return dataclasses.replace(juror, **found.model_dump(exclude_none=True, by_alias=True))


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
