"""Re-runs: which jurors are asked again about which verdicts, what would be sent, and the asking.

One consent and one ceiling hold for all verdicts of a re-run, whose journal is in the desk.
"""

import dataclasses
import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.live.journal import DeskJournal, agreed_facts
from reviewdesk.desk.review import items
from reviewdesk.desk.review.items import UnfinishedRerun, held
from reviewdesk.domain.panel.asking import ConsentPlan, Listener
from reviewdesk.domain.panel.case import Case, case_of
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.panel.rerun import (
    RerunDecision,
    RerunExtent,
    RerunRequest,
    RerunScope,
    RerunSummary,
)
from reviewdesk.domain.panel.spec import PanelSpec, RerunSeats, contract_before, panel_of, seating
from reviewdesk.domain.panel.verdict_body import verdict_body
from reviewdesk.domain.records import Event, Item
from reviewdesk.domain.verdict import CanonicalBallot, CanonicalVerdict, Decision, own_facts
from reviewdesk.errors import Cancelled, ReviewDeskError, UsageError
from reviewdesk.live.asking import Asking, CaseCalls, Survey
from reviewdesk.live.asking import payloads as sent
from reviewdesk.live.keys import PROCESS, redactor
from reviewdesk.live.limits import Meter, RunLimits, World
from reviewdesk.live.records import Call, calls_for
from reviewdesk.live.replies.ballots import answer_of, stopped
from reviewdesk.store import events, reruns
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent

JURORS = "@jurors"
"""The name of the panel made of the report's jurors; other names are paths of files."""

_TOGETHER = 500
"""The most plans that one transaction writes, so that the desk is locked for a moment only."""


class PreparedRerun(Struct, frozen=True):
    """A re-run of one verdict that waits for consent; nothing has been sent or written."""

    item: Item
    case: Case
    seats: RerunSeats
    calls: tuple[Call, ...]
    committed: str
    contract_before: int | None = None
    """The version of the reply contract that the first panel answered, if it is not today's."""

    def begin(self) -> CaseCalls:
        return CaseCalls(self.calls)

    def body(self, ballots: Mapping[str, CanonicalBallot], committed_at: str) -> CanonicalVerdict:
        """Return the new verdict; calls that are not in ``ballots``, by call, were stopped."""
        jurors = dict(self.seats.kept)
        for call in self.calls:
            jurors[call.seat] = ballots.get(call.key) or stopped(call)
        in_order = [jurors[seat] for seat in range(self.seats.size)]
        made = verdict_body(self.case, self.seats.panel, in_order, committed_at=committed_at)
        # The new verdict keeps the item's own texts in the form that its report gave them.
        first_body = self.item.verdict.body
        for name in ("output", "alternative", "input"):
            if name in first_body:
                made[name] = first_body[name]
        own = dict(own_facts(made))
        if self.contract_before is not None:
            own["contract_before"] = self.contract_before
        if own:
            made["meta"] = {"reviewdesk": own}
        return made


def panel_for(
    source: str,
    item: Item,
    wish: RerunRequest | None = None,
    environment: Mapping[str, str] = PROCESS,
) -> PanelSpec:
    """Return the panel that ``source`` names: a file, ``JURORS``, or if empty the report's own.

    If ``wish`` names jurors, the report has to describe only these. ``JURORS`` are those of the
    report's jurors whose key is set, or current models of the set keys, with today's prompts.
    """
    if source == JURORS:
        from reviewdesk.desk.live.panel_new import reachable_panel

        return reachable_panel(item.verdict, environment)
    if source:
        return panel_from(source)
    from reviewdesk.reports.panels.prices import priced

    wanted: tuple[str, ...] | None = None
    if wish is not None and wish.scope is not RerunScope.PANEL:
        is_missing = wish.scope is RerunScope.MISSING
        wanted = item.verdict.missing if is_missing else (wish.juror or "",)
    return priced(panel_of(item.verdict, item.run.header, wanted))


def panel_from(path: str) -> PanelSpec:
    from reviewdesk.desk.files import named
    from reviewdesk.reports.panels.panel_file import read_panel

    return read_panel(named(path))


class RerunOrder(RunLimits, frozen=True, kw_only=True):
    """What a person asks for; ``source`` is as in ``panel_for``, ``shown`` the filter, if any."""

    keys: Sequence[int] = ()
    wish: RerunRequest = RerunRequest()
    source: str = ""
    shown: str | None = None
    panel: PanelSpec | None = None


def with_losses(desk: Desk, item: Item, plan: int | None = None) -> Item:
    """Return an item with the verdict of its last re-run before a plan, if that lost ballots."""
    past = [one.verdict for one in items.of_item(desk, item) if plan is None or one.plan < plan]
    return replace(item, verdict=past[-1]) if past and past[-1].missing else item


def prepared(desk: Desk, key: int, order: RerunOrder, plan: int | None = None) -> PreparedRerun:
    """Prepare one verdict of an order, whose event is ``plan`` if it was planned before."""
    item = desk.item(key)
    first = with_losses(desk, item, plan) if order.wish.scope is RerunScope.MISSING else item
    panel = order.panel or panel_for(order.source, first, order.wish)
    seats = seating(first.verdict, panel, order.wish)
    case = case_of(item.verdict.body, item.verdict.generator).under(panel.rubric)
    places = sorted(seats.asked)
    asked = dataclasses.replace(seats.panel, jurors=tuple(seats.asked[seat] for seat in places))
    calls = (replace(one, seat=places[one.seat], plan=plan) for one in calls_for(case, asked))
    return PreparedRerun(
        item, case, seats, tuple(calls), seats.committed(case.rubric, case.tags),
        contract_before(first.verdict, seats.asked.values()),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadyRerun:
    """A re-run that waits for consent; ``plans`` are the events of one that was begun before."""

    order: RerunOrder
    commits: Mapping[int, tuple[str, str]]
    """The name and the hash of the panel of each verdict, by the verdict's key."""
    plan: ConsentPlan
    held: Mapping[int, PreparedRerun]
    asked: RerunExtent
    contracts: tuple[int, ...] = ()
    resumes: UnfinishedRerun | None = None
    plans: Mapping[int, reruns.PlannedRerun] = field(default_factory=dict)
    stored: frozenset[str] = frozenset()
    """The keys of the calls that are not made, because their answers are stored."""

    @property
    def keys(self) -> tuple[int, ...]:
        return tuple(self.commits)

    @property
    def first(self) -> PreparedRerun:
        return self.held[self.keys[0]]

    def prepared(self, desk: Desk, key: int, plan: int | None = None) -> PreparedRerun:
        one = self.held.get(key) or prepared(desk, key, self.order, plan)
        return replace(one, calls=tuple(replace(call, plan=plan) for call in one.calls))

    def payloads(self, prepared: Iterable[PreparedRerun]) -> Iterator[dict[str, Any]]:
        calls = (call for one in prepared for call in one.calls)
        return sent(call for call in calls if call.key not in self.stored)

    @property
    def name(self) -> str:
        alone = len(self.keys) == 1
        return self.first.item.verdict.id if alone else f"{len(self.keys):,} verdicts"


def survey(
    desk: Desk,
    order: RerunOrder,
    environment: Mapping[str, str] = PROCESS,
    told: Callable[[float], bool] = lambda _share: True,
    resumes: UnfinishedRerun | None = None,
) -> ReadyRerun:
    """Prepare every verdict of an order, and sum up what would be sent.

    ``told`` receives the share that is done; False stops. Of those that a filter chose, verdicts
    that cannot be asked about are left out. Of a re-run that is resumed, the rest is prepared, and
    the order gives its limits; its panel must be the one that was agreed to.
    """
    plans: dict[int, reruns.PlannedRerun] = {}
    if resumes is not None:
        order, plans = _rest(desk, order, resumes)
    if order.source and not order.source.startswith("@") and not order.panel:
        order = replace(order, panel=panel_from(order.source))
    calls = Survey(environment, DeskJournal(desk, "", 0))
    made: dict[int, PreparedRerun] = {}
    commits: dict[int, tuple[str, str]] = {}
    contracts: set[int | None] = set()
    stored: set[str] = set()
    left_out: Counter[str] = Counter()
    problem: ReviewDeskError | None = None
    for place, key in enumerate(order.keys):
        if not told(place / len(order.keys)):
            raise Cancelled("cancelled: nothing was sent")
        plan = plans.get(key)
        try:
            one = prepared(desk, key, order, plan.plan if plan else None)
            calls.add(begun := one.begin())
        except UsageError as error:
            if resumes is not None or order.shown is None:
                raise
            # The text after the verdict's id is the same for all that it concerns.
            left_out[error.message.rpartition(": ")[2]] += 1
            problem = problem or error
            continue
        if plan is not None and plan.panel_hash != one.committed:
            raise UsageError(
                f"{one.item.verdict.id}: the panel is not the one that was agreed to",
                "Put the panel file back, or give the re-run up.",
            )
        commits[key] = one.seats.panel.name, one.committed
        contracts.add(one.contract_before)
        if len(made) < 50:  # the calls of others are made again, with other nonces
            made[key] = one
        stored |= begun.answers.keys()
    if problem is not None and not commits:
        raise problem
    planned = calls.plan()
    planned.check_ceiling(order.max_cost)
    panels = " or ".join(dict.fromkeys(name for name, _ in commits.values()))
    extent = RerunExtent(order.wish, panels, len(commits), order.shown, left_out)
    return ReadyRerun(
        order, commits, planned, made, extent, tuple(sorted(filter(None, contracts))),
        resumes, plans, frozenset(stored),
    )  # fmt: skip


def _rest(
    desk: Desk, order: RerunOrder, found: UnfinishedRerun
) -> tuple[RerunOrder, dict[int, reruns.PlannedRerun]]:
    found.refuse_held()
    plans = {one.verdict: one for one in reruns.planned(desk.conn, found.event)}
    keys = [key for key, one in plans.items() if not one.done]
    if not keys:
        raise UsageError("the run of that re-run was removed", "Load its report again.")
    if order.max_cost is not None and not reruns.are_booked(
        desk.conn, [one.plan for one in plans.values()]
    ):
        raise UsageError(
            "the cost of the re-run so far is not known", "Continue it without a ceiling."
        )
    shown = found.extent.shown
    wish = found.extent.wish
    rest = replace(order, keys=keys, wish=wish, source=found.source, shown=shown, panel=None)
    return rest, plans


# Asking


async def carry_out(
    desk: Desk,
    ready: ReadyRerun,
    summary: RerunSummary,
    listener: Listener,
    world: World | None = None,
) -> None:
    """Carry out a re-run that a person has agreed to, on the runner that ``judge`` uses.

    The plan is in the desk before the first request, and each reply before it is used. What came of
    it is in ``summary``. If the task is cancelled or meets the ceiling, a single verdict ends with
    the ballots that came, and unfinished ones of many wait for a resume.
    """
    resumes = ready.resumes
    word = resumes.batch if resumes else secrets.token_hex(8)
    journal = DeskJournal(desk, word, resumes.extent.verdicts if resumes else len(ready.keys))
    count = len(ready.keys)
    with held(word):
        plans = write_plans(journal, ready)
        spent = reruns.spent(desk.conn, [one.plan for one in ready.plans.values()])
        meter = Meter(journal, ready.order.max_cost, spent)
        plan = replace(ready.plan, cases=count)
        asking = Asking[PreparedRerun](meter, ready.order, world or World.real(), listener, plan)
        begun: list[tuple[PreparedRerun, CaseCalls]] = []

        def drawn() -> Iterator[tuple[PreparedRerun, CaseCalls]]:
            for key in ready.keys:
                one = ready.prepared(desk, key, plans[key])
                begun[:] = [(one, one.begin())]
                yield begun[0]

        def store(one: PreparedRerun, found: CaseCalls) -> None:
            key = one.item.row.key
            summary.turnouts.add(found.answers.values())
            body = _finish(journal, one, plans[key], found.answers)
            if body is not None:
                made = body.get("decision")
                summary.done[key] = RerunDecision(
                    plans[key], one.item.assessment.decision, Decision(made) if made else None
                )

        try:
            await asking.run(drawn(), store)
        finally:
            # The replies that came are paid for, so that this runs at every end.
            is_alone = count == 1 and not meter.closed
            if is_alone and not summary.done:
                for one in begun:
                    store(*one)
            done = len(summary.done)
            summary.left = left = 0 if is_alone else count - done
            facts = {"left": left, "done": done, "flips": dict(summary.flips), "stopped": left > 0}
            journal.append("rerun_ended", facts, ready.first.item.run.hash)
        if meter.closed:
            left_over = f", and {summary.left:,} of {count:,} verdicts are left"
            raise meter.stopped(left_over, "The answers are kept; continue with a higher ceiling.")


def write_plans(journal: DeskJournal, ready: ReadyRerun) -> dict[int, int]:
    """Write the plan of each verdict that lacks one, then the consent; return the plans' keys."""
    desk = journal.desk
    order = ready.order
    first = ready.first
    about = {"scope": order.wish.scope.value, "juror": order.wish.juror}

    def plan(key: int) -> NewEvent:
        name, committed = ready.commits[key]
        facts = {**about, "panel": name, "panel_hash": committed, **journal.about}
        return items.about(desk, key, NewEvent("rerun_planned", desk.at(), detail=facts))[1]

    def consent(start: int) -> NewEvent:
        facts: dict[str, Any] = {
            **about,
            "panel": ready.asked.panel,
            "panel_hash": first.committed,
            **journal.about,
            "left": len(ready.keys),
            "filter": order.shown,
            "source": order.source,
            "rule": first.seats.panel.rule_body(first.case.rubric, first.case.tags),
            **agreed_facts(order, ready.plan),
            "jurors": [seat_body(juror) for juror in first.seats.panel.jurors],
            "first": start,
        }
        return NewEvent("rerun_planned", desk.at(), run=first.item.run.hash, detail=facts)

    if ready.resumes is not None:
        with writing(desk.conn):
            agreed = consent(ready.resumes.event.detail["first"])
            events.append(desk.conn, desk.reviewer, [agreed])
        return {key: one.plan for key, one in ready.plans.items()}
    made: list[Event] = []
    for at in range(0, len(ready.keys), _TOGETHER):
        some = [*map(plan, ready.keys[at : at + _TOGETHER])]
        with writing(desk.conn):
            made += events.append(desk.conn, desk.reviewer, some).events
            if at + _TOGETHER >= len(ready.keys):
                events.append(desk.conn, desk.reviewer, [consent(made[0].seq)])
    return dict(zip(ready.keys, (one.key for one in made), strict=True))


def _finish(
    journal: DeskJournal, one: PreparedRerun, plan: int, ballots: Mapping[str, CanonicalBallot]
) -> CanonicalVerdict | None:
    body = one.body(ballots, events.by_key(journal.desk.conn, plan).at) if ballots else None
    stopped = len(ballots) < len(one.calls)
    key = one.item.row.key
    facts: dict[str, Any] = {**journal.about, "plan": plan, "stopped": stopped}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if body is not None:
        facts |= {
            "decision": body.get("decision"),
            "panel_hash": (body.get("provenance") or {}).get("panel_hash"),
            "answered": len(ballots),
        }

    def write(desk: Desk) -> None:
        if body is not None:
            reruns.enter(desk.conn, plan, key, desk.at(), text, stopped=stopped)
        entry = NewEvent("rerun_ended", desk.at(), detail=facts)
        events.append(desk.conn, desk.reviewer, [items.about(desk, key, entry)[1]])

    journal.put(write)
    return body


def give_up(desk: Desk, found: UnfinishedRerun) -> int:
    found.refuse_held()
    order = RerunOrder(wish=found.extent.wish, source=found.source)
    rest = [one for one in reruns.planned(desk.conn, found.event) if not one.done]
    journal = DeskJournal(desk, found.batch, found.extent.verdicts)
    for plan in rest:
        with suppress(ReviewDeskError):
            ready = prepared(desk, plan.verdict, order, plan.plan)
            hidden = redactor([call.juror for call in ready.calls], PROCESS)
            answers = {c.key: answer_of(c, journal.reply(c), hidden) for c in ready.calls}
            ballots = {key: ballot for key, ballot in answers.items() if ballot is not None}
            if ballots and ready.committed == plan.panel_hash:
                _finish(journal, ready, plan.plan, ballots)
    facts = {"left": 0, "given_up": found.extent.left, "stopped": True}
    journal.append("rerun_ended", facts, found.event.run)
    return len(rest)
