"""The file of a run in a shared folder: what a desk wrote of it, and its report, packed."""

import dataclasses
import gzip
import hashlib
import json
import os
import re
import secrets
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import ProgressCall, write_new
from reviewdesk.domain.records import Run
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import canonical_json
from reviewdesk.errors import ReportError, UsageError
from reviewdesk.reports import ReadOptions, Source
from reviewdesk.reports import read as read_report
from reviewdesk.reports.canonical.rules import run_facts_problem
from reviewdesk.store import reviewers, runs, verdicts
from reviewdesk.store.load.ingest import Ingest, NewRun, ReadReport

_SCHEMA = "reviewdesk.run/1"
NAME = re.compile(r"([0-9a-f]{64})\.([0-9a-f]{64})\.jsonl\.gz")
"""The name of a file: the hash of its run, and the sha256 of its bytes."""
_MARK = _SCHEMA.partition("/")[0] + "/"
MOST = 1 << 30
UPDATE = "Update reviewdesk."
_BLOCK = 1 << 20
AGAIN = "Delete it; a desk that has the run writes it again at its next sync."


def write_run(desk: Desk, run: Run, out: BinaryIO) -> str:
    """Write a run to a file that is open for reading too, and return the name that it gets."""
    rest = run.contents - run.flagged
    about = {
        "schema": _SCHEMA,
        "hash": run.hash,
        "file": run.file,
        "file_hash": run.file_hash,
        "format": run.format,
        "options": runs.options(desk.conn, run.key),
        "seed": run.seed,
        "audit_share": run.audit / rest if rest else 0.0,
        "skipped": run.skipped,
        "notes": run.notes,
        **({} if run.by_verdict else {"drawn": "contents"}),
    }
    header = {"schema": "reviewdesk.report/1", **run.header}
    with gzip.GzipFile("", "wb", 6, out, mtime=0) as packed:
        for line in (about, header):
            packed.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        for text, _ in verdicts.bodies(desk.conn, run):
            packed.write(text.encode() + b"\n")
    return f"{run.hash}.{_sha256(out)}.jsonl.gz"


def read_run(desk: Desk, name: str, packed: BinaryIO, progress: ProgressCall) -> Run:
    """Load the run of a file under its own hash; ReportError if it is damaged or another run."""
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
        written = reviewers.said_of(desk.conn, new.hash)

        def read(ingest: Ingest) -> ReadReport:
            size = path.stat().st_size
            notes = list(about["notes"])
            return ingest.read(
                report.written(), lambda: report.position / size, lambda: (notes, about["skipped"])
            )

        def accept(run: Run) -> None:
            ours = reviewers.own_word(desk.conn, run.hash)
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
            unlike = "is not the run that a desk wrote of in its chain"
            raise ReportError(name, "", unlike, AGAIN)

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
    size = 0
    packed_size = packed.seek(0, os.SEEK_END)
    # Reports unpack to at most a hundred times their size.
    most = min(MOST, max(1 << 26, 400 * packed_size))
    packed.seek(0)
    try:
        with gzip.GzipFile("", "rb", fileobj=packed) as inside, path.open("wb") as out:
            first = inside.readline(1 << 26)
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
        raise ReportError(name, "line 1", f"does not begin as {_SCHEMA} does", AGAIN)
    if found["schema"] != _SCHEMA:
        raise ReportError(name, "", "was written by a newer reviewdesk", UPDATE)
    if problem := run_facts_problem(found):
        raise ReportError(name, "line 1", problem, AGAIN)
    return found
