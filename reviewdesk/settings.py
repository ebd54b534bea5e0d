"""The user's settings: options override the environment, which overrides the TOML file.

Each setting is declared once, in ``Settings``: its type and bounds, its purpose, its default.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self, get_args, get_type_hints

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import replace

from reviewdesk.errors import SettingsError, reason

DEFAULT = "default"
KEPT = "desk"
"""The source of a setting that was chosen on the screen and is stored in the desk."""
_VARIABLE = "REVIEWDESK_CONFIG"
_MAX_BYTES = 1 << 20
_HINT = "reviewdesk config --example prints a valid file."


class Feedback(StrEnum):
    """When a blind session shows the panel's verdicts."""

    AFTER = "after"
    END = "end"
    NEVER = "never"


class Share(float):
    """A share from 0 to 1; a text may hold it as a percentage or as a number."""

    def __new__(cls, value: str | float) -> Self:
        """Raise ValueError unless the value is a share."""
        text = str(value).strip()
        if not re.fullmatch(r"(\d+\.?\d*|\.\d+)(e-?\d+)? *%?", text, re.ASCII):
            raise ValueError
        share = float(text.rstrip("% ")) / (100 if text.endswith("%") else 1)
        if not 0 <= share <= 1:
            raise ValueError
        return super().__new__(cls, share)


class Setting(Struct, frozen=True):
    """What a setting is for, its allowed values in words, and its environment variable, if any."""

    about: str
    wanted: str
    variable: str = ""
    name: str = ""


_PLAIN = r"[^\x00-\x1f\x7f]"
Plain = Annotated[str, Meta(pattern=rf"^{_PLAIN}*\Z")]
"""A text without control characters."""
_Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
_Entry = Annotated[str, Meta(pattern=rf"^{_PLAIN}+/{_PLAIN}*[^/\x00-\x1f\x7f]\Z")]
_Command = Annotated[tuple[Plain, ...], Meta(min_length=1)]


class Settings(Struct, frozen=True):
    """The settings in force, each with its declaration, and the place where each was set.

    ``keys`` maps actions to their keys as written in the file. ``sources`` maps each setting that
    was set to its place; keys have the name ``keys.ACTION``.
    """

    # fmt: off
    theme: Annotated[Plain, Setting(
        "The colours.", "the name of a theme", "REVIEWDESK_THEME",
    )] = "desk"
    blind: Annotated[bool, Setting(
        "Whether a run opens blind the first time.", "true or false",
    )] = False
    feedback: Annotated[Feedback, Setting(
        "When a blind session tells what the panel said: after each label, at the end or never.",
        '"after", "end" or "never"',
    )] = Feedback.AFTER
    audit_share: Annotated[float, Meta(ge=0, le=1), Setting(
        "The share of a new run's unflagged verdicts that is drawn into its random check.",
        "a number from 0 to 1",
    )] = 0.1
    repeat_guard: Annotated[int, Meta(ge=100, le=2000), Setting(
        "How long an item must be on screen before a label key counts, in milliseconds.",
        "a whole number of milliseconds from 100 to 2000",
    )] = 150
    reviewer: Annotated[Plain, Setting(
        "Who labels; empty: the login name.", "a name in quotes", "REVIEWDESK_REVIEWER",
    )] = ""
    desk: Annotated[Plain, Setting(
        "The desk file, relative to the folder of this file; empty: one in your data folder.",
        "a path in quotes", "REVIEWDESK_DESK",
    )] = ""
    panel: Annotated[Plain, Setting(
        "The panel file that the console asks again; empty: the panel that the report names.",
        "a path in quotes",
    )] = ""
    repeat: Annotated[Share, Setting(
        "The share of labelled items that a blind session asks again, unmarked; 0: none.",
        'a share such as "5%", or a number from 0 to 1',
    )] = Share(0)
    double: Annotated[Share, Setting(
        "The share of items that two people label, for everybody on the desk; 0: none.",
        'a share such as "20%", or a number from 0 to 1',
    )] = Share(0)
    opinions: Annotated[int, Meta(ge=2, le=9), Setting(
        "How many people label each of these items, for everybody on the desk.",
        "a whole number from 2 to 9",
    )] = 2
    tags: Annotated[tuple[Plain, ...], Setting(
        "The tags that get the first free digits of a desk; a tag keeps its digit there.",
        "a list of tags in quotes",
    )] = ()
    tags_after_fail: Annotated[bool, Setting(
        "Whether the line of tags opens after every label fail.", "true or false",
    )] = False
    api_key_command: Annotated[Mapping[_Name, _Command], Setting(
        'The commands that print API keys; a panel\'s juror names one: api_key: "@openai".',
        'a table such as {openai = ["pass", "show", "openai"]}, each a list of words',
    )] = field(default_factory=dict)
    api_key_keyring: Annotated[Mapping[_Name, _Entry], Setting(
        "The keyring entries that hold API keys, named by jurors in the same way.",
        'a table such as {openai = "service/name"}, each an entry of the keyring',
    )] = field(default_factory=dict)
    backups: Annotated[int, Meta(ge=0, le=1000), Setting(
        "How many automatic backups are kept; 0: none are made.",
        "a whole number from 0 to 1000",
    )] = 7
    # fmt: on
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def source(self, name: str) -> str:
        """Return the place where a setting or ``keys.ACTION`` was set, or ``default``."""
        return self.sources.get(name, DEFAULT)

    def chosen(self, name: str) -> Any:
        """Return the value of a setting, ``None`` if nobody chose it."""
        value = getattr(self, name)
        is_usual = self.source(name) == DEFAULT and value == getattr(Settings(), name)
        return None if is_usual else value

    def with_kept(self, values: Mapping[str, Any]) -> "Settings":
        """Return the settings with the values that the desk stores.

        They override the file, because they were chosen by hand; the environment and the options of
        a command override them.
        """
        given = {s.name for s in SETTINGS if self.source(s.name) in {s.variable, f"--{s.name}"}}
        return self.choosing({n: value for n, value in values.items() if n not in given})

    def choosing(self, values: Mapping[str, Any]) -> "Settings":
        """Return the settings with the values chosen on the screen; other names are ignored."""
        chosen = {s.name: values[s.name] for s in SETTINGS if s.name in values}
        return replace(self, **chosen, sources={**self.sources, **dict.fromkeys(chosen, KEPT)})


_TYPES = get_type_hints(Settings, include_extras=True)
SETTINGS = tuple(
    replace(about, name=name)
    for name, kind in _TYPES.items()
    for about in get_args(kind)
    if isinstance(about, Setting)
)
"""All settings but the table ``keys``, in the order of display."""
_KNOWN = {setting.name: setting for setting in SETTINGS}
_RETIRED = {"prices": "Leave it out, and state price: of each juror in its panel file."}
"""The settings of earlier versions, each with what to do instead."""


def settings_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the settings file: ``REVIEWDESK_CONFIG``, else one in the user's config folder."""
    if named := environ.get(_VARIABLE):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("reviewdesk", appauthor=False) / "config.toml"


def load_settings(
    options: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings in force. An empty option or variable counts as not given.

    ``options`` maps names of settings to the options of a command. Raise SettingsError if the file
    cannot be used.
    """
    path = settings_path(environ)
    text = _text_of(path, named=bool(environ.get(_VARIABLE)))
    values, sources = _from_file(path, text) if text and text.strip() else ({}, {})
    for setting in SETTINGS:
        if value := environ.get(setting.variable):
            values[setting.name] = value
            sources[setting.name] = setting.variable
        if (value := (options or {}).get(setting.name)) not in {None, ""}:
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
    hint = f"Fix it, or name another file with {_VARIABLE}."
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if not named:
            return None
        problem = "there is no such settings file"
        raise SettingsError(str(path), problem, f"{_VARIABLE} names it.") from None
    except OSError as error:
        raise SettingsError(str(path), f"cannot be read: {reason(error)}", hint) from None
    if len(data) > _MAX_BYTES:
        raise SettingsError(str(path), "is larger than 1 MB, too large for settings", hint)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise SettingsError(str(path), "is not UTF-8 text", "Save it as UTF-8.") from None


def _from_file(path: Path, text: str) -> tuple[dict[str, Any], dict[str, str]]:
    import tomllib

    try:
        # An error after the last line break would have no line number.
        table = tomllib.loads(f"{text}\n")
        actions = [*_flat_actions(table.get("keys"))]
    except RecursionError:
        raise SettingsError(str(path), "is nested too deeply", _HINT) from None
    except ValueError as error:
        found = re.fullmatch(r"(.*) \(at (line \d+), column \d+\)", str(error), re.DOTALL)
        why, line = found.groups() if found else (str(error), "")
        where = f"{path}: {line}" if line else str(path)
        why = why[:1].lower() + why[1:]
        raise SettingsError(where, f"is not valid TOML: {why}", _HINT) from None
    names = [name for name in table if name != "keys"] + [f"keys.{name}" for name, _ in actions]
    sources = {name: _place_of(path, text, name) for name in names}
    if len(sources) < len(names):
        twice = next(name for name in sources if names.count(name) > 1)
        problem = f"{twice.removeprefix('keys.')} has keys in two places"
        raise SettingsError(sources[twice], problem, "Keep one of them.")
    if isinstance(table.get("keys"), dict):
        table["keys"] = dict(actions)
    try:
        values = values_of(table)
    except SettingsError as error:
        where = _place_of(path, text, error.place)
        raise SettingsError(where, error.problem, error.hint) from None
    for name in ("desk", "panel"):
        if values.get(name):
            # A relative path starts at the file's folder.
            own = os.path.expanduser(values[name])  # noqa: PTH111 - may have no home
            values[name] = str(path.absolute().parent / own)
    return values, sources


def _flat_actions(table: Any, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield actions and their keys. TOML reads the dots of unquoted action ids as tables."""
    for name, value in table.items() if isinstance(table, dict) else ():
        if isinstance(value, dict):
            yield from _flat_actions(value, f"{above}{name}.")
        else:
            yield above + name, value


def values_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that ``Settings`` holds.

    Raise SettingsError if a value is wrong, the first in the table; its place is the setting's
    name.
    """
    values = {}
    for name, value in table.items():
        if name == "keys":
            values[name] = _keys(value)
            continue
        if name not in _KNOWN:
            known = [*_KNOWN, "keys"]
            hint = _RETIRED.get(name) or near(name, known, f"Settings: {', '.join(known)}.")
            raise SettingsError(name, f"there is no setting {quoted(name)}", hint)
        try:
            values[name] = convert(value, _TYPES[name], dec_hook=lambda kind, text: kind(text))
        except (ValidationError, OverflowError):
            # Somebody may have written the key itself.
            found = "" if name.startswith("api_key") else f", found {_toml_text(value)}"
            problem = f"{name} must be {_KNOWN[name].wanted}{found}"
            raise SettingsError(name, problem, "Fix it, or remove the line.") from None
    return values


def _keys(actions: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(actions, dict):
        problem = f"keys must be a table, found {_toml_text(actions)}"
        raise SettingsError("keys", problem, 'Write [keys], and below it defer = "s".')
    found = {}
    for name, keys in actions.items():
        try:
            found[name] = convert([keys] if isinstance(keys, str) else keys, tuple[str, ...])
        except ValidationError:
            said = f"{name} must be a key or a list of keys in quotes, found {_toml_text(keys)}"
            raise SettingsError(f"keys.{name}", said, f'As in: "{name}" = ["p", "1"].') from None
    return found


def _toml_text(value: object) -> str:
    """Return a value in TOML syntax; for a table or a list, its type."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return quoted(value)
    return (str(value).lower() if isinstance(value, bool) else str(value))[:60]


def _place_of(path: Path, text: str, name: str) -> str:
    """Return the place of a setting or action as ``FILE: line 7``: the first line that begins it.

    What is written inside a table on one line has no line number.
    """
    word = re.escape(name.removeprefix("keys."))
    pattern = rf"""^[^#=\n]*(?<![\w-])["']?{word}["']?[ \t]*[].=]"""
    found = re.search(pattern, text, re.MULTILINE)
    return str(path) if found is None else f"{path}: line {text.count(chr(10), 0, found.end()) + 1}"
