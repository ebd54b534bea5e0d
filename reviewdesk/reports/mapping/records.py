"""Read the records of another tool's JSON one by one, and open a report from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Protocol

from msgspec import Struct

from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import Window, read_lines, text_lines
from reviewdesk.reports.dialect import FirstLook
from reviewdesk.reports.mapping.secrets import MOST_SECRETS, SecretRemover, named_secrets
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict
from reviewdesk.reports.wording import FieldProblem, Path, spell_path


class Record(Struct, frozen=True):
    """A value with its place in the file; ``line`` is 0 if the file is one document."""

    value: Any
    path: Path = ()
    line: int = 0

    def inner(self, value: Any, *steps: str | int) -> Record:
        """Return the record of a value inside this one."""
        return Record(value, (*self.path, *steps), self.line)

    @property
    def pointer(self) -> str:
        """The place as provenance keeps it: ``/testCases/3``, or ``line 3#/``."""
        path = "".join(f"/{step}" for step in self.path) or "/"
        return f"line {self.line}#{path}" if self.line else path

    def item(self, body: dict[str, Any]) -> ReportVerdict:
        """Return a verdict made of this record, with the record's place."""
        return ReportVerdict(self._where, body, spell_path(self.path))

    def refused(self, problem: FieldProblem) -> ReportVerdict:
        """Return an entry without a verdict, with the reason and the record's place."""
        return ReportVerdict(self._where, None, spell_path(self.path), problem)

    @property
    def _where(self) -> str:
        return f"line {self.line}" if self.line else ""


class Mapper(Protocol):
    """Maps the records of one file to verdicts."""

    def items(self, record: Record) -> Iterator[ReportVerdict]:
        """Yield the verdicts of a record; none if it has no jury."""

    def notes(self) -> list[str]:
        """Return the import notes, once all records are mapped."""


def records(
    stream: BinaryIO,
    outline: Outline,
    fail: Fail,
    tally: ImportTally,
    lists: tuple[str, ...] = (),
    what: str = "report",
) -> Iterator[Record]:
    """Yield the lines of JSON Lines, the elements of a list, or one document.

    For a document with a key in ``lists``, the elements of those lists are yielded instead, so that
    the document is never held whole. ``what`` is what an error calls the document.
    """
    if outline.kind == "object" and outline.goes_on:
        for line, value in read_lines(stream, fail, tally):
            yield Record(value, (), line)
        return
    window = Window(stream, fail, tally)
    if outline.kind == "array":
        yield from elements(window, ())
    elif any(key in outline.keys for key in lists):
        for key in window.members():
            if key in lists and window.peek() == "[":
                yield from elements(window, (key,))
            else:
                window.value(spell_path((key,)))
    else:
        yield Record(window.value("$"))
    if window.peek():
        raise fail("", f"holds something behind the end of the {what}", "Remove it.")


def elements(window: Window, path: Path) -> Iterator[Record]:
    """Yield the elements of the list at the window, whose path is given."""
    for index, value, _ in window.values(path):
        yield Record(value, (*path, index))


def mapped(
    source: Source,
    look: FirstLook,
    options: ReadOptions,
    header: dict[str, Any],
    mapper: Callable[[], Mapper],
    *,
    name: str,
    lists: tuple[str, ...] = (),
    nothing: str,
    count: Callable[[Record], int] | None = None,
) -> Report:
    """Open a report through a mapper; ``nothing`` is the error of a file without any verdict.

    ``count`` counts the verdicts of a record in a first pass over the file; without it, each record
    is one verdict.
    """
    fail = failing(source)
    known = named_secrets(look.outline.keys)

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        one = mapper()
        for record in records(stream, look.outline, fail, tally, lists):
            secrets = known | named_secrets(record.value)
            if len(secrets) > MOST_SECRETS:
                yield record.refused(FieldProblem((), f"shows over {MOST_SECRETS} keys in clear"))
                continue
            scrubber = SecretRemover(secrets)
            for item in one.items(record):
                yield item._replace(value=scrubber.clean(item.value))
        tally.notes.extend(one.notes())

    outline = look.outline
    tally = ImportTally(lenient=True)
    with source.open() as stream:
        if count is not None:
            total = sum(map(count, records(stream, outline, fail, tally, lists)))
        elif outline.kind == "object" and outline.goes_on:
            total = sum(1 for _ in text_lines(stream, fail, tally))
        elif outline.kind == "array" and not outline.keys:
            # The first look ends at a first element that is no object.
            total = sum(1 for _ in records(stream, outline, fail, tally, lists))
        else:
            total = outline.length if outline.kind == "array" else 1
    if not total:
        raise fail("", nothing, "")
    return Report(source, name, header, items, total=total, skip_bad=options.skip_bad, lenient=True)
