"""A position in a long text that is read piece by piece."""

from __future__ import annotations

import codecs
import re
import string
from typing import BinaryIO

from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.strict_json import MAX_ITEM, Fail

CHUNK = 1 << 18
NOT_BLANK = re.compile(r"[^ \t\r\n]")
_OF_TOKENS = "+-." + string.digits + string.ascii_letters
"""The characters of numbers, true, false, null, NaN and Infinity."""


def decode_utf8(data: bytes, offset: int, fail: Fail, where: str = "") -> str:
    """Decode UTF-8; an error names the first bad byte, counted from the start of the file."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(fail, where, offset + error.start) from error


def not_utf8(fail: Fail, where: str, byte: int) -> InputFileError:
    """Return the error for bytes that are not UTF-8."""
    return fail(where, f"is not UTF-8 text (byte {byte})", "Save it as UTF-8.")


class Scroll:
    """A position in a long text, of which only the part around it is held in memory.

    The held text never ends inside a number or a word: an incomplete one is kept back until a
    character arrives that cannot continue it, or the text ends.
    """

    def __init__(self, stream: BinaryIO, fail: Fail) -> None:
        """Start before the first character of the stream."""
        self._stream, self._fail = stream, fail
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text, self._at = "", 0
        self._tail: list[str] = []
        self._waiting = 0
        self._ended = False
        self._bytes = 0
        self._line, self._column = 1, 1

    @property
    def line(self) -> int:
        """The line number of the current position, from 1."""
        return self._line + self._text.count("\n", 0, self._at)

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
                raise self._fail(self.place(self._at), "holds over 8 MiB of blanks", "")
            if found:
                return found[0]
            if not self.more(CHUNK):
                return ""

    def more(self, amount: int) -> bool:
        """Read up to ``amount`` more bytes; return False if the text had already ended."""
        if self._ended:
            return False
        block = self._stream.read(amount)
        undecoded = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise not_utf8(self._fail, "", self._bytes - undecoded + error.start) from error
        self._bytes += len(block)
        self._ended = not block
        self._forget()
        self._text += self._whole_tokens(text)
        return True

    def _whole_tokens(self, text: str) -> str:
        """Return the text kept back and the new text, without a tail that may be incomplete."""
        end = len(text) if self._ended else len(text.rstrip(_OF_TOKENS))
        self._waiting += len(text) - end
        if not end and not self._ended and self._waiting <= MAX_ITEM:
            self._tail.append(text)
            return ""
        found = "".join((*self._tail, text[:end]))
        self._tail, self._waiting = [text[end:]], len(text) - end
        return found

    def _forget(self) -> None:
        """Drop the text before the current position, after counting its lines and columns."""
        gone = self._text[: self._at]
        if breaks := gone.count("\n"):
            self._line += breaks
            self._column = len(gone) - gone.rfind("\n")
        else:
            self._column += len(gone)
        self._text, self._at = self._text[self._at :], 0

    def place(self, at: int) -> str:
        """Return the line and column, in the whole text, of an index in the held text."""
        line = self._line + self._text.count("\n", 0, at)
        last = self._text.rfind("\n", 0, at)
        column = self._column + at if last < 0 else at - last
        return f"line {line}, column {column}"
