"""What the mappers of other tools' files share: names, models, amounts and times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.canonical.rules import is_time
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import unused
from reviewdesk.reports.options import ReadOptions

_ID_LENGTH, _JUROR_LENGTH = 480, 190
"""Room for a counter behind an id: a verdict's has at most 500 characters, a juror's 200."""

_MOST_NAMED = 5
LEFT_OUT = "keys left out"
"""Introduces the keys of a file that is copied by an allow-list alone."""

_NOTHING: tuple[Any, ...] = (None, "", [], {})


class VerdictNames:
    """Gives every verdict of a file an id of its own, and equal jurors of a panel a counter."""

    def __init__(self) -> None:
        """Start with no id taken."""
        self._ids: dict[str, int] = {}

    def verdict(self, name: str) -> str:
        """The id of a verdict: the name, with ``#2`` where it was given before."""
        return unused(name[:_ID_LENGTH], self._ids)

    @staticmethod
    def jurors(names: list[str]) -> list[str]:
        """The ids of a panel in the order of its seats."""
        taken: dict[str, int] = {}
        return [unused(name[:_JUROR_LENGTH], taken) for name in names]


class Models:
    """The models that a person names for jurors of which a file names none."""

    def __init__(self, options: ReadOptions) -> None:
        """Take ``--models``."""
        self._given = options.models
        self._met: set[str] = set()
        self._stated: dict[str, None] = {}

    def of(self, juror: str, stated: Any) -> str | None:
        """The model that the file states, else the one a person gave."""
        model = text(stated)
        if juror in self._given:
            self._met.add(juror)
            if model is not None and model != self._given[juror]:
                self._stated.setdefault(show_line(juror, 40))
        return model if model is not None else self._given.get(juror)

    def notes(self) -> list[str]:
        """Which of the names no juror bears, and which of them the file gives another model."""
        unmet = [show_line(name, 40) for name in self._given if name not in self._met]
        lines = [f"--models: no juror is called {', '.join(unmet)}"] if unmet else []
        if self._stated:
            stands = f"--models: the file's own model stands for {', '.join(self._stated)}"
            lines.append(stands)
        return lines

    def chosen(self, names: Iterable[str]) -> str | None:
        """The model that a person gave for the first of a juror's names that has one."""
        found = next((name for name in names if name in self._given), None)
        if found is None:
            return None
        self._met.add(found)
        return self._given[found]


class UnreadWords:
    """Words that are no vote: how many ballots, and the first few of the words."""

    def __init__(self, sentence: str) -> None:
        """Take the sentence that the words are listed behind."""
        self._sentence = sentence
        self._words: dict[str, None] = {}
        self._count = 0

    def add(self, word: str) -> None:
        """One more of them."""
        self._count += 1
        if len(self._words) <= _MOST_NAMED:
            self._words.setdefault(show_line(word, 40))

    def notes(self) -> list[str]:
        """The sentence, where there was a word at all."""
        if not self._count:
            return []
        named = list(self._words)[:_MOST_NAMED]
        more = ", ..." if len(self._words) > _MOST_NAMED else ""
        return [f"{self._sentence} ({self._count}x): {', '.join(named)}{more}"]


def text(value: Any) -> str | None:
    """A text that says something."""
    return value if isinstance(value, str) and value.strip() else None


def label(value: Any) -> str | None:
    """A name or a number used as a name."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value)


def amount(value: Any, factor: float = 1) -> float | int | None:
    """A finite number, 0 or more, in another unit."""
    found = values.number(value)
    if found is None or found < 0:
        return None
    if factor == 1:
        return found
    made = round(found * factor, 6)
    return made if math.isfinite(made) else None


def count(value: Any) -> int | None:
    """A whole number, 0 or more."""
    found = values.number(value)
    return found if isinstance(found, int) and found >= 0 else None


def time(value: Any) -> str | None:
    """A time as canonical reports write it."""
    return value if isinstance(value, str) and is_time(value) else None


def beyond(record: dict[str, Any], known: frozenset[str]) -> list[str]:
    """The keys outside an allow-list whose values say something."""
    return [key for key, value in record.items() if key not in known and value not in _NOTHING]


def dialogue(turns: Any) -> list[str]:
    """Turns of a conversation, one ``role: text`` each; what is no turn is left out."""
    said = [
        (turn.get("role"), values.text(turn.get("content")))
        for turn in values.listed(turns)
        if isinstance(turn, dict)
    ]
    return [f"{label(role) or 'turn'}: {text}" for role, text in said if text is not None]
