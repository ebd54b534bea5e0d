"""Read the settings file and check each key. Errors name the line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reviewdesk.errors import SettingsError
from reviewdesk.settings.records import SETTINGS

_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}" + r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'|#[^\n]*|[\[\]{}=\n]",
    re.DOTALL,
)
"""Tokens that decide where a statement ends: strings, comments, brackets and line breaks."""


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement of a valid document: its line, and a table's header or ``KEY = 0``."""
    line = 1
    start = 0
    depth = 0
    equals = -1
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
            start = piece.end()
            equals = -1


def lines_of(text: str) -> dict[str, int]:
    """Return the line of every key and table of a valid document, by dotted name.

    The line of a table is the first one that names it.
    """
    import tomllib

    lines: dict[str, int] = {}
    above: list[str] = []
    for line, head in _statements(text):
        path = _names(tomllib.loads(head))
        if head.lstrip().startswith("["):
            above = path
            path = []
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
    """Return the place of a key as ``FILE: line 7``.

    A name inside a value has the line of the nearest known name above it, or no line.
    """
    while name:
        if name in lines:
            return f"{place}: line {lines[name]}"
        name = name.rpartition(".")[0]
    return place


FILE_VARIABLE = "REVIEWDESK_CONFIG"
_MAX_BYTES = 1 << 20
_HINT = "reviewdesk config --example prints a file that holds."


def read(path: Path, *, named: bool) -> str | None:
    """Return the text of the settings file; None if it is missing and ``named`` is False.

    Raises:
        SettingsError: the file cannot be read.
    """
    place = _path_text(path)
    hint = f"Mend it, or name another file with {FILE_VARIABLE}."
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if not named:
            return None
        raise SettingsError(
            place, "there is no such settings file", f"{FILE_VARIABLE} names it."
        ) from None
    except IsADirectoryError:
        raise SettingsError(place, "is a folder, not a settings file", hint) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SettingsError(place, f"cannot be read: {why}", hint) from None
    if len(data) > _MAX_BYTES:
        raise SettingsError(place, "is larger than 1 MB, too large for settings", hint)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise SettingsError(place, "is not UTF-8 text", "Save it as UTF-8.") from None


def _path_text(path: Path) -> str:
    return str(path).encode(errors="backslashreplace").decode()


def from_file(path: Path, text: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings in the file's text, and their places.

    Raises:
        SettingsError: the text is not TOML, or a value is wrong.
    """
    place = _path_text(path)
    try:
        table = _parse_toml(place, text)
        lines = lines_of(text)
        actions = [*_flat_actions(table.get("keys"))]
    except RecursionError:
        raise SettingsError(place, "is nested too deeply", _HINT) from None
    names = [name for name in table if name != "keys"] + [f"keys.{name}" for name, _ in actions]
    sources = {name: place_of(place, lines, name) for name in names}
    if len(sources) < len(names):
        twice = next(name for name in sources if names.count(name) > 1)
        problem = f"{twice.removeprefix('keys.')} is given keys twice"
        raise SettingsError(sources[twice], problem, "Keep one of them.")
    if isinstance(table.get("keys"), dict):
        table["keys"] = dict(actions)
    try:
        values = values_of(table)
    except (KeyError, ValueError):
        # The models are slow to load, and most files are right.
        from reviewdesk.settings.faults import problem_of

        name, problem, hint = problem_of(table)
        raise SettingsError(place_of(place, lines, name), problem, hint) from None
    for name in ("desk", "panel", "prices"):
        if values.get(name):
            values[name] = _absolute_path(path, values[name])
    return values, sources


def values_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that ``Settings`` holds; raise KeyError or ValueError for a wrong one."""
    read = {setting.name: setting.read for setting in SETTINGS} | {"keys": _keys}
    return {name: read[name](value) for name, value in table.items()}


def _keys(actions: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(actions, dict):
        raise ValueError  # noqa: TRY004 - every reader says "not this" in one way
    listed = {name: [keys] if isinstance(keys, str) else keys for name, keys in actions.items()}
    for keys in listed.values():
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise ValueError
    return {name: tuple(keys) for name, keys in listed.items()}


def _parse_toml(place: str, text: str) -> dict[str, Any]:
    import tomllib

    try:
        # An error after the last line break would have no line number.
        return tomllib.loads(f"{text}\n")
    except ValueError as error:
        found = re.fullmatch(r"(.*) \(at (line \d+), column \d+\)", str(error), re.DOTALL)
        why, line = found.groups() if found else (str(error), "")
        where = f"{place}: {line}" if line else place
        why = why[:1].lower() + why[1:]
        raise SettingsError(where, f"is not valid TOML: {why}", _HINT) from None


def _absolute_path(path: Path, text: str) -> str:
    """Return a path in the file as absolute: relative paths start at the file's folder."""
    return str(path.absolute().parent / os.path.expanduser(text))  # noqa: PTH111 - may have no home


def _flat_actions(table: Any, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield actions and their keys. TOML reads the dots of unquoted action ids as tables."""
    for name, value in table.items() if isinstance(table, dict) else ():
        if isinstance(value, dict):
            yield from _flat_actions(value, f"{above}{name}.")
        else:
            yield above + name, value
