"""Merge the chains of other desks: each is checked by its hashes before any of it is kept."""

import dataclasses
import gzip
import hashlib
import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from msgspec import Struct

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import ProgressCall, write_new
from reviewdesk.desk.review import filters
from reviewdesk.domain.labels.chain import (
    COUNTED,
    DESK,
    NEWER,
    ChainCheck,
    ChainProblem,
    Covered,
    checked_detail,
    covered,
)
from reviewdesk.domain.records import ChainEvent, Run
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import canonical_json
from reviewdesk.errors import ChainError, ReportError, UsageError
from reviewdesk.store import events, reviewers, runs, verdicts
from reviewdesk.store.connect import refuse_read_only, writing
from reviewdesk.store.load.hidden_runs import LockPace
from reviewdesk.store.load.ingest import Ingest, NewRun, ReadReport
from reviewdesk.store.reviewers import own_word

ASK = "Nothing of it was taken; ask for another copy."
_FORKED = "is another event than the one here"
_HINTS = {
    _FORKED: "One of the desks is a copy or an older backup that was written to, or was changed.",
    NEWER: "Update reviewdesk.",
}


class ArrivingChain(Struct, frozen=True):
    """A chain that comes from elsewhere; ``read`` yields its events anew at each call."""

    desk: str
    reviewer: str
    read: Callable[[], Iterator[ChainEvent]]


class SharedChain(Struct, frozen=True):
    """A chain of another desk or place: its events, and how many were new here and there."""

    desk: str
    reviewer: str
    events: int
    taken: int = 0
    sent: int = 0


class Merged(Struct, frozen=True):
    """The chains of another desk, and the head of the log that holds them."""

    chains: tuple[SharedChain, ...]
    head: str

    @property
    def new(self) -> int:
        return sum(one.taken for one in self.chains)


def merge(desk: Desk, other: Path) -> Merged:
    """Merge every chain of another desk file, which is only read; one bad chain stops the merge.

    Raise ChainError if a chain was changed or damaged, or differs from the chain that is here.
    Raise DeskError if the file cannot be read, or is of another version.
    """
    refuse_read_only(desk.conn)
    if other.exists() and other.samefile(desk.path):
        raise UsageError(f"{other}: is the desk itself", "Name the file of another desk.")
    with reviewers.elsewhere(other) as conn:
        arrivals = [
            # The file is from somebody else, so even a name may have the wrong type.
            ArrivingChain(
                str(one.desk), str(one.reviewer), partial(reviewers.events_of, conn, *chain)
            )
            for one in reviewers.ends(conn)
            for chain in [(one.desk, one.reviewer)]
        ]
        taking = Taking(desk)
        counts = [taking.check(arrival) for arrival in arrivals]
        found = [
            SharedChain(one.desk, one.reviewer, count, taking.take(one))
            for one, count in zip(arrivals, counts, strict=True)
        ]
        filters.add_digits(desk, conn)
    return Merged(tuple(found), desk.head())


class Taking:
    """Checks chains that arrive, those of the desks themselves first, and takes them in."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._covered: dict[str, dict[str, Covered]] = {}

    def check(self, arrival: ArrivingChain) -> int:
        """Check a whole chain against its hashes and the part that is here; return its length."""
        conn = self._desk.conn
        try:
            with _named(arrival):
                check = self._check_of(arrival)
                here = reviewers.end(conn, arrival.desk, arrival.reviewer)
                for event in arrival.read():
                    check.add(event)
                    if event.seq == here.seq and event.hash != here.hash:
                        raise ChainProblem(self._first_other(arrival), _FORKED)
                if 0 < check.seq < here.seq:
                    held = reviewers.hash_at(conn, here.desk, here.reviewer, check.seq)
                    if held != check.hash:
                        raise ChainProblem(self._first_other(arrival), _FORKED)
                return check.seq
        except ChainError:
            # The counters in a bad chain cover nothing.
            self._covered.pop(arrival.desk, None)
            raise

    def take(self, arrival: ArrivingChain) -> int:
        """Add the new events of a checked chain to the log, and return their number."""
        desk = self._desk
        pace = LockPace()
        new = 0
        here = reviewers.end(desk.conn, arrival.desk, arrival.reviewer).seq
        with _named(arrival):
            check = self._check_of(arrival)
            every = ((event, check.add(event)) for event in arrival.read())
            left = (one for one in every if one[0].seq > here)
            # The events that a chain covers itself come with the one that covers them.
            first = check.older.seq + 1 if check.older and arrival.reviewer == DESK else 0
            while some := list(islice(left, max(pace.rows, first))):
                with pace.timed(), writing(desk.conn):
                    reviewers.begin(desk.conn, desk.at())
                    new += reviewers.put(desk.conn, some)
                pace.turn()
        return new

    def _check_of(self, arrival: ArrivingChain) -> ChainCheck:
        if arrival.desk not in self._covered:
            held = dict(events.coverage(self._desk.conn, arrival.desk))
            if not held and arrival.reviewer == DESK:
                # The chain gives counters to its desk's events; it is checked afterwards.
                counted = (event for event in arrival.read() if event.kind == COUNTED)
                if (found := next(counted, None)) is not None:
                    try:
                        held = covered(checked_detail(found))
                    except ChainProblem:
                        raise
                    except ValueError as error:
                        raise ChainProblem(found.seq, str(error)) from error
            self._covered[arrival.desk] = held
        older = self._covered[arrival.desk].get(arrival.reviewer)
        return ChainCheck(arrival.desk, arrival.reviewer, older)

    def _first_other(self, arrival: ArrivingChain) -> int:
        """Return the number of the first event that differs from the one here."""
        place = arrival.desk, arrival.reviewer
        here = reviewers.events_of(self._desk.conn, *place)
        pairs = zip(arrival.read(), here, strict=False)
        return next(one.seq for one, held in pairs if one.hash != held.hash)


@contextmanager
def _named(arrival: ArrivingChain) -> Iterator[None]:
    try:
        yield
    except ChainProblem as wrong:
        hint = _HINTS.get(wrong.text, ASK)
        names = show_line(arrival.desk, 40), show_line(arrival.reviewer, 80)
        raise ChainError(*names, wrong.seq, wrong.text, hint) from wrong


SCHEMA = "reviewdesk.run/1"
NAME = re.compile(r"([0-9a-f]{64})\.([0-9a-f]{64})\.jsonl\.gz")
"""The name of a file: the hash of its run, and the sha256 of its bytes."""
MOST = 1 << 30
"""The most bytes of such a file, and of what is in it."""
_SMALL = 1 << 26
_DENSEST = 400
"""The bytes any file may unpack to, or this many times its size; reports reach a quarter of it."""
_MARK = SCHEMA.partition("/")[0] + "/"
_LINE = 1 << 26
_BLOCK = 1 << 20
_LEVEL = 6
_UNLIKE = "is not the run that a desk wrote of in its chain"
AGAIN = "Delete it; a desk that has the run writes it again at its next sync."
UPDATE = "Update reviewdesk."


def write_run(desk: Desk, run: Run, out: BinaryIO) -> str:
    """Write a run to a file that is open for reading too, and return the name that it gets."""
    rest = run.contents - run.flagged
    about = {
        "schema": SCHEMA,
        "hash": run.hash,
        "file": run.file,
        "file_hash": runs.file_hash(desk.conn, run.key),
        "format": run.format,
        "options": runs.options(desk.conn, run.key),
        "seed": run.seed,
        "audit_share": run.audit / rest if rest else 0.0,
        "skipped": run.skipped,
        "notes": run.notes,
        **({} if run.by_verdict else {"drawn": "contents"}),
    }
    header = {"schema": "reviewdesk.report/1", **run.header}
    with gzip.GzipFile("", "wb", _LEVEL, out, mtime=0) as packed:
        for line in (about, header):
            packed.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        for text, _ in verdicts.bodies(desk.conn, run):
            packed.write(text.encode() + b"\n")
    return f"{run.hash}.{_sha256(out)}.jsonl.gz"


def read_run(
    desk: Desk,
    name: str,
    packed: BinaryIO,
    said: Callable[[str], list[Mapping[str, Any]]],
    progress: ProgressCall,
) -> Run:
    """Load the run of a file under its own hash; ``said`` returns what desks wrote of a run.

    Raise ReportError if the file is damaged, not a report, or not the run that a desk named.
    """
    from reviewdesk.reports import ReadOptions, Source
    from reviewdesk.reports import read as read_report

    named = NAME.fullmatch(name.rpartition("/")[2])
    if named is None or _sha256(packed) != named[2]:
        raise ReportError(name, "", "does not match the hash in its name", AGAIN)
    with TemporaryDirectory(prefix="reviewdesk-") as folder:
        path = Path(folder, "run.jsonl")
        about = _unpack(name, packed, path)
        # Named after the file that a person can find.
        source = dataclasses.replace(Source.from_path(path, MOST), name=name)
        try:
            report = read_report(source, ReadOptions(format="canonical-jsonl"))
        except UsageError as error:
            raise ReportError(name, "", show_line(error.message, 200), AGAIN) from error
        names = ("hash", "file", "file_hash", "format", "options", "seed", "audit_share")
        new = NewRun(
            **{name: about[name] for name in names},
            loaded_at=desk.at(),
            header=report.header,
            by_verdict="drawn" not in about,
        )
        if new.hash != named[1]:
            raise ReportError(name, "", "is named after another run", AGAIN)
        written = said(new.hash)

        def read(ingest: Ingest) -> ReadReport:
            size = path.stat().st_size
            notes = list(about["notes"])
            return ingest.read(
                report.written(), lambda: report.position / size, lambda: (notes, about["skipped"])
            )

        def accept(run: Run) -> None:
            ours = own_word(desk.conn, run.hash)
            for theirs in written:
                if ours["rules"] == theirs.get("rules"):
                    alike = ours["content"] == theirs.get("content")
                else:
                    # Other rules derived the rest, so that only what is given is compared.
                    columns = theirs.get("columns", {})
                    given = (ours["columns"].get(one) == columns.get(one) for one in runs.GIVEN)
                    alike = all(given) and ours["tags"] == theirs.get("tags")
                if alike:
                    return
            raise ReportError(name, "", _UNLIKE, AGAIN)

        # The remains of a load by others are never continued, because its bodies may differ.
        return write_new(desk, new, secrets.token_hex(8), read, progress, accept)[0]


def _sha256(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    file.seek(0)
    return digest.hexdigest()


def _unpack(name: str, packed: BinaryIO, path: Path) -> dict[str, Any]:
    """Write the report of a file to a path, and return the facts in the line before it."""
    from reviewdesk.reports.canonical.rules import run_facts_problem

    size = 0
    packed_size = packed.seek(0, os.SEEK_END)
    most = min(MOST, max(_SMALL, _DENSEST * packed_size))
    packed.seek(0)
    try:
        with gzip.GzipFile("", "rb", fileobj=packed) as inside, path.open("wb") as out:
            first = inside.readline(_LINE)
            while block := inside.read(_BLOCK):
                size += len(block)
                if size > most:
                    raise ReportError(name, "", "unpacks to far more than a report", AGAIN)
                out.write(block)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReportError(name, "", "is a damaged or cut off gzip file", AGAIN) from error
    try:
        found = json.loads(first)
        canonical_json(found)  # half of a surrogate pair is not text
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not str(found.get("schema")).startswith(_MARK):
        raise ReportError(name, "line 1", f"does not begin as {SCHEMA} does", AGAIN)
    if found["schema"] != SCHEMA:
        raise ReportError(name, "", "was written by a newer reviewdesk", UPDATE)
    if problem := run_facts_problem(found):
        raise ReportError(name, "line 1", problem, AGAIN)
    return found
