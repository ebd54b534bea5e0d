"""The journal of a re-run, which the desk itself keeps: its plan, its replies and its verdicts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from reviewdesk.desk.review import items
from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.panel.rerun import rerun_facts
from reviewdesk.domain.records import Event
from reviewdesk.errors import BusyError
from reviewdesk.live.records import Call, Exchange
from reviewdesk.store import events, reruns
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.desk.live.rerun import PreparedRerun
    from reviewdesk.desk.live.rerun_plan import ReadyRerun
    from reviewdesk.desk.live.unfinished import UnfinishedRerun

_TOGETHER = 500
"""The most plans that one transaction writes."""
_AGAIN = 0.1
"""Seconds until replies are written again, if another process holds the lock of the desk."""


class DeskJournal:
    """Writes the replies and verdicts of a re-run into the desk, many in one transaction.

    What waits is written together, so that the lock is held for milliseconds and many replies share
    one sync to the disk.
    """

    def __init__(self, desk: Desk, batch: str, of: int) -> None:
        """Write nothing yet; ``batch`` is the word that the events of its ``of`` verdicts share."""
        self._desk = desk
        self._about: dict[str, Any] = {"batch": batch, "of": of}
        self._plans: dict[str, int] = {}
        self._waiting: list[Callable[[], object]] = []
        self._round: asyncio.Task[None] | None = None

    # the plan

    def begin(self, ready: ReadyRerun) -> dict[int, int]:
        """Write the plan of each verdict and then the consent to all; return the plans' keys.

        A re-run that is continued has its plans, so that the consent alone is added.
        """
        desk, whole = self._desk, self._whole(ready)
        if ready.resumes is not None:
            with writing(desk.conn, desk.path):
                events.append(desk.conn, desk.reviewer, [whole])
            return {key: one.plan for key, one in ready.plans.items()}
        made: list[Event] = []
        for start in range(0, len(ready.keys), _TOGETHER):
            keys = ready.keys[start : start + _TOGETHER]
            last = start + _TOGETHER >= len(ready.keys)
            with writing(desk.conn, desk.path):
                entries = [self._plan(ready, key) for key in keys]
                made += events.append(desk.conn, desk.reviewer, entries)
                if last:
                    detail = {**whole.detail, "first": made[0].seq}
                    consent = NewEvent(whole.kind, whole.at, whole.run, detail=detail)
                    events.append(desk.conn, desk.reviewer, [consent])
        return dict(zip(ready.keys, (one.key for one in made), strict=True))

    def _plan(self, ready: ReadyRerun, key: int) -> NewEvent:
        one = ready.prepared(self._desk, key)
        told = dict(self._about)
        if len(ready.keys) == 1:
            jurors = [seat_body(juror) for juror in one.seats.asked.values()]
            told |= ready.consent_facts | {"jurors": jurors}
        facts = rerun_facts(one.wish, one.seats.panel.name, one.committed, told)
        entry = NewEvent("rerun_planned", self._desk.at(), detail=facts)
        return items.about(self._desk, key, entry)[1]

    def _whole(self, ready: ReadyRerun) -> NewEvent:
        """Return the event with the consent to the whole re-run, and who carries it out."""
        order, resumes = ready.order, ready.resumes
        about: dict[str, Any] = {
            **self._about,
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
        return NewEvent(
            "rerun_planned", self._desk.at(), run=ready.first.item.run.hash, detail=facts
        )

    def planned_at(self, plan: int) -> str:
        """Return when a verdict's plan was written."""
        return events.by_key(self._desk.conn, plan).at

    # the replies, as the runner stores them

    def draw(self, calls: Sequence[Call], plan: int) -> None:
        """Take replies to these calls for a plan."""
        self._plans.update((call.key, plan) for call in calls)

    def reply(self, key: str) -> Exchange | None:
        """Return the newest stored exchange of a call."""
        found = reruns.replies(self._desk.conn, self._plans[key], key)
        return Exchange(**found[-1]) if found else None

    def keep(self, call: Call, exchange: Exchange, usd: float | None = None) -> None:
        """Queue an exchange for writing; it is on disk once ``settled`` has returned."""
        del usd  # it is booked from the reply itself
        row = {**asdict(exchange), "seat": call.seat, "juror": call.juror.name}
        self._waiting.append(
            partial(reruns.keep_reply, self._desk.conn, self._plans[call.key], row)
        )

    async def settled(self) -> None:
        """Return when everything kept so far is on disk."""
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._write())
        await asyncio.shield(self._round)

    async def _write(self) -> None:
        await asyncio.sleep(0)  # what arrived at the same time shares the transaction
        while True:
            try:
                self.flush()
            except BusyError:
                await asyncio.sleep(_AGAIN)
            else:
                return

    def flush(self) -> None:
        """Write what waits, in one transaction; all of it goes on waiting if that fails."""
        if not self._waiting:
            return
        with writing(self._desk.conn, self._desk.path):
            for write in self._waiting:
                write()
        self._waiting.clear()

    # the verdicts

    def finish(
        self, one: PreparedRerun, plan: int, body: CanonicalVerdict | None, answered: int
    ) -> None:
        """Queue the new verdict of a plan, and the event that ends it; ``None`` if nobody answered.

        It is stopped if fewer jurors ``answered`` than were asked.
        """
        for call in one.calls:
            self._plans.pop(call.key, None)
        stopped, key = answered < len(one.calls), one.item.row.key
        facts: dict[str, Any] = {**self._about, "plan": plan, "stopped": stopped}
        if body is not None:
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
            facts |= {
                "decision": body.get("decision"),
                "panel_hash": (body.get("provenance") or {}).get("panel_hash"),
                "answered": answered,
            }
            self._waiting.append(partial(self._enter, plan, key, text, stopped=stopped))
        self._waiting.append(partial(self._ended, key, facts))

    def _enter(self, plan: int, key: int, text: str, *, stopped: bool) -> None:
        desk = self._desk
        reruns.enter(desk.conn, plan, key, desk.at(), text, stopped=stopped)

    def _ended(self, key: int, facts: Mapping[str, Any]) -> None:
        entry = NewEvent("rerun_ended", self._desk.at(), detail=facts)
        events.append(
            self._desk.conn, self._desk.reviewer, [items.about(self._desk, key, entry)[1]]
        )

    def end(self, ready: ReadyRerun, left: int, done: int, flips: Mapping[str, int]) -> None:
        """Write what waits and the event that ends the whole; ``left`` verdicts wait."""
        facts = {"left": left, "done": done, "flips": dict(flips), "stopped": left > 0}
        self._end(ready.first.item.run.hash, facts)

    def give_up(self, found: UnfinishedRerun) -> None:
        """Write what waits and the event that nothing of the re-run is left to do."""
        self._end(found.event.run, {"left": 0, "given_up": found.left, "stopped": True})

    def _end(self, run: str | None, facts: Mapping[str, Any]) -> None:
        desk = self._desk
        entry = NewEvent("rerun_ended", desk.at(), run=run, detail={**self._about, **facts})
        self._waiting.append(partial(events.append, desk.conn, desk.reviewer, [entry]))
        self.flush()
