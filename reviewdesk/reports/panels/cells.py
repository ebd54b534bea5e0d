"""Read the values of a panel or prompt file, with errors that name the place of a value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import PanelError
from reviewdesk.reports.bytes.yaml_nodes import Node
from reviewdesk.reports.panels.key_like import keylike, names_a_secret
from reviewdesk.reports.wording import Path, found, spell_path

_FROM_ENVIRONMENT = "Keys come from the environment; name the variable with api_key_env."
_HIDDEN = "a value that may hold an API key (not shown)"
_TYPO_SIMILARITY = 0.9
"""How similar ``max_token`` must be to a known key to count as a typo, not as a secret's name."""

_MEND = "Mend it, or take it out."


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a file: its node, and the path that leads to it."""

    file: str
    node: Node
    path: Path = ()

    def fail(self, problem: str, hint: str = "") -> PanelError:
        """Return an error at this place: ``file:line: $.path: problem. hint``."""
        return _error(self.file, self.node.line, self.path, problem, hint)

    def wrong(self, expected: str, hint: str = _MEND) -> PanelError:
        """Return the error ``must be ..., found ...``; what may be an API key is not shown."""
        value = self.node.plain()
        shown = _HIDDEN if _holds_key(value) else found(value)
        return self.fail(f"must be {expected}, found {shown}", hint)

    def members(self, what: str, known: Iterable[str]) -> dict[str, Cell]:
        """Return a mapping's members, also those without a value; other keys are an error."""
        if not isinstance(self.node.value, dict):
            raise self.wrong(f"a mapping that describes {what}")
        names, members = tuple(known), self.mapping()
        for key in members:
            if key not in names:
                raise self._unknown(key, what, names)
        return members

    def mapping(self) -> dict[str, Cell]:
        """Return the members of a mapping with any keys, except API keys."""
        if not isinstance(self.node.value, dict):
            raise self.wrong("a mapping")
        if any(map(keylike, self.node.value)):
            raise self.fail("has an API key for a name (not shown)", _FROM_ENVIRONMENT)
        return {
            key: Cell(self.file, node, (*self.path, key)) for key, node in self.node.value.items()
        }

    def items(self) -> list[Cell]:
        """Return the items of a list."""
        if not isinstance(self.node.value, tuple):
            raise self.wrong("a list")
        return [Cell(self.file, one, (*self.path, at)) for at, one in enumerate(self.node.value)]

    def text(self, expected: str = "a text that is not empty", hint: str = _MEND) -> str:
        """Return a text as it is written, even if it looks like a number."""
        node = self.node
        if isinstance(node.value, dict | tuple) or node.value is None or not node.text.strip():
            raise self.wrong(expected, hint)
        return node.text

    def name(self, limit: int = 200) -> str:
        """Return a text on one line; it will be printed, so it must not be an API key."""
        text = self.text().strip()
        if keylike(text):
            raise self.fail("looks like an API key (not shown)", _FROM_ENVIRONMENT)
        if len(text) > limit or not text.isprintable():
            raise self.wrong(f"a text on one line of at most {limit} characters")
        return text

    def number(self, expected: str, fits: Bounds) -> float:
        """Return a finite number within its bounds."""
        value = self.node.value
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.wrong(expected)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number) or not fits.holds(number):
            raise self.wrong(expected)
        return number

    def whole(self, expected: str, fits: Bounds) -> int:
        """Return a whole number within its bounds."""
        value = self.node.value
        if not isinstance(value, int) or isinstance(value, bool) or not fits.holds(value):
            raise self.wrong(expected)
        return value

    def word(self, what: str, known: Iterable[str]) -> str:
        """Return one of the known words."""
        names = tuple(str(one) for one in known)
        value = self.node.value
        if isinstance(value, str) and value in names:
            return value
        raise self.wrong(what, nearest(str(value), names))

    def _unknown(self, key: str, what: str, known: tuple[str, ...]) -> PanelError:
        line = (self.node.keys or {}).get(key, self.node.line)
        path: Path = (*self.path, key)
        problem = f"is no key of {what}"
        meant = get_close_matches(key.lower(), known, 1, _TYPO_SIMILARITY)
        if names_a_secret(key) and not meant:
            return _error(self.file, line, path, problem, _FROM_ENVIRONMENT)
        return _error(self.file, line, path, problem, nearest(key, known))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a number; ``above`` and ``under`` exclude their own values."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    under: float | None = None

    def holds(self, value: float) -> bool:
        """Return True if the value lies within the bounds."""
        return (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.under is None or value < self.under)
        )


def nearest(word: str, known: tuple[str, ...]) -> str:
    """Return a hint for an unknown word: the one that was probably meant, and all known ones."""
    close = get_close_matches(word[:80].lower(), known, 1)
    meant = f'Did you mean "{close[0]}"? ' if close else ""
    return f"{meant}Known: {', '.join(known)}."


def present(cells: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the members that have a value; ``key:`` with nothing after it is left out."""
    return {key: cell for key, cell in cells.items() if cell.node.value is not None}


def _holds_key(value: Any) -> bool:
    """Return True if a value, or anything inside it, may be an API key."""
    if isinstance(value, str):
        return keylike(value)
    if isinstance(value, dict):
        return any(
            keylike(name) or names_a_secret(name) or _holds_key(one) for name, one in value.items()
        )
    return isinstance(value, list) and any(_holds_key(one) for one in value)


def _error(file: str, line: int, path: Path, problem: str, hint: str) -> PanelError:
    place = f"{file}:{line}" if line else file
    return PanelError(place, spell_path(path), show_line(problem, 400), hint)
