"""The reader of ``reviewdesk.report/1``, as one JSON document and as JSON Lines."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import UNCLEAN, Fail, ImportTally, failing, together
from reviewdesk.reports.bytes.window import Window, line_value, text_lines
from reviewdesk.reports.canonical.rules import clean_verdicts, drop_nulls, header_problem
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Dialect, FirstLook, Report, ReportVerdict
from reviewdesk.reports.wording import must_be, spell_path


def _open_document(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    """Open a report in one JSON document; keys after ``verdicts`` belong to the header too."""
    outline = look.outline
    fail = failing(source)
    if outline.goes_on:
        raise fail("", "continues after the end of the report", "Remove it.")
    keys = dict(outline.keys)
    verdicts = keys.pop("verdicts")
    if "verdicts" not in outline.lengths:
        raise fail("$.verdicts", must_be("a list", verdicts), "")
    header = _header(keys, "", fail)

    def items(stream: BinaryIO, counted: ImportTally) -> Iterator[ReportVerdict]:
        window = Window(stream, fail, counted)
        unseen = False
        behind = fail("", "continues after its verdicts", "Put them last.")
        for key in window.members():
            if unseen:
                raise behind
            if key == "verdicts":
                for index, value, data in window.values(("verdicts",), clean_verdicts):
                    verdict, text = (value, None) if data is None else value
                    yield ReportVerdict("", verdict, f"$.verdicts[{index}]", text=text)
                unseen = outline.stopped
            else:
                window.value(spell_path((key,)))
        if outline.stopped and window.peek():
            raise behind

    return Report(source, "canonical", header, items, skip_bad=options.skip_bad)


def _open_lines(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    """Open JSON Lines: the header, then one verdict per line; a lone header may span lines."""
    name = "canonical-jsonl"
    skip_bad = options.skip_bad
    fail = failing(source)
    if not look.outline.goes_on:
        header = _header(look.outline.keys, "", fail)
        return Report(source, name, header, lambda *_: (), skip_bad=skip_bad)
    with source.open() as stream:
        lines = text_lines(stream, fail, ImportTally())
        first = next(lines)
        value = line_value(first, fail, ImportTally())
        header = _header(value, f"line {first.number}: ", fail)

    def items(stream: BinaryIO, counted: ImportTally) -> Iterator[ReportVerdict]:
        for some in together(islice(text_lines(stream, fail, counted), 1, None)):
            texts = [line.data.strip(b" \t\r\n") for line in some]
            for line, made in zip(some, clean_verdicts(texts), strict=True):
                if made is not UNCLEAN:
                    yield ReportVerdict(f"line {line.number}", made[0], text=made[1])
                else:
                    yield ReportVerdict(f"line {line.number}", line_value(line, fail, counted))

    return Report(source, name, header, items, skip_bad=skip_bad)


def _header(value: Any, line: str, fail: Fail) -> dict[str, Any]:
    if problem := header_problem(value):
        raise fail(f"{line}{spell_path(problem.path)}", problem.text, "Fix the file.")
    header: dict[str, Any] = value
    drop_nulls(header)
    return header


_SCHEMA = "a reviewdesk.report/1"

DOCUMENT = Dialect(
    "canonical",
    _SCHEMA,
    lambda look: "schema" in look.outline.keys and "verdicts" in look.outline.keys,
    _open_document,
)
LINES = Dialect("canonical-jsonl", _SCHEMA, lambda look: "schema" in look.outline.keys, _open_lines)
DIALECTS = (DOCUMENT, LINES)
