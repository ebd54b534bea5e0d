"""The journal of jurors that are asked: consent, replies and vendors' batches, in a desk file.

A re-run has its journal in the desk of its verdicts. ``judge`` has one in a private desk file
beside its report, or in the desk that is named.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from reviewdesk.desk.core import Clock, Desk
from reviewdesk.desk.review.items import held, refuse_held
from reviewdesk.domain.panel.asking import ConsentPlan
from reviewdesk.domain.verdict import json_sha256
from reviewdesk.errors import BusyError, JournalError
from reviewdesk.live.limits import RunLimits
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.vendor_batches import VendorBatch
from reviewdesk.store import events, reruns
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent

_AGAIN = 0.1
"""Seconds until replies are written again, if another process holds the lock of the desk."""

REPLIES = ".replies.db"
"""The suffix that turns a report's name into that of its journal."""

OLD_REPLIES = ".replies.jsonl"
FORMAT = "reviewdesk.replies/1"
"""The format that reports of ``judge`` name as their producer's, and journals of earlier versions,
which were JSON Lines, in their first line."""


class DeskJournal:
    """Writes replies into a desk; those that arrive at the same time share a transaction."""

    def __init__(self, desk: Desk, word: str, of: int) -> None:
        """Write nothing yet; ``word`` is what the events of the run share, about ``of`` cases."""
        self.desk = desk
        self.about: dict[str, Any] = {"batch": word, "of": of}
        self.read()
        self._waiting: list[Callable[[Desk], object]] = []

    def read(self) -> None:
        """Read the events of the run; replies belong to the first, unless their call names one."""
        found = reruns.of_word(self.desk.conn, self.about["batch"])
        self.starts = [one for one in found if one.kind != "rerun_ended"]
        self.plan = self.starts[0].key if self.starts else None
        self.is_ended = bool(found) and found[-1].kind == "rerun_ended"

    @contextmanager
    def at_work(self, what: str) -> Iterator[None]:
        """Mark the run as under way here; DeskError if a living process is at work on it."""
        if self.starts:
            refuse_held(self.starts[-1].detail, what, is_ended=self.is_ended)
        with held(self.about["batch"]):
            yield

    def reply(self, call: Call) -> Exchange | None:
        plan = call.plan or self.plan
        found = None if plan is None else reruns.reply(self.desk.conn, plan, call.key)
        return None if found is None else Exchange(**found)

    @property
    def spent(self) -> float:
        return 0.0 if self.plan is None else reruns.spent(self.desk.conn, [self.plan])

    def keep(self, call: Call, exchange: Exchange, usd: float | None = None) -> None:
        about = {"seat": call.seat, "juror": call.juror.name, "usd": usd}
        row = {**msgspec.structs.asdict(exchange), **about}
        plan = call.plan or self.plan or 0
        self.put(lambda desk: reruns.keep_reply(desk.conn, plan, row))

    def put(self, write: Callable[[Desk], object]) -> None:
        self._waiting.append(write)

    async def settled(self) -> None:
        await asyncio.sleep(0)  # what arrived at the same time shares the transaction
        conn = self.desk.conn
        patience = conn.patience
        while self._waiting:
            # The open calls must not wait for the lock, or they time out and are paid for again.
            conn.patience = 0
            try:
                self.flush()
            except BusyError:
                await asyncio.sleep(_AGAIN)
            finally:
                conn.patience = patience

    def flush(self) -> None:
        """Write everything queued in one transaction; if that fails, all of it stays queued."""
        if self._waiting:
            with writing(self.desk.conn):
                for write in self._waiting:
                    write(self.desk)
            self._waiting.clear()

    def append(self, kind: str, facts: Mapping[str, Any], run: str | None = None) -> None:
        """Write everything queued, and an event about the whole run."""
        entry = NewEvent(kind, self.desk.at(), run=run, detail={**self.about, **facts})
        self.put(lambda desk: events.append(desk.conn, desk.reviewer, [entry]))
        self.flush()

    # Batches that wait at vendors

    @property
    def batches(self) -> dict[str, VendorBatch]:
        found = reruns.kept_values(self.desk.conn, f"vendor_batch {self.about['batch']} ")
        return {name: msgspec.json.decode(text, type=VendorBatch) for name, text in found.items()}

    def keep_batch(self, batch: VendorBatch, *, is_over: bool = False) -> None:
        key = f"vendor_batch {self.about['batch']} {batch.name}"
        text = None if is_over else msgspec.json.encode(batch).decode()
        self.put(lambda desk: reruns.keep_value(desk.conn, key, text))
        self.flush()


def agreed_facts(limits: RunLimits, plan: ConsentPlan | None) -> dict[str, Any]:
    """Return what the event of a consent states: how it was given, to what, in which process."""
    how = "--yes" if limits.yes else "asked"
    calls = {} if plan is None else plan.facts
    return {"how": how, "max_cost_usd": limits.max_cost, **calls, **reruns.this_process()}


def fingerprint(value: object) -> str:
    plain = json.loads(json.dumps(value))  # words instead of enumerations
    return json_sha256(plain)


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

    def commit(
        self, commitment: Mapping[str, Any], cases: int, consent: Mapping[str, Any]
    ) -> CommitTimes:
        """Write what is fixed before the first request; an equal commitment keeps its times."""
        sha256 = fingerprint(commitment)
        self.about["of"] = cases
        with writing(self.desk.conn):
            self.read()
            found = [one.detail for one in self.starts]
            now = self.desk.at()
            first = found[0] if found else {"at": now}
            run_id = hashlib.sha256(f"{sha256} {now}".encode()).hexdigest()[:16]
            committed = next((one["at"] for one in found if one["sha256"] == sha256), now)
            times = CommitTimes(first.get("run_id", run_id), first["at"], committed)
            told = {key: commitment[key] for key in ("panel_hash", "rule", "cases_sha256")}
            self._begin(sha256, committed, times.run_id, {**told, **consent})
        return times

    def _begin(self, sha256: str, at: str, run_id: str | None, told: Mapping[str, Any]) -> None:
        facts = {"report": self.report.name, "sha256": sha256, "at": at, "run_id": run_id}
        detail = {**self.about, **facts, "left": 0, **reruns.this_process(), **told}
        entry = NewEvent("rerun_planned", at, detail=detail)
        events.append(self.desk.conn, self.desk.reviewer, [entry])
        self.read()

    def take_over(self, old: Path) -> None:
        batches = dict[str, VendorBatch]()
        with writing(self.desk.conn), old.open("rb") as lines:
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
            self.keep_batch(batch)

    def _take_line(
        self, line: dict[str, Any], number: int, batches: dict[str, VendorBatch]
    ) -> None:
        if not isinstance(line, dict) or (number == 1 and line.get("journal") != FORMAT):
            raise ValueError
        if "journal" in line:
            names = ("version", "panel", "panel_hash", "rule", "cases_sha256")
            sha256 = fingerprint({name: line[name] for name in names})
            self._begin(sha256, line["at"], line["run_id"], {"how": "taken over"})
        elif "call" in line:
            row = msgspec.structs.asdict(msgspec.convert(line, Exchange))
            row |= {name: line[name] for name in ("seat", "juror", "usd")}
            reruns.keep_reply(self.desk.conn, self.plan or 0, row)
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


def is_begun(report: Path, named: Path | None) -> bool:
    if not report.name:
        return False  # a folder such as the current one
    old = report.with_name(report.name + OLD_REPLIES)
    path = named or report.with_name(report.name + REPLIES)
    return path.exists() or (old.exists() and old.stat().st_size > 0)


@contextmanager
def report_journal(report: Path, named: Path | None, clock: Clock) -> Iterator[ReportJournal]:
    """Open the journal of a report, in the desk that is named or in a private one beside it."""
    path = named or report.with_name(report.name + REPLIES)
    old = report.with_name(report.name + OLD_REPLIES)
    if named is None and path.is_symlink():
        raise JournalError(f"{path}: is a link, and replies are kept in a file", "Remove it.")
    with closing(Desk.open(path, reviewer=None if named else "judge", clock=clock)) as desk:
        journal = ReportJournal(desk, report)
        if journal.plan is None and old.exists() and old.stat().st_size:
            journal.take_over(old)
        with journal.at_work("this run"):
            yield journal
