"""Reads what a terminal sends: keys with the times at which they were pressed, and whole pastes."""

from __future__ import annotations

import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from functools import partial

# Textual has no public parser; the drivers of both kinds of terminal are built on this one.
from textual._xterm_parser import XTermParser
from textual.events import Key
from textual.message import Message

ESC = "\x1b"
START = "\x1b[200~"
END = "\x1b[201~"
"""What a terminal sends before and after a paste, once it is asked to."""
STALLED = 0.125
LONGEST = 2.0
"""Seconds between two looks for input, which are at most 0.1 where nothing holds the reader up:
from ``STALLED`` on, keys that are read together may have been pressed one after the other, over at
most ``LONGEST``."""
APART = 0.050
"""Seconds: keys that would have to be closer than this were not pressed one after the other."""


_LARGEST = 5_000
"""The most columns or rows of a terminal that is believed."""


def is_size(width: object, height: object) -> bool:
    """Return True for columns and rows that a terminal may have."""
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

        The beginning of a mark is held back until the rest comes, but for a lone escape character,
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
    """Turns the bytes of a terminal into messages; what cannot be read as input is dropped.

    ``clock`` returns the seconds that messages are stamped with.
    """

    def __init__(self, debug: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        """Start between two keys; ``debug`` is Textual's."""
        self._debug = debug
        self._clock = clock
        self._decode = getincrementaldecoder("utf-8")("ignore").decode
        self._parser = XTermParser(debug)
        self._marks = PasteMarks()
        self._looked = clock()

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages of some bytes, with the times at which they came.

        Bytes that wait while the process is held up are read together. Keys among them are taken
        as pressed one after the other, unless a hand could not press as many meanwhile.
        """
        now = self._clock()
        waited = now - self._looked
        self._looked = now
        parts = self._marks.parts(self._decode(data))
        found = [one for part in parts for one in self._read(partial(self._parser.feed, part))]
        keys = [one for one in found if isinstance(one, Key)]
        apart = min(waited, LONGEST) / max(1, len(keys))
        spread = waited > STALLED and apart >= APART
        for place, key in enumerate(reversed(keys)):
            key.time = now - place * apart * spread
        return found

    def _read(self, parse: Callable[[], Iterable[Message]]) -> Iterator[Message]:
        try:
            yield from parse()
        except (ValueError, ArithmeticError):
            # Textual's parser fails at sequences with senseless numbers. A new one begins behind
            # what the old one had taken.
            self._parser = XTermParser(self._debug)

    def look(self) -> list[Message]:
        """Return the key of an escape character that nothing follows; call every 0.1 seconds."""
        self._looked = self._clock()
        found = list(self._read(self._parser.tick))
        if found:
            self._marks.awaited = False
        return found
