"""Reads keys and pastes from the terminal, and sends it the cells that change."""

import os
import re
import selectors
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import pairwise, repeat, takewhile
from typing import Any, TypeAlias

from msgspec import Struct
from rich.cells import cell_len
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.events import Resize
from textual.message import Message

from reviewdesk.app.paint.styled import SINGLE

# Textual has no public parser; the drivers of both kinds of terminal are built on this one.

ESC = "\x1b"
START = "\x1b[200~"
END = "\x1b[201~"
"""The marks that a terminal sends before and after a paste, once it is asked to."""

_LARGEST = 5_000
"""The most columns or rows that a terminal may report."""


def is_size(width: object, height: object) -> bool:
    return all(type(one) is int and 0 < one <= _LARGEST for one in (width, height))


class PasteMarks:
    """Cuts text into parts that Textual's parser reads as keys and as whole pastes.

    The parser takes an escape sequence inside a paste for keys, and misses a mark that arrives in
    two pieces with a pause between them.
    """

    def __init__(self) -> None:
        self._held = ""
        self._inside = False
        self._given = False
        """Whether the parser has the first character of ``_held`` already."""
        self.awaited = False
        """Whether the parser still waits for what follows that character."""

    def parts(self, text: str) -> Iterator[str]:
        """Yield what the parser is to read: characters, and pastes with their marks.

        The beginning of a mark is held back until the rest comes, except a lone escape character,
        which is a key. All other escape characters inside a paste are left out.
        """
        text = self._held + text
        given = self._given
        self._held = ""
        self._given = False
        for part in filter(None, self._of(text)):
            if not given or (part == START and not self.awaited):
                yield part
            elif part[1:]:
                yield part[1:]
            given = False
        self._given = self._given or (given and bool(self._held))

    def _of(self, text: str) -> Iterator[str]:
        while text:
            mark = END if self._inside else START
            before, found, text = text.partition(mark)
            if not found:
                sizes = range(len(mark) - 1, 0, -1)
                size = next((n for n in sizes if before.endswith(mark[:n])), 0)
                self._held = before[len(before) - size :]
                before = before[: len(before) - size]
            if self._inside:
                yield before.replace(ESC, "") + found
            else:
                yield from before
                yield found
            if self._held == ESC and not self._inside:
                self._given = self.awaited = True
                yield ESC
            self._inside = self._inside is not bool(found)


class TerminalInput:
    """Turns bytes into messages stamped by ``clock``; what is not input is dropped."""

    def __init__(self, debug: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._debug = debug
        self._clock = clock
        self._decode = getincrementaldecoder("utf-8")("ignore").decode
        self._parser = XTermParser(debug)
        self._marks = PasteMarks()

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages of some bytes, with the time at which they came."""
        now = self._clock()
        parts = self._marks.parts(self._decode(data))
        found = [one for part in parts for one in self._read(partial(self._parser.feed, part))]
        for one in found:
            one.time = now
        return found

    def _read(self, parse: Callable[[], Iterable[Message]]) -> Iterator[Message]:
        try:
            yield from parse()
        except (ValueError, ArithmeticError):
            # Textual's parser fails at sequences with senseless numbers. A new one begins after
            # what the old one had taken.
            self._parser = XTermParser(self._debug)

    def look(self) -> list[Message]:
        """Return the key of an escape character that nothing follows; call every 0.1 seconds."""
        found = list(self._read(self._parser.tick))
        if found:
            self._marks.awaited = False
        return found


_MOVE = re.compile(r"\x1b\[(\d+);(\d+)H")
_TOKEN = re.compile(r"\x1b\[(?P<style>[\d;]*)m|(?P<break>\n)|(?P<text>[^\x00-\x1f\x7f-\x9f]+)")

Cell: TypeAlias = tuple[str, str]
"""A character of one column, or a text whose characters are not all, and its look."""


class CellRun(Struct, frozen=True):
    """The cells of a piece of a row."""

    cells: tuple[Cell, ...]
    plain: bool
    """Whether every cell is a character of one column."""
    width: int


PLAIN = ""


@lru_cache(2048)
def run_of(drawing: str) -> CellRun | None:
    """Return what is drawn without moving the cursor, or None if the text has anything else.

    The same lines are drawn again and again: blank ones, those of a list that scrolls, and those
    of an item that one comes back to.
    """
    cells = list[Cell]()
    plain = True
    width = 0
    at = 0
    look = PLAIN
    while at < len(drawing):
        token = _TOKEN.match(drawing, at)
        if token is None:
            return None
        at = token.end()
        if token.lastgroup == "style":
            wanted = token["style"].strip("0;") and token["style"]
            if PLAIN not in {look, wanted}:
                return None
            look = wanted
        elif token.lastgroup == "text":
            text = token["text"]
            single = SINGLE.fullmatch(text) is not None
            cells += zip(text, repeat(look)) if single else [(text, look)]
            plain &= single
            width += len(text) if single else cell_len(text)
    return CellRun(tuple(cells), plain, width)


_PART = re.compile(
    r"(?P<ink>38;2;\d+;\d+;\d+|38;5;\d+|[39][0-7](?!\d))"
    r"|(?P<ground>48;2;\d+;\d+;\d+|48;5;\d+|(?:4|10)[0-7](?!\d))|(?P<attribute>\d+)"
)

_COLOURS = {"ink": "39", "ground": "49"}


@lru_cache(4096)
def _change(before: str, after: str, *, blank: bool) -> tuple[str, str]:
    """Return the parameters that turn one look into another, and the resulting look.

    The ink of a blank without attributes is invisible, so it is not changed.
    """
    old, new = (
        {one[0] if one["attribute"] else str(one.lastgroup): one[0] for one in found}
        for found in (_PART.finditer(before), _PART.finditer(after))
    )
    if blank and old.keys() | new.keys() <= _COLOURS.keys():
        kept = {"ink": old["ink"]} if "ink" in old else {}
        new = kept | {name: value for name, value in new.items() if name == "ground"}
    made = ";".join(new.values())
    if old.keys() - _COLOURS != new.keys() - _COLOURS:
        return ";".join(filter(None, ("0" if before else "", made))), made
    differing = (name for name in _COLOURS if old.get(name) != new.get(name))
    return ";".join(new.get(name, _COLOURS[name]) for name in differing), made


_MODES = re.compile(
    r"(?:\x07|\x1b\[\?(?!1049|1047|47)[\d;]+(?:\$p|[hl])|\x1b\[[<>=]\d*u|\x1b\](?!8;)[^\x07\x1b]*\x07)+"
)
"""Sequences that leave the cells as they are: modes, questions, the bell, the clipboard."""
GAP = 6
"""How many cells between two that change are sent too: moving the cursor costs as much."""


class Shown:
    """Keeps the cells that were sent. Cells it does not know are sent."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Cell | None]] = {}
        self._cursor: tuple[int, int] | None = None
        self._width: int | None = None
        self._pieces: list[str] = []
        """What is written for the drawing at hand, in which ``_look`` is in force."""
        self._look = PLAIN

    def forget(self, width: int | None = None) -> None:
        """Send everything again, to a terminal of ``width`` columns if a width is given."""
        self._width = width or self._width
        self._rows.clear()
        self._cursor = None

    def changes(self, data: str) -> str:
        """Return a text, often empty, that makes the terminal show the same as ``data`` would."""
        if _MODES.fullmatch(data):
            return data
        first, *pieces = _MOVE.split(data)
        drawn = [run_of(piece) for piece in pieces[2::3]]
        if first or None in drawn:
            self.forget()
            return data
        self._pieces = []
        self._look = PLAIN
        row = column = 0
        for place, run in enumerate(filter(None, drawn)):
            row, column = int(pieces[3 * place]) - 1, int(pieces[3 * place + 1]) - 1
            self._draw(row, column, run)
            column += run.width
            if self._width is not None and column > self._width:
                # Drawn for a wider terminal: what does not fit lands on the last column.
                del self._rows[row][self._width - 1 :]
        written = "".join(self._pieces) + ("\x1b[0m" if self._look else "")
        if drawn and (written or (row, column) != self._cursor):
            self._cursor = row, column
            written += f"\x1b[{row + 1};{column + 1}H"
        return written

    def _write(self, row: int, column: int, cells: Iterable[Cell]) -> None:
        """Write cells at a place; a look is written only where it changes."""
        self._pieces.append(f"\x1b[{row + 1};{column + 1}H")
        for text, look in cells:
            codes = ""
            if look != self._look:
                codes, self._look = _change(self._look, look, blank=text == " ")
            self._pieces.append(f"\x1b[{codes}m{text}" if codes else text)

    def _draw(self, at: int, column: int, run: CellRun) -> None:
        """Write what a run changes of a row, and keep its cells.

        Terminals differ in the columns that a text takes which is not plain. Such a run is written
        whole, over blanks, and so are the known cells to the right of it.
        """
        row = self._rows.setdefault(at, [])
        end = column + run.width
        row += [None] * (end - len(row))
        before = tuple(row[column:end])
        if run.plain and before != run.cells:
            changed = [at for at, cell in enumerate(run.cells) if cell != before[at]]
            apart = enumerate(pairwise(changed), 1)
            breaks = [place for place, (one, other) in apart if other - one > GAP + 1]
            for first, last in pairwise([0, *breaks, len(changed)]):
                start = changed[first]
                stop = changed[last - 1] + 1
                self._write(at, column + start, run.cells[start:stop])
            row[column:end] = run.cells
        elif not run.plain:
            self._write(at, column, [(" ", run.cells[0][1])] * run.width)
            self._write(at, column, run.cells)
            self._write(at, end, filter(None, takewhile(bool, row[end:])))
            row[column:end] = [None] * run.width


class GuardedDriver(Driver):
    """Passes on the input that either kind of terminal may send, and drops the rest."""

    def process_message(self, message: Message) -> None:
        if not isinstance(message, Resize) or is_size(message.size.width, message.size.height):
            super().process_message(message)


class ChangesDriver(GuardedDriver):
    """Draws as the driver that it is mixed into, but sends only the cells that change."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self.shown: Shown = app.shown

    def write(self, data: str) -> None:
        if changes := self.shown.changes(data):
            super().write(changes)  # type: ignore[safe-super]

    def run_input_thread(self) -> None:
        """Read input until the app ends; what cannot be read as input is dropped."""
        terminal: Any = self
        if terminal.is_web:
            # A browser's keys come by a pipe, which its own driver reads.
            terminal = super()
            terminal.run_input_thread()
            return
        reader = TerminalInput(self._debug)
        # The selectors of some systems do not take terminals.
        with selectors.SelectSelector() as selector:
            selector.register(terminal.fileno, selectors.EVENT_READ)
            while not terminal.exit_event.is_set():
                found: list[Message] = []
                if selector.select(0.1):
                    try:
                        data = os.read(terminal.fileno, 4096)
                    except OSError:
                        data = b""
                    if not data:
                        return  # the terminal is gone
                    found = reader.feed(data)
                for message in [*found, *reader.look()]:
                    self.process_message(message)
