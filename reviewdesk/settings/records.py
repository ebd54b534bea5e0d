"""Define each setting: its purpose, its allowed values and its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

DEFAULT = "default"


class Feedback(StrEnum):
    """When a blind session shows the panel's verdicts."""

    AFTER = "after"
    END = "end"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force, and the place where each was set.

    If ``reviewer`` is empty, the login name applies; if ``desk`` is, a file in the user's data
    folder; if ``panel`` is, the panel that the report names. ``repeat_guard`` is in milliseconds.
    ``keys`` maps actions to their keys as written in the file. ``sources`` maps each setting that
    was set to its place; keys have the name ``keys.ACTION``.
    """

    theme: str = "desk"
    blind: bool = False
    feedback: Feedback = Feedback.AFTER
    audit_share: float = 0.1
    repeat_guard: int = 150
    reviewer: str = ""
    desk: str = ""
    panel: str = ""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def source(self, name: str) -> str:
        """Return the place where a setting or ``keys.ACTION`` was set, or ``default``."""
        return self.sources.get(name, DEFAULT)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its purpose, its allowed values in words, and the function that reads it.

    ``read`` returns the value as ``Settings`` holds it, or raises ``ValueError`` if it is not
    allowed. ``variable`` is the environment variable, if there is one.
    """

    name: str
    about: str
    wanted: str
    read: Callable[[object], object]
    variable: str = ""


def _text(value: object) -> str:
    if not isinstance(value, str) or any(char < " " or char == "\x7f" for char in value):
        raise ValueError
    return value


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError  # noqa: TRY004 - every reader says "not this" in one way
    return value


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError
    return float(value)


def _milliseconds(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 100 <= value <= 2000:
        raise ValueError
    return value


def _feedback(value: object) -> Feedback:
    return Feedback(_text(value))


SETTINGS = (
    Setting("theme", "The colours.", "the name of a theme", _text, "REVIEWDESK_THEME"),
    Setting("blind", "Whether a run opens blind the first time.", "true or false", _switch),
    Setting(
        "feedback",
        "When a blind session tells what the panel said: after each label, at the end or never.",
        '"after", "end" or "never"',
        _feedback,
    ),
    Setting(
        "audit_share",
        "The share of a new run's unflagged verdicts that is drawn into its audit.",
        "a number from 0 to 1",
        _share,
    ),
    Setting(
        "repeat_guard",
        "How long an item must be on screen before a label key counts, in milliseconds.",
        "a whole number of milliseconds from 100 to 2000",
        _milliseconds,
    ),
    Setting(
        "reviewer",
        "Who labels; empty: the login name.",
        "a name in quotes",
        _text,
        "REVIEWDESK_REVIEWER",
    ),
    Setting(
        "desk",
        "The desk file; empty: one in your data folder. A relative path starts at this file.",
        "a path in quotes",
        _text,
        "REVIEWDESK_DESK",
    ),
    Setting(
        "panel",
        "The panel file that the console asks again; empty: the panel that the report names.",
        "a path in quotes",
        _text,
    ),
)
"""All settings but the table ``keys``, in the order of display."""
