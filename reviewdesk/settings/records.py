"""Declare each setting once: its type and default, its purpose, and its allowed values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self, get_origin, get_type_hints

from msgspec import Struct, field
from msgspec.structs import replace

DEFAULT = "default"
KEPT = "desk"
"""The source of a setting that was chosen on the screen and is stored in the desk."""


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


_NONE = Share(0)


class Setting(Struct, frozen=True):
    """One setting: its purpose, its allowed values in words, its variable and its bounds."""

    about: str
    wanted: str
    variable: str = ""
    """The environment variable, if any."""
    least: float | None = None
    most: Any = None
    each: type = str
    """The type of the values of a table."""
    name: str = ""
    kind: type = str

    def read(self, value: Any) -> Any:
        """Convert a value of the file for ``Settings``; raise ValueError if it is wrong."""
        if self.kind is Mapping:
            return _table_of(self.each, value)
        if self.kind is tuple:
            fits = _are_plain(value)
        elif issubclass(self.kind, str):
            fits = type(value) is str and is_plain(value)
        elif issubclass(self.kind, Share):
            fits = type(value) in {str, int, float}
        else:
            fits = type(value) is self.kind or (self.kind is float and type(value) is int)
        if not fits or (self.least is not None and not self.least <= value <= self.most):
            raise ValueError
        return self.kind(value)


def _are_plain(value: Any) -> bool:
    return type(value) is list and all(type(one) is str and is_plain(one) for one in value)


def _table_of(each: type, table: Any) -> dict[str, Any]:
    """Return a table of keys by name: each a command in words, or the entry ``service/name``."""
    if type(table) is not dict:
        raise ValueError
    for name, value in table.items():
        if each is str:
            fits = type(value) is str and is_plain(value) and all(value.rpartition("/"))
        else:
            fits = _are_plain(value) and any(value[:1])
        if not fits or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            raise ValueError
    return {name: each(value) for name, value in table.items()}


def is_plain(text: str) -> bool:
    """Return True if a text has no control characters."""
    return not any(char < " " or char == "\x7f" for char in text)


class Settings(Struct, frozen=True):
    """The settings in force, and the place where each was set.

    If ``reviewer`` is empty, the login name applies; if ``desk`` is, a file in the user's data
    folder; if ``panel`` is, the panel that the report names; if ``prices`` is, the packaged table.
    ``repeat_guard`` is in milliseconds.
    ``keys`` maps actions to their keys as written in the file. ``sources`` maps each setting that
    was set to its place; keys have the name ``keys.ACTION``.
    """

    theme: Annotated[str, Setting("The colours.", "the name of a theme", "REVIEWDESK_THEME")] = (
        "desk"
    )
    blind: Annotated[
        bool, Setting("Whether a run opens blind the first time.", "true or false")
    ] = False
    feedback: Annotated[
        Feedback,
        Setting(
            "When a blind session tells what the panel said: after each label, at the end or"
            " never.",
            '"after", "end" or "never"',
        ),
    ] = Feedback.AFTER
    audit_share: Annotated[
        float,
        Setting(
            "The share of a new run's unflagged verdicts that is drawn into its random check.",
            "a number from 0 to 1",
            least=0,
            most=1,
        ),
    ] = 0.1
    repeat_guard: Annotated[
        int,
        Setting(
            "How long an item must be on screen before a label key counts, in milliseconds.",
            "a whole number of milliseconds from 100 to 2000",
            least=100,
            most=2000,
        ),
    ] = 150
    reviewer: Annotated[
        str,
        Setting("Who labels; empty: the login name.", "a name in quotes", "REVIEWDESK_REVIEWER"),
    ] = ""
    desk: Annotated[
        str,
        Setting(
            "The desk file; empty: one in your data folder. A relative path starts at this file.",
            "a path in quotes",
            "REVIEWDESK_DESK",
        ),
    ] = ""
    panel: Annotated[
        str,
        Setting(
            "The panel file that the console asks again; empty: the panel that the report names.",
            "a path in quotes",
        ),
    ] = ""
    prices: Annotated[
        str,
        Setting(
            "A file of your own with what models cost; empty: the table that comes with the"
            " program.",
            "a path in quotes",
        ),
    ] = ""
    repeat: Annotated[
        Share,
        Setting(
            "The share of labels whose item a blind session gives again, unmarked; 0: none.",
            'a share such as "5%", or a number from 0 to 1',
        ),
    ] = _NONE
    double: Annotated[
        Share,
        Setting(
            "The share of items that two people label, for everybody on the desk; 0: none.",
            'a share such as "20%", or a number from 0 to 1',
        ),
    ] = _NONE
    opinions: Annotated[
        int,
        Setting(
            "How many people label each of these items, for everybody on the desk.",
            "a whole number from 2 to 9",
            least=2,
            most=9,
        ),
    ] = 2
    tags: Annotated[
        tuple[str, ...],
        Setting(
            "The tags that get the first free digits of a desk; a tag keeps its digit there.",
            "a list of tags in quotes",
        ),
    ] = ()
    tags_after_fail: Annotated[
        bool, Setting("Whether the line of tags opens after every label fail.", "true or false")
    ] = False
    api_key_command: Annotated[
        Mapping[str, tuple[str, ...]],
        Setting(
            'The commands that print API keys; a panel\'s juror names one: api_key: "@openai".',
            'a table such as {openai = ["pass", "show", "openai"]}, each a list of words',
            each=tuple,
        ),
    ] = field(default_factory=dict)
    api_key_keyring: Annotated[
        Mapping[str, str],
        Setting(
            "The keyring entries that hold API keys, named by jurors in the same way.",
            'a table such as {openai = "service/name"}, each an entry of the keyring',
        ),
    ] = field(default_factory=dict)
    backups: Annotated[
        int,
        Setting(
            "How many of the backups that are made by themselves are kept; 0: none are made.",
            "a whole number from 0 to 1000",
            least=0,
            most=1000,
        ),
    ] = 7
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def source(self, name: str) -> str:
        """Return the place where a setting or ``keys.ACTION`` was set, or ``default``."""
        return self.sources.get(name, DEFAULT)

    def with_kept(self, values: Mapping[str, Any]) -> Settings:
        """Return the settings with the values that the desk stores.

        They override the file, because they were chosen by hand; the environment and the options of
        a command override them.
        """
        given = {s.name for s in SETTINGS if self.source(s.name) in {s.variable, f"--{s.name}"}}
        return self.choosing({n: value for n, value in values.items() if n not in given})

    def choosing(self, values: Mapping[str, Any]) -> Settings:
        """Return the settings with the values chosen on the screen; other names are ignored."""
        chosen = {s.name: values[s.name] for s in SETTINGS if s.name in values}
        return replace(self, **chosen, sources={**self.sources, **dict.fromkeys(chosen, KEPT)})


SETTINGS = tuple(
    replace(hint.__metadata__[0], name=name, kind=get_origin(hint.__origin__) or hint.__origin__)
    for name, hint in get_type_hints(Settings, include_extras=True).items()
    if hasattr(hint, "__metadata__")
)
"""All settings but the table ``keys``, in the order of display."""
