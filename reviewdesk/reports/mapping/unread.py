"""Ballots whose answer stands under keys that their reader does not know.

Such a juror has answered and did not fail: its ballot has the status ``unknown`` and names the
keys, under ``meta``. A report counts them, and one of nothing else is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Status
from reviewdesk.reports.mapping.secrets import is_setting

UNREAD = "unread"
"""The key of a ballot's ``meta`` that names them."""

_ANSWERS = ("score", "raw_score", "pass", "label", "error")
_MOST = 12


def unread_keys(
    said: Mapping[str, Any], answers: Collection[str], known: Container[str]
) -> list[str]:
    """The keys of a juror's record under which an answer must stand that no reader looks for.

    ``answers`` are the keys where one is looked for: a null there says that there is none, and any
    other value was not understood. ``known`` are the keys that say who the juror is and what it
    cost.
    """
    stated = [key for key in answers if key in said]
    if stated:
        return [key for key in stated if _says_something(said[key])]
    return [
        key
        for key, value in said.items()
        if key not in known and _says_something(value) and not is_setting(key)
    ]


def _says_something(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return value is not None and value not in ([], {})


def understood(ballot: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The ballot, marked as unknown where nothing was understood of it and ``keys`` say something.

    A failure and an abstention that the file states are understood.
    """
    if ballot.get("status") not in (None, Status.OK):
        return ballot
    named = list(dict.fromkeys(keys))
    if not named or any(ballot.get(key) is not None for key in _ANSWERS):
        return ballot
    kept = {key: value for key, value in ballot.items() if key != "pass"}
    meta = {**(ballot.get("meta") or {}), UNREAD: [show_line(key, 60) for key in named[:_MOST]]}
    return {**kept, "status": Status.UNKNOWN.value, "meta": meta}


class UnreadBallots:
    """How many of a report's ballots were not understood, and the keys that were seen in them."""

    def __init__(self) -> None:
        """Start with no ballot seen."""
        self.count = self.ballots = 0
        self._keys: dict[str, None] = {}

    def add(self, jurors: Iterable[Mapping[str, Any]]) -> None:
        """Take the jurors of one more verdict."""
        for juror in jurors:
            self.ballots += 1
            if juror.get("status") == Status.UNKNOWN:
                self.count += 1
                meta = juror.get("meta") or {}
                if isinstance(named := meta.get(UNREAD), list) and len(self._keys) <= _MOST:
                    self._keys.update(dict.fromkeys(key for key in named if isinstance(key, str)))

    @property
    def all(self) -> bool:
        """Whether there are ballots and none of them was understood."""
        return 0 < self.count == self.ballots

    @property
    def keys(self) -> str:
        """The keys, as a line may show them."""
        more = ", ..." if len(self._keys) > _MOST else ""
        return ", ".join(show_line(key, 60) for key in [*self._keys][:_MOST]) + more
