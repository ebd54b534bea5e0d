"""Decode only standard JSON; what only lax parsers accept raises an error naming the problem."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import msgspec

from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.dense import escaped, occurrences
from reviewdesk.errors import InputFileError, ReportError, ReviewDeskError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.wording import FieldError

MAX_ITEM = 8 << 20
"""The longest verdict, line or header value, in characters."""

MAX_DEPTH = 64
_TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"
HOLDERS = frozenset({dict, list})
"""The types of values that hold others."""

Fail: TypeAlias = Callable[[str, str, str], InputFileError]
"""A function from ``(where, problem, hint)`` to the error that names the file."""

ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
SURROGATE = re.compile("[\ud800-\udfff]")

_SYNTAX = {
    "Expecting value": "a value is missing here",
    "Expecting property name": "a key in double quotes is missing here",
    "Expecting ':'": "a colon is missing here",
    "Expecting ','": "a comma or a closing bracket is missing here",
    "Illegal trailing comma": "there is a comma before a closing bracket",
    "Invalid control character": "a text contains an unescaped control character",
    "Invalid \\escape": "a text contains an unknown backslash escape",
    "Invalid \\uXXXX": "a text contains a broken \\u escape",
    "Extra data": "something follows where the value ends",
}


@dataclass
class ImportTally:
    """What a reader counts and notes during an import.

    ``lenient`` is for tools that write bare NaN and Infinity: these become null, and are counted.
    """

    surrogates: int = 0
    notes: list[str] = field(default_factory=list)
    lenient: bool = False
    nonfinite: int = 0
    blank_lines: int = 0
    unreadable: str = ""
    """The first ballot that could not be read: its place and the reason."""
    decoder: json.JSONDecoder = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def constant(word: str) -> None:
            if not self.lenient:
                problem = f"has {word}, which is not standard JSON"
                raise FieldError((), problem, "Write null instead.")
            self.nonfinite += 1

        def real(text: str) -> float | None:
            value = float(text)
            if math.isfinite(value):
                return value
            if not self.lenient:
                shown = show_line(text, 40)
                raise FieldError((), f"contains the number {shown}, which is too large")
            self.nonfinite += 1
            return None

        self.decoder = json.JSONDecoder(
            object_pairs_hook=_pairs, parse_constant=constant, parse_float=real, parse_int=_int
        )


_Item = TypeVar("_Item")


def together(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Yield items in groups of 64, which saves time; an error is raised after those before it."""
    some: list[_Item] = []
    try:
        for item in items:
            some.append(item)
            if len(some) == 64:
                yield some
                some = []
    except ReviewDeskError:
        yield some
        raise
    yield some


def failing(source: Source, kind: type[InputFileError] = ReportError) -> Fail:
    return lambda where, problem, hint: kind(source.shown_name, where, problem, hint)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        problem = f'has the key "{show_line(twice, 60)}" twice'
        raise FieldError((), problem, "Keep one of them.")
    return found


def _int(text: str) -> int:
    # 64 bits are what other programs and the desk's own columns can hold.
    if len(text) <= 18:
        return int(text)
    if len(text) > 21 or not -(2**63) <= int(text) < 2**64:
        problem = f"contains the whole number {show_line(text, 40)}, which is too large"
        raise FieldError((), problem)
    return int(text)


_LAX_DECODER = json.JSONDecoder()
"""Finds the end of a value without calling Python code for each of its parts."""
_LONG = 1 << 12
"""The number of characters from which this is faster."""

UNCLEAN = object()
"""What ``decode_clean`` returns for a text that only ``decode`` can read or explain."""

REFUSED = (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError)


def decode_clean(texts: Sequence[bytes]) -> list[Any]:
    """Return the same values as ``decode``, several times faster; ``UNCLEAN`` for some texts.

    Texts with doubled keys have more quotes than their values, which have only the last of each.
    """
    with suppress(*REFUSED):
        values = [*map(msgspec.json.decode, texts)]
        msgspec.msgpack.encode(values)  # refuses numbers over 64 bits
        same = quotes(b"".join(texts)) == quotes(msgspec.json.encode(values))
        if same and not any(map(is_too_deep, texts, values)):
            return values
    return [UNCLEAN] if len(texts) == 1 else [decode_clean([text])[0] for text in texts]


def quotes(data: bytes) -> int:
    """Count the quotes around the keys and texts of a JSON text."""
    found = occurrences(data, b'"')
    return found - escaped(data, b'"') if b"\\" in data else found


def is_too_deep(data: bytes, value: Any) -> bool:
    """Return True if the value of the JSON ``data`` is nested deeper than ``MAX_DEPTH`` levels."""
    brackets = data.count(b"{") + data.count(b"[")
    if brackets <= MAX_DEPTH:
        return False
    return _is_deeper(value if type(value) in HOLDERS else msgspec.to_builtins(value))


def decode(text: str, start: int, tally: ImportTally) -> tuple[Any, int]:
    """Decode the value at ``start``; return it and the index of its end.

    Raise json.JSONDecodeError if the syntax is wrong, or the text ends too early. Raise
    FieldError for doubled keys, NaN, numbers that overflow, or too deep nesting.
    """
    try:
        if len(text) - start > _LONG and (end := _end_of(text, start)):
            (value,) = decode_clean([text[start:end].encode()])
            if value is not UNCLEAN:
                return value, end
        value, end = tally.decoder.raw_decode(text, start)
    except RecursionError as error:
        raise FieldError((), _TOO_DEEP) from error
    if end - start <= MAX_DEPTH and "\\" not in text[start:end]:
        return value, end
    # Counting brackets is one pass in C; the depth is measured only if there are many.
    brackets = text.count("{", start, end) + text.count("[", start, end)
    if brackets > MAX_DEPTH and _is_deeper(value):
        raise FieldError((), _TOO_DEEP)
    if ESCAPED_SURROGATE.search(text, start, end):
        value = _replace_surrogates(value, tally)
    return value, end


def _end_of(text: str, start: int) -> int:
    """Return where a value ends; 0 if it has a number of over 4,300 digits."""
    try:
        return _LAX_DECODER.raw_decode(text, start)[1]
    except json.JSONDecodeError:
        raise
    except ValueError:
        return 0


def decode_whole(text: str, tally: ImportTally) -> Any:
    """Decode a text that holds exactly one value, with nothing but blanks around it."""
    start = len(text) - len(text.lstrip(" \t\r\n"))
    value, end = decode(text, start, tally)
    if rest := text[end:].lstrip(" \t\r\n"):
        raise json.JSONDecodeError("Extra data", text, len(text) - len(rest))
    return value


def syntax_problem(error: json.JSONDecodeError) -> str:
    """Return what is wrong with the syntax, in words for a person."""
    for start, words in _SYNTAX.items():
        if error.msg.startswith(start):
            return f"is not JSON: {words}"
    return "is not JSON: a text in double quotes does not end"


def _is_deeper(value: Any) -> bool:
    layer = [value]
    for _ in range(MAX_DEPTH):
        layer = [
            child
            for node in layer
            for child in (node.values() if type(node) is dict else node)
            if type(child) in HOLDERS
        ]
        if not layer:
            return False
    return True


def _replace_surrogates(value: Any, tally: ImportTally) -> Any:
    """Return the value with lone surrogates replaced by U+FFFD; ``tally`` counts them."""
    if isinstance(value, str):
        mended, count = SURROGATE.subn("�", value)
        tally.surrogates += count
        return mended
    if isinstance(value, list):
        return [_replace_surrogates(child, tally) for child in value]
    if isinstance(value, dict):
        return {
            _replace_surrogates(key, tally): _replace_surrogates(child, tally)
            for key, child in value.items()
        }
    return value
