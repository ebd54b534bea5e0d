"""Where a key stands in a TOML document, which tomllib does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}" + r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'|#[^\n]*|[\[\]{}=\n]",
    re.DOTALL,
)
"""What can hide the end of a statement, or is one: strings, comments, brackets and line breaks."""


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The statements of a valid document: the line of each, and its key or its table's header."""
    line, start, depth, equals = 1, 0, 0, -1
    for piece in _PIECE.finditer(f"{text}\n"):
        mark = piece[0]
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        elif mark == "=" and equals < 0:
            equals = piece.start()
        elif mark == "\n" and depth == 0:
            head = text[start : piece.start()] if equals < 0 else f"{text[start:equals]}= 0"
            yield line, head
            line += text.count("\n", start, piece.end())
            start, equals = piece.end(), -1


def lines_of(text: str) -> dict[str, int]:
    """The line of every key and table of a valid document, by its name with dots.

    A table begins where it is first named.
    """
    import tomllib

    lines: dict[str, int] = {}
    above: list[str] = []
    for line, head in _statements(text):
        path = _names(tomllib.loads(head))
        if head.lstrip().startswith("["):
            above, path = path, []
        elif not path:
            continue
        whole = [*above, *path]
        for end in range(1, len(whole) + 1):
            lines.setdefault(".".join(whole[:end]), line)
    return lines


def _names(table: Any) -> list[str]:
    names = []
    while isinstance(table, dict | list) and table:
        if isinstance(table, list):
            table = table[0]
        else:
            ((name, table),) = table.items()
            names.append(name)
    return names


def place_of(place: str, lines: Mapping[str, int], name: str) -> str:
    """``FILE: line 7``; the line of the nearest table above it for what stands inside a value."""
    while name:
        if name in lines:
            return f"{place}: line {lines[name]}"
        name = name.rpartition(".")[0]
    return place
