"""Bytes to canonical verdicts: what people already have on disk, recognised by its content."""

from __future__ import annotations

from dataclasses import dataclass

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UsageError
from reviewdesk.reports import mcptest, native
from reviewdesk.reports.report import Report
from reviewdesk.reports.sniff import recognise
from reviewdesk.reports.source import DEFAULT_MAX_SIZE, Source

__all__ = ["DEFAULT_MAX_SIZE", "FORMATS", "ReadOptions", "Report", "Source", "read"]

FORMATS = ("canonical", "canonical-jsonl", "mcptest")
"""The names ``--format`` takes, and the values of ``Report.format``."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read: a dialect to force, and whether bad verdicts are left out or an error."""

    format: str | None = None
    skip_bad: bool = False


_DEFAULT = ReadOptions()


def read(source: Source, options: ReadOptions = _DEFAULT) -> Report:
    """Recognise a report and read its header; every syntax error surfaces here.

    Raises:
        ReportError: the file cannot be opened; the message is one line with what to do.
        UsageError: ``options.format`` is not one of ``FORMATS``.
    """
    if options.format is not None and options.format not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f'there is no format "{show_line(options.format, 60)}"', f"Use {known}.")
    name, outline = recognise(source, options.format)
    if name == "canonical":
        return native.open_document(source, outline, skip_bad=options.skip_bad)
    if name == "canonical-jsonl":
        return native.open_lines(source, skip_bad=options.skip_bad)
    return mcptest.open_juries(source, outline, skip_bad=options.skip_bad)
