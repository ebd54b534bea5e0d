"""The reader of mcptest reports, JSON and NDJSON.

Their envelope is not public, so a jury is recognised by its structure and read as far as its keys
are understood; the raw object stays with the verdict, and the import says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import (
    Fail,
    ImportTally,
    NonStandardJsonError,
    decode_whole,
    failing,
    syntax_problem,
)
from reviewdesk.reports.bytes.window import decode_utf8, read_lines
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping.ballots import weigh
from reviewdesk.reports.mapping.raw_scores import Scales
from reviewdesk.reports.mapping.secrets import MOST_SECRETS, SecretRemover, named_secrets
from reviewdesk.reports.mapping.values import first
from reviewdesk.reports.mcptest.juries import find_juries
from reviewdesk.reports.mcptest.verdict import JuryMapper
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.refusals import no_jury
from reviewdesk.reports.report import Report, ReportVerdict

MAX_DOCUMENT = 64 << 20


def documents(
    stream: BinaryIO, outline: Outline, fail: Fail, tally: ImportTally
) -> Iterator[tuple[int, Any]]:
    """Yield documents with their line, which is 0 for a file that is one document.

    One document is held whole and so has a size bound; lines are streamed.
    """
    if outline.goes_on:
        yield from read_lines(stream, fail, tally)
        return
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise fail("", "is over 64 MiB in one JSON document", "Write it as NDJSON.")
    text = decode_utf8(data, 0, fail)
    try:
        yield 0, decode_whole(text, tally)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise fail(where, syntax_problem(error), "") from error
    except NonStandardJsonError as error:
        raise fail("", error.problem, error.hint) from error


_NOTE = "shape not verified: read by structure, because the format is not published"


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    outline, skip_bad = look.outline, options.skip_bad
    fail = failing(source)
    total, scales = 0, Scales()
    header: dict[str, Any] = {"schema": FORMAT_NAME}
    producer = {"name": "mcptest", "format": "mcptest"}
    with source.open() as stream:
        for _, document in documents(stream, outline, fail, ImportTally(lenient=True)):
            for jury in find_juries(document):
                weigh(jury.panel, scales)
                total += 1
            if isinstance(document, dict):
                _learn(header, producer, document)
    if not total:
        raise no_jury(outline, fail)
    header["producer"] = producer

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        mapper = JuryMapper(scales)
        for line, document in documents(stream, outline, fail, tally):
            secrets = named_secrets(document)
            if len(secrets) > MOST_SECRETS:
                raise fail("", f"shows over {MOST_SECRETS} keys in clear", "Write it without them.")
            scrubber = SecretRemover(secrets)
            for jury in find_juries(document):
                where = f"line {line}: {jury.pointer or '/'}" if line else jury.pointer or "/"
                yield ReportVerdict(where, scrubber.clean(mapper.verdict(jury, line)))
        tally.notes.extend(mapper.remarks.notes())

    return Report(source, "mcptest", header, items, total=total, skip_bad=skip_bad, notes=(_NOTE,))


def _learn(header: dict[str, Any], producer: dict[str, str], document: dict[str, Any]) -> None:
    """Copy run id, version and title from a document unless an earlier one has stated them."""
    run_id = first(document, ("run_id", "runId"))
    if isinstance(run_id, str):
        producer.setdefault("run_id", run_id)
    if isinstance(document.get("version"), str) and document.get("tool") == "mcptest":
        producer.setdefault("version", document["version"])
    title = first(document, ("title", "suite"))
    if isinstance(title, str) and "title" not in header:
        header["title"] = title


DIALECT = Dialect("mcptest", "read by its structure", lambda look: look.kind == "json", _open)
