"""The journal of jurors that are asked: consent, replies and vendors' batches, in a desk file.

A re-run has its journal in the desk of its verdicts. ``judge`` has one in a private desk file
beside its report, or in the desk that is named.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from reviewdesk.desk.core import Clock, Desk
from reviewdesk.desk.review.items import held, refuse_held
from reviewdesk.domain.jury.rules import own_share
from reviewdesk.domain.panel.case import Case, CheckResult
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.turnout import Allowance, BatchSummary, LiveProgress
from reviewdesk.domain.panel.verdict_body import failed_check_body, verdict_body
from reviewdesk.domain.verdict import (
    CanonicalVerdict,
    Status,
    canonical_json,
    verdict_from_body,
    without_nulls,
)
from reviewdesk.errors import BusyError, JournalError
from reviewdesk.live.batch import CaseCalls, panel_calls, seat_ballots
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.vendor_batches import VendorBatch
from reviewdesk.live.wires.vendors import endpoint
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.store import events, reruns
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent
from reviewdesk.version import __version__
from reviewdesk.views.json.review import shape

_AGAIN = 0.1
"""Seconds until replies are written again, if another process holds the lock of the desk."""

REPLIES = ".replies.db"
"""The suffix that turns a report's name into that of its journal."""

OLD_REPLIES = ".replies.jsonl"
FORMAT = "reviewdesk.replies/1"
"""The format that reports of ``judge`` name as their producer's, and journals of earlier versions,
which were JSON Lines, in their first line."""


class DeskJournal:
    """Writes replies into a desk, many in one transaction, in a thread with its own connection.

    Queued replies are written together, so that the lock is held for milliseconds and many share
    one sync to the disk. The event loop does not wait for it.
    """

    def __init__(self, desk: Desk, word: str, of: int) -> None:
        """Write nothing yet; ``word`` is what the events of the run share, about ``of`` cases."""
        self.desk = desk
        self.about: dict[str, Any] = {"batch": word, "of": of}
        self.plan: int | None = None
        """The event that all replies belong to, unless their calls are drawn for others."""
        self._plans: dict[str, int] = {}
        self._waiting: list[Callable[[Desk], object]] = []
        self._added = self._stored = 0
        self._round: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1)
        self._writer: Desk | None = None

    def close(self) -> None:
        """End the thread, and close its connection."""
        if self._writer is not None:
            self._thread.submit(self._writer.close).result()
        self._thread.shutdown()

    def draw(self, calls: tuple[Call, ...], plan: int | None) -> None:
        """Accept replies to these calls for a plan; with ``None``, stop accepting them."""
        for call in calls:
            if plan is None:
                self._plans.pop(call.key, None)
            else:
                self._plans[call.key] = plan

    def reply(self, key: str) -> Exchange | None:
        """Return the newest stored exchange of a call."""
        plan = self._plans.get(key, self.plan)
        found = None if plan is None else reruns.reply(self.desk.conn, plan, key)
        return None if found is None else Exchange(**found)

    @property
    def spent(self) -> float:
        """The booked cost, in US dollars, of the replies to the plan that are on disk."""
        return 0.0 if self.plan is None else reruns.spent(self.desk.conn, [self.plan])

    def keep(self, call: Call, exchange: Exchange, usd: float | None = None) -> None:
        """Queue an exchange for writing; it is on disk once ``settled`` has returned."""
        about = {"seat": call.seat, "juror": call.juror.name, "usd": usd}
        row = {**msgspec.structs.asdict(exchange), **about}
        plan = self._plans.get(call.key, self.plan or 0)
        self.put(lambda desk: reruns.keep_reply(desk.conn, plan, row))

    def put(self, write: Callable[[Desk], object]) -> None:
        """Queue what a transaction is to write."""
        self._waiting.append(write)
        self._added += 1

    async def settled(self) -> None:
        """Return when everything queued so far is on disk."""
        wanted = self._added
        while self._stored < wanted:
            if self._round is None or self._round.done():
                self._round = asyncio.create_task(self._write())
            await asyncio.shield(self._round)

    async def _write(self) -> None:
        await asyncio.sleep(0)  # what arrived at the same time shares the transaction
        try:
            await asyncio.wrap_future(self._thread.submit(self._write_all))
        except BusyError:
            await asyncio.sleep(_AGAIN)

    def flush(self) -> None:
        """Write everything queued in one transaction; if that fails, all of it stays queued."""
        self._thread.submit(self._write_all).result()

    def _write_all(self) -> None:
        if self._writer is None:
            self._writer = self.desk.reader()
        count = len(self._waiting)
        if not count:
            return
        with writing(self._writer.conn):
            for write in self._waiting[:count]:
                write(self._writer)
        del self._waiting[:count]
        self._stored += count

    def append(self, kind: str, facts: Mapping[str, Any], run: str | None = None) -> None:
        """Write everything queued, and an event about the whole run."""
        entry = NewEvent(kind, self.desk.at(), run=run, detail={**self.about, **facts})
        self.put(lambda desk: events.append(desk.conn, desk.reviewer, [entry]))
        self.flush()

    # Batches that wait at vendors

    @property
    def batches(self) -> dict[str, VendorBatch]:
        """The vendors' unfinished batches, by name."""
        found = reruns.kept_values(self.desk.conn, f"vendor_batch {self.about['batch']} ")
        return {name: msgspec.json.decode(text, type=VendorBatch) for name, text in found.items()}

    def put_batch(self, batch: VendorBatch) -> None:
        self._keep_batch(batch, msgspec.json.encode(batch).decode())

    def drop_batch(self, batch: VendorBatch) -> None:
        """Record that no answer of a batch is awaited, once its answers are stored."""
        self._keep_batch(batch, None)

    def _keep_batch(self, batch: VendorBatch, text: str | None) -> None:
        key = f"vendor_batch {self.about['batch']} {batch.name}"
        self.put(lambda desk: reruns.keep_value(desk.conn, key, text))
        self.flush()


class CommitTimes(Struct, frozen=True):
    """The run's id, when it was started, and when its present commitment was written."""

    run_id: str | None
    started_at: str
    committed_at: str


class ReportJournal(DeskJournal):
    """The journal of a report that ``judge`` writes; all replies belong to its first commitment."""

    def __init__(self, desk: Desk, report: Path) -> None:
        path = str(report.absolute())
        super().__init__(desk, hashlib.sha256(path.encode()).hexdigest()[:16], 0)
        self.report = report
        self.notes: list[str] = []
        self._read()

    def _read(self) -> None:
        found = reruns.of_word(self.desk.conn, self.about["batch"])
        self.starts = [one for one in found if one.kind == "rerun_planned"]
        self.plan = self.starts[0].key if self.starts else None
        self.is_ended = bool(found) and found[-1].kind == "rerun_ended"

    def commit(
        self, commitment: Mapping[str, Any], cases: int, consent: Mapping[str, Any]
    ) -> CommitTimes:
        """Write what is fixed before the first request, and how and to what consent was given.

        A run whose commitment equals an earlier one keeps the times of the earlier one.
        """
        sha256 = _sha256(commitment)
        self.about["of"] = cases
        desk = self.desk
        with writing(desk.conn):
            self._read()
            found = [one.detail for one in self.starts]
            known = [one["at"] for one in found if one["sha256"] == sha256]
            now = desk.at()
            started = found[0]["at"] if found else now
            committed = known[0] if known else now
            run_id = hashlib.sha256(f"{sha256} {started}".encode()).hexdigest()[:16]
            run_id = found[0]["run_id"] if found else run_id
            facts = {
                **_facts(self.report, sha256, committed, run_id),
                **{key: commitment[key] for key in ("panel_hash", "rule", "cases_sha256")},
                **consent,
                **reruns.this_process(),
            }
            entry = NewEvent("rerun_planned", committed, detail={**self.about, **facts})
            events.append(desk.conn, desk.reviewer, [entry])
        self._read()
        return CommitTimes(run_id, started, committed)

    def take_over(self, old: Path) -> None:
        """Take in a journal of an earlier version."""
        desk = self.desk
        batches = dict[str, VendorBatch]()
        with writing(desk.conn), old.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    self.notes.append(
                        f"{old}: the last line was cut short by a stop and is left out"
                    )
                    break
                try:
                    self._take_line(json.loads(line), number, batches)
                except (ValueError, KeyError, TypeError, RecursionError):
                    raise JournalError(
                        f"{old}: line {number}: is not what was stored here",
                        "Move the file away to ask everything anew, or name another -o.",
                    ) from None
        for batch in batches.values():
            self.put_batch(batch)

    def _take_line(
        self, line: dict[str, Any], number: int, batches: dict[str, VendorBatch]
    ) -> None:
        """Take in one line; a line that holds something else raises an error."""
        desk = self.desk
        if not isinstance(line, dict) or (number == 1 and line.get("journal") != FORMAT):
            raise ValueError
        if "journal" in line:
            names = ("version", "panel", "panel_hash", "rule", "cases_sha256")
            sha256 = _sha256({name: line[name] for name in names})
            facts = _facts(self.report, sha256, line["at"], line["run_id"])
            detail = {**self.about, **facts, **reruns.this_process(), "how": "taken over"}
            entry = NewEvent("rerun_planned", line["at"], detail=detail)
            events.append(desk.conn, desk.reviewer, [entry])
            self._read()
        elif "call" in line:
            exchange = msgspec.convert(
                {name: line[name] for name in Exchange.__struct_fields__ if name in line}, Exchange
            )
            about = {"seat": line["seat"], "juror": line["juror"], "usd": line["usd"]}
            row = {**msgspec.structs.asdict(exchange), **about}
            reruns.keep_reply(desk.conn, self.plan or 0, row)
        elif "batch" in line:
            name = line["batch"]
            if "nonces" in line:
                batches[name] = VendorBatch(name, line["juror"], line["at"], line["nonces"])
            elif line.get("over"):
                batches.pop(name, None)
            else:
                batches[name] = msgspec.structs.replace(batches[name], id=line["id"])
        elif "torn" not in line:
            raise ValueError


def _facts(report: Path, sha256: str, at: str, run_id: str) -> dict[str, Any]:
    return {"report": report.name, "sha256": sha256, "at": at, "run_id": run_id, "left": 0}


def _sha256(commitment: Mapping[str, Any]) -> str:
    plain = json.loads(json.dumps(commitment))  # words instead of enumerations
    return hashlib.sha256(canonical_json(plain)).hexdigest()


def is_begun(report: Path, named: Path | None) -> bool:
    """Return True if there is a file that may hold the journal of a report."""
    if not report.name:
        return False  # a folder such as the current one
    old = report.with_name(report.name + OLD_REPLIES)
    path = named or report.with_name(report.name + REPLIES)
    return path.exists() or (old.exists() and old.stat().st_size > 0)


@contextmanager
def report_journal(report: Path, named: Path | None, clock: Clock) -> Iterator[ReportJournal]:
    """Open the journal of a report, in the desk that is named or in a private one beside it.

    Raise DeskError if the file cannot be used, or another process is at work on the run. Raise
    JournalError if the file is a link, or a journal of an earlier version is damaged.
    """
    path = named or report.with_name(report.name + REPLIES)
    old = report.with_name(report.name + OLD_REPLIES)
    if named is None and path.is_symlink():
        raise JournalError(f"{path}: is a link, and replies are kept in a file", "Remove it.")
    with (
        closing(Desk.open(path, reviewer=None if named else "judge", clock=clock)) as desk,
        closing(ReportJournal(desk, report)) as journal,
    ):
        if journal.plan is None and old.exists() and old.stat().st_size:
            journal.take_over(old)
        if journal.starts:
            refuse_held(journal.starts[-1].detail, "this run", is_ended=journal.is_ended)
        with held(journal.about["batch"]):
            yield journal


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


_COUNTS = {
    "pass": "passed", "fail": "failed", "inconclusive": "inconclusive", "error": "errors",
}  # fmt: skip
"""The figure that counts each decision; verdicts without one are ``no_decision``."""


class Results:
    """Turns every finished case into a verdict, and sums up the run."""

    def __init__(self, panel: PanelSpec, held: CommitTimes, report: str) -> None:
        self._panel = panel
        self._held = held
        self._unverified = 0
        self.summary = BatchSummary(report)

    def verdict(self, pending: PendingCase, found: CaseCalls) -> CanonicalVerdict:
        """Make the verdict of a finished case, and count it."""
        case = pending.case
        figures = self.summary
        if pending.failed:
            figures.failed_checks += 1
            body = failed_check_body(case, self._panel, pending.checks)
        else:
            ballots = seat_ballots(case, self._panel, found)
            body = verdict_body(
                case, self._panel, ballots, committed_at=self._held.committed_at,
                checks=[one.body for one in pending.checks], run_id=self._held.run_id,
            )  # fmt: skip
            verdict = verdict_from_body(body)
            self._unverified += panel_hash_status(verdict) is not HashStatus.VERIFIED
            figures.stopped_early += any(one.status is Status.NOT_ASKED for one in verdict.ballots)
            figures.turnouts.add(ballots, self._panel.rule.threshold)
        figures.verdicts += 1
        name = _COUNTS.get(body.get("decision") or "", "no_decision")
        setattr(figures, name, getattr(figures, name) + 1)
        return body

    def finish(self, counts: LiveProgress, cost: float | None, allowed: Allowance) -> BatchSummary:
        """Return the figures of the whole run; ``allowed`` is how many ballots it may lose."""
        figures = self.summary
        figures.cases = counts.done
        for name in ("calls", "spared", "reused", "seconds", "rate"):
            setattr(figures, name, getattr(counts, name))
        figures.calls -= counts.unasked
        figures.cost_usd = cost
        turnouts = figures.turnouts
        lost = turnouts.failed
        ballots = turnouts.ballots
        if self._unverified:
            hashes = f"the panel hash of {self._unverified} verdicts"
            figures.problem = f"{hashes} is not the one that was committed"
        elif allowed.is_passed(lost, ballots) and lost == ballots:
            kind, count = turnouts.why.most_common(1)[0]
            why = f"{turnouts.messages[kind]} ({count} of {ballots} ballots)"
            figures.problem = f"no juror answered any case: {why}"
        elif allowed.is_passed(lost, ballots):
            figures.problem = (
                f"{lost:,} of {ballots:,} ballots are lost, and --max-failed allows "
                f"{allowed.text}; --resume asks for them again"
            )
        return figures


def header(name: str, panel: PanelSpec, held: CommitTimes, cases: str) -> dict[str, Any]:
    """Return the report without its verdicts."""
    rule = panel.rule
    strategy = panel.strategy_for(())
    defaults = shape(rule, "threshold quorum", strategy=strategy)
    defaults |= shape(rule, "trim_fraction=trim", weights=dict(rule.weights) or None)
    return {
        "schema": FORMAT_NAME,
        "report_id": name[:200],
        "title": f"{cases}, judged by {panel.name}",
        "created_at": held.started_at,
        "producer": {
            "name": "reviewdesk",
            "version": __version__,
            "format": FORMAT,
            "run_id": held.run_id,
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
