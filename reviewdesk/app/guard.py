"""What keeps a held key, a paste or a slow screen from labelling an item nobody looked at."""

from __future__ import annotations

from collections.abc import Callable

INTERVAL = 0.150
"""Seconds that an item must have been on screen, and that must lie between two equal keys."""

_SLACK = 1e-6
"""Clocks are floats: 0.4 - 0.25 must count as 0.15."""


class LabelGuard:
    """Decides whether a label key counts; the clock is injected, in seconds that never go back.

    A key counts when the item has been shown for ``INTERVAL`` and the same key did not arrive
    within the last ``INTERVAL``. An ignored press restarts that second wait, so that a held key
    stays ignored until it is let go.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start with nothing on screen: no key counts before ``shown``."""
        self._clock = clock
        self._shown_at: float | None = None
        self._pressed: dict[str, float] = {}
        self._stray = float("-inf")

    def shown(self) -> None:
        """An item was handed to the screen just now."""
        self._shown_at = self._clock()

    def stray(self) -> None:
        """A key that does nothing arrived: typing or pasting into the void is not labelling."""
        self._stray = self._clock()

    def press(self, key: str) -> bool:
        """Whether this press of ``key`` counts; every press, counted or not, is remembered."""
        now = self._clock()
        last = max(self._pressed.get(key, float("-inf")), self._stray)
        self._pressed[key] = now
        if self._shown_at is None:
            return False
        return now - self._shown_at >= INTERVAL - _SLACK and now - last >= INTERVAL - _SLACK
