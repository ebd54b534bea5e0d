"""Run a live panel over cases: count the calls, get consent, ask, and write the report."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import now
from reviewdesk.desk.live.journal import (
    FORMAT,
    REPLIES,
    CommitTimes,
    ReportJournal,
    agreed_facts,
    is_begun,
    report_journal,
)
from reviewdesk.domain.jury.rules import own_share
from reviewdesk.domain.panel.asking import BatchSummary, ConsentPlan, Listener, LiveProgress
from reviewdesk.domain.panel.case import Case, CheckResult
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.verdict_body import failed_check_body, verdict_body
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import (
    SLACK,
    CanonicalVerdict,
    Status,
    verdict_from_body,
    without_nulls,
)
from reviewdesk.errors import Cancelled, PanelError, ReviewDeskError, TransportError, UsageError
from reviewdesk.file_output import refuse_desk
from reviewdesk.live.asking import (
    Asking,
    CaseCalls,
    ReplyCache,
    Survey,
    Unstored,
    hosts,
    panel_calls,
    payloads,
    seat_ballots,
)
from reviewdesk.live.keys import PROCESS
from reviewdesk.live.limits import Meter, RunLimits, World
from reviewdesk.live.wires.batches import interface
from reviewdesk.live.wires.endpoints import endpoint
from reviewdesk.reports.canonical.writer import FORMAT_NAME, ReportWriter
from reviewdesk.reports.panels.cases_file import open_cases, read_cases
from reviewdesk.reports.panels.panel_file import read_panel
from reviewdesk.version import __version__
from reviewdesk.views.json.review import shape


class Order(RunLimits, frozen=True, kw_only=True):
    """The options of one batch, as the user gave them."""

    cases: str
    panel: str
    report: str
    resume: bool = False
    force: bool = False
    stop_when_decided: bool = False
    """Whether the next juror is asked only while it can change the decision, as a panel may say."""
    in_batches: bool = False
    cache: str | None = None
    """The folder of replies that are kept between runs, if they are kept."""
    desk: Path | None = None
    """The desk that keeps the journal; ``None`` is a private file beside the report."""


class CallsPendingError(ReviewDeskError):
    """The run has no report yet, because calls wait at vendors or could not be submitted."""

    def __init__(self, pending: LiveProgress) -> None:
        self.pending = pending
        calls = "1 call waits" if pending.waiting == 1 else f"{pending.waiting:,} calls wait"
        parts = [f"{calls} at the vendors"] if pending.waiting else []
        parts += [f"{pending.unsent:,} could not be submitted"] if pending.unsent else []
        end = "come back with --resume, which asks for no answer twice"
        super().__init__(f"{' and '.join(parts)}; {end}")


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases that can be read several times; ``name`` is what errors and the title call them."""

    name: str
    read: Callable[[], Iterator[Case]]
    sha256: Callable[[], str]


def judge_cases(
    order: Order, listener: Listener, world: World | None = None, stdin: BinaryIO | None = None
) -> BatchSummary:
    """Judge every case of a file and write the report.

    Raise Cancelled, CeilingError or CallsPendingError if there is no report yet; the replies so far
    are stored.
    """
    panel = _panel_of(order)
    source = open_cases(order.cases, stdin)
    name = "cases" if order.cases == "-" else Path(order.cases).name
    found = Cases(name, partial(read_cases, source), source.sha256)
    run = BatchRun(panel, found, order, listener, world or World.real())
    with run.begun():
        try:
            return asyncio.run(run.ask())
        except KeyboardInterrupt:
            raise Cancelled(f"stopped: {run.came}", "Continue with --resume.") from None


def preview(
    order: Order, environment: Mapping[str, str] = PROCESS, stdin: BinaryIO | None = None
) -> tuple[ConsentPlan, Iterator[dict[str, Any]]]:
    """Return the hosts of a panel, and an iterator over all that would be sent; send nothing."""
    spec = _panel_of(order)
    every = tuple(check_cases(read_cases(open_cases(order.cases, stdin)), spec))
    path = Path(order.report or "none").expanduser()

    def rows() -> Iterator[dict[str, Any]]:
        with ExitStack() as opened:
            found = Survey(environment)
            if order.resume and is_begun(path, order.desk):
                found.store = opened.enter_context(report_journal(path, order.desk, now))
            for one in every:
                yield from payloads(found.open_calls(one.begin()))

    return _panel_hosts(spec, environment), rows()


def _panel_of(order: Order) -> PanelSpec:
    panel = read_panel(order.panel)
    if order.stop_when_decided:
        panel = replaced(panel, rule=replaced(panel.rule, stop_when_decided=True))
    return panel


class PendingCase(Struct, frozen=True):
    """A case with its position in the file, its panel, and the results of its checks."""

    place: int
    case: Case
    panel: PanelSpec
    checks: tuple[CheckResult, ...] = ()

    @property
    def failed(self) -> bool:
        return any(check.failed for check in self.checks)

    def begin(self) -> CaseCalls:
        return CaseCalls(()) if self.failed else panel_calls(self.case, self.panel)


def check_cases(cases: Iterable[Case], panel: PanelSpec, name: str = "") -> Iterator[PendingCase]:
    for place, case in enumerate(cases):
        if not (case.rubric or panel.rubric):
            where = f'case "{show_line(case.id, 60)}"'
            hint = "Give it a rubric, or the panel one for all."
            raise PanelError(name, where, "has no rubric, and the panel has none", hint)
        results: tuple[CheckResult, ...] = ()
        if case.checks:
            # Imported here, because most cases have none and the libraries are heavy.
            from reviewdesk.reports.panels.case_checks import run_checks

            results = run_checks(case)
        yield PendingCase(place, case, panel, results)


_COUNTS = {
    "pass": "passed", "fail": "failed", "inconclusive": "inconclusive", "error": "errors",
}  # fmt: skip
"""The figure that counts each decision; verdicts without one are ``no_decision``."""


@dataclass(slots=True)
class BatchRun:
    """One batch: the survey of its calls, the commitment in its journal, and the report."""

    panel: PanelSpec
    cases: Cases
    order: Order
    listener: Listener
    world: World
    kept: Callable[[int, CanonicalVerdict], None] = lambda _place, _body: None
    """Receives each verdict with the place of its case."""
    summary: BatchSummary = field(init=False)
    _journal: ReportJournal | None = None
    _plan: ConsentPlan = field(default_factory=ConsentPlan)
    _promised: float = 0.0
    """The most that calls through batch interfaces cost, in US dollars."""
    _in_batches: bool = False
    """Whether the vendors' batch interfaces are used, as asked for or begun earlier."""
    _cache: ReplyCache | None = None
    _unverified: int = 0
    """The verdicts whose panel hash is not the committed one."""

    @property
    def came(self) -> str:
        """How far the run came."""
        noted = "; what the vendors took is noted" if self._in_batches else ""
        return f"{self.summary.done} of {self._plan.cases} cases are complete{noted}"

    @property
    def _path(self) -> Path:
        return Path(self.order.report).expanduser()

    def _pending(self) -> Iterator[PendingCase]:
        return check_cases(self.cases.read(), self.panel, self.cases.name)

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Check the order, count the calls, get consent unless there are none, and commit."""
        order = self.order
        self.summary = BatchSummary(report=order.report)
        _panel_hosts(self.panel, self.world.environment).check_ceiling(order.max_cost)
        if order.cache and order.in_batches:
            raise UsageError("--cache does not work with --batch", "Leave one of them out.")
        if order.report:
            _check_output(self._path, order)
        if order.cache:
            self._cache = ReplyCache(Path(order.cache).expanduser())
        is_old = is_begun(self._path, order.desk) if order.report else False
        with ExitStack() as opened:
            if is_old:
                self._open(opened)
            self._survey()
            if self._plan.calls and not self.listener.agreed(self._plan):
                raise Cancelled("cancelled: nothing was sent")
            if order.report and not is_old:
                self._open(opened)
            yield

    def _open(self, opened: ExitStack) -> None:
        found = report_journal(self._path, self.order.desk, self.world.clock.now)
        self._journal = opened.enter_context(found)
        for note in self._journal.notes:
            self.listener.noted(note)

    def _survey(self) -> None:
        """Count the calls that have no answer yet; UsageError if they cannot be made as ordered."""
        panel = self.panel
        waiting = self._journal.batches if self._journal else {}
        self._in_batches = self.order.in_batches or bool(waiting)
        found = Survey(
            self.world.environment,
            self._journal or Unstored(),
            self._cache,
            self._in_batches,
            held={key for batch in waiting.values() for key in batch.nonces},
        )
        count = 0
        for pending in self._pending():
            count += 1
            found.add(pending.begin())
        if not count:
            raise PanelError(self.cases.name, "", "has no cases", "Write one per line.")
        self._plan = replace(found.plan(), cases=count)
        if not self._in_batches:
            return
        most = self.order.max_cost
        if panel.rule.stop_when_decided:
            hint = "Leave --batch out, or change the panel."
            problem = "--batch asks every juror, and the panel asks them in an order"
            raise UsageError(problem, hint)
        live = [one for one in panel.jurors if interface(one) is None]
        if len(live) == len(panel.jurors):
            hint = "OpenAI, Anthropic, Gemini and Mistral have one; leave --batch out."
            problem = "--batch: no juror of the panel has a vendor with a batch interface"
            raise UsageError(problem, hint)
        worst = found.waiting_usd + found.worst_usd
        worst += self._journal.spent if self._journal else 0.0
        if most is not None and worst > most + SLACK:
            raise UsageError(
                f"the run may cost ${worst:.4f}, a batch cannot be stopped half-way, "
                f"and --max-cost is ${most:.10g}",
                "Raise --max-cost, or judge fewer cases.",
            )
        self._promised = found.waiting_usd + found.batched_usd
        self._plan = replace(self._plan, live=tuple(f"{one.name} ({one.vendor})" for one in live))

    async def ask(self) -> BatchSummary:
        order = self.order
        journal = self._journal
        times = self._commit()
        counts = self.summary
        count = self._plan.cases or 0
        spent = journal.spent if journal else 0.0
        replaces = order.resume or order.force
        writer = ReportWriter(self._path, count, replace=replaces) if order.report else None

        def done(one: PendingCase, found: CaseCalls) -> None:
            body = self._verdict(one, found, times)
            self.kept(one.place, body)
            if writer is not None:
                writer.put(one.place, body)

        meter = Meter(journal or Unstored(), order.max_cost, spent, self._promised)
        batches = journal if self._in_batches else None
        asking = Asking[PendingCase](
            meter, order, self.world, self.listener, self._plan, batches, self._cache, counts
        )
        try:
            await asking.run(((one, one.begin()) for one in self._pending()), done)
            if meter.closed:
                raise meter.stopped(
                    f", and {counts.done} of {count} cases are complete",
                    "What was paid for is stored; continue with --resume and a higher --max-cost.",
                )
            if counts.waiting or counts.unsent:
                raise CallsPendingError(counts)
            if writer is not None:
                writer.write(header(self._path.stem, self.panel, times, self.cases.name))
        finally:
            # Closing fails on a full disk too, and the first error is the one to report.
            with suppress(OSError, ReviewDeskError):
                if writer is not None:
                    writer.close()
                if journal is not None:
                    left = count - counts.done
                    facts = {"left": left, "done": counts.done, "stopped": left > 0}
                    journal.append("rerun_ended", facts)
        counts.problem = self._problem()
        return counts

    def _commit(self) -> CommitTimes:
        panel = self.panel
        plan = self._plan
        if self._journal is None:
            return CommitTimes(None, "", self.world.clock.now().isoformat(timespec="milliseconds"))
        commitment = {
            "version": __version__,
            "panel": committed_panel(panel),
            "panel_hash": panel.hash(panel.rubric),
            "rule": panel.rule_body(panel.rubric, ()),
            "cases_sha256": self.cases.sha256(),
        }
        consent = agreed_facts(self.order, plan) if plan.calls else {}
        times = self._journal.commit(commitment, plan.cases or 0, consent)
        if times.committed_at != times.started_at:
            self.listener.noted(
                "panel or cases are not those that the stored replies were begun with: "
                "what has no reply under them is asked, and the report is made anew"
            )
        return times

    def _verdict(
        self, pending: PendingCase, found: CaseCalls, times: CommitTimes
    ) -> CanonicalVerdict:
        case = pending.case
        figures = self.summary
        if pending.failed:
            figures.failed_checks += 1
            body = failed_check_body(case, self.panel, pending.checks)
        else:
            ballots = seat_ballots(case, self.panel, found)
            body = verdict_body(
                case, self.panel, ballots, committed_at=times.committed_at,
                checks=[one.body for one in pending.checks], run_id=times.run_id,
            )  # fmt: skip
            verdict = verdict_from_body(body)
            self._unverified += panel_hash_status(verdict) is not HashStatus.VERIFIED
            figures.stopped_early += any(one.status is Status.NOT_ASKED for one in verdict.ballots)
            figures.turnouts.add(ballots, self.panel.rule.threshold)
        name = _COUNTS.get(body.get("decision") or "", "no_decision")
        setattr(figures, name, getattr(figures, name) + 1)
        return body

    def _problem(self) -> str | None:
        turnouts = self.summary.turnouts
        lost = turnouts.failed
        ballots = turnouts.ballots
        allowed = self.order.max_failed
        if self._unverified:
            hashes = f"the panel hash of {self._unverified} verdicts"
            return f"{hashes} is not the one that was committed"
        if not allowed.is_passed(lost, ballots):
            return None
        if lost == ballots:
            return f"no juror answered any case: {turnouts.main_loss}"
        return (
            f"{lost:,} of {ballots:,} ballots are lost, and --max-failed allows "
            f"{allowed.text}; --resume asks for them again"
        )


def _panel_hosts(panel: PanelSpec, environment: Mapping[str, str]) -> ConsentPlan:
    """Return where jurors are asked; UsageError for an address that cannot be used."""
    for juror in panel.jurors:
        try:
            endpoint(juror)
        except TransportError as error:
            raise UsageError(f"juror {juror.name}: {error.message}", "Fix the panel.") from error
    return hosts(dict.fromkeys(panel.jurors, 0), environment)


def _check_output(path: Path, order: Order) -> None:
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: the folder does not exist", "Make it, or name another.")
    if path.is_dir():
        raise UsageError(f"{path}: is a folder", "Name a file with -o.")
    try:
        refuse_desk(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "Name another -o.") from error
    begun = order.desk is None and is_begun(path, None)
    taken = os.path.lexists(path) and not order.force
    if begun and not order.resume:
        hint = "Continue it with --resume, or name another -o."
        raise UsageError(f"{path}{REPLIES}: already exists", hint)
    if taken and not (order.resume and (begun or order.desk)):
        more = ", and is not a report of this run" if order.resume else ""
        raise UsageError(f"{path}: already exists{more}", "Name another -o, or give --force.")


def header(name: str, panel: PanelSpec, times: CommitTimes, cases: str) -> dict[str, Any]:
    rule = panel.rule
    defaults = shape(rule, "threshold quorum", strategy=panel.strategy_for(()))
    defaults |= shape(rule, "trim_fraction=trim", weights=dict(rule.weights) or None)
    return {
        "schema": FORMAT_NAME,
        "report_id": name[:200],
        "title": f"{cases}, judged by {panel.name}",
        "created_at": times.started_at,
        "producer": {
            "name": "reviewdesk",
            "version": __version__,
            "format": FORMAT,
            "run_id": times.run_id,
        },
        "defaults": without_nulls(defaults),
        "meta": {"panel": committed_panel(panel)},
    }


def committed_panel(panel: PanelSpec) -> dict[str, Any]:
    """Return the panel as the journal stores it: all that affects a decision, and no secrets."""
    rule = panel.rule
    return without_nulls(
        {
            **shape(panel, "name rubric"),
            **shape(rule, "threshold quorum strategy regime"),
            **panel.answering,
            "supermajority": own_share(rule.supermajority),
            "strategy_for": dict(rule.routes) or None,
            "trim": shape(rule, "fraction=trim rounding"),
            **panel.asking(),
            "jurors": [
                {
                    **seat_body(juror),
                    "host": endpoint(juror).host,
                    **without_nulls(
                        shape(juror, "max_tokens timeout prompt_version system_prompt prompt")
                    ),
                }
                for juror in panel.jurors
            ],
        }
    )
