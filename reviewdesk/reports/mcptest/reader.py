"""The reader of mcptest reports, JSON and NDJSON.

Their envelope is not public, so a jury is recognised by its structure and read as far as its keys
are understood; the raw object stays with the verdict, and the import says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from reviewdesk.reports.ballots import weigh
from reviewdesk.reports.dialect import Dialect, Look
from reviewdesk.reports.documents import documents
from reviewdesk.reports.juries import find_juries
from reviewdesk.reports.juryverdict import JuryMapper
from reviewdesk.reports.models import FORMAT_NAME
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.rawscores import Scales
from reviewdesk.reports.refusals import no_jury
from reviewdesk.reports.report import Item, Report
from reviewdesk.reports.secrets import MOST_SECRETS, Scrubber, named_secrets
from reviewdesk.reports.source import Source
from reviewdesk.reports.strictjson import (
    Tally,
    failing,
)
from reviewdesk.reports.values import first

_NOTE = "shape not verified: read by structure, because the format is not published"


def _open(source: Source, look: Look, options: ReadOptions) -> Report:
    """A report of one document, or one of a line each."""
    outline, skip_bad = look.outline, options.skip_bad
    fail = failing(source)
    total, scales = 0, Scales()
    header: dict[str, Any] = {"schema": FORMAT_NAME}
    producer = {"name": "mcptest", "format": "mcptest"}
    with source.open() as stream:
        for _, document in documents(stream, outline, fail, Tally()):
            for jury in find_juries(document):
                weigh(jury.panel, scales)
                total += 1
            if isinstance(document, dict):
                _learn(header, producer, document)
    if not total:
        raise no_jury(outline, fail)
    header["producer"] = producer

    def items(stream: BinaryIO, tally: Tally) -> Iterator[Item]:
        mapper = JuryMapper(scales)
        for line, document in documents(stream, outline, fail, tally):
            secrets = named_secrets(document)
            if len(secrets) > MOST_SECRETS:
                raise fail("", f"shows over {MOST_SECRETS} keys in clear", "Write it without them.")
            scrubber = Scrubber(secrets)
            for jury in find_juries(document):
                where = f"line {line}: {jury.pointer or '/'}" if line else jury.pointer or "/"
                yield Item(where, scrubber.clean(mapper.verdict(jury, line)))
        tally.notes.extend(mapper.remarks.notes())

    return Report(source, "mcptest", header, items, total=total, skip_bad=skip_bad, notes=(_NOTE,))


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


DIALECT = Dialect("mcptest", "read by its structure", lambda look: look.kind == "json", _open)
