"""Prepare a re-run of many verdicts: what would be sent, to whom, and at what cost at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.live.rerun import PreparedRerun, panel_for, panel_from, prepare
from reviewdesk.desk.live.unfinished import UnfinishedRerun
from reviewdesk.domain.canonical import CanonicalBallot
from reviewdesk.domain.panel.consent import ConsentPlan
from reviewdesk.domain.panel.rerun import RerunRequest
from reviewdesk.domain.panel.rerun_result import RerunExtent
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.turnout import Allowance
from reviewdesk.errors import Cancelled, ReviewDeskError, UsageError
from reviewdesk.live.keys import redactor
from reviewdesk.live.plan import plan
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.references import PROCESS
from reviewdesk.live.replies.ballots import answer_of
from reviewdesk.live.session import CONCURRENCY
from reviewdesk.store import reruns

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

HELD = 50
"""The most verdicts whose calls are held between consent and sending; those of others are made
again, with other nonces."""


class RerunOrder(Struct, frozen=True):
    """What a person asks for: the verdicts, who is asked about them, and the limits.

    ``source`` names the panel as ``panel_for`` takes it, ``shown`` the filter that chose the
    verdicts, if one did.
    """

    keys: Sequence[int]
    wish: RerunRequest = RerunRequest()
    source: str = ""
    shown: str | None = None
    max_cost: float | None = None
    concurrency: int = CONCURRENCY
    per_host: int | None = None
    yes: bool = False
    """Whether the person gave consent in advance, so that no question is asked."""
    panel: PanelSpec | None = None
    """The panel itself, if it was read already."""
    deadline: float | None = None
    max_wait: float | None = None
    max_failed: Allowance = Allowance()
    """The ballots that may be lost before a command counts the re-run as failed."""


@dataclass(frozen=True, slots=True)
class ReadyRerun:
    """A re-run that waits for consent; nothing has been sent or written.

    ``plans`` maps each verdict to its planning event, if the re-run was begun before.
    """

    order: RerunOrder
    keys: tuple[int, ...]
    plan: ConsentPlan
    held: Mapping[int, PreparedRerun]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Why some verdicts of the order are not asked about, and how many."""
    panel: str = ""
    """The name of the panel that is asked, or of each, if the verdicts have several."""
    contracts: tuple[int, ...] = ()
    resumes: UnfinishedRerun | None = None
    plans: Mapping[int, reruns.PlannedRerun] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=lambda: PROCESS, repr=False)

    @property
    def first(self) -> PreparedRerun:
        """The first verdict of it."""
        return self.held[self.keys[0]]

    def prepared(self, desk: Desk, key: int) -> PreparedRerun:
        """Return one of its verdicts, prepared again if it is not held."""
        return self.held.get(key) or prepared(desk, key, self.order, self.environment)

    @property
    def consent_facts(self) -> dict[str, Any]:
        """What the person is shown and agrees to, as events keep it."""
        planned, first = self.plan, self.first
        return {
            "rule": first.seats.panel.rule_body(first.case.rubric, first.case.tags),
            "hosts": [host.name for host in planned.hosts],
            "models": list(planned.models),
            "calls": planned.calls,
            "worst_case_usd": planned.worst_usd,
            "payload_sha256": planned.payload_sha256,
        }

    @property
    def asked(self) -> RerunExtent:
        """Who is asked about how many verdicts."""
        wish = self.order.wish
        return RerunExtent(
            wish.scope, wish.juror, self.panel, len(self.keys), self.order.shown,
            self.left_out,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """Its verdict or, of several, how many there are."""
        alone = len(self.keys) == 1
        return self.first.item.verdict.id if alone else f"{len(self.keys):,} verdicts"


def survey(
    desk: Desk,
    order: RerunOrder,
    environment: Mapping[str, str] | None = None,
    told: Callable[[float], bool] = lambda _share: True,
) -> ReadyRerun:
    """Prepare every verdict of an order, and sum up what would be sent.

    ``told`` receives the share that is done; False stops. Verdicts that cannot be asked about are
    left out and counted if a filter chose them and others remain.

    Raises:
        UsageError: no verdict can be asked about, or a ceiling is given without prices.
        Cancelled: ``told`` stopped it.
    """
    return _Survey(desk, order, PROCESS if environment is None else environment, told).ready()


def survey_rest(
    desk: Desk,
    found: UnfinishedRerun,
    order: RerunOrder,
    environment: Mapping[str, str] | None = None,
    told: Callable[[float], bool] = lambda _share: True,
) -> ReadyRerun:
    """Prepare what is left of a re-run that did not end; ``order`` gives its limits.

    Raises:
        UsageError: its panel is not the one that was agreed to, or cannot be had any more.
        DeskError: another process is at work on it.
    """
    found.refuse_held()
    plans = {one.verdict: one for one in reruns.planned(desk.conn, found.event)}
    keys = [key for key, one in plans.items() if not one.done]
    if not keys:
        raise UsageError("the run of that re-run was removed", "Load its report again.")
    order = replace(
        order, keys=keys, wish=found.wish, source=found.source, shown=found.shown, panel=None
    )
    known = PROCESS if environment is None else environment
    return _Survey(desk, order, known, told, found, plans).ready()


@dataclass(slots=True)
class _Survey:
    """Goes over the verdicts of an order once, before anything is sent."""

    desk: Desk
    order: RerunOrder
    environment: Mapping[str, str]
    told: Callable[[float], bool]
    resumes: UnfinishedRerun | None = None
    plans: Mapping[int, reruns.PlannedRerun] = field(default_factory=dict)
    keys: list[int] = field(default_factory=list)
    held: dict[int, PreparedRerun] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    panels: dict[str, None] = field(default_factory=dict)
    contracts: set[int] = field(default_factory=set)
    stored: int = 0
    problem: ReviewDeskError | None = None

    def ready(self) -> ReadyRerun:
        self.order = order = with_panel(self.order)
        found = plan(self._calls(), self.environment)
        if self.problem is not None and not self.keys:
            raise self.problem
        if order.max_cost is not None and found.worst_usd is None:
            hint = "Give each juror price: {input, output} in US dollars per million tokens."
            raise UsageError("a ceiling needs prices, and a juror has none", hint)
        return ReadyRerun(
            order, tuple(self.keys), replace(found, stored=self.stored), self.held,
            dict(self.left_out), " or ".join(self.panels), tuple(sorted(self.contracts)),
            self.resumes, self.plans, self.environment,
        )  # fmt: skip

    def _calls(self) -> Iterator[Call]:
        for place, key in enumerate(self.order.keys):
            if not self.told(place / len(self.order.keys)):
                raise Cancelled("cancelled: nothing was sent")
            try:
                one = prepared(self.desk, key, self.order, self.environment)
                self._check(key, one)
            except UsageError as error:
                if self.resumes is not None or self.order.shown is None:
                    raise
                # The text after the verdict's id is the same for all that it concerns.
                self.left_out[error.message.rpartition(": ")[2]] += 1
                self.problem = self.problem or error
                continue
            self.keys.append(key)
            self.panels[one.seats.panel.name] = None
            if len(self.held) < HELD:
                self.held[key] = one
            if one.contract_before is not None:
                self.contracts.add(one.contract_before)
            yield from self._open_calls(key, one)

    def _check(self, key: int, one: PreparedRerun) -> None:
        if key in self.plans and self.plans[key].panel_hash != one.committed:
            raise UsageError(
                f"{one.item.verdict.id}: the panel is not the one that was agreed to",
                "Put the panel file back, or give the re-run up.",
            )

    def _open_calls(self, key: int, one: PreparedRerun) -> Iterator[Call]:
        if key not in self.plans:
            yield from one.calls
            return
        answered = stored_ballots(self.desk, one, self.plans[key].plan, self.environment)
        self.stored += len(answered)
        yield from (call for call in one.calls if call.key not in answered)


def with_panel(order: RerunOrder) -> RerunOrder:
    """Return the order with its panel read, if that is a file."""
    is_file = bool(order.source) and not order.source.startswith("@")
    return replace(order, panel=panel_from(order.source)) if is_file and not order.panel else order


def prepared(
    desk: Desk, key: int, order: RerunOrder, environment: Mapping[str, str]
) -> PreparedRerun:
    """Prepare one verdict of an order; raise UsageError if it cannot be asked about."""
    item = desk.item(key)
    panel = order.panel or panel_for(order.source, item, order.wish)
    return prepare(desk, key, panel, order.wish, environment=environment, item=item)


def stored_ballots(
    desk: Desk, one: PreparedRerun, plan: int, environment: Mapping[str, str]
) -> dict[str, CanonicalBallot]:
    """Return the ballots of the stored answers to a plan, by call."""
    newest = {row["call"]: Exchange(**row) for row in reruns.replies(desk.conn, plan)}
    hidden = redactor([call.juror for call in one.calls], environment)
    ballots = ((call, answer_of(call, newest.get(call.key), hidden)) for call in one.calls)
    return {call.key: ballot for call, ballot in ballots if ballot is not None}
