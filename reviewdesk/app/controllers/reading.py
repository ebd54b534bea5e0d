"""The controller of how an item's texts are drawn: wrapped, formatted, side by side, by page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from reviewdesk.app.paint.item import pages
from reviewdesk.app.theme.inks import Ink

if TYPE_CHECKING:
    from reviewdesk.app.screens.review import ReviewScreen

_SIDEWAYS = 8
"""Columns by which one key press scrolls unwrapped lines."""


class ReadingController:
    """Changes how texts are drawn, never what they say."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Act for ``screen``."""
        self._screen = screen

    def verbs(self) -> dict[str, Callable[[], None]]:
        """Return the methods that carry out this controller's actions, by action id."""
        return {
            "text.next": partial(self._page, 1),
            "text.previous": partial(self._page, -1),
            "wrap": self._wrap,
            "plain": self._plain,
            "beside": self._beside,
            "left": partial(self._screen.panes.sideways, -_SIDEWAYS),
            "right": partial(self._screen.panes.sideways, _SIDEWAYS),
        }

    def _page(self, by: int) -> None:
        screen, item = self._screen, self._screen.session.item
        last = 0 if item is None else pages(item) - 1
        if last < 1:
            screen.say_here("no text here is longer than a page")
            return
        page = max(0, min(screen.reading.page + by, last))
        screen.read(replace(screen.reading, page=page))
        screen.say_here(f"page {page + 1} of {last + 1}")

    def _wrap(self) -> None:
        reading = self._screen.reading
        self._screen.read(replace(reading, wrap=not reading.wrap))
        keys = self._screen.desk_app.keymap
        sideways = f"{keys.first('left')} {keys.first('right')} move sideways"
        notice = f"lines are not wrapped: {sideways}" if reading.wrap else "lines are wrapped"
        self._screen.say(notice, Ink.MUTED)

    def _plain(self) -> None:
        reading = self._screen.reading
        self._screen.read(replace(reading, plain=not reading.plain))
        notice = "texts are formatted" if reading.plain else "texts are shown exactly as they are"
        self._screen.say(notice, Ink.MUTED)

    def _beside(self) -> None:
        reading = self._screen.reading
        self._screen.read(replace(reading, beside=not reading.beside))
        layout = "below each other" if reading.beside else "side by side where there is room"
        self._screen.say(f"two responses stand {layout}", Ink.MUTED)
