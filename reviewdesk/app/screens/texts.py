"""The texts of the review screen, item and jury, which a step in the list draws when keys rest."""

from __future__ import annotations

from textual.timer import Timer

from reviewdesk.app.controllers.session import Page
from reviewdesk.app.controllers.view import ViewState
from reviewdesk.app.keys.user_keys import Keymap
from reviewdesk.app.paint.item import PaintedItem, painted_item
from reviewdesk.app.paint.jury import jury_lines
from reviewdesk.app.paint.pages import done_lines, nothing_lines, reading_lines
from reviewdesk.app.paint.styled import Lines, Painter
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.texts.find import found_line
from reviewdesk.app.widgets.item_pane import ItemPainter, ItemPane
from reviewdesk.app.widgets.jury_pane import JuryPane
from reviewdesk.app.widgets.lines import Pane

FRAME = 6
"""The lines around a pane: header, its title, status, strip and footer."""
SOON = 0.15
"""Seconds within which a step follows the one before while a key is held."""


class ReviewTexts:
    """Draws the panes of item and jury; ``waiting`` says that they show an earlier item."""

    def __init__(self, screen: DeskScreen) -> None:
        """Draw on the panes of ``screen``."""
        self._screen = screen
        self._drawn: ViewState | None = None
        self._wanted: ViewState | None = None
        self._stepped = float("-inf")
        self._timer: Timer | None = None

    @property
    def waiting(self) -> bool:
        """Whether the panes wait to be drawn, so that nothing of the current item is seen yet."""
        return self._wanted is not None

    def draw_later(self, state: ViewState) -> None:
        """Draw once the list has been drawn and, while a key is held, once that rests."""
        screen, now = self._screen, self._screen.front.clock()
        held, self._stepped = now - self._stepped < SOON, now
        first, self._wanted = self._wanted is None, state
        if held and screen.front.rest:
            if self._timer is not None:
                self._timer.stop()
            self._timer = screen.set_timer(screen.front.rest, self._draw_wanted)
        elif first:
            screen.call_after_refresh(self._draw_wanted)

    def _draw_wanted(self) -> None:
        if self._wanted is not None and self._screen.is_running:
            self.draw(self._wanted)
            self._screen.front.controller.drawn()

    def draw(self, state: ViewState) -> None:
        """Draw what differs from what the panes show."""
        screen, before, self._wanted = self._screen, self._drawn, None
        self._drawn = state
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        item_pane = screen.query_one("#item", ItemPane)
        keymap, keep = screen.front.keymap, before is not None and before.start == state.start
        if not keep or before is None or _item_facts(before) != _item_facts(state):
            item_pane.show(_item_painter(state, keymap), keep=keep)
        if before is None or before.scroll != state.scroll:
            item_pane.turn(state.scroll.top)
        if not keep or before is None or _jury_facts(before) != _jury_facts(state):
            item = state.session.item.item_hash if state.session.item else ""
            painter, again = _jury_painter(state, keymap), state.scroll.again
            screen.query_one("#jury", JuryPane).show(painter, item, keep=keep, again=again)
        if before is not None and before.seek != state.seek:
            self._seek(state.reading.find)

    def _seek(self, words: tuple[str, ...]) -> None:
        """Scroll to the first line with one of the words, in the item or else in the jury."""
        for name in ("item", "jury"):
            pane = self._screen.query_one(f"#{name}", Pane)
            line = found_line(pane.painted, words)
            if line is not None:
                pane.go(max(0, line - 2))
                return


def _item_facts(state: ViewState) -> tuple[object, ...]:
    """Return all that the item's pane depends on, beside the width."""
    session = state.session
    page = None if session.item else (session.view, session.progress, state.figures)
    return session.item, session.page, session.hidden, session.withheld, state.reading, page


def _item_painter(state: ViewState, keymap: Keymap) -> ItemPainter:
    session, figures = state.session, state.figures

    def painter(width: int, height: int) -> PaintedItem:
        if session.page is Page.READING:
            return PaintedItem(reading_lines(width))
        if session.page is Page.NOTHING:
            return PaintedItem(nothing_lines(session, keymap, width))
        if session.item is None:
            found = figures.alone if session.view.blind else figures.calibration
            painted = done_lines(session, found, figures.pace, keymap, width, figures.blockers)
            return PaintedItem(painted)
        return painted_item(
            session.item,
            width,
            height,
            hidden=session.hidden,
            reading=state.reading,
            key=keymap.first("unfold"),
        )

    return painter


def _jury_facts(state: ViewState) -> tuple[object, ...]:
    """Return all that the jury's pane depends on, beside the width."""
    session = state.session
    reading = state.reading
    return (
        session.item, session.hidden, session.withheld, state.reruns, reading.find,
        reading.open_sections, state.panes.height,
    )  # fmt: skip


def _jury_painter(state: ViewState, keymap: Keymap) -> Painter:
    session = state.session

    def painter(width: int) -> Lines:
        if session.item is None or session.hidden:
            return []
        key, room = keymap.first("rerun"), state.panes.height - FRAME
        return jury_lines(session.item, state.reruns, key, state.reading, width, room)

    return painter
