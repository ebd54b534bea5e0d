"""The three panes of the main screen: which are in view, which has the keys, what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size

from reviewdesk.app.paint import Lines, Painter
from reviewdesk.app.paint_frame import title_line
from reviewdesk.app.paint_item import item_lines
from reviewdesk.app.paint_jury import hidden_lines, jury_lines
from reviewdesk.app.paint_pages import done_lines, nothing_lines
from reviewdesk.app.session import Page, Session
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.app.widgets.queue_list import QueueList
from reviewdesk.domain.records import Calibration

if TYPE_CHECKING:
    from reviewdesk.app.screens.review import ReviewScreen

NAMES = ("queue", "item", "jury")
WIDE = 140
SMALLEST = Size(40, 10)


class Panes:
    """Side by side on a wide terminal, else one at a time: queue, then item, then jury."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Manage the panes of ``screen``."""
        self._screen = screen
        self._chosen: str | None = None
        self.wide = False
        self.tiny = False

    @property
    def current(self) -> str:
        """The pane with the keys: until one is chosen, the list if it stands beside the item."""
        return self._chosen or ("queue" if self.wide else "item")

    @property
    def queue(self) -> QueueList:
        """The list."""
        return self._screen.query_one("#queue", QueueList)

    def text(self, name: str) -> Pane:
        """The item's or the jury's pane."""
        return self._screen.query_one(f"#{name}", Pane)

    @property
    def focused(self) -> QueueList | Pane:
        """The widget that scrolls now."""
        return self.queue if self.current == "queue" else self.text(self.current)

    @property
    def readable(self) -> bool:
        """Whether the item is on screen and not only its line in the queue."""
        return self.wide or self.current != "queue"

    def fit(self, size: Size) -> None:
        """Choose what is in view at this size."""
        self.wide = size.width >= WIDE
        self.tiny = size.width < SMALLEST.width or size.height < SMALLEST.height
        self._screen.set_class(self.wide, "-wide")
        # Textual's own tooltip and toasts are children too, and show when they have something.
        for child in self._screen.query_children("Bar, #panes"):
            child.display = (child.id == "tiny") is self.tiny
        self._arrange()

    def _arrange(self) -> None:
        for name in NAMES:
            column = self._screen.query_one(f"#{name}-column")
            column.display = self.wide or name == self.current
        if not self.tiny:
            self._screen.set_focus(self.focused, scroll_visible=False)
        self.titles()

    def choose(self, name: str) -> None:
        """Give a pane the keys, and the screen where there is room for one only."""
        self._chosen = name
        self._arrange()

    def entered(self, name: str) -> None:
        """A pane got the focus by mouse or because it was chosen; alone in view, it chooses not."""
        if self.wide and name in NAMES and name != self.current:
            self._chosen = name
        self.titles()

    def shift(self, by: int, *, around: bool = False) -> bool:
        """One level deeper or back; ``False`` at the end."""
        place = NAMES.index(self.current) + by
        name = NAMES[place % len(NAMES)] if around else self.beside(by)
        if name:
            self.choose(name)
        return bool(name)

    def beside(self, by: int) -> str:
        """The name of the pane one level deeper or back; empty at the end."""
        place = NAMES.index(self.current) + by
        return NAMES[place] if 0 <= place < len(NAMES) else ""

    def titles(self) -> None:
        """Draw the titles anew."""
        session = self._screen.session
        place = "-" if session.index is None or session.item is None else f"{session.index + 1:,}"
        columns = "" if session.view.blind else " · decision, agreement"
        notes = {"queue": f"{place} of {len(session.keys):,}{columns}", "item": "", "jury": ""}
        for name in NAMES:
            bar = self._screen.query_one(f"#{name}-title", Bar)
            bar.paint(_title(name.upper(), notes[name], focused=name == self.current))

    def paint(
        self, session: Session, figures: Calibration | None, *, keep: bool, rows: bool
    ) -> None:
        """Draw list, item and jury; ``rows`` reads the lines of the list again."""
        self.queue.fill(session.keys, blind=session.view.blind)
        if rows:
            self.queue.reload()
        self.queue.point(session.index)
        self.text("item").paint(_item_painter(session, figures), keep=keep)
        self.text("jury").paint(_jury_painter(session), keep=keep)
        self.titles()


def _title(name: str, note: str, *, focused: bool) -> Painter:
    return lambda width: [title_line(name, note, width, focused=focused)]


def _item_painter(session: Session, figures: Calibration | None) -> Painter:
    def painter(width: int) -> Lines:
        if session.page is Page.NOTHING:
            return nothing_lines(session, width)
        if session.item is None:
            return done_lines(session, figures, width)
        return item_lines(session.item, width, hidden=session.hidden)

    return painter


def _jury_painter(session: Session) -> Painter:
    def painter(width: int) -> Lines:
        if session.item is None:
            return []
        if session.hidden:
            return hidden_lines(width)
        return jury_lines(session.item, width)

    return painter
