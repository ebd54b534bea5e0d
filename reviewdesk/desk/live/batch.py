"""A live panel over a file of cases: looked through, agreed to, asked, and written as a report."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reviewdesk.desk.live.batch_plan import (
    CasesSurvey,
    JurorEndpoint,
    posed,
    seats,
    sent,
    survey,
)
from reviewdesk.desk.live.batch_report import (
    Results,
    Summary,
    committed_panel,
    header,
)
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.turnout import NONE_LOST, Allowance
from reviewdesk.errors import Cancelled, CeilingError, UsageError
from reviewdesk.live.batch import Batch, BatchProgress
from reviewdesk.live.budget import Budget, Meter
from reviewdesk.live.clock import SystemClock
from reviewdesk.live.journal.journal import Commitment, CommitTimes, Journal
from reviewdesk.live.session import CONCURRENCY, CallSession
from reviewdesk.live.wires.transport import HttpTransport
from reviewdesk.reports.canonical.writer import ReportWriter
from reviewdesk.reports.panels.cases_file import open_cases
from reviewdesk.reports.panels.panel_file import read_panel

if TYPE_CHECKING:
    from typing import BinaryIO

    from reviewdesk.live.records import Clock, Transport
    from reviewdesk.reports.bytes.source import Source

REPLIES = ".replies.jsonl"
"""What the name of a report's replies adds to its own."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a person asked for."""

    cases: str
    panel: str
    report: str
    resume: bool = False
    max_cost: float | None = None
    concurrency: int = CONCURRENCY
    per_host: int | None = None
    """The bound on the open calls of each host; without it only ``concurrency`` bounds them."""
    yes: bool = False
    """Whether consent was given beforehand, and nobody asked."""
    max_failed: Allowance = NONE_LOST
    """How many ballots may be lost before the run counts as failed."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What is about to be sent, for a person to agree to."""

    panel: PanelSpec
    seats: tuple[JurorEndpoint, ...]
    found: CasesSurvey
    spent: float


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a run is."""

    counts: BatchProgress
    found: CasesSurvey
    spent_usd: float

    @property
    def left(self) -> float | None:
        """Seconds to the end at the rate so far."""
        rate = self.counts.rate
        return (self.found.calls - self.counts.calls) / rate if rate else None


@dataclass(frozen=True, slots=True)
class BatchListener:
    """Who is told and asked on the way; ``agreed`` says whether anything may be sent."""

    agreed: Callable[[BatchPlan], bool]
    told: Callable[[BatchState], None] = lambda _: None
    noted: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class BatchEnvironment:
    """What a run takes from outside."""

    environment: Mapping[str, str]
    clock: Clock
    transport: Callable[[], Transport]
    stdin: BinaryIO | None = None

    @staticmethod
    def real(stdin: BinaryIO | None = None) -> BatchEnvironment:
        """The process's own environment, time and network."""
        return BatchEnvironment(os.environ, SystemClock(), HttpTransport, stdin)


def judge_cases(order: Order, ears: BatchListener, world: BatchEnvironment) -> Summary:
    """Judge every case of a file and write the report.

    Raises:
        UsageError: the order cannot be carried out; nothing was sent.
        PanelError: the panel or a case cannot be used; nothing was sent.
        Cancelled: a person said no, or stopped it; what came back is stored.
        CeilingError: the next call might cost too much; what was paid for is stored.
        JournalError: the replies cannot be kept.
    """
    panel = read_panel(order.panel)
    seated = seats(panel, world.environment)
    _affordable(panel, order.max_cost)
    source = open_cases(order.cases, world.stdin)
    path = Path(order.report).expanduser()
    _writable(path, resume=order.resume)
    journal = Journal(path.with_name(path.name + REPLIES))
    try:
        for note in journal.notes:
            ears.noted(note)
        found = survey(source, panel, journal, world.environment)
        if found.calls and not ears.agreed(BatchPlan(panel, seated, found, journal.spent)):
            raise Cancelled("cancelled: nothing was sent")
        run = _Run(order, panel, source, found, journal, path, ears, world)
        return run.carried_out()
    finally:
        journal.close()


def preview(
    cases: str, panel: str, world: BatchEnvironment
) -> tuple[tuple[JurorEndpoint, ...], Iterator[dict[str, Any]]]:
    """Where the jurors are asked and, one by one, all that would be sent; nothing is.

    Raises:
        PanelError: the panel or a case cannot be used.
    """
    spec = read_panel(panel)
    source = open_cases(cases, world.stdin)
    survey(source, spec, None, world.environment)
    return seats(spec, world.environment), sent(source, spec)


def _affordable(panel: PanelSpec, ceiling: float | None) -> None:
    unpriced = [juror.name for juror in panel.jurors if juror.price is None]
    if ceiling is not None and unpriced:
        hint = "Give each juror price: {input, output} in US dollars per million tokens."
        raise UsageError(f"--max-cost needs prices, and {', '.join(unpriced)} has none", hint)


def _writable(path: Path, *, resume: bool) -> None:
    """Refuse to write over what another run, or somebody else, has put there."""
    replies = path.with_name(path.name + REPLIES)
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: is no folder", "Make it, or name another -o.")
    begun = replies.exists() and replies.stat().st_size > 0
    if path.is_dir() or (path.exists() and resume and not begun):
        raise UsageError(f"{path}: is there, and is no report of this run", "Name another -o.")
    if not resume and (path.exists() or begun):
        there = path if path.exists() else replies
        raise UsageError(
            f"{there}: is there already", "Go on with it by --resume, or name another -o."
        )


@dataclass(slots=True)
class _Run:
    """One run from the commitment to the report."""

    order: Order
    panel: PanelSpec
    source: Source
    found: CasesSurvey
    journal: Journal
    path: Path
    ears: BatchListener
    world: BatchEnvironment

    def carried_out(self) -> Summary:
        """Ask what is still to be asked, and write the report."""
        held = self._committed()
        writer = ReportWriter(self.path, self.found.cases)
        results = Results(self.panel, held, writer)
        budget = Budget(self.order.max_cost, self.journal.spent)
        try:
            counts = asyncio.run(self._asked(results, budget))
            if budget.closed:
                raise self._stopped_short(budget, counts)
            cases = "cases" if self.order.cases == "-" else Path(self.order.cases).name
            writer.write(header(self.path.stem, self.panel, held, cases))
        except KeyboardInterrupt:
            done = f"{results.verdicts} of {self.found.cases} cases are complete"
            raise Cancelled(f"stopped: {done}", "Go on with --resume.") from None
        finally:
            # A full disk lets this fail too, and what it holds is not wanted any more.
            with suppress(OSError):
                writer.close()
        cost, allowed = self._cost(budget), self.order.max_failed
        return results.summary(str(self.path), counts, cost, allowed)

    def _committed(self) -> CommitTimes:
        """Put panel, rule and cases down before the first request."""
        from reviewdesk import __version__

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
            commitment, _time(self.world.clock), consent if self.found.calls else None
        )
        if held.committed_at != held.started_at:
            self.ears.noted(
                "panel or cases are not those that the stored replies were begun with: "
                "what has no reply under them is asked, and the report is made anew"
            )
        return held

    async def _asked(self, results: Results, budget: Budget) -> BatchProgress:
        meter = Meter(self.journal, budget)
        transport, clock = self.world.transport(), self.world.clock
        asking = CallSession(
            transport,
            meter.keep,
            environment=self.world.environment,
            clock=clock,
            concurrency=self.order.concurrency,
            per_host=self.order.per_host,
        )
        batch = Batch(self.panel, self.journal, meter, asking, results.take)

        started = clock.monotonic()

        def told(counts: BatchProgress) -> None:
            counts.seconds = clock.monotonic() - started
            self.ears.told(BatchState(counts, self.found, budget.spent))

        try:
            await batch.run(posed(self.source, self.found), told)
        finally:
            await transport.close()
        return batch.counts

    def _cost(self, budget: Budget) -> float | None:
        """What all calls of the run cost; ``None`` where a juror has no price."""
        priced = all(juror.price is not None for juror in self.panel.jurors)
        return budget.spent if priced else None

    def _stopped_short(self, budget: Budget, counts: BatchProgress) -> CeilingError:
        return CeilingError(
            f"stopped before the ceiling of ${budget.ceiling:.10g}: ${budget.spent:.4f} is spent, "
            f"and {counts.cases} of {self.found.cases} cases are complete",
            "What was paid for is stored; go on with --resume and a higher --max-cost.",
        )


def _time(clock: Clock) -> str:
    return clock.now().isoformat(timespec="milliseconds")
