"""The reader of ``reviewdesk.report/1``, as one JSON document and as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import TextLine, line_value, text_lines
from reviewdesk.reports.canonical.clean import VerdictList, clean_verdict, plain_lines
from reviewdesk.reports.canonical.rules import header_body, header_problem
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import PlainVerdicts, Report, ReportVerdict
from reviewdesk.reports.wording import must_be, spell_path

_MOST_LINES, _MOST_BYTES = 64, 1 << 18
"""How many lines of JSON Lines are decoded together, and about how many bytes."""


def _open_document(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    """Open a report in one JSON document; keys after ``verdicts`` belong to the header too."""
    outline, skip_bad = look.outline, options.skip_bad
    fail = failing(source)
    if outline.goes_on:
        raise fail("", "holds something behind the end of the report", "Remove it.")
    keys = dict(outline.keys)
    verdicts = keys.pop("verdicts")
    if "verdicts" not in outline.lengths:
        raise fail("$.verdicts", must_be("a list", verdicts), "")
    header = _header(keys, "", fail)

    def items(stream: BinaryIO, counted: ImportTally) -> Iterator[ReportVerdict | PlainVerdicts]:
        window, unseen = VerdictList(stream, fail, counted), False
        behind = fail("", "goes on behind its verdicts", "Put them last.")
        for key in window.members():
            if unseen:
                raise behind
            if key == "verdicts":
                yield from window.verdicts()
                unseen = outline.stopped
            else:
                window.value(spell_path((key,)))
        if outline.stopped and window.peek():
            raise behind

    total = outline.lengths["verdicts"]
    return Report(source, "canonical", header, items, total=total, skip_bad=skip_bad)


def _open_lines(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    """Open JSON Lines: the header, then one verdict a line; a lone header may span lines."""
    skip_bad = options.skip_bad
    fail = failing(source)
    if not look.outline.goes_on:
        header = _header(look.outline.keys, "", fail)
        return Report(source, "canonical-jsonl", header, lambda *_: (), total=0, skip_bad=skip_bad)
    with source.open() as stream:
        lines = text_lines(stream, fail, ImportTally())
        first = next(lines)
        value = line_value(first, fail, ImportTally())
        header = _header(value, f"line {first.number}: ", fail)
        total = sum(1 for _ in lines)

    def items(stream: BinaryIO, counted: ImportTally) -> Iterator[ReportVerdict | PlainVerdicts]:
        lines = islice(text_lines(stream, fail, counted), 1, None)
        for some in _some(lines):
            if found := plain_lines(some):
                yield found
            else:
                yield from (_line_verdict(line, fail, counted) for line in some)

    return Report(source, "canonical-jsonl", header, items, total=total, skip_bad=skip_bad)


def _some(lines: Iterator[TextLine]) -> Iterator[list[TextLine]]:
    """Yield lines some at a time; an error comes after the lines before it."""
    some, size, error = list[TextLine](), 0, None
    while True:
        try:
            line = next(lines, None)
        except InputFileError as found:
            line, error = None, found
        if line is not None:
            some.append(line)
            size += len(line.data)
        if some and (line is None or len(some) == _MOST_LINES or size > _MOST_BYTES):
            yield some
            some, size = [], 0
        if error is not None:
            raise error
        if line is None:
            return


def _line_verdict(line: TextLine, fail: Fail, counted: ImportTally) -> ReportVerdict:
    where = f"line {line.number}"
    if (clean := clean_verdict(line.data)) is None:
        return ReportVerdict(where, line_value(line, fail, counted))
    return ReportVerdict(where, clean.value, text=line.data.strip(), plain=clean.plain)


def _header(value: Any, line: str, fail: Fail) -> dict[str, Any]:
    if problem := header_problem(value):
        raise fail(f"{line}{spell_path(problem.path)}", problem.text, "Fix the file.")
    return header_body(value)


_SCHEMA = "a reviewdesk.report/1"

DOCUMENT = Dialect(
    "canonical",
    _SCHEMA,
    lambda look: "schema" in look.outline.keys and "verdicts" in look.outline.keys,
    _open_document,
)
LINES = Dialect("canonical-jsonl", _SCHEMA, lambda look: "schema" in look.outline.keys, _open_lines)
DIALECTS = (DOCUMENT, LINES)
