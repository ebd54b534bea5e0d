"""The frame of every screen, and the main one: queue, item and jury, with the strip below."""

import os
from functools import partial
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget

from reviewdesk.app.controllers.item import REASON_KEYS, drag, press_reason
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.state import PANES, Panes
from reviewdesk.app.paint.frame import (
    asking_lines,
    blockers,
    criteria_lines,
    done_lines,
    footer_line,
    header_line,
    nothing_lines,
    reasons_lines,
    status_lines,
    strip_lines,
    tiny_lines,
    title_line,
    verdict_lines,
)
from reviewdesk.app.paint.item import PaintedItem, found_line, jury_lines, painted_item
from reviewdesk.app.paint.styled import Painter, inline, one_line
from reviewdesk.app.widgets.lines import Bar, Divider, ItemPainter, ItemPane, Pane, no_lines
from reviewdesk.app.widgets.queue_list import QueueList


class DeskScreen(Screen[None], inherit_bindings=False):
    """Header, body, status line and footer; a terminal that is too small does not show them."""

    where: ClassVar[str] = ""
    """The name under which the registry knows the screen."""
    has_strip: ClassVar[bool] = False

    DEFAULT_CSS = """
    DeskScreen { layout: vertical; background: $background; color: $foreground; }
    DeskScreen #header { background: $desk-bar; }
    DeskScreen #asking, DeskScreen #reasons { height: auto; max-height: 4; }
    DeskScreen #status { height: auto; background: $background; }
    DeskScreen #strip { height: auto; background: $desk-bar; }
    DeskScreen #footer { background: $desk-bar; }
    DeskScreen #tiny { height: 1fr; display: none; }
    DeskScreen #body { height: 1fr; }
    """
    AUTO_FOCUS = None
    BLANK = True

    def __init__(self, front: Any) -> None:
        """Draw what the app ``front`` holds; its ``act`` takes events."""
        super().__init__()
        self.front = front
        self.bound = front.keymap.bound(self.where)
        """The action of every key that does something here."""
        self._tiny: bool | None = None
        self._composed = False

    @property
    def ready(self) -> bool:
        return self._composed and self.is_running

    async def mount_composed_widgets(self, widgets: list[Widget]) -> None:
        await super().mount_composed_widgets(widgets)
        self._composed = True

    # what each screen defines

    def body(self) -> ComposeResult:
        """Yield the widgets between header and status line, inside one with the id ``body``."""
        raise NotImplementedError

    def draw_body(self, controller: ReviewController) -> None:
        """Draw what the controller holds; what has not changed is not drawn again."""
        raise NotImplementedError

    def move(self, by: float, *, pages: bool = False) -> None:
        """Move or scroll by lines or, with ``pages``, by screenfuls."""
        raise NotImplementedError

    @property
    def figures_in_view(self) -> list[str]:
        panes = (pane for pane in self.query(Pane) if pane.display)
        return [text for pane in panes for text in pane.in_view]

    # the frame

    def compose(self) -> ComposeResult:
        yield Bar(id="header")
        yield from self.body()
        yield Bar(id="asking")
        yield Bar(id="reasons")
        yield Bar(id="status")
        if self.has_strip:
            yield Bar(id="strip")
        yield Bar(id="footer")
        yield Bar(tiny_lines, id="tiny")

    def on_mount(self) -> None:
        self.front.act(self.front.controller.resized, *self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        if self.ready:
            self.front.act(self.front.controller.resized, *event.size)

    def draw(self) -> None:
        if not self.ready:
            return
        controller = self.front.controller
        panes = controller.panes
        if self._tiny is not panes.tiny:
            self._tiny = panes.tiny
            # Textual's tooltip and toasts are children too, but they show and hide themselves.
            for child in self.query_children("Bar, #body"):
                child.display = (child.id == "tiny") is panes.tiny
        self.draw_body(controller)
        page = "" if controller.page is None else controller.page.name
        jobs = controller.jobs
        header = controller.session, controller.saved, jobs.text, controller.figures.pace, page
        self.bar("header").paint(partial(one_line, header_line, *header))
        self.bar("asking").paint(partial(asking_lines, jobs.of_many))
        notice = controller.notice
        text = inline(notice.text, 1000)
        self.bar("status").paint(partial(status_lines, text, notice.tone))
        keys = self.front.keymap.first
        self.bar("footer").paint(partial(one_line, footer_line, controller.hints, keys))

    def bar(self, name: str) -> Bar:
        return self.query_one(f"#{name}", Bar)

    def press(self, key: str) -> bool:
        """Carry out the action of a key; return False if it has no action or quits the app."""
        name = self.bound.get(key)
        if name is None or name == "quit.anywhere":
            return False
        self.action_do(name)
        return True

    def action_do(self, name: str) -> None:
        if self.ready:
            self.front.act(self.front.controller.handle, name)


FRAME = 5
"""The lines around a pane: header, its title, status, strip and footer."""

POLL = 1.0
"""Seconds between two checks whether another process wrote to the desk."""


class ReviewScreen(DeskScreen):
    """Draws the review: side by side on a wide terminal, else one pane at a time."""

    where = "review"
    has_strip = True
    DEFAULT_CSS = """
    ReviewScreen > #body { layout: horizontal; }
    Container > Bar { background: $desk-bar; }
    Container > #criteria, Container > #verdict { height: auto; max-height: 4; }
    Container > Pane, Container > QueueList { height: 1fr; background: $background; }
    """

    def __init__(self, front: Any) -> None:
        super().__init__(front)
        self._panes: Panes | None = None
        self._place: tuple[object, ...] = ()
        self._fetches = 0
        self._texts = (0, 0, 0)
        """What was drawn last: the panes, the place in the queue, and what texts are shown."""

    def body(self) -> ComposeResult:
        act = self.front.act
        controller = self.front.controller
        with Container(id="body"):
            with Container(id="queue-column"):
                yield Bar(id="queue-title")
                complain = partial(controller.complain, where=self.where)
                told = partial(act, controller.choose_row), partial(act, complain)
                yield QueueList(controller.rows, controller.listed, *told, id="queue")
            for pane in (ItemPane(controller.seen.saw, id="item"), Pane(id="jury")):
                yield Divider(pane.id or "", partial(act, drag, controller))
                with Container(id=f"{pane.id}-column"):
                    yield Bar(id=f"{pane.id}-title")
                    if pane.id == "item":
                        yield Bar(id="criteria")
                        yield Bar(id="verdict")
                    yield pane

    def on_mount(self) -> None:
        """Begin the review, and look from time to time for what other processes wrote."""
        self.front.act(self.front.controller.begin, *self.app.size)
        self.call_after_refresh(self.front.begin)
        self.set_interval(POLL, self._poll)

    def _poll(self) -> None:
        controller = self.front.controller
        remote = self.app.is_headless or self.app.is_web
        gone = not remote and not os.isatty(0)
        self.front.act(controller.end if gone else controller.poll)

    # the panes

    @property
    def queue(self) -> QueueList:
        return self.query_one("#queue", QueueList)

    def text(self, name: str) -> Pane:
        return self.query_one(f"#{name}", Pane)

    @property
    def item(self) -> ItemPane:
        return self.query_one("#item", ItemPane)

    def _focused(self, panes: Panes) -> QueueList | Pane:
        return self.queue if panes.current == "queue" else self.text(panes.current)

    def move(self, by: float, *, pages: bool = False) -> None:
        """Move through the list, or scroll the pane that has the keys."""
        widget = self._focused(self.front.controller.panes)
        lines = int(by * widget.page) if pages else int(by)
        if isinstance(widget, QueueList):
            self.front.act(self.front.controller.step, lines)
        else:
            widget.move(lines)

    def jump(self, by: int | str) -> None:
        """Scroll the pane that has the keys by sections, or the jury to a section's title."""
        if isinstance(by, str):
            self.text("jury").reach(by)
            return
        jury = self.front.controller.panes.current == "jury"
        self.text("jury" if jury else "item").jump(by)

    @property
    def figures_in_view(self) -> list[str]:
        return [self.bar("strip").text, self.bar("header").text]

    # drawing

    def draw_body(self, controller: ReviewController) -> None:
        panes = controller.panes
        if panes != self._panes:
            self._panes = panes
            self._arrange(panes)
        session = controller.session
        queue = self.queue
        queue.fill(session.keys, blind=session.view.blind, chosen=session.chosen)
        if self._fetches != controller.fetches:
            self._fetches = controller.fetches
            queue.reload()
        place = session.index, controller.start, controller.fetches, id(session.keys)
        if place != self._place:
            self._place = place
            queue.point(session.index)
        self._draw_texts(controller)
        for name, note in _title_notes(controller).items():
            focused = name == panes.current
            title = partial(one_line, title_line, name.upper(), note, focused=focused)
            self.bar(f"{name}-title").paint(title)
        criteria = controller.criteria
        asks = session.item.verdict.body.get("rubric") if session.item and criteria else None
        self.bar("criteria").paint(partial(criteria_lines, criteria, asks or ""))
        answered = session.item if session.answered else None
        self.bar("verdict").paint(partial(verdict_lines, answered))
        self.bar("reasons").paint(partial(reasons_lines, controller.reasons))
        key = self.front.keymap.first("blocker")
        self.bar("strip").paint(partial(strip_lines, session, controller.figures, key))

    def _arrange(self, panes: Panes) -> None:
        """Show the panes that are in view, and give the keys to the current one."""
        columns = {panes.current: 0} if panes.alone else panes.columns
        for name in PANES:
            column = self.query_one(f"#{name}-column")
            column.display = name in columns
            column.styles.width = "1fr" if panes.alone or name == "item" else columns.get(name, 0)
        for rule in self.query(Divider):
            rule.display = not panes.alone and rule.pane in columns
        if not panes.tiny:
            self.set_focus(self._focused(panes), scroll_visible=False)

    def _draw_texts(self, controller: ReviewController) -> None:
        """Draw the item, or the page that is shown in its place, and the jury."""
        start, turns, seek = self._texts
        self._texts = controller.start, controller.seen.turns, controller.seek
        session = controller.session
        figures = controller.figures
        reading = controller.reading
        keymap = self.front.keymap
        keep = start == controller.start
        page: Painter = partial(nothing_lines, session, keymap)
        if session.done:
            page = partial(done_lines, session, figures, keymap)
        jurors: Painter = no_lines
        painter: ItemPainter = lambda width, _height: PaintedItem(page(width))  # noqa: E731
        if session.item is not None:
            key = keymap.first("unfold")
            hidden = session.hidden
            painter = partial(
                painted_item, session.item, hidden=hidden, reading=reading, key=key,
                named=controller.panes.alone,
            )  # fmt: skip
            if not hidden:
                waiting = blockers(session, figures)
                rows = bool(waiting), bool(controller.reasons), controller.jobs.of_many is not None
                room = controller.panes.height - FRAME - sum(rows)
                keys = {name: keymap.first(name) for name in ("rerun", "what.if", "jury.whole")}
                jurors = partial(jury_lines, session.item, controller.reruns, keys, reading, room)
        item = self.item
        jury = self.text("jury")
        item.show(painter, keep=keep)
        if turns != controller.seen.turns:
            item.turn(controller.seen.top)
        jury.paint(jurors, keep=keep)
        if seek != controller.seek:
            # Scroll to the first line with one of the words, in the item or else in the jury.
            for pane in (item, jury):
                if (line := found_line(pane.painted, reading.find)) is not None:
                    pane.go(max(0, line - 2))
                    break

    # events

    def press(self, key: str) -> bool:
        """Carry out the action of a key, or pass it to the line of reasons while that is open."""
        controller = self.front.controller
        if controller.reasons is None or key not in REASON_KEYS:
            return super().press(key)
        self.front.act(controller.safely, press_reason, controller, key)
        return True

    def on_screen_resume(self) -> None:
        self.front.act(self.front.controller.guard.interrupt)

    def on_key(self, event: events.Key) -> None:
        if event.is_printable and event.key not in self.bound:
            self.front.controller.guard.stray()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        name = event.widget.id
        panes = self.front.controller.panes
        # The focus may have moved on since the event.
        here = event.widget is self.focused and not panes.alone
        if here and name in panes.names and name != panes.current:
            self.front.act(self.front.controller.choose_pane, name)


def _title_notes(controller: ReviewController) -> dict[str, str]:
    session = controller.session
    panes = controller.panes
    count = session.size
    none = session.index is None or session.item is None
    where = f"{count} in the queue" if none else f"{(session.index or 0) + 1:,} of {count}"
    where += f" · {len(session.chosen):,} selected" * bool(session.chosen)
    alone = f"{where}  {inline(session.item.verdict.id, 60)}" if session.item else where
    # With the queue in view, its cursor already shows which item is current.
    notes = dict.fromkeys(PANES, alone if panes.alone else "")
    if session.item and session.item.row.open_with:
        notes["item"] += f"  open with {inline(session.item.row.open_with, 24)}"
    if controller.half and session.answered:
        notes["item"] += f"  {controller.half}"
    pace = controller.figures.pace
    fast = f" · {pace.per_hour:.0f} per hour" if pace is not None and pace.steady else ""
    heads = panes.alone and not session.view.blind
    notes["queue"] = where + fast + " · label, panel, item, agreement, flags" * heads
    return {name: f"{note} · zoomed" if panes.zoomed else note for name, note in notes.items()}
