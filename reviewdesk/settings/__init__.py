"""Load the user's settings: options override the environment, which overrides the TOML file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from reviewdesk.errors import SettingsError
from reviewdesk.settings.records import DEFAULT, KEPT, SETTINGS, Feedback, Setting, Settings, Share

__all__ = [
    "DEFAULT", "FILE_VARIABLE", "KEPT", "SETTINGS", "Feedback", "Setting", "Settings", "Share",
    "checked_theme", "load_settings", "near", "quoted", "settings_path",
]  # fmt: skip

FILE_VARIABLE = "REVIEWDESK_CONFIG"
_MAX_BYTES = 1 << 20
_HINT = "reviewdesk config --example prints a file that holds."
_KNOWN = {setting.name: setting for setting in SETTINGS}
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}" + r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'|#[^\n]*|[\[\]{}=\n]",
    re.DOTALL,
)
"""The tokens that determine the end of a statement: strings, comments, brackets, line breaks."""


def settings_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the settings file: ``REVIEWDESK_CONFIG``, else one in the user's config folder."""
    if named := environ.get(FILE_VARIABLE):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("reviewdesk", appauthor=False) / "config.toml"


def load_settings(
    options: Mapping[str, str | None] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings in force. An empty option or variable counts as not given.

    ``options`` maps names of settings to the options of a command.

    Raises:
        SettingsError: the file cannot be used.
    """
    path = settings_path(environ)
    text = _text_of(path, named=bool(environ.get(FILE_VARIABLE)))
    values, sources = _from_file(path, text) if text and text.strip() else ({}, {})
    for setting in SETTINGS:
        if value := environ.get(setting.variable):
            values[setting.name] = value
            sources[setting.name] = setting.variable
        if value := (options or {}).get(setting.name):
            values[setting.name] = value
            sources[setting.name] = f"--{setting.name}"
    return Settings(**values, sources=sources)


def checked_theme(settings: Settings, known: Iterable[str]) -> str:
    """Return the theme of the settings. Raise SettingsError unless it is one of ``known``."""
    names = list(known)
    if settings.theme not in names:
        raise SettingsError(
            settings.source("theme"),
            f"there is no theme {quoted(settings.theme)}",
            near(settings.theme, names, f"Themes: {', '.join(names)}."),
        )
    return settings.theme


def near(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint for an unknown word: the most similar known word, or ``otherwise``."""
    close = get_close_matches(word, list(known), n=1)
    return f"Did you mean {close[0]}?" if close else otherwise


def quoted(text: str) -> str:
    """Return a word in quotes, cut to 60 characters."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if len(quoted) <= 60 else f'{quoted[:58]}…"'


def _text_of(path: Path, *, named: bool) -> str | None:
    """Return the text of the settings file; None if it is missing and ``named`` is False."""
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


def _from_file(path: Path, text: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings in the file's text, and their places."""
    place = _path_text(path)
    try:
        table = _parse_toml(place, text)
        lines = lines_of(text)
        actions = [*_flat_actions(table.get("keys"))]
    except RecursionError:
        raise SettingsError(place, "is nested too deeply", _HINT) from None
    names = [name for name in table if name != "keys"] + [f"keys.{name}" for name, _ in actions]
    sources = {name: _place_of(place, lines, name) for name in names}
    if len(sources) < len(names):
        twice = next(name for name in sources if names.count(name) > 1)
        problem = f"{twice.removeprefix('keys.')} is given keys twice"
        raise SettingsError(sources[twice], problem, "Keep one of them.")
    if isinstance(table.get("keys"), dict):
        table["keys"] = dict(actions)
    try:
        values = values_of(table)
    except SettingsError as error:
        where = _place_of(place, lines, error.place)
        raise SettingsError(where, error.problem, error.hint) from None
    for name in ("desk", "panel", "prices"):
        if values.get(name):
            # A relative path starts at the file's folder.
            own = os.path.expanduser(values[name])  # noqa: PTH111 - may have no home
            values[name] = str(path.absolute().parent / own)
    return values, sources


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


def _flat_actions(table: Any, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield actions and their keys. TOML reads the dots of unquoted action ids as tables."""
    for name, value in table.items() if isinstance(table, dict) else ():
        if isinstance(value, dict):
            yield from _flat_actions(value, f"{above}{name}.")
        else:
            yield above + name, value


def values_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that ``Settings`` holds.

    Raises:
        SettingsError: a value is wrong, the first in the table; its place is the setting's name.
    """
    values = {}
    for name, value in table.items():
        if name == "keys":
            values[name] = _keys(value)
            continue
        if name == "hundreds":
            problem = "the page after each hundred labels is gone"
            raise SettingsError(name, problem, "Take the line out.")
        if name not in _KNOWN:
            known = [*_KNOWN, "keys"]
            hint = near(name, known, f"Settings: {', '.join(known)}.")
            raise SettingsError(name, f"there is no setting {quoted(name)}", hint)
        try:
            values[name] = _KNOWN[name].read(value)
        except ValueError:
            # Somebody may have written the key itself.
            found = "" if name.startswith("api_key") else f", found {_toml_text(value)}"
            problem = f"{name} must be {_KNOWN[name].wanted}{found}"
            raise SettingsError(name, problem, "Mend it, or take the line out.") from None
    return values


def _keys(actions: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(actions, dict):
        problem = f"keys must be a table, found {_toml_text(actions)}"
        raise SettingsError("keys", problem, 'Write [keys], and below it defer = "s".')
    listed = {name: [keys] if isinstance(keys, str) else keys for name, keys in actions.items()}
    for name, keys in listed.items():
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            problem = f"{name} must be a key or a list of keys in quotes, found {_toml_text(keys)}"
            raise SettingsError(f"keys.{name}", problem, f'As in: "{name}" = ["p", "1"].')
    return {name: tuple(keys) for name, keys in listed.items()}


def _toml_text(value: object) -> str:
    """Return a value in TOML syntax; for a table or a list, its type."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        plain = value and not any(isinstance(one, dict) for one in value)
        return json.dumps(value, ensure_ascii=False, default=str)[:60] if plain else "a list"
    return str(value)[:60]


def _place_of(place: str, lines: Mapping[str, int], name: str) -> str:
    """Return the place of a key as ``FILE: line 7``.

    A name inside a value has the line of the nearest known name above it, or no line.
    """
    while name:
        if name in lines:
            return f"{place}: line {lines[name]}"
        name = name.rpartition(".")[0]
    return place


def lines_of(text: str) -> dict[str, int]:
    """Return the line of every key and table of a valid document, by dotted name.

    The line of a table is the first one that names it.
    """
    import tomllib

    lines: dict[str, int] = {}
    above: list[str] = []
    for line, head in _statements(text):
        path = []
        table: Any = tomllib.loads(head)
        while isinstance(table, dict | list) and table:
            if isinstance(table, list):
                table = table[0]
            else:
                ((name, table),) = table.items()
                path.append(name)
        if head.lstrip().startswith("["):
            above = path
            path = []
        elif not path:
            continue
        whole = [*above, *path]
        for end in range(1, len(whole) + 1):
            lines.setdefault(".".join(whole[:end]), line)
    return lines


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
