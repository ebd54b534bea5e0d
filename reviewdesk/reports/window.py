"""A moving window over a long JSON text: item by item, never the whole document."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.strictjson import (
    MAX_ITEM,
    Fail,
    Tally,
    UnfitError,
    decode,
    decode_whole,
    syntax_problem,
)

_CHUNK = 1 << 18
_NEAR_END = 16
"""A syntax error this close to the window's end may only be a value that goes on behind it."""

_NOT_BLANK = re.compile(r"[^ \t\r\n]")
_CUT_OFF = ("ends in the middle of a value", "The file looks cut off; write or copy it again.")


def decode_utf8(data: bytes, offset: int, fail: Fail, where: str = "") -> str:
    """Bytes as text; what is not UTF-8 is named with its place in the file."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(fail, where, offset + error.start) from error


def not_utf8(fail: Fail, where: str, byte: int) -> InputFileError:
    """The error for bytes that are no text."""
    return fail(where, f"is not UTF-8 text (byte {byte})", "Save it as UTF-8.")


def read_lines(stream: BinaryIO, fail: Fail, tally: Tally) -> Iterator[tuple[int, Any]]:
    """JSON Lines as (line number, value).

    Lines end at LF only, because U+2028 may stand inside a text as it is.
    """
    number = offset = blank = 0
    while raw := stream.readline(MAX_ITEM + 1):
        number += 1
        where = f"line {number}"
        if len(raw) > MAX_ITEM:
            raise fail(where, "is over 8 MiB long", "")
        text = decode_utf8(raw, offset, fail, where)
        offset += len(raw)
        if not _NOT_BLANK.search(text):
            blank = blank or number
            continue
        if blank:
            raise fail(f"line {blank}", "is blank, with further lines behind it", "Remove it.")
        try:
            yield number, decode_whole(text, tally)
        except json.JSONDecodeError as error:
            raise fail(f"{where}, column {error.pos + 1}", syntax_problem(error), "") from error
        except UnfitError as error:
            raise fail(where, error.problem, error.hint) from error


class Window:
    """A reader that stands at one place of a JSON text and can step over its parts."""

    def __init__(self, stream: BinaryIO, fail: Fail, tally: Tally) -> None:
        """Start before the first character of the stream."""
        self._stream, self._fail, self._tally = stream, fail, tally
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text, self._at = "", 0
        self._ended = False
        self._bytes = 0
        self._line, self._column = 1, 1

    @property
    def line(self) -> int:
        """The line the window stands in."""
        return self._line + self._text.count("\n", 0, self._at)

    def peek(self) -> str:
        """The next character that is not blank, or an empty text at the end."""
        char = self._text[self._at : self._at + 1]
        if char and char not in " \t\r\n":
            return char
        skipped = 0
        while True:
            if found := _NOT_BLANK.search(self._text, self._at):
                self._at = found.start()
                return found[0]
            skipped += len(self._text) - self._at
            self._at = len(self._text)
            if skipped > MAX_ITEM:
                raise self._fail(self._place(self._at), "holds over 8 MiB of blanks", "")
            if not self._more(_CHUNK):
                return ""

    def take(self, char: str) -> None:
        """Step over one character that must be here."""
        found = self.peek()
        if not found:
            raise self._fail("", *_CUT_OFF)
        if found != char:
            shown = show_line(found)
            raise self._fail(
                self._place(self._at), f'is not JSON: must be "{char}", found "{shown}"', ""
            )
        self._at += 1

    def members(self) -> Iterator[str]:
        """The keys of an object; the caller steps over each value before the next key."""
        self.take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() not in ('"', ""):
                raise self._fail(
                    self._place(self._at), "is not JSON: a key in double quotes is missing here", ""
                )
            key = self.value("a key")
            self.take(":")
            yield key
            if self._closes("}"):
                return

    def elements(self) -> Iterator[int]:
        """The indexes of a list; the caller steps over each value before the next index."""
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

    def value(self, where: str) -> Any:
        """Decode the value that starts here and step over it."""
        self.peek()
        while True:
            try:
                found, end = decode(self._text, self._at, self._tally)
            except json.JSONDecodeError as error:
                if not self._ended and self._unfinished(error):
                    self._grow(where)
                    continue
                raise self._syntax(error) from error
            except UnfitError as error:
                raise self._fail(where, error.problem, error.hint) from error
            # A number at the window's very end may have more digits behind it.
            if not self._ended and end == len(self._text) and isinstance(found, int | float):
                self._grow(where)
                continue
            if end - self._at > MAX_ITEM:
                raise self._fail(where, "is over 8 MiB long", "")
            self._at = end
            return found

    def _closes(self, bracket: str) -> bool:
        char = self.peek()
        if char not in (bracket, ","):
            self.take(",")
        self._at += 1
        return char == bracket

    def _unfinished(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _NEAR_END

    def _grow(self, where: str) -> None:
        """Take in as much again, or learn that the file has ended."""
        held = len(self._text) - self._at
        if held > MAX_ITEM:
            raise self._fail(where, "is over 8 MiB long", "")
        self._more(max(_CHUNK, held))

    def _more(self, amount: int) -> bool:
        if self._ended:
            return False
        block = self._stream.read(amount)
        pending = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise not_utf8(self._fail, "", self._bytes - pending + error.start) from error
        self._bytes += len(block)
        self._ended = not block
        self._forget()
        self._text += text
        return not self._ended

    def _forget(self) -> None:
        """Let go of what was read, remembering how far it reached."""
        gone = self._text[: self._at]
        if breaks := gone.count("\n"):
            self._line += breaks
            self._column = len(gone) - gone.rfind("\n")
        else:
            self._column += len(gone)
        self._text, self._at = self._text[self._at :], 0

    def _place(self, at: int) -> str:
        line = self._line + self._text.count("\n", 0, at)
        last = self._text.rfind("\n", 0, at)
        column = self._column + at if last < 0 else at - last
        return f"line {line}, column {column}"

    def _syntax(self, error: json.JSONDecodeError) -> InputFileError:
        if self._ended and (
            error.msg.startswith("Unterminated") or error.pos >= len(self._text.rstrip())
        ):
            return self._fail("", *_CUT_OFF)
        return self._fail(self._place(error.pos), syntax_problem(error), "")
