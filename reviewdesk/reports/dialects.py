"""The registry of readers, in the order in which they are tried on a file."""

from collections import deque
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, BinaryIO

from reviewdesk.errors import UsageError
from reviewdesk.reports import deepeval, mcptest
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import ImportTally, failing
from reviewdesk.reports.canonical import reader as canonical
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.inspectai import log as inspect_log
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.promptfoo import result as promptfoo
from reviewdesk.reports.report import Dialect, FirstLook, Report, ReportVerdict
from reviewdesk.reports.tables import table

_TOOLS = (promptfoo.DIALECT, inspect_log.DIALECT, deepeval.DIALECT, *table.TOOLS)
"""Formats of other tools that are recognised by a signature."""

LAST = mcptest.DIALECT
"""The format without a signature, recognised only by its structure."""

_SHIPPED = (*canonical.DIALECTS, *_TOOLS, table.DIALECT, LAST)
_GROUP = "reviewdesk.readers"
"""The entry points of readers of other packages, each with ``what``, ``fits`` and ``read``."""


def named(name: str) -> Dialect | None:
    """Return the dialect that ``--format`` names, or None."""
    found = next((dialect for dialect in _SHIPPED if dialect.name == name), None)
    entry = None if found else _installed().get(name)
    return found if entry is None else _of_package(entry)


def names() -> tuple[str, ...]:
    return (*(dialect.name for dialect in _SHIPPED), *_installed())


def fitting(look: FirstLook) -> Dialect | None:
    """Return the first foreign dialect whose signature fits the file, or None."""
    for dialect in _TOOLS:
        if dialect.fits(look):
            return dialect
    for entry in _installed().values() if look.text else ():
        try:
            dialect = _of_package(entry)
        except UsageError:
            continue  # the error is raised when it is named
        if dialect.fits(look):
            return dialect
    return table.DIALECT if table.DIALECT.fits(look) else None


@cache
def _installed() -> dict[str, EntryPoint]:
    known = {dialect.name for dialect in _SHIPPED}
    return {one.name: one for one in entry_points(group=_GROUP) if one.name not in known}


def _of_package(entry: EntryPoint) -> Dialect:
    try:
        found: Any = entry.load()
        what = str(found.what)
    except Exception as error:
        problem = f"the reader {entry.name} ({entry.value}) cannot be loaded: {error}"
        raise UsageError(problem, "Update or remove its package.") from error

    def items(stream: BinaryIO, _tally: ImportTally) -> Iterator[ReportVerdict]:
        for number, body in enumerate(found.read(stream), 1):
            yield ReportVerdict(f"verdict {number}", dict(body))

    def opened(source: Source, _look: FirstLook, options: ReadOptions) -> Report:
        try:
            with source.open() as stream:
                deque(found.read(stream), maxlen=0)
        except ValueError as error:
            raise failing(source)(
                "", f"is not a file for the reader {entry.name}: {error}", ""
            ) from error
        producer = {"name": entry.name, "format": entry.name}
        header = {"schema": FORMAT_NAME, "producer": producer}
        return Report(source, entry.name, header, items, skip_bad=options.skip_bad)

    return Dialect(entry.name, what, lambda look: found.fits(look.text), opened, reads_tables=True)
