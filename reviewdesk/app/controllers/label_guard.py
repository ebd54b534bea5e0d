"""What keeps a held key, a paste or a slow screen from labelling an item nobody looked at."""

from __future__ import annotations

from collections.abc import Callable

INTERVAL = 0.150
"""Seconds that an item must have been on screen, and that must lie between two equal keys."""

REACTION = 0.080
"""Seconds that saving a label and drawing the next item may take without being held against the
reviewer: five keys a second must all count, also on a busy machine."""

_SLACK = 1e-6
"""Clocks are floats: 0.4 - 0.25 must count as 0.15."""


class LabelGuard:
    """Decides whether a label key counts; the clock is injected, in seconds that never go back.

    A key counts when the item has been shown for ``interval`` and the same key did not arrive
    within the last ``interval``. An ignored press restarts that second wait, so that a held key
    stays ignored until it is let go.
    """

    def __init__(self, clock: Callable[[], float], interval: float = INTERVAL) -> None:
        """Start with nothing on screen: no key counts before ``shown``."""
        self._clock, self._interval = clock, interval
        self._shown_at: float | None = None
        self._pressed: dict[str, float] = {}
        self._stray = float("-inf")
        self._counted = float("-inf")

    def shown(self) -> None:
        """An item was handed to the screen just now, in answer to a label or of itself."""
        now = self._clock()
        answers = now - self._counted <= 2 * self._interval
        self._shown_at = max(self._counted, now - REACTION) if answers else now

    def stray(self) -> None:
        """A key that does nothing arrived: typing or pasting into the void is not labelling."""
        self._stray = self._clock()

    def press(self, key: str, late: float = 0.0) -> bool:
        """Whether this press of ``key`` counts; every press, counted or not, is remembered.

        ``late`` is how many seconds the key had waited to be handled: what is judged is when the
        reviewer pressed it, so that a busy machine neither drops keys nor bunches them.
        """
        now = self._clock() - late
        last = max(self._pressed.get(key, float("-inf")), self._stray)
        self._pressed[key] = now
        if self._shown_at is None:
            return False
        wait = self._interval - _SLACK
        counts = now - self._shown_at >= wait and now - last >= wait
        if counts:
            self._counted = now
        return counts
