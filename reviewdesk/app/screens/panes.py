"""The three panes of the main screen: which are in view, which has the keys, what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size

from reviewdesk.app.controllers.rerun_history import NOTHING, RerunHistory, RerunReader
from reviewdesk.app.controllers.session import Page, Session
from reviewdesk.app.keys.keymap import Keymap
from reviewdesk.app.paint.frame import title_line
from reviewdesk.app.paint.item import item_lines
from reviewdesk.app.paint.jury import hidden_lines, jury_lines
from reviewdesk.app.paint.pages import done_lines, nothing_lines
from reviewdesk.app.paint.styled import Lines, Painter, inline
from reviewdesk.app.texts.find import found_line, highlight
from reviewdesk.app.texts.reading import ReadingOptions
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.app.widgets.queue_list import QueueList
from reviewdesk.domain.records import Pace

if TYPE_CHECKING:
    from reviewdesk.app.screens.meter import StripMeter
    from reviewdesk.app.screens.review import ReviewScreen

NAMES = ("queue", "item", "jury")
WIDE = 140


class Panes:
    """Side by side on a wide terminal, else one at a time: queue, then item, then jury."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Manage the panes of ``screen``."""
        self._screen = screen
        self._chosen: str | None = None
        self._rerun_reader = RerunReader()
        self.wide = False
        self.zoomed = False
        self._in_view = False

    @property
    def current(self) -> str:
        """The pane with the keys; by default the queue on a wide terminal, else the item."""
        return self._chosen or ("queue" if self.wide else "item")

    @property
    def queue(self) -> QueueList:
        """The list widget of the queue."""
        return self._screen.query_one("#queue", QueueList)

    def text(self, name: str) -> Pane:
        """Return the pane ``name``: the item's or the jury's."""
        return self._screen.query_one(f"#{name}", Pane)

    @property
    def focused(self) -> QueueList | Pane:
        """The widget of the pane that has the keys."""
        return self.queue if self.current == "queue" else self.text(self.current)

    @property
    def readable(self) -> bool:
        """Whether the item itself is on screen, not only its line in the queue."""
        return (self.wide and not self.zoomed) or self.current != "queue"

    def fit(self, size: Size) -> None:
        """Choose the panes in view for this size of the terminal."""
        self.wide = size.width >= WIDE
        self._arrange()

    def _arrange(self) -> None:
        screen, alone = self._screen, self.zoomed or not self.wide
        screen.set_class(self.wide and not self.zoomed, "-wide")
        screen.set_class(alone, "-zoomed")
        for name in NAMES:
            screen.query_one(f"#{name}-column").display = name == self.current or not alone
        in_view = self.readable and not screen.tiny
        if in_view and not self._in_view:
            # A label key must wait until the item can be read, not only its line.
            screen.guard.shown()
        self._in_view = in_view
        if not screen.tiny:
            screen.set_focus(self.focused, scroll_visible=False)
        self.titles()

    def zoom(self) -> None:
        """Give the pane with the keys the whole width, or show the panes side by side again."""
        self.zoomed = not self.zoomed
        self._arrange()

    def choose(self, name: str) -> None:
        """Give a pane the keys; on a narrow terminal it alone is then in view."""
        self._chosen = name
        self._arrange()

    def entered(self, name: str) -> None:
        """Give the keys to the pane that got the focus, if the panes stand side by side."""
        if self.wide and not self.zoomed and name in NAMES and name != self.current:
            self._chosen = name
        self.titles()

    def shift(self, by: int, *, around: bool = False) -> bool:
        """Give the keys to the pane one level deeper or back; return False at the end."""
        place = NAMES.index(self.current) + by
        name = NAMES[place % len(NAMES)] if around else self.beside(by)
        if name:
            self.choose(name)
        return bool(name)

    def beside(self, by: int) -> str:
        """Return the name of the pane one level deeper or back; empty at the end."""
        place = NAMES.index(self.current) + by
        return NAMES[place] if 0 <= place < len(NAMES) else ""

    def titles(self) -> None:
        """Redraw the titles of the panes."""
        session, pace = self._screen.session, self._screen.meter.pace
        place = "-" if session.index is None or session.item is None else f"{session.index + 1:,}"
        where = f"{place} of {len(session.keys):,}"
        columns = _pace_text(pace) or (
            "" if session.view.blind else " · decision, agreement, flags"
        )
        alone = f"{where}  {inline(session.item.verdict.id, 60)}" if session.item else where
        # With the queue in view, its cursor already shows which item is current.
        notes = dict.fromkeys(NAMES, "" if self.wide and not self.zoomed else alone)
        notes["queue"] = f"{where}{columns}"
        if self.zoomed:
            notes = {name: f"{note} · zoomed" for name, note in notes.items()}
        for name in NAMES:
            bar = self._screen.query_one(f"#{name}-title", Bar)
            bar.paint(_title(name.upper(), notes[name], focused=name == self.current))

    def paint(self, *, keep: bool, rows: bool) -> None:
        """Draw queue, item and jury; ``keep`` leaves texts scrolled, ``rows`` reads rows anew."""
        screen, session = self._screen, self._screen.session
        self.queue.fill(session.keys, blind=session.view.blind)
        if rows:
            self.queue.reload()
        self.queue.point(session.index)
        keymap, reading = screen.desk_app.keymap, screen.reading
        item = _item_painter(session, screen.meter, keymap, reading)
        self.text("item").paint(item, keep=keep)
        self.text("jury").paint(
            _jury_painter(session, self._rerun_history(), keymap, reading), keep=keep
        )
        self.titles()

    def again(self) -> None:
        """Redraw the jury's pane, because a re-run began or got a ballot."""
        screen, session = self._screen, self._screen.session
        keymap, reading = screen.desk_app.keymap, screen.reading
        self.text("jury").paint(
            _jury_painter(session, self._rerun_history(), keymap, reading), keep=True
        )

    def _rerun_history(self) -> RerunHistory:
        """Return the re-runs of the item; none while the panel's answer is hidden."""
        screen, session = self._screen, self._screen.session
        if session.item is None or session.hidden:
            return NOTHING
        running = screen.desk_app.jobs.rerun.running
        return self._rerun_reader.read(screen.review_session.desk, session.item, running)

    def seek(self, words: tuple[str, ...]) -> None:
        """Scroll to the first line with one of the words, in the item or else in the jury."""
        for name in ("item", "jury"):
            pane = self.text(name)
            line = found_line(pane.painted, words)
            if line is not None:
                pane.go(max(0, line - 2))
                return

    def sideways(self, columns: int) -> None:
        """Scroll lines that are wider than their pane sideways."""
        if isinstance(pane := self.focused, Pane):
            pane.sideways(columns)
        else:
            self.text("item").sideways(columns)


def _title(name: str, note: str, *, focused: bool) -> Painter:
    return lambda width: [title_line(name, note, width, focused=focused)]


def _pace_text(pace: Pace | None) -> str:
    """Return the labels per hour, in words; empty until the pace is steady."""
    if pace is None or not pace.steady:
        return ""
    return f" · {pace.per_hour:.0f} per hour"


def _item_painter(
    session: Session, meter: StripMeter, keymap: Keymap, reading: ReadingOptions
) -> Painter:
    def painter(width: int) -> Lines:
        if session.page is Page.NOTHING:
            return nothing_lines(session, keymap, width)
        if session.item is None:
            figures = meter.alone if session.view.blind else meter.figures
            return done_lines(session, figures, meter.pace, keymap, width)
        return item_lines(session.item, width, hidden=session.hidden, reading=reading)

    return painter


def _jury_painter(
    session: Session, reruns: RerunHistory, keymap: Keymap, reading: ReadingOptions
) -> Painter:
    def painter(width: int) -> Lines:
        if session.item is None:
            return []
        if session.hidden:
            return hidden_lines(session, keymap, width)
        lines = jury_lines(session.item, width, reruns, keymap.first("rerun"))
        return highlight(lines, reading.find)

    return painter
