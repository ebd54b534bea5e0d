"""Read the records of another tool's JSON one by one, and open a report from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from msgspec import Struct

from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally
from reviewdesk.reports.bytes.window import Window, read_lines
from reviewdesk.reports.report import ReportVerdict
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
