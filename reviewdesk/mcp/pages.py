"""Limit the size of results for agents; omitted parts are named and can be requested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reviewdesk.errors import UsageError

MOST = 60_000
"""The approximate limit of a result in characters: its texts and names, and ten per number."""
LONGEST_TEXT = 4_000
"""The limit of each text in a larger result; a text requested alone may fill the result."""
_NUMBER = 10


@dataclass
class _Room:
    """The number of characters left, and the parts that did not fit."""

    longest: int
    left: int = MOST
    cut: list[dict[str, Any]] = field(default_factory=list)

    def leave_out(self, at: str, given: int, of: int) -> None:
        """Record the JSON Pointer of a text, list or record that is only partly returned."""
        self.cut.append({"at": at, "given": given, "of": of})
        self.left -= len(at) + 3 * _NUMBER


def whole(value: dict[str, Any]) -> dict[str, Any]:
    """Return a record; if it is too large, ``cut`` lists the parts that are shortened."""
    room = _Room(LONGEST_TEXT)
    made: dict[str, Any] = _fitted(value, "", room)
    return {**made, "cut": room.cut} if room.cut else made


def part(value: Any, at: str, offset: int) -> dict[str, Any]:
    """Return the value at a JSON Pointer from the ``offset``-th character or entry on.

    ``next`` is the offset of the rest, ``None`` at the end.

    Raises:
        UsageError: the place does not exist, or its value has no parts.
    """
    found = _at(value, at)
    if not isinstance(found, str | list):
        raise UsageError(f"{at}: no text and no list", "Name a place that `cut` names.")
    room = _Room(MOST)
    made = _fitted(found[offset:], at, room, offset)
    # ``next`` already shows that the value itself is cut.
    room.cut = [one for one in room.cut if one["at"] != at]
    end = offset + len(made)
    following = end if made and end < len(found) else None
    return {"at": at, "value": made, "of": len(found), "next": following, "cut": room.cut}


def _fitted(value: Any, at: str, room: _Room, first: int = 0) -> Any:
    """Return as much of a value as fits; ``first`` is the index of a list's first entry."""
    if isinstance(value, str):
        return _text(value, at, room)
    if isinstance(value, dict):
        made: dict[str, Any] = {}
        for key, one in value.items():
            if room.left <= 0:
                room.leave_out(at, len(made), len(value))
                break
            room.left -= len(key)
            made[key] = _fitted(one, f"{at}/{key.replace('~', '~0').replace('/', '~1')}", room)
        return made
    if isinstance(value, list):
        entries: list[Any] = []
        for place, one in enumerate(value, first):
            if room.left <= 0:
                room.leave_out(at, len(entries), len(value))
                break
            entries.append(_fitted(one, f"{at}/{place}", room))
        return entries
    room.left -= _NUMBER
    return value


def _text(text: str, at: str, room: _Room) -> str:
    given = text[: max(0, min(room.longest, room.left))]
    room.left -= len(given)
    if len(given) < len(text):
        room.leave_out(at, len(given), len(text))
    return given


def _at(value: Any, at: str) -> Any:
    """Follow a JSON Pointer (RFC 6901)."""
    for name in at.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise UsageError(f"{at}: there is no such place", "Name one that `cut` names.")
    return value
