"""An opened report, the records that it is read from, and the dialects that open reports.

The header is read when the report is opened; the verdicts are streamed.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.json import decode

from reviewdesk.domain.report_model import Written, json_of, verdict_model
from reviewdesk.domain.run.columns import IdSet
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import CanonicalVerdict, stored_body
from reviewdesk.errors import ReportError
from reviewdesk.reports.bytes.source import Source, position_of
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, together
from reviewdesk.reports.bytes.window import CHUNK, Outline, Window, read_lines
from reviewdesk.reports.canonical.rules import checked_verdict, drop_nulls, verdict_rules
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.mapping.foreign import MOST_UNREAD, UNREAD
from reviewdesk.reports.mapping.secrets import (
    MOST_SECRETS,
    changed,
    guard,
    without_likely,
    without_secrets,
)
from reviewdesk.reports.mapping.values import without_nulls
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.wording import FieldError, Path, found, spell_path

_ANSWER_HINT = (
    "Give each ballot a score from 0 to 1, a pass of true or false or a label, under that name,"
    " and open it again."
)
_COUNT_AT_MOST = 20_000
"""The number of verdicts after a bad one that are searched to count other bad ones."""


class ReportVerdict(NamedTuple):
    """A verdict as a reader found it, with its place for error messages."""

    where: str
    value: Any
    origin: str = "$"
    """The JSON path of the value; errors print ``where``, if it is not empty, before the path."""
    problem: FieldError | None = None
    """The reason why the reader of a foreign format could not map the value to a verdict."""
    text: bytes | None = None
    """The JSON of a value that is a ``VerdictModel``."""
    secrets: frozenset[str] = frozenset()
    """The texts that the value was read beside and that a report must not repeat."""


Checked: TypeAlias = tuple[ReportVerdict, Written | FieldError]
Items: TypeAlias = Callable[[BinaryIO, ImportTally], Iterable[ReportVerdict]]


class Report:
    """A recognised file; each iteration of ``verdicts`` reads it once from start to end."""

    def __init__(
        self,
        source: Source,
        format_name: str,
        header: dict[str, Any],
        items: Items,
        *,
        skip_bad: bool,
        notes: tuple[str, ...] = (),
        lenient: bool = False,
        raw: bool = False,
        secrets: frozenset[str] = frozenset(),
    ) -> None:
        """Store what a reader found in its first pass.

        ``lenient`` reads bare NaN and Infinity. ``raw`` gives the reader a seekable stream of the
        bytes as stored. ``secrets`` are those of the whole file.
        """
        self.format = format_name
        self.header = without_secrets(header, secrets)
        self._secrets = secrets
        self.notes: list[str] = []
        self._first_notes = notes
        self._items = items
        self._source = source
        self._open = source.open_raw if raw else source.open
        self._lenient = lenient
        self._skip_bad = skip_bad
        self._foreign = False
        self.texts: Any = None
        """The ``JoinedTexts`` of another file, if there is one."""
        self._start()

    def _start(self) -> None:
        """Forget what an earlier reading counted and noted."""
        self.skipped = self._given = self._made_unique = self.position = 0
        self.responses = 0
        """How many of the verdicts so far have a response."""
        self._met = self._secrets
        """The secrets so far, up to a bound."""
        self._ids = IdSet()
        self._counts: dict[str, int] = {}
        """The counter that the last verdict with a repeated id got."""
        self._left_out: list[str] = []
        self._ballots = self._unknown = 0
        self._unread: dict[str, None] = {}
        """Some keys of the ballots that were not understood."""
        self._tally = ImportTally(notes=list(self._first_notes), lenient=self._lenient)

    def guard(self) -> "Report":
        """Read the file as a foreign one, without anything like an API key; return the report."""
        known = without_nulls(changed(self.header, without_likely))
        self.header = {"schema": FORMAT_NAME, **known}
        self._foreign = True
        return self

    def verdicts(self) -> Iterator[CanonicalVerdict]:
        """Yield the canonical bodies in the order of the file; ``notes`` is complete afterwards."""
        for _, text in self.written():
            yield stored_body(text)

    def written(self) -> Iterator[Written]:
        """Yield the verdicts as the rules read them, each with the JSON that a desk stores.

        This is the file's own, unless that has unneeded nulls, line breaks or escapes.
        """
        self._start()
        with self._open() as stream:
            items = self._items(stream, self._tally)
            if self.texts is not None:
                items = map(self.texts.filled, items)
            # Verdicts are checked, and ids looked up, in groups, which is faster.
            some = map(self._read_group, together(items))
            for group in some:
                self.position = position_of(stream)
                for item, made in (found := iter(group)):
                    if not isinstance(made, FieldError):
                        self.responses += bool(made[0].output)
                        self._given += 1
                        yield made
                    elif self._skip_bad:
                        self.skipped += 1
                        if len(self._left_out) < 5:
                            self._left_out.append(f"{_spelt(item, made)}: {made.text}")
                    else:
                        later = chain(found, chain.from_iterable(some))
                        raise self._error(item, made, later)
            self.position = position_of(stream)
        self._close()
        self._ids = IdSet()  # no longer needed, and large

    def _read_group(self, items: list[ReportVerdict]) -> list[Checked]:
        some = [*zip(items, map(self._read, items), strict=True)]
        verdicts = [made[0] for _, made in some if type(made) is tuple]
        jurors = [juror for one in verdicts for juror in one.jurors]
        self._ballots += len(jurors)
        for juror in jurors:
            if juror.status == "unknown":
                self._unknown += 1
                named = (juror.meta or {}).get(UNREAD)
                if isinstance(named, list) and len(self._unread) <= MOST_UNREAD:
                    self._unread.update(dict.fromkeys(one for one in named if isinstance(one, str)))
        ids = [one.id for one in verdicts]
        if len(set(ids)) < len(ids) or not self._ids.isdisjoint(ids):
            return [(item, self._unique(made)) for item, made in some]
        self._ids.update(ids)
        return some

    def _read(self, item: ReportVerdict) -> Written | FieldError:
        verdict = item.value
        if secrets := item.secrets | self._secrets:
            if len(secrets) > MOST_SECRETS:
                return FieldError((), f"shows over {MOST_SECRETS} keys in clear")
            if len(self._met) < MOST_SECRETS:
                self._met |= secrets
            verdict = without_secrets(verdict, secrets)
        if item.text is not None:
            if problem := verdict_rules(verdict):
                return problem
            return verdict, item.text
        if item.problem:
            return item.problem
        made = checked_verdict(verdict)
        if isinstance(made, FieldError):
            return made
        altered = not self._foreign or guard(verdict)
        text = json_of(verdict)
        if b"null" in text and drop_nulls(verdict):
            text = json_of(verdict)
        return verdict_model(text) if altered else made, text

    def _unique(self, made: Written | FieldError) -> Written | FieldError:
        """Return a verdict with an id of its own, and remember it.

        The second of equal ids gets ``#2`` in a foreign file, and is a problem in a canonical one.
        """
        if isinstance(made, FieldError):
            return made
        name = unused = made[0].id
        if name in self._ids:
            if not self._foreign:
                problem = f"must be unique in the report, found {found(name)} again"
                return FieldError(("id",), problem)
            self._made_unique += 1
            count = self._counts.get(name, 1)
            while unused in self._ids:
                count += 1
                unused = f"{name}#{count}"
            self._counts[name] = count
            body = json_of({**decode(made[1]), "id": unused})
            made = verdict_model(body), body
        self._ids.update((unused,))
        return made

    def _error(
        self, item: ReportVerdict, problem: FieldError, later: Iterator[Checked]
    ) -> ReportError:
        bad = rest = 0
        for _, made in islice(later, _COUNT_AT_MOST + 1):
            rest += 1
            bad += isinstance(made, FieldError)
        leaves = f"leaves out {bad + 1} of {self._given + 1 + rest}"
        if rest > _COUNT_AT_MOST:
            leaves = f"leaves out at least {bad + 1}"
        hint = f"Fix the file, or open with --skip-bad ({leaves})."
        return ReportError(self._source.shown_name, _spelt(item, problem), problem.text, hint)

    def _close(self) -> None:
        """Complete the notes; raise ReportError if nothing could be read, or not one ballot."""
        if self.skipped and not self._ids:
            message = f"has no verdict that can be read; the first is {self._left_out[0]}"
            raise ReportError(self._source.shown_name, "", message, "Fix the file.")
        count = self._unknown
        named = [show_line(key, 60) for key in [*self._unread][:MOST_UNREAD]]
        keys = ", ".join(named) + ", ..." * (len(self._unread) > MOST_UNREAD)
        if 0 < count == self._ballots:
            message = f"has {count} ballot{'s' * (count > 1)}, and no answer in them was understood"
            message += f" (seen in them: {keys})" if keys else ""
            message += f"; {self._tally.unreadable}" if self._tally.unreadable else ""
            raise ReportError(self._source.shown_name, "", message, _ANSWER_HINT)
        self.notes[:] = self._tally.notes
        if not self._ids:
            self.notes.append("has no verdicts")
        if self.texts is not None:
            self.notes.append(self.texts.note())
        if count:
            unknown = f"{count} of {self._ballots} ballots say nothing that was understood"
            self.notes.append(f"{unknown}, and count as unknown{f': {keys}' if keys else ''}")
        if self.skipped:
            more = self.skipped - len(self._left_out)
            total = self.skipped + self._given
            shown = "; ".join(self._left_out) + (f"; and {more} more" if more else "")
            self.notes.append(f"left out {self.skipped} of {total} verdicts: {shown}")
        for count, note in (
            (self._made_unique, "made {} id{} unique with #2 and so on"),
            (self._tally.blank_lines, "skipped {} blank line{}"),
            (self._tally.nonfinite, "replaced {} number{} NaN or Infinity by null"),
            (self._tally.surrogates, "replaced {} lone surrogate{} by U+FFFD"),
            (len(self._met), "did not copy {} API key{} that the file shows in clear; change it"),
        ):
            if count:
                self.notes.append(note.format(count, "s" * (count > 1)))


def _spelt(item: ReportVerdict, problem: FieldError) -> str:
    path = spell_path(problem.path, item.origin)
    return f"{item.where}: {path}" if item.where else path


class Record(Struct, frozen=True):
    """A value with its place in the file; ``line`` is 0 if the file is one document."""

    value: Any
    path: Path = ()
    line: int = 0

    def inner(self, value: Any, *steps: str | int) -> "Record":
        return Record(value, (*self.path, *steps), self.line)

    @property
    def pointer(self) -> str:
        """The place in the form of provenance: ``/testCases/3`` or ``line 3#/``."""
        path = "".join(f"/{step}" for step in self.path) or "/"
        return f"line {self.line}#{path}" if self.line else path

    def item(self, body: dict[str, Any], secrets: frozenset[str] = frozenset()) -> ReportVerdict:
        """Return a verdict made of this record, with the record's place."""
        where = f"line {self.line}" if self.line else ""
        return ReportVerdict(where, body, spell_path(self.path), secrets=secrets)

    def refused(self, problem: FieldError, secrets: frozenset[str] = frozenset()) -> ReportVerdict:
        """Return an entry without a verdict, with the reason and the record's place."""
        return self.item({}, secrets)._replace(problem=problem)


def records(
    stream: BinaryIO,
    outline: Outline,
    fail: Fail,
    tally: ImportTally,
    lists: tuple[str, ...] = (),
    what: str = "report",
) -> Iterator[Record]:
    """Yield the lines of JSON Lines, the elements of a list, or one document.

    For a document with keys in ``lists``, the elements of those lists are yielded instead, so that
    it is never held whole. ``what`` names the document in errors.
    """
    if outline.kind == "object" and outline.goes_on and not outline.indented:
        yield from (Record(value, (), line) for line, value in read_lines(stream, fail, tally))
        return
    window = Window(stream, fail, tally)
    if outline.kind == "array" or outline.goes_on:
        yield from _each(window, listed=outline.listed)
    elif any(key in outline.keys for key in lists):
        for key in window.members():
            if key in lists and window.peek() == "[":
                yield from elements(window, (key,))
            else:
                window.value(spell_path((key,)))
    else:
        yield Record(window.value("$"))
    if window.peek():
        raise fail("", f"continues after the end of the {what}", "Remove it.")


def _each(window: Window, *, listed: bool) -> Iterator[Record]:
    start = window.peek()
    while window.peek() == start:
        line = window.line
        if start == "[" and not listed:
            yield from elements(window, ())
        else:
            yield Record(window.value(f"line {line}"), (), line)


_OPENED = re.compile(rb"[ \t\r\n]*(?:\[|\{[ \t\r]*\n)")
"""The start of a list, or of an object on several lines."""


def read_objects(source: Source, fail: Fail, hint: str) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON Lines, of a list, or of indented objects, with their lines."""
    with source.open() as stream:
        spread = _OPENED.match(stream.read(CHUNK))
    with source.open() as stream:
        if not spread:
            yield from read_lines(stream, fail, ImportTally(), hint)
            return
        window = Window(stream, fail, ImportTally())
        if window.peek() == "[":
            for index in window.elements():
                window.peek()
                line = window.line
                yield line, window.value(f"$[{index}]")
            if window.peek():
                raise fail(f"line {window.line}", "continues after the end of the list", "")
        while window.peek():
            line = window.line
            yield line, window.value(f"line {line}")


def elements(window: Window, path: Path) -> Iterator[Record]:
    for index, value, _ in window.values(path):
        yield Record(value, (*path, index))


class FirstLook(Struct, frozen=True):
    """What the start of a file reveals about its format.

    ``outline`` is filled for JSON alone; ``text`` is the start of a text file, and ``columns`` are
    those of a binary table.
    """

    kind: str
    """``json``, ``text``, ``zip``, or the kind of a binary table."""
    text: str = ""
    outline: Outline = field(default_factory=lambda: Outline("object"))
    columns: tuple[str, ...] = ()


class Dialect(Struct, frozen=True):
    """A reader in the registry. ``uses`` names the reading options that it accepts."""

    name: str
    """The name for ``--format``, and for ``Report.format`` unless the reader sets a finer one."""
    what: str
    """The format in words, for errors: ``a promptfoo result``."""
    fits: Callable[[FirstLook], bool]
    open: Callable[[Source, FirstLook, ReadOptions], Report]
    uses: frozenset[str] = frozenset()
    reads_tables: bool = False
    """Whether the reader, when forced, opens any CSV and reports missing columns itself."""
    steps_in: bool = False
    """Whether the reader steps into long values, so that one may exceed ``MAX_ITEM``."""
