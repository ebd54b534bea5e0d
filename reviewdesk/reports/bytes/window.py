"""Read a long JSON text item by item, without holding the whole document in memory."""

import codecs
import json
import re
import string
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal, NamedTuple

import msgspec

from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.dense import characters, occurrences
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.strict_json import (
    MAX_ITEM,
    UNCLEAN,
    Fail,
    ImportTally,
    decode,
    decode_clean,
    decode_whole,
    syntax_problem,
    together,
)
from reviewdesk.reports.wording import FieldError, Path, spell_path

CHUNK = 1 << 18
NOT_BLANK = re.compile(r"[^ \t\r\n]")
_OF_TOKENS = "+-." + string.digits + string.ascii_letters
"""The characters of numbers, true, false, null, NaN and Infinity."""
_TEXT = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""The inside of a text, up to its closing quote or to a backslash that ends the held part."""
_GAP = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")
"""The separator between two elements of a list."""
_HEAD = 24
"""The number of characters of two neighbours that are compared to find an element's start."""
_TRIES = 8
_REST = 32
"""The number of guesses of an end of the held elements, and of elements to wait if all fail."""
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_MAX_NESTED = 16
"""The most nested long values that are entered; each level decodes the held text again."""
_MOST_HELD = 24
"""The number of members that are kept of an object that is too long to hold."""
_SAMPLES = 3
_OF_ROWS = "results"
"""The object around the rows of a promptfoo export."""
_CUT_OFF = ("ends in the middle of a value", "The file looks cut off; write or copy it again.")
_BAD_LINE = "Fix the line or remove it; --skip-bad leaves out verdicts, not lines."
"""What to do with a line of a report; other files are read without that option."""
TOO_LONG = "is over 8 MiB long"


def decode_utf8(data: bytes, offset: int, fail: Fail, where: str = "") -> str:
    """Decode UTF-8; an error names the first bad byte, counted from the start of the file."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(fail, where, offset + error.start) from error


def not_utf8(fail: Fail, where: str, byte: int) -> InputFileError:
    return fail(where, f"is not UTF-8 text (byte {byte})", "Save it as UTF-8.")


class TextLine(NamedTuple):
    """A line of JSON Lines: its number, the bytes before it and its own; 0 is a whole file."""

    number: int
    offset: int
    data: bytes


def text_lines(
    stream: BinaryIO, fail: Fail, tally: ImportTally, hint: str = _BAD_LINE
) -> Iterator[TextLine]:
    """Yield the lines of JSON Lines and count blank ones; U+2028 ends none, as JSON may hold it."""
    number = offset = 0
    while raw := stream.readline(MAX_ITEM + 1):
        number += 1
        if len(raw) > MAX_ITEM:
            raise fail(f"line {number}", TOO_LONG, hint)
        if raw[0] > 32 or raw.strip(b" \t\r\n"):
            yield TextLine(number, offset, raw)
        else:
            tally.blank_lines += 1
        offset += len(raw)


def line_value(line: TextLine, fail: Fail, tally: ImportTally, hint: str = _BAD_LINE) -> Any:
    (value,) = decode_clean([line.data])
    if value is not UNCLEAN:
        return value
    where = f"line {line.number}" if line.number else ""
    text = decode_utf8(line.data, line.offset, fail, where)
    try:
        return decode_whole(text, tally)
    except json.JSONDecodeError as error:
        place = f"{where}, column {error.pos + 1}"
        if not line.number:
            place = f"line {error.lineno}, column {error.colno}"
        raise fail(place, syntax_problem(error), hint) from error
    except FieldError as error:
        raise fail(where, error.text, error.hint) from error


def read_lines(
    stream: BinaryIO, fail: Fail, tally: ImportTally, hint: str = _BAD_LINE
) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON Lines with their line numbers. Errors end with ``hint``."""
    for lines in together(text_lines(stream, fail, tally, hint)):
        values = decode_clean([line.data for line in lines])
        for line, value in zip(lines, values, strict=True):
            known = value is not UNCLEAN
            yield line.number, value if known else line_value(line, fail, tally, hint)


TOO_LARGE = object()
"""Stands for a value that is longer than ``MAX_ITEM``; the window is still at its start."""


class Window:
    """A position in a long JSON text, of which only the part around it is held in memory.

    Its methods decode or step over the next value. The held text never ends inside a number or a
    word: an incomplete one is kept back until a character arrives that cannot continue it, or the
    text ends.
    """

    def __init__(self, stream: BinaryIO, fail: Fail, tally: ImportTally) -> None:
        self._stream = stream
        self._fail = fail
        self._tally = tally
        self._head = b""
        self._wait = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0
        self._tail: list[str] = []
        self._waiting = 0
        self._ended = False
        self._bytes = 0
        self._lines = 1
        self._column = 1

    @property
    def line(self) -> int:
        return self._line_of(self._at)

    def peek(self) -> str:
        """Move to the next character that is not blank and return it; return "" at the end."""
        char = self._text[self._at : self._at + 1]
        if char and char not in " \t\r\n":
            return char
        skipped = 0
        while True:
            found = NOT_BLANK.search(self._text, self._at)
            end = found.start() if found else len(self._text)
            skipped += end - self._at
            self._at = end
            if skipped > MAX_ITEM:
                raise self._fail(self.place(self._at), "contains over 8 MiB of blanks", "")
            if found:
                return found[0]
            if not self.more(CHUNK):
                return ""

    def more(self, amount: int) -> bool:
        """Read up to ``amount`` more bytes; return False if the text had already ended."""
        if self._ended:
            return False
        undecoded = len(self._decoder.getstate()[0])
        self._forget()
        self._hold(self._block(amount), undecoded)
        return True

    def _block(self, amount: int) -> bytes:
        """Read and count up to ``amount`` more bytes; return none if the text has ended."""
        block = b"" if self._ended else self._stream.read(amount)
        self._bytes += len(block)
        self._ended = not block
        self._lines += occurrences(block, b"\n")
        return block

    def _hold(self, data: bytes, undecoded: int = 0) -> None:
        """Add the bytes that were read last to the held text."""
        try:
            text = self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            start = self._bytes - len(data) - undecoded
            raise not_utf8(self._fail, "", start + error.start) from error
        end = len(text) if self._ended else len(text.rstrip(_OF_TOKENS))
        self._waiting += len(text) - end
        if not end and not self._ended and self._waiting <= MAX_ITEM:
            self._tail.append(text)
            return
        # A tail that may be incomplete is kept back.
        self._text += "".join((*self._tail, text[:end]))
        self._tail = [text[end:]]
        self._waiting = len(text) - end

    def _pass(self, data: bytes, end: int) -> bytes:
        """Step over the first of the released bytes and return the others."""
        last = data.rfind(b"\n", 0, end)
        if last >= 0:
            self._column = 1
        self._column += characters(data[last + 1 : end])
        return data[end:]

    def _forget(self) -> None:
        """Drop the text before the current position, whose column is kept."""
        last = self._text.rfind("\n", 0, self._at)
        self._column = self._column + self._at if last < 0 else self._at - last
        self._text = self._text[self._at :]
        self._at = 0

    def _line_of(self, at: int) -> int:
        """Return the line of an index in the held text; the part kept back has no line breaks."""
        return self._lines - self._text.count("\n", at)

    def place(self, at: int) -> str:
        """Return the line and column, in the whole text, of an index in the held text."""
        line = self._line_of(at)
        last = self._text.rfind("\n", 0, at)
        column = self._column + at if last < 0 else at - last
        return f"line {line}, column {column}"

    def take(self, char: str) -> None:
        """Step over ``char``; any other character here is an error."""
        found = self.peek()
        if not found:
            raise self._fail("", *_CUT_OFF)
        if found != char:
            problem = f'is not JSON: must be "{char}", found "{show_line(found)}"'
            raise self._fail(self.place(self._at), problem, "")
        self._at += 1

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller steps over each value before the next key."""
        self.take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() not in ('"', ""):
                problem = "is not JSON: a key in double quotes is missing here"
                raise self._fail(self.place(self._at), problem, "")
            key = self.value("a key")
            self.take(":")
            yield key
            if self._closes("}"):
                return

    def elements(self) -> Iterator[int]:
        """Yield the indexes of a list; the caller steps over each value before the next index."""
        self.take("[")
        if self.peek() == "]":
            self._at += 1
            return
        index = 0
        while True:
            yield index
            index += 1
            if self._closes("]"):
                return

    def values(
        self, path: Path, clean: Callable[[list[bytes]], Iterable[Any]] | None = None
    ) -> Iterator[tuple[int, Any, bytes | None]]:
        """Yield the elements of the list here: index, value, and its JSON if that is standard.

        ``clean`` reads elements that are standard; for any other it returns ``UNCLEAN``.
        """
        index = 0
        for _ in self.elements():
            yield index, self.value(spell_path((*path, index))), None
            index += 1
            with closing(self._whole_elements(clean or decode_clean)) as following:
                for data, found in following:
                    if found is not UNCLEAN:
                        yield index, found, data
                    else:
                        try:
                            (value,) = decode_clean([data])
                            if value is UNCLEAN:
                                value = decode(data.decode(), 0, self._tally)[0]
                        except (json.JSONDecodeError, FieldError):
                            break  # value raises the error
                        yield index, value, None
                    index += 1

    def leap(self) -> int:
        """Step over the following elements that are held whole, and return their number."""
        return sum(1 for _ in self._whole_elements(lambda texts: texts))

    def _whole_elements(
        self, clean: Callable[[list[bytes]], Iterable[Any]]
    ) -> Generator[tuple[bytes, Any]]:
        """Yield the following elements, and what ``clean`` makes of them, while many are held.

        The window moves past an element when the next one is requested.
        """
        if self._wait:
            self._wait -= 1
            return
        self._forget()
        data = "".join((self._text, *self._tail)).encode() + self._decoder.getstate()[0]
        self._decoder.reset()
        self._text = ""
        self._tail.clear()
        self._waiting = 0
        found: list[msgspec.Raw] = []
        done = 0
        try:
            while True:
                data += self._block(CHUNK)
                found, end = self._split(data)
                if not found:
                    return
                texts = list(map(bytes, found))
                for made in zip(texts, clean(texts), strict=True):
                    yield made
                    done += 1
                found = []
                done = 0
                data = self._pass(data, end)
        finally:
            end = 0
            for one in found[:done]:
                gap = _GAP.match(data, end)
                end = (gap.end() if gap else end) + len(bytes(one))
            self._hold(self._pass(data, end))

    def _split(self, data: bytes) -> tuple[list[msgspec.Raw], int]:
        """Return the elements at the start of some bytes, unchecked, and their end.

        The end of the last one is guessed from the text that neighbours share. Decoding confirms
        the guess: only a cut between two elements leaves a valid list.
        """
        gap = _GAP.match(data)
        if gap is None:
            return [], 0
        head = data[gap.end() : gap.end() + _HEAD]
        pairs = enumerate(zip(self._head, head, strict=False))
        differs = (at for at, (one, other) in pairs if one != other)
        common = head[: next(differs, min(len(self._head), len(head)))]
        self._head = head
        for mark in (gap[0] + common, gap[0] + head[:2]):
            end = len(data)
            for _ in range(_TRIES):
                end = data.rfind(mark, gap.end(), end)
                if end < 0:
                    break
                whole = b"".join((b"[", memoryview(data)[gap.end() : end], b"]"))
                try:
                    return _ELEMENTS.decode(whole), end
                except (msgspec.MsgspecError, UnicodeError, RecursionError):
                    continue
        self._wait = _REST
        return [], 0

    def value(self, where: str) -> Any:
        """Decode the value that starts here and step over it."""
        return self.skim(where, allowed=lambda: False)

    def skim(self, where: str, depth: int = 0, allowed: Callable[[], bool] = lambda: True) -> Any:
        """Decode the value that starts here, or return a shell of it if it is too long to hold.

        A shell has the first members of an object or the first elements of a list; texts are None.
        ``depth`` is the number of too long values around this one. ``allowed`` is called before a
        shell is made: if it returns False, a value that is too long is an error, as in ``value``.
        """
        found = self.held(where)
        if found is not TOO_LARGE:
            return found
        start = self.peek()
        too_deep = depth >= _MAX_NESTED and start != '"'
        if too_deep or start not in ("{", "[", '"') or not allowed():
            raise self._fail(where, TOO_LONG, "")
        if start == '"':
            self._step_over_text()
            return None
        if start == "[":
            some: list[Any] = []
            for _ in self.elements():
                value = self.skim(where, depth + 1)
                if len(some) < _SAMPLES:
                    some.append(value)
                else:
                    self.leap()
            return some
        shell: dict[str, Any] = {}
        for key in self.members():
            value = self.skim(where, depth + 1)
            if len(shell) < _MOST_HELD:
                shell[key] = value
        return shell

    def held(self, where: str) -> Any:
        """Decode the value here and step over it, unless it is ``TOO_LARGE`` to hold."""
        self.peek()
        counted = self._tally.nonfinite, self._tally.surrogates
        while True:
            try:
                found, end = decode(self._text, self._at, self._tally)
            except json.JSONDecodeError as error:
                self._tally.nonfinite, self._tally.surrogates = counted
                # The value may only continue after the held text.
                open_text = error.msg.startswith("Unterminated")
                if not open_text and error.pos < len(self._text.rstrip(" \t\r\n")):
                    raise self._fail(self.place(error.pos), syntax_problem(error), "") from error
                if self._ended:
                    raise self._fail("", *_CUT_OFF) from error
                held = len(self._text) - self._at
                if held > MAX_ITEM:
                    return TOO_LARGE
                self.more(min(max(CHUNK, held), MAX_ITEM + CHUNK - held))
                continue
            except FieldError as error:
                raise self._fail(where, error.text, error.hint) from error
            if end - self._at > MAX_ITEM:
                # The tally counts its parts when they are stepped over.
                self._tally.nonfinite, self._tally.surrogates = counted
                return TOO_LARGE
            self._at = end
            return found

    def _step_over_text(self) -> None:
        self._at += 1
        while True:
            if inside := _TEXT.match(self._text, self._at):
                self._at = inside.end()
            if self._text.startswith('"', self._at):
                break
            if not self.more(CHUNK):
                raise self._fail("", *_CUT_OFF)
        self._at += 1

    def _closes(self, bracket: str) -> bool:
        char = self.peek()
        if char not in (bracket, ","):
            self.take(",")
        self._at += 1
        return char == bracket


_MAX_KEYS = 1000
_KEEP_ONE = "Keep one of them."


@dataclass
class Outline:
    """The first value of a file, with only the first elements of its lists."""

    kind: Literal["object", "array"]
    keys: dict[str, Any] = field(default_factory=dict)
    """The values of an object; for an array of objects, those of its first element."""
    lengths: dict[str, int] = field(default_factory=dict)
    length: int = 0
    goes_on: bool = False
    """Whether something follows the first value, as in JSON Lines."""
    indented: bool = False
    """Whether the first value is an object on several lines, and so are those after it."""
    streamed: bool = False
    """Whether to stop at a list that its reader checks; ``stopped`` is true if there was one."""
    stopped: bool = False
    around: dict[str, Any] = field(default_factory=dict)
    """The first line of JSON Lines, if it is about the others; ``keys`` are those of the second."""
    listed: bool = False
    """Whether each line holds a list, and the first one only texts, which name the columns."""
    by_row: bool = False
    """Whether there are more keys than are kept, and every key holds an object."""

    def first(self, key: str) -> dict[str, Any]:
        """Return the object under a key, or the first of a list of objects; else an empty dict."""
        value = self.keys.get(key)
        if isinstance(value, list):
            value = value[0] if value else None
        return value if isinstance(value, dict) else {}


def outline_object(
    window: Window,
    outline: Outline,
    fail: Fail,
    steps_in: Callable[[], bool],
    ends_at: Callable[[str], bool],
) -> None:
    """Fill the outline from the object at the window's position; an error keeps what was read.

    ``steps_in`` is called for each value that is too long, and may look at the outline so far. If
    it returns True, the value is reduced to a shell (``Window.skim``) instead of being an error.
    Lists are counted, but only their first elements are checked, because their reader checks the
    rest while it reads. If the outline is ``streamed``, the pass ends at the verdicts.
    """
    start = window.line
    for key in window.members():
        if key in outline.keys:
            raise fail("$", f'has the key "{show_line(key, 60)}" twice', _KEEP_ONE)
        if len(outline.keys) >= _MAX_KEYS:
            # A table may have a key for each row; the first keys are enough to recognise it.
            if not outline.by_row and not all(isinstance(v, dict) for v in outline.keys.values()):
                raise fail("$", f"has more than {_MAX_KEYS} keys", "")
            outline.by_row = True
            window.skim(spell_path((key,)), allowed=steps_in)
            continue
        outline.keys[key] = None
        path = spell_path((key,))
        if window.peek() == "[" and outline.streamed and ends_at(key):
            outline.keys[key] = []
            outline.lengths[key] = 0
            outline.stopped = True
            return
        if key == _OF_ROWS and window.peek() == "{" and steps_in():
            # The rows fill most of the file, so the object is not decoded as a whole.
            inside: dict[str, Any] = {}
            outline.keys[key] = inside
            for inner in window.members():
                if inner in inside:
                    raise fail(path, f'has the key "{show_line(inner, 60)}" twice', _KEEP_ONE)
                _outline_value(window, spell_path((inner,), path), inside, inner, steps_in)
        else:
            length = _outline_value(window, path, outline.keys, key, steps_in)
            if length is not None:
                outline.lengths[key] = length
    outline.indented = window.line > start
    outline.goes_on = window.peek() != ""


def _outline_value(
    window: Window, path: str, into: dict[str, Any], key: str, steps_in: Callable[[], bool]
) -> int | None:
    """Store a value, or the first elements of a list, whose length is returned."""
    if window.peek() != "[":
        into[key] = window.skim(path, allowed=steps_in)
        return None
    samples: list[Any] = []
    into[key] = samples
    length = 0
    for _ in window.elements():
        value = window.skim(f"{path}[{length}]", allowed=steps_in)
        length += 1
        if len(samples) < (_MOST_HELD if type(value) is str else _SAMPLES):
            samples.append(value)
        else:
            length += window.leap()
    return length


def outline_array(window: Window, outline: Outline) -> None:
    """Fill the outline from the array at the window's position."""
    texts: list[str] = []
    for index in window.elements():
        value = window.value(f"$[{index}]")
        outline.length += 1
        if index == 0 and isinstance(value, dict):
            outline.keys = value
        elif index == 0 and isinstance(value, list):
            outline.keys = _numbered(value)
        elif type(value) is str and index == len(texts) < _MAX_KEYS:
            texts.append(value)
            continue
        elif index == 0 or texts:
            # A list of plain values is not a report, so the rest need not be read.
            return
        outline.length += window.leap()
    outline.goes_on = window.peek() != ""
    outline.listed = outline.goes_on and bool(texts)
    outline.keys |= _numbered(texts)


def _numbered(row: list[Any]) -> dict[str, Any]:
    return {str(number): one for number, one in enumerate(row, 1)}
