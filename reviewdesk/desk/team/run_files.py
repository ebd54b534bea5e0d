"""A run as a file that travels: what is known of it, then its report as the desk keeps it.

The file is named after the run and its own bytes. It is loaded as any report is, and then held to
what a desk that has the run wrote of it in its chain: the draw, and so all figures, are the same.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

from reviewdesk.desk.loading import ProgressCall, write_new
from reviewdesk.domain.content import canonical_json
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReportError, UsageError
from reviewdesk.store import runs, verdicts
from reviewdesk.store.load import archives
from reviewdesk.store.load.ingest import Ingest, NewRun, ReadReport
from reviewdesk.store.team.run_events import own_word

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.records import Run
    from reviewdesk.reports import Report

SCHEMA = "reviewdesk.run/1"
NAME = re.compile(r"([0-9a-f]{64})\.([0-9a-f]{64})\.jsonl\.gz")
"""The name of a file: the hash of its run, and the sha256 of its bytes."""
MOST = 1 << 30
"""The most bytes of such a file, and of what is in it."""
_SMALL, _DENSEST = 1 << 26, 400
"""What any file may unpack to, and how many times its size; reports reach a quarter of that."""
_MARK = SCHEMA.partition("/")[0] + "/"
_LINE = 1 << 26
_BLOCK = 1 << 20
_LEVEL = 6
_UNLIKE = "is not the run that a desk wrote of in its chain"
AGAIN = "Delete it; a desk that has the run writes it again at its next sync."
UPDATE = "Update reviewdesk."


def travels(desk: Desk, run: Run) -> bool:
    """Return True unless the run is an archive, whose verdicts are mostly elsewhere."""
    return archives.text(desk.conn, run.key) is None


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
        for body in verdicts.bodies(desk.conn, run):
            packed.write(body.text.encode() + b"\n")
    return f"{run.hash}.{_sha256(out)}.jsonl.gz"


def read_run(
    desk: Desk,
    name: str,
    packed: BinaryIO,
    said: Callable[[str], list[Mapping[str, Any]]],
    progress: ProgressCall,
) -> Run:
    """Load the run of a file under its own hash; ``said`` returns what desks wrote of a run.

    Raises:
        ReportError: the file is damaged, is no report, or is another run than a desk wrote of.
    """
    named = NAME.fullmatch(name.rpartition("/")[2])
    if named is None or _sha256(packed) != named[2]:
        raise ReportError(name, "", "does not hold the bytes that it is named after", AGAIN)
    with TemporaryDirectory(prefix="reviewdesk-") as folder:
        path = Path(folder, "run.jsonl")
        about = _unpack(name, packed, path)
        report = _report(name, path)
        new = _new_run(desk, about, report)
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
            if not any(_same(ours, theirs) for theirs in written):
                raise ReportError(name, "", _UNLIKE, AGAIN)

        # What a load of others has left is never gone on with, as its bodies may be other ones.
        return write_new(desk, new, secrets.token_hex(8), read, progress, accept)[0]


def _same(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Compare two events of a run: whole, or what is given if other rules derived the rest."""
    if ours["rules"] == theirs.get("rules"):
        return bool(ours["content"] == theirs.get("content"))
    columns = theirs.get("columns", {})
    given = all(ours["columns"].get(name) == columns.get(name) for name in runs.GIVEN)
    return given and ours["tags"] == theirs.get("tags")


def _sha256(file: BinaryIO) -> str:
    """Return the sha256 of a file from its start, and go back there."""
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    file.seek(0)
    return digest.hexdigest()


def _unpack(name: str, packed: BinaryIO, path: Path) -> dict[str, Any]:
    """Write the report of a file to a path, and return what stands before it."""
    size, packed_size = 0, packed.seek(0, os.SEEK_END)
    most = min(MOST, max(_SMALL, _DENSEST * packed_size))
    packed.seek(0)
    try:
        with gzip.GzipFile("", "rb", fileobj=packed) as found, path.open("wb") as out:
            first = found.readline(_LINE)
            while block := found.read(_BLOCK):
                size += len(block)
                if size > most:
                    raise ReportError(name, "", "unpacks to far more than a report", AGAIN)
                out.write(block)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReportError(name, "", "is a damaged or cut off gzip file", AGAIN) from error
    return _about(name, first)


def _about(name: str, line: bytes) -> dict[str, Any]:
    from reviewdesk.reports.canonical.rules import run_facts_problem

    try:
        found = json.loads(line)
        canonical_json(found)  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not str(found.get("schema")).startswith(_MARK):
        raise ReportError(name, "line 1", f"does not begin as {SCHEMA} does", AGAIN)
    if found["schema"] != SCHEMA:
        raise ReportError(name, "", "was written by a newer reviewdesk", UPDATE)
    if problem := run_facts_problem(found):
        raise ReportError(name, "line 1", problem, AGAIN)
    return found


def _report(name: str, path: Path) -> Report:
    from reviewdesk.reports import ReadOptions, Source, read

    # Named after the file that a person can find.
    source = dataclasses.replace(Source.from_path(path, MOST), name=name)
    try:
        return read(source, ReadOptions(format="canonical-jsonl"))
    except UsageError as error:
        raise ReportError(name, "", show_line(error.message, 200), AGAIN) from error


def _new_run(desk: Desk, about: Mapping[str, Any], report: Report) -> NewRun:
    return NewRun(
        hash=about["hash"],
        file=about["file"],
        file_hash=about["file_hash"],
        format=about["format"],
        options=about["options"],
        loaded_at=desk.at(),
        header=report.header,
        seed=about["seed"],
        audit_share=about["audit_share"],
        by_verdict="drawn" not in about,
    )
