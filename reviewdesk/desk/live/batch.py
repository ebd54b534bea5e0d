"""Run a live panel over a file of cases: survey it, get consent, ask, and write the report."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.live.batch_pending import (
    GO_ON,
    check_batches,
    check_ceiling,
    check_pending,
    in_batch,
    live_jurors,
)
from reviewdesk.desk.live.batch_plan import (
    CasesSurvey,
    panel_hosts,
    pending_cases,
    sent,
    survey,
    with_calls,
)
from reviewdesk.desk.live.batch_report import Results, committed_panel, header
from reviewdesk.domain.panel.consent import ConsentPlan
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.turnout import NONE_LOST, Allowance, BatchSummary, LiveProgress
from reviewdesk.errors import Cancelled, CeilingError, UsageError
from reviewdesk.file_output import refuse_desk
from reviewdesk.live.batch import Batch, BatchProgress
from reviewdesk.live.budget import Budget, Meter
from reviewdesk.live.clock import SystemClock
from reviewdesk.live.journal.cache import ReplyCache
from reviewdesk.live.journal.journal import Commitment, CommitTimes, Journal
from reviewdesk.live.references import PROCESS
from reviewdesk.live.session import CONCURRENCY, CallSession
from reviewdesk.live.vendor_batches.run import Submission, VendorBatches
from reviewdesk.reports.canonical.writer import ReportWriter
from reviewdesk.reports.panels.cases_file import open_cases
from reviewdesk.reports.panels.panel_file import read_panel

if TYPE_CHECKING:
    from typing import BinaryIO

    from reviewdesk.live.records import Call, Clock, Exchange, Keep, Transport
    from reviewdesk.reports.bytes.source import Source

REPLIES = ".replies.jsonl"
"""The suffix that turns a report's name into that of its journal."""


class Order(Struct, frozen=True):
    """The options of one batch, as the user gave them."""

    cases: str
    panel: str
    report: str
    resume: bool = False
    force: bool = False
    max_cost: float | None = None
    concurrency: int = CONCURRENCY
    per_host: int | None = None
    """The most open calls to each host; if ``None``, only ``concurrency`` limits them."""
    yes: bool = False
    """Whether the user gave consent in advance, so that no question is asked."""
    max_failed: Allowance = NONE_LOST
    """How many ballots may be lost before the run counts as failed."""
    deadline: float | None = None
    """Seconds of trying that each ballot has; if ``None``, the client's."""
    max_wait: float | None = None
    """Seconds that a model may be paused before its jurors are set aside; ``None`` is 600."""
    stop_when_decided: bool = False
    """Whether the next juror is asked only while it can turn the decision, as a panel may say."""

    in_batches: bool = False
    """Whether calls go to the vendors' batch interfaces, where there are any."""
    cache: str | None = None
    """The folder of replies that are kept from run to run, if any are."""

    @property
    def replaces(self) -> bool:
        """Whether the report may take the place of a file that is there."""
        return self.resume or self.force


class BatchState(Struct, frozen=True):
    """The progress of a batch: the counts so far, all that there is, and the cost in US dollars.

    ``spent_usd`` is ``None`` if a juror has no price.
    """

    counts: BatchProgress
    cases: int
    calls: int
    spent_usd: float | None

    @property
    def progress(self) -> LiveProgress:
        """How far the batch is.

        The remaining seconds are those of the remaining calls at the rate so far, leaving out the
        time in which every call waited, and at least those of each pause and of the calls after it.
        """
        counts = self.counts
        rest = max(0, self.calls - counts.calls - counts.spared)
        working = counts.seconds - counts.idle
        each = working / counts.calls if counts.calls and working > 0 else None
        times = [rest * each] if each is not None else []
        times += [pause.left + waiting * (each or 0.0) for pause, waiting in counts.pauses]
        paused = tuple(pause for pause, _ in counts.pauses)
        left = max(times, default=None)
        return LiveProgress(counts.cases, self.cases, counts.rate, self.spent_usd, left, paused)


class BatchListener(Struct, frozen=True):
    """Callbacks of a batch: ``agreed`` asks for consent, ``told`` and ``noted`` inform the user."""

    agreed: Callable[[ConsentPlan], bool]
    told: Callable[[BatchState], None] = lambda _: None
    noted: Callable[[str], None] = lambda _: None


class BatchEnvironment(Struct, frozen=True):
    """What a batch needs from outside: variables, time, network and standard input."""

    environment: Mapping[str, str]
    clock: Clock
    transport: Callable[[], Transport]
    stdin: BinaryIO | None = None

    @staticmethod
    def real(stdin: BinaryIO | None = None) -> BatchEnvironment:
        """Return the process's own environment, clock and network."""
        from reviewdesk.live.wires.transport import HttpTransport

        return BatchEnvironment(PROCESS, SystemClock(), HttpTransport, stdin)


def judge_cases(
    order: Order, listener: BatchListener, environment: BatchEnvironment
) -> BatchSummary:
    """Judge every case of a file and write the report.

    Raises:
        UsageError: the order cannot be carried out; nothing was sent.
        PanelError: the panel or a case cannot be used; nothing was sent.
        Cancelled: the user refused consent or stopped the run; the replies so far are stored.
        CeilingError: the next call might exceed the ceiling; the replies so far are stored.
        JournalError: the replies cannot be stored.
        CallsPendingError: calls wait at vendors, so that there is no report yet.
    """
    panel = read_panel(order.panel)
    if order.stop_when_decided:
        panel = dataclasses.replace(
            panel, rule=dataclasses.replace(panel.rule, stop_when_decided=True)
        )
    plan = panel_hosts(panel, environment.environment)
    _check_prices(panel, order.max_cost)
    if order.cache and order.in_batches:
        raise UsageError("--cache is for calls that are made now", "Leave it out, or --batch.")
    source = open_cases(order.cases, environment.stdin)
    path = Path(order.report).expanduser()
    _check_output(path, resume=order.resume, force=order.force)
    replies = path.with_name(path.name + REPLIES)
    cache = ReplyCache(Path(order.cache).expanduser()) if order.cache else None
    with closing(Journal(replies)) as journal:
        run = _Run(order, panel, source, CasesSurvey(), journal, path, listener, environment)
        run.cache = cache
        run.agree(plan)
        if not run.in_batches:
            return run.execute()
        run.exchange_batches()
    with closing(Journal(replies)) as journal:
        found = survey(source, panel, journal, environment.environment)
        return dataclasses.replace(run, journal=journal, found=found).execute()


def preview(
    cases: str, panel: str, environment: BatchEnvironment
) -> tuple[ConsentPlan, Iterator[dict[str, Any]]]:
    """Return the hosts of a panel, and an iterator over all that would be sent; send nothing.

    Raises:
        PanelError: the panel or a case cannot be used.
    """
    spec = read_panel(panel)
    source = open_cases(cases, environment.stdin)
    survey(source, spec, None, environment.environment)
    return panel_hosts(spec, environment.environment), sent(source, spec)


def _check_prices(panel: PanelSpec, ceiling: float | None) -> None:
    unpriced = [juror.name for juror in panel.jurors if juror.price is None]
    if ceiling is not None and unpriced:
        hint = "Give each juror price: {input, output} in US dollars per million tokens."
        raise UsageError(f"--max-cost needs prices, and {', '.join(unpriced)} has none", hint)


def _check_output(path: Path, *, resume: bool, force: bool) -> None:
    """Raise UsageError if there is no folder for the report, or it would overwrite another file."""
    replies = path.with_name(path.name + REPLIES)
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: is no folder", "Make it, or name another -o.")
    try:
        refuse_desk(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "Name another -o.") from error
    begun = replies.exists() and replies.stat().st_size > 0
    if path.is_dir() or (os.path.lexists(path) and resume and not begun and not force):
        raise UsageError(f"{path}: is there, and is no report of this run", "Name another -o.")
    if not resume and begun:
        hint = "Go on with it by --resume, or name another -o."
        raise UsageError(f"{replies}: is there already", hint)
    if not resume and not force and os.path.lexists(path):
        hint = "Name another -o, or replace it with --force."
        raise UsageError(f"{path}: is there already", hint)


@dataclass(slots=True)
class _Run:
    """One batch, from the commitment in the journal to the report."""

    order: Order
    panel: PanelSpec
    source: Source
    found: CasesSurvey
    journal: Journal
    path: Path
    listener: BatchListener
    environment: BatchEnvironment
    in_batches: bool = False
    """Whether the vendors' batch interfaces are used, as asked for or begun earlier."""
    cache: ReplyCache | None = None

    def agree(self, plan: ConsentPlan) -> None:
        """Count the calls, and get consent unless there are none.

        Raises:
            Cancelled: the user refused.
            UsageError: batches cannot do what is asked for.
        """
        order, panel, journal = self.order, self.panel, self.journal
        for note in journal.notes:
            self.listener.noted(note)
        self.in_batches = order.in_batches or bool(journal.batches)
        if self.in_batches:
            check_batches(panel)
        self.found = found = survey(
            self.source,
            panel,
            journal,
            self.environment.environment,
            in_batches=self.in_batches,
            cached=self.cache,
        )
        if self.in_batches:
            check_ceiling(order.max_cost, journal.spent, found)
            plan = replace(plan, live=live_jurors(panel))
        if found.calls and not self.listener.agreed(with_calls(plan, found)):
            raise Cancelled("cancelled: nothing was sent")

    def exchange_batches(self) -> None:
        """Fetch what is done at the vendors and submit what is open.

        Raises:
            CallsPendingError: calls wait at vendors.
        """
        self._commit()

        async def run() -> Submission:
            transport = self.environment.transport()
            asking = self._session(transport, lambda _call, _exchange: None)
            batches = VendorBatches(self.journal, asking, self.listener.noted)
            try:
                return await batches.run(pending_cases(self.source, self.panel, self.found))
            finally:
                await transport.close()

        try:
            made = asyncio.run(run())
        except KeyboardInterrupt:
            raise Cancelled("stopped: what the vendors took is noted", GO_ON) from None
        check_pending(made)

    def execute(self) -> BatchSummary:
        """Make the calls that no stored reply answers, and write the report."""
        held = self._commit()
        writer = ReportWriter(self.path, self.found.cases, replace=self.order.replaces)
        results = Results(self.panel, held, writer)
        budget = Budget(self.order.max_cost, self.journal.spent)
        try:
            counts = asyncio.run(self._ask(results, budget))
            if budget.closed:
                raise self._ceiling_error(budget, counts)
            cases = "cases" if self.order.cases == "-" else Path(self.order.cases).name
            writer.write(header(self.path.stem, self.panel, held, cases))
        except KeyboardInterrupt:
            done = f"{results.verdicts} of {self.found.cases} cases are complete"
            raise Cancelled(f"stopped: {done}", GO_ON) from None
        finally:
            # Closing fails on a full disk too, and the first error is the one to report.
            with suppress(OSError):
                writer.close()
        cost, allowed = self._cost(budget), self.order.max_failed
        return results.summary(str(self.path), counts, cost, allowed)

    def _commit(self) -> CommitTimes:
        """Store panel, rule, cases and consent in the journal before the first request."""
        from reviewdesk.version import __version__

        panel = self.panel
        commitment = Commitment(
            version=__version__,
            panel=committed_panel(panel),
            panel_hash=panel.hash(panel.rubric),
            rule=panel.rule_body(panel.rubric, ()),
            cases_sha256=self.source.sha256(),
        )
        consent = {
            "how": "--yes" if self.order.yes else "asked",
            "calls": self.found.calls,
            "payload_sha256": self.found.payload_sha256,
        }
        held = self.journal.commit(
            commitment, _time(self.environment.clock), consent if self.found.calls else None
        )
        if held.committed_at != held.started_at:
            self.listener.noted(
                "panel or cases are not those that the stored replies were begun with: "
                "what has no reply under them is asked, and the report is made anew"
            )
        return held

    async def _ask(self, results: Results, budget: Budget) -> BatchProgress:
        meter = Meter(self.journal, budget)
        transport, clock = self.environment.transport(), self.environment.clock
        cache = self.cache

        def keep(call: Call, exchange: Exchange) -> None:
            meter.keep(call, exchange)
            if cache is not None:
                cache.keep(call, exchange)

        asking = self._session(transport, keep)
        is_final = in_batch if self.in_batches else lambda _: False
        batch = Batch(self.journal, meter, asking, results.take, is_final=is_final, cache=cache)

        started = clock.monotonic()

        def report_progress(counts: BatchProgress) -> None:
            counts.seconds = clock.monotonic() - started
            found, cost = self.found, self._cost(budget)
            self.listener.told(BatchState(counts, found.cases, found.calls, cost))

        try:
            await batch.run(pending_cases(self.source, self.panel, self.found), report_progress)
        finally:
            await transport.close()
        return batch.counts

    def _session(self, transport: Transport, keep: Keep) -> CallSession:
        return CallSession(
            transport,
            keep,
            environment=self.environment.environment,
            clock=self.environment.clock,
            concurrency=self.order.concurrency,
            per_host=self.order.per_host,
            deadline=self.order.deadline,
            max_wait=self.order.max_wait,
            noted=self.listener.noted,
        )

    def _cost(self, budget: Budget) -> float | None:
        """Return the cost of all calls in US dollars; ``None`` if a juror has no price."""
        priced = all(juror.price is not None for juror in self.panel.jurors)
        return budget.spent if priced else None

    def _ceiling_error(self, budget: Budget, counts: BatchProgress) -> CeilingError:
        return CeilingError(
            f"stopped before the ceiling of ${budget.ceiling:.10g}: ${budget.spent:.4f} is spent, "
            f"and {counts.cases} of {self.found.cases} cases are complete",
            "What was paid for is stored; go on with --resume and a higher --max-cost.",
        )


def _time(clock: Clock) -> str:
    return clock.now().isoformat(timespec="milliseconds")
