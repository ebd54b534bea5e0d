"""Tells keys that a hand presses from those of a paste, by the times at which they were read."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from reviewdesk.app.keys.actions import ACTIONS, GIVES_LABEL, LABEL

WINDOW = 0.025
"""Seconds: keys that follow each other within them may belong to one burst."""
MANY = 4
"""How many printable keys, each within ``WINDOW`` of the one before, are a burst."""
REST = 0.150
"""Seconds without a key after which a burst is over: a long paste arrives in several parts."""
_SLACK = 1e-6
"""Tolerance in seconds for rounding errors."""

WAITS = GIVES_LABEL | {
    *(name for name, action in ACTIONS.items() if action.group == LABEL),
    "adjudicate", "blind", "mark", "quit", "reveal", "run.remove",
}  # fmt: skip
"""The actions whose keys wait for ``WINDOW``: they change the desk or how labels count."""


class Pressed(Struct, frozen=True):
    """A key: its event, its name, and when it was read.

    ``waits`` is True if it changes something, so that it must not act before it is known whether
    it belongs to a burst. ``printable`` is True if it types a character.
    """

    event: Any
    name: str
    at: float
    printable: bool
    waits: bool


class Bursts:
    """Holds back keys that change something until it is known that no burst follows.

    A key that changes nothing acts at once, unless it comes behind one that is held back: keys
    act in the order in which they were pressed. One such key that repeats is held down and makes
    no burst. Times are those of reading, so that keys which the app handles late are no burst.
    """

    def __init__(self) -> None:
        """Start with no key."""
        self._held: list[Pressed] = []
        self._names: list[str] = []
        self._printable = 0
        self._last = float("-inf")
        self.on = False
        """Whether the newest keys are a burst."""

    def press(self, key: Pressed) -> list[Pressed]:
        """Take a key; return those that are to act now, in order.

        The keys of a burst that are still held back never act, and neither does one that comes
        before the burst has been over for ``REST``.
        """
        act = self.due(key.at)
        if key.at - self._last > (REST if self.on else WINDOW) + _SLACK:
            self._names, self._printable, self.on = [], 0, False
        self._last = max(key.at, self._last)
        self._names = [*self._names, key.name][-MANY:]
        self._printable += key.printable
        repeats = len(set(self._names)) == 1 and not key.waits
        if self.on or (self._printable >= MANY and not repeats):
            self.on = True
            self._held.clear()
        elif self._held or key.waits:
            self._held.append(key)
        else:
            act.append(key)
        return act

    def due(self, now: float) -> list[Pressed]:
        """Return the keys that need not be held back any longer, in order."""
        if now - self._last <= WINDOW + _SLACK:
            return []
        held, self._held = self._held, []
        return held

    def rest(self, now: float) -> float | None:
        """Return the seconds until the keys held back may act, or None if there are none."""
        return max(0.0, self._last + WINDOW - now) if self._held else None
