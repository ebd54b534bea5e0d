"""The reader of mcptest reports, JSON and NDJSON.

Their envelope is not public, so a jury is recognised by its structure and read as far as its keys
are understood; the raw object stays with the verdict, and the import says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from reviewdesk.reports.juries import find_juries
from reviewdesk.reports.juryverdict import JuryMapper
from reviewdesk.reports.models import FORMAT_NAME
from reviewdesk.reports.outline import Outline
from reviewdesk.reports.refusals import no_jury
from reviewdesk.reports.report import Item, Report
from reviewdesk.reports.source import Source
from reviewdesk.reports.strictjson import (
    Fail,
    Tally,
    UnfitError,
    decode_whole,
    failing,
    syntax_problem,
)
from reviewdesk.reports.values import first
from reviewdesk.reports.window import decode_utf8, read_lines

_MAX_DOCUMENT = 64 << 20
"""A jury needs the objects above it, so a document is held whole; lines stream."""

_NOTE = "shape not verified: read by structure, because the format is not published"


def open_juries(source: Source, outline: Outline, *, skip_bad: bool) -> Report:
    """A report of one document, or one of a line each."""
    fail = failing(source)
    total = 0
    header: dict[str, Any] = {"schema": FORMAT_NAME}
    producer = {"name": "mcptest", "format": "mcptest"}
    with source.open() as stream:
        for _, document in _documents(stream, outline, fail, Tally()):
            total += sum(1 for _ in find_juries(document))
            if isinstance(document, dict):
                _learn(header, producer, document)
    if not total:
        raise no_jury(outline, fail)
    header["producer"] = producer

    def items(stream: BinaryIO, tally: Tally) -> Iterator[Item]:
        mapper = JuryMapper()
        for line, document in _documents(stream, outline, fail, tally):
            for jury in find_juries(document):
                where = f"line {line}: {jury.pointer or '/'}" if line else jury.pointer or "/"
                yield Item(where, mapper.verdict(jury, line))
        tally.notes.extend(mapper.remarks.notes())

    return Report(source, "mcptest", header, items, total=total, skip_bad=skip_bad, notes=(_NOTE,))


def _documents(
    stream: BinaryIO, outline: Outline, fail: Fail, tally: Tally
) -> Iterator[tuple[int, Any]]:
    """Documents with their line, which is 0 for a file that is one document."""
    if outline.goes_on:
        yield from read_lines(stream, fail, tally)
        return
    data = stream.read(_MAX_DOCUMENT + 1)
    if len(data) > _MAX_DOCUMENT:
        raise fail("", "is over 64 MiB in one JSON document", "Write it as NDJSON.")
    text = decode_utf8(data, 0, fail)
    try:
        yield 0, decode_whole(text, tally)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise fail(where, syntax_problem(error), "") from error
    except UnfitError as error:
        raise fail("", error.problem, error.hint) from error


def _learn(header: dict[str, Any], producer: dict[str, str], document: dict[str, Any]) -> None:
    """What a document's outermost object says about the run; the first to say it counts."""
    run_id = first(document, ("run_id", "runId"))
    if isinstance(run_id, str):
        producer.setdefault("run_id", run_id)
    if isinstance(document.get("version"), str) and document.get("tool") == "mcptest":
        producer.setdefault("version", document["version"])
    title = first(document, ("title", "suite"))
    if isinstance(title, str) and "title" not in header:
        header["title"] = title
