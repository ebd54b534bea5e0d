"""Ignores label keys from a held key, a paste or a slow screen, which nobody meant as labels."""

from __future__ import annotations

from collections.abc import Callable

INTERVAL = 0.150
"""Seconds that an item must be on screen before a label, and between two presses of one key."""

REACTION = 0.080
"""Seconds for saving a label and drawing the next item that do not lengthen the reviewer's wait:
five keys a second must all count, also on a busy machine."""

_SLACK = 1e-6
"""Tolerance in seconds for rounding errors: 0.4 - 0.25 must count as 0.15."""


class LabelGuard:
    """Decides whether a label key counts; ``clock`` returns monotonic seconds.

    A key counts when the item has been shown for ``interval`` and the same key did not arrive
    within the last ``interval``. An ignored press restarts that second wait, so that a held key
    stays ignored until it is released.
    """

    def __init__(self, clock: Callable[[], float], interval: float = INTERVAL) -> None:
        """Start with nothing on screen: no key counts before ``shown`` is called."""
        self._clock, self.interval = clock, interval
        self._shown_at: float | None = None
        self._pressed: dict[str, float] = {}
        self._stray = float("-inf")
        self._counted = float("-inf")
        self.early = False
        """Whether the last press was ignored for the item alone, which had only just come up."""

    def hide(self) -> None:
        """Record that what comes next is not on screen yet: no key counts until ``shown``."""
        self._shown_at = None

    def interrupt(self) -> None:
        """Record that something else was in view: the wait starts anew, even after a label."""
        self.hide()
        self._counted = float("-inf")

    def shown(self) -> None:
        """Record that an item came on screen just now, after a label or without one."""
        now = self._clock()
        answers = now - self._counted <= 2 * self.interval
        self._shown_at = max(self._counted, now - REACTION) if answers else now

    def shown_once(self) -> None:
        """Record that what was hidden is on screen; do nothing if it is there already."""
        if self._shown_at is None:
            self.shown()

    def stray(self) -> None:
        """Record a key without an action: a label key right after it may be part of a paste."""
        self._stray = self._clock()

    def press(self, key: str, late: float = 0.0) -> bool:
        """Record a press of ``key`` and return True if it counts.

        ``late`` is how many seconds the key waited to be handled. The time of the press decides,
        so that a busy machine neither drops keys nor brings them too close together.
        """
        now = self._clock() - late
        last = max(self._pressed.get(key, float("-inf")), self._stray)
        self._pressed[key] = now
        wait = self.interval - _SLACK
        shown = self._shown_at is not None and now - self._shown_at >= wait
        apart = now - last >= wait
        counts, self.early = shown and apart, apart and not shown
        if counts:
            self._counted = now
        return counts
