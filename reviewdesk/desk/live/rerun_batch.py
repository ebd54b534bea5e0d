"""Ask the jurors of many verdicts again: one consent, one ceiling, and a journal in the desk."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.desk.live.batch import BatchEnvironment, BatchState
from reviewdesk.desk.live.rerun import PreparedRerun, rerun_body
from reviewdesk.desk.live.rerun_journal import DeskJournal
from reviewdesk.desk.live.rerun_plan import ReadyRerun, RerunOrder, prepared, stored_ballots
from reviewdesk.desk.live.unfinished import UnfinishedRerun, held
from reviewdesk.domain.canonical import CanonicalBallot
from reviewdesk.domain.panel.rerun_result import RerunDecision, RerunSummary
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import CeilingError, ReviewDeskError
from reviewdesk.live.batch import Answered, Batch, BatchProgress
from reviewdesk.live.budget import Budget, Meter, booked
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.references import PROCESS
from reviewdesk.live.session import CallSession
from reviewdesk.store import reruns

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


class RerunListener(Struct, frozen=True):
    """Callbacks of a re-run: each ballot as it comes, the progress, and what it brought at last."""

    came: Callable[[int, CanonicalBallot], None] = lambda _key, _ballot: None
    told: Callable[[BatchState], None] = lambda _: None
    ended: Callable[[RerunSummary], None] = lambda _: None
    noted: Callable[[str], None] = lambda _: None
    """Hears of long pauses, and of jurors that are stopped."""


def run_now(desk: Desk, ready: ReadyRerun, listener: RerunListener) -> RerunSummary:
    """Carry out a re-run over the network, and return what it brought.

    Raises:
        KeyboardInterrupt: a person stopped it; what came is kept.
    """
    return asyncio.run(carry_out(desk, ready, listener, BatchEnvironment.real()))


async def carry_out(
    desk: Desk, ready: ReadyRerun, listener: RerunListener, world: BatchEnvironment
) -> RerunSummary:
    """Carry out a re-run that a person has agreed to, on the runner that ``judge`` uses.

    The plan is in the desk before the first request, and each reply before it is used. If the task
    is cancelled, what came is kept: a single verdict ends with the ballots that came, and of many
    the unfinished ones wait for a resume.

    Raises:
        CeilingError: the next call might exceed the ceiling; what came is kept.
    """
    resumes = ready.resumes
    batch = resumes.batch if resumes else secrets.token_hex(8)
    journal = DeskJournal(desk, batch, resumes.of if resumes else len(ready.keys))
    with held(batch):
        budget = Budget(ready.order.max_cost, _spent(desk, ready))
        summary = RerunSummary(len(ready.keys))
        run = _Run(desk, ready, listener, world, journal, budget, journal.begin(ready), summary)
        return await run.execute()


@dataclass(slots=True)
class _Run:
    """One re-run whose plan is in the desk, up to its last verdict."""

    desk: Desk
    ready: ReadyRerun
    listener: RerunListener
    world: BatchEnvironment
    journal: DeskJournal
    budget: Budget
    plans: Mapping[int, int]
    """The planning event of each verdict."""
    summary: RerunSummary
    ballots: dict[str, CanonicalBallot] = field(default_factory=dict)
    """The ballots of a single verdict by call, which a stop keeps."""

    async def execute(self) -> RerunSummary:
        """Make the calls that no stored reply answers, and store the verdicts as they come."""
        budget, summary = self.budget, self.summary
        try:
            await self._ask()
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

    async def _ask(self) -> None:
        meter, clock = Meter(self.journal, self.budget), self.world.clock
        transport, order = self.world.transport(), self.ready.order
        asking = CallSession(
            transport,
            meter.keep,
            environment=self.world.environment,
            clock=clock,
            concurrency=order.concurrency,
            per_host=order.per_host,
            deadline=order.deadline,
            max_wait=order.max_wait,
            noted=self.listener.noted,
        )
        batch = Batch[PreparedRerun](self.journal, meter, asking, self._finished, self._came)
        started, found = clock.monotonic(), self.ready.plan

        def report(counts: BatchProgress) -> None:
            counts.seconds = clock.monotonic() - started
            spent = None if found.worst_usd is None else self.budget.spent
            self.summary.spent_usd = spent
            self.listener.told(BatchState(counts, self.summary.verdicts, found.calls, spent))

        try:
            await batch.run(self._drawn(), report)
        finally:
            await transport.close()

    def _drawn(self) -> Iterator[PreparedRerun]:
        """Yield the verdicts one by one, as the runner has room for their calls."""
        for key in self.ready.keys:
            one = self.ready.prepared(self.desk, key)
            self.journal.draw(one.calls, self.plans[key])
            yield one

    def _came(self, one: PreparedRerun, call: Call, ballot: CanonicalBallot) -> None:
        self.summary.turnouts.add([ballot])
        self.listener.came(one.item.row.key, {**ballot, "id": call.juror.name})
        if self.summary.verdicts == 1:
            self.ballots[call.key] = ballot

    def _finished(self, answered: Answered[PreparedRerun]) -> None:
        calls = (call.key for call in answered.posed.calls)
        self._store(answered.posed, dict(zip(calls, answered.ballots, strict=True)))

    def _store(self, one: PreparedRerun, ballots: Mapping[str, CanonicalBallot]) -> None:
        key = one.item.row.key
        body = rerun_body(one, ballots, self.journal.planned_at(self.plans[key]))
        self.journal.finish(one, self.plans[key], body, len(ballots))
        after = body.get("decision")
        made = Decision(after) if after else None
        self.summary.done[key] = RerunDecision(self.plans[key], one.item.assessment.decision, made)

    def _end(self) -> None:
        """Store what a stop left of a single verdict, and the event that ends the whole."""
        summary, ceiling = self.summary, self.budget.closed
        if summary.verdicts == 1 and not summary.done and not ceiling:
            one = self.ready.prepared(self.desk, self.ready.keys[0])
            if self.ballots:
                self._store(one, self.ballots)
            else:
                self.journal.finish(one, self.plans[one.item.row.key], None, 0)
        is_over = summary.verdicts == 1 and not ceiling
        summary.left = 0 if is_over else summary.verdicts - len(summary.done)
        self.journal.end(self.ready, summary.left, len(summary.done), summary.flips)
        self.listener.ended(summary)


def _spent(desk: Desk, ready: ReadyRerun) -> float:
    """Return what the replies that are stored for a continued re-run were booked with."""
    spent = 0.0
    for key, one in ready.plans.items():
        calls = {call.key: call for call in ready.prepared(desk, key).calls}
        for row in reruns.replies(desk.conn, one.plan):
            if (call := calls.get(row["call"])) is not None:
                spent += booked(call, Exchange(**row)) or 0.0
    return spent


def give_up(desk: Desk, found: UnfinishedRerun) -> int:
    """End a re-run for good: what came of each verdict is kept; return how many were left."""
    found.refuse_held()
    journal, order = (
        DeskJournal(desk, found.batch, found.of),
        RerunOrder((), found.wish, found.source),
    )
    rest = [one for one in reruns.planned(desk.conn, found.event) if not one.done]
    for one in rest:
        with suppress(ReviewDeskError):
            ready = prepared(desk, one.verdict, order, PROCESS)
            ballots = stored_ballots(desk, ready, one.plan, PROCESS)
            if ballots and ready.committed == one.panel_hash:
                body = rerun_body(ready, ballots, one.at)
                journal.finish(ready, one.plan, body, len(ballots))
    journal.give_up(found)
    return len(rest)
