"""Ask the jurors of many verdicts again: one consent, one ceiling, and a journal in the desk."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from reviewdesk.desk.core import Desk
from reviewdesk.desk.live.journal import DeskJournal
from reviewdesk.desk.live.rerun import PreparedRerun, ReadyRerun, RerunOrder, prepared, rerun_body
from reviewdesk.desk.live.rerun_history import UnfinishedRerun, held
from reviewdesk.desk.review import items
from reviewdesk.domain.canonical import CanonicalBallot, CanonicalVerdict
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.panel.rerun import RerunDecision, RerunSummary, rerun_facts
from reviewdesk.domain.panel.turnout import LiveProgress
from reviewdesk.domain.records import Event
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import CeilingError, ReviewDeskError
from reviewdesk.live.batch import BatchProgress, CaseCalls, World, ask_all
from reviewdesk.live.keys import PROCESS, redactor
from reviewdesk.live.limits import Budget, booked
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.replies.ballots import answer_of
from reviewdesk.store import events, reruns
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent

_TOGETHER = 500
"""The most plans that one transaction writes."""


class RerunListener(Struct, frozen=True):
    """Callbacks of a re-run: each ballot as it comes, the progress, and what it brought at last."""

    came: Callable[[int, CanonicalBallot], None] = lambda _key, _ballot: None
    told: Callable[[LiveProgress], None] = lambda _: None
    ended: Callable[[RerunSummary], None] = lambda _: None
    noted: Callable[[str], None] = lambda _: None
    """Hears of long pauses, and of jurors that are stopped."""


def run_now(desk: Desk, ready: ReadyRerun, listener: RerunListener) -> RerunSummary:
    """Carry out a re-run over the network, and return what it brought.

    Raises:
        KeyboardInterrupt: a person stopped it; what came is kept.
    """
    return asyncio.run(carry_out(desk, ready, listener))


async def carry_out(
    desk: Desk, ready: ReadyRerun, listener: RerunListener, world: World | None = None
) -> RerunSummary:
    """Carry out a re-run that a person has agreed to, on the runner that ``judge`` uses.

    The plan is in the desk before the first request, and each reply before it is used. If the task
    is cancelled, what came is kept: a single verdict ends with the ballots that came, and of many
    the unfinished ones wait for a resume.

    Raises:
        CeilingError: the next call might exceed the ceiling; what came is kept.
    """
    resumes = ready.resumes
    word = resumes.batch if resumes else secrets.token_hex(8)
    of = resumes.of if resumes else len(ready.keys)
    with held(word), closing(DeskJournal(desk, word, of)) as journal:
        plans = write_plans(journal, ready)
        spent = reruns.spent(desk.conn, [one.plan for one in ready.plans.values()])
        for key, one in ready.plans.items() if ready.order.max_cost is not None else ():
            if rows := reruns.unbooked(desk.conn, one.plan):
                calls = {call.key: call for call in ready.prepared(desk, key).calls}
                known = ((calls[row["call"]], row) for row in rows if row["call"] in calls)
                spent += sum(booked(call, Exchange(**row)) or 0.0 for call, row in known)
        budget = Budget(ready.order.max_cost, spent)
        run = _Run(ready, listener, journal, budget, plans, RerunSummary(len(ready.keys)))
        return await run.ask(world or World.real())


def write_plans(journal: DeskJournal, ready: ReadyRerun) -> dict[int, int]:
    """Write the plan of each verdict and then the consent to all; return the plans' keys.

    A re-run that is continued has its plans, so that the consent alone is added.
    """
    desk = journal.desk
    order = ready.order
    resumes = ready.resumes
    about: dict[str, Any] = {
        **journal.about,
        "left": len(ready.keys),
        "filter": order.shown,
        "source": order.source,
        "max_cost_usd": order.max_cost,
        "how": "--yes" if order.yes else "asked",
        **reruns.this_process(),
        **ready.consent_facts,
        "jurors": [seat_body(juror) for juror in ready.first.seats.panel.jurors],
    }
    facts = rerun_facts(order.wish, ready.panel, ready.first.committed, about)
    if resumes is not None:
        facts["first"] = resumes.event.detail["first"]
    run = ready.first.item.run.hash
    consent = NewEvent("rerun_planned", journal.desk.at(), run=run, detail=facts)
    if ready.resumes is not None:
        with writing(desk.conn, desk.path):
            events.append(desk.conn, desk.reviewer, [consent])
        return {key: one.plan for key, one in ready.plans.items()}
    made: list[Event] = []
    for start in range(0, len(ready.keys), _TOGETHER):
        keys = ready.keys[start : start + _TOGETHER]
        with writing(desk.conn, desk.path):
            entries = [_plan(journal, ready, key) for key in keys]
            made += events.append(desk.conn, desk.reviewer, entries)
            if start + _TOGETHER >= len(ready.keys):
                detail = {**consent.detail, "first": made[0].seq}
                whole = NewEvent(consent.kind, consent.at, consent.run, detail=detail)
                events.append(desk.conn, desk.reviewer, [whole])
    return dict(zip(ready.keys, (one.key for one in made), strict=True))


def _plan(journal: DeskJournal, ready: ReadyRerun, key: int) -> NewEvent:
    one = ready.prepared(journal.desk, key)
    desk = journal.desk
    told = dict(journal.about)
    if len(ready.keys) == 1:
        jurors = [seat_body(juror) for juror in one.seats.asked.values()]
        told |= ready.consent_facts | {"jurors": jurors}
    facts = rerun_facts(one.wish, one.seats.panel.name, one.committed, told)
    return items.about(desk, key, NewEvent("rerun_planned", desk.at(), detail=facts))[1]


def _finish(
    journal: DeskJournal,
    one: PreparedRerun,
    plan: int,
    body: CanonicalVerdict | None,
    answered: int,
) -> None:
    """Queue the new verdict of a plan, and the event that ends it; ``None`` if nobody answered.

    It is stopped if fewer jurors ``answered`` than were asked.
    """
    journal.draw(one.calls, None)
    stopped = answered < len(one.calls)
    key = one.item.row.key
    facts: dict[str, Any] = {**journal.about, "plan": plan, "stopped": stopped}
    if body is not None:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        facts |= {
            "decision": body.get("decision"),
            "panel_hash": (body.get("provenance") or {}).get("panel_hash"),
            "answered": answered,
        }

    def write(desk: Desk) -> None:
        if body is not None:
            reruns.enter(desk.conn, plan, key, desk.at(), text, stopped=stopped)
        entry = NewEvent("rerun_ended", desk.at(), detail=facts)
        events.append(desk.conn, desk.reviewer, [items.about(desk, key, entry)[1]])

    journal.put(write)


@dataclass(slots=True)
class _Run:
    """One re-run whose plan is in the desk, up to its last verdict."""

    ready: ReadyRerun
    listener: RerunListener
    journal: DeskJournal
    budget: Budget
    plans: Mapping[int, int]
    """The planning event of each verdict."""
    summary: RerunSummary
    ballots: dict[str, CanonicalBallot] = field(default_factory=dict)
    """The ballots of a single verdict by call, which a stop keeps."""

    async def ask(self, world: World) -> RerunSummary:
        """Make the calls that no stored reply answers, and store the verdicts as they come."""
        budget = self.budget
        summary = self.summary
        try:
            await ask_all(
                self._drawn(), self.journal, budget, self.ready.order, world,
                done=self._finished, came=self._came, told=self._told, noted=self.listener.noted,
            )  # fmt: skip
        finally:
            # The replies that came are paid for, so that this runs at every end.
            self._end()
        if budget.closed:
            raise CeilingError(
                f"stopped before the ceiling of ${budget.ceiling:.10g}: ${budget.spent:.4f} is "
                f"spent, and {summary.left:,} of {summary.verdicts:,} verdicts are left",
                "What came is kept; go on with a higher ceiling.",
            )
        return summary

    def _told(self, counts: BatchProgress) -> None:
        plan = self.ready.plan
        self.summary.spent_usd = None if plan.worst_usd is None else self.budget.spent
        progress = counts.of(self.summary.verdicts, plan.calls, self.summary.spent_usd)
        self.listener.told(progress)

    def _drawn(self) -> Iterator[PreparedRerun]:
        for key in self.ready.keys:
            one = self.ready.prepared(self.journal.desk, key)
            self.journal.draw(one.calls, self.plans[key])
            yield one

    def _came(self, one: PreparedRerun, call: Call, ballot: CanonicalBallot) -> None:
        self.summary.turnouts.add([ballot])
        self.listener.came(one.item.row.key, {**ballot, "id": call.juror.name})
        if self.summary.verdicts == 1:
            self.ballots[call.key] = ballot

    def _finished(self, one: PreparedRerun, found: CaseCalls) -> None:
        self._store(one, found.answers)

    def _store(self, one: PreparedRerun, ballots: Mapping[str, CanonicalBallot]) -> None:
        key = one.item.row.key
        plan = self.plans[key]
        body = rerun_body(one, ballots, events.by_key(self.journal.desk.conn, plan).at)
        _finish(self.journal, one, plan, body, len(ballots))
        after = body.get("decision")
        made = Decision(after) if after else None
        self.summary.done[key] = RerunDecision(plan, one.item.assessment.decision, made)

    def _end(self) -> None:
        summary = self.summary
        ceiling = self.budget.closed
        if summary.verdicts == 1 and not summary.done and not ceiling:
            one = self.ready.prepared(self.journal.desk, self.ready.keys[0])
            if self.ballots:
                self._store(one, self.ballots)
            else:
                _finish(self.journal, one, self.plans[one.item.row.key], None, 0)
        is_over = summary.verdicts == 1 and not ceiling
        summary.left = left = 0 if is_over else summary.verdicts - len(summary.done)
        done = len(summary.done)
        flips = dict(summary.flips)
        facts = {"left": left, "done": done, "flips": flips, "stopped": left > 0}
        self.journal.append("rerun_ended", facts, self.ready.first.item.run.hash)
        self.listener.ended(summary)


def give_up(desk: Desk, found: UnfinishedRerun) -> int:
    """End a re-run for good: what came of each verdict is kept; return how many were left."""
    found.refuse_held()
    order = RerunOrder(wish=found.wish, source=found.source)
    rest = [one for one in reruns.planned(desk.conn, found.event) if not one.done]
    with closing(DeskJournal(desk, found.batch, found.of)) as journal:
        for one in rest:
            with suppress(ReviewDeskError):
                _keep_what_came(journal, prepared(desk, one.verdict, order, PROCESS), one)
        facts = {"left": 0, "given_up": found.left, "stopped": True}
        journal.append("rerun_ended", facts, found.event.run)
    return len(rest)


def _keep_what_came(journal: DeskJournal, ready: PreparedRerun, plan: reruns.PlannedRerun) -> None:
    hidden = redactor([call.juror for call in ready.calls], PROCESS)
    journal.draw(ready.calls, plan.plan)
    stored = ((call, journal.reply(call.key)) for call in ready.calls)
    answers = ((call.key, answer_of(call, exchange, hidden)) for call, exchange in stored)
    ballots = {key: ballot for key, ballot in answers if ballot is not None}
    if ballots and ready.committed == plan.panel_hash:
        body = rerun_body(ready, ballots, plan.at)
        _finish(journal, ready, plan.plan, body, len(ballots))
