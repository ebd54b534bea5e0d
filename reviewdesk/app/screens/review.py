"""The one screen: queue, item and jury, with the strip below, or a page of figures or runs."""

import os
from functools import partial
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget

from reviewdesk.app.controllers.core import REVIEW, RUNS
from reviewdesk.app.controllers.item import REASON_KEYS, drag, press_reason
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.state import PANES, Panes
from reviewdesk.app.keys.actions import EVERYWHERE
from reviewdesk.app.paint.document import document_lines
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
from reviewdesk.views.document import Document

FRAME = 5
"""The lines around a pane: header, its title, status, strip and footer."""

POLL = 1.0
"""Seconds between two checks whether another process wrote to the desk."""


class ReviewScreen(Screen[None], inherit_bindings=False):
    """Draws what the app holds: the review, side by side on a wide terminal, or a page of figures.

    A terminal that is too small shows neither.
    """

    DEFAULT_CSS = """
    ReviewScreen { layout: vertical; background: $background; color: $foreground; }
    ReviewScreen #header { background: $desk-bar; }
    ReviewScreen #asking, ReviewScreen #reasons { height: auto; max-height: 4; }
    ReviewScreen #status { height: auto; background: $background; }
    ReviewScreen #strip { height: auto; background: $desk-bar; }
    ReviewScreen #footer { background: $desk-bar; }
    ReviewScreen #tiny { height: 1fr; display: none; }
    ReviewScreen > #body { height: 1fr; layout: horizontal; }
    Container > Bar { background: $desk-bar; }
    Container > #criteria, Container > #verdict { height: auto; max-height: 4; }
    Container > Pane, Container > QueueList { height: 1fr; background: $background; }
    """
    AUTO_FOCUS = None
    BLANK = True

    def __init__(self, front: Any) -> None:
        """Draw what the app ``front`` holds; its ``act`` takes events."""
        super().__init__()
        self.front = front
        self._bound: dict[str, dict[str, str]] = {
            where: front.keymap.bound(where) for where in EVERYWHERE
        }
        self._composed = False
        self._arranged: tuple[Panes, bool] | None = None
        self._place: tuple[object, ...] = ()
        self._fetches = 0
        self._texts = (0, 0, 0)
        self._page: object = None
        """What was drawn last: the panes, the place in the queue, the texts, and a page."""

    @property
    def bound(self) -> dict[str, str]:
        """The action of every key that does something here."""
        return self._bound[self.front.controller.where]

    @property
    def ready(self) -> bool:
        return self._composed and self.is_running

    async def mount_composed_widgets(self, widgets: list[Widget]) -> None:
        await super().mount_composed_widgets(widgets)
        self._composed = True

    def compose(self) -> ComposeResult:
        act = self.front.act
        controller = self.front.controller
        yield Bar(id="header")
        with Container(id="body"):
            with Container(id="queue-column"):
                yield Bar(id="queue-title")
                complain = partial(controller.complain, where=REVIEW)
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
        for name in ("asking", "reasons", "status", "strip", "footer"):
            yield Bar(id=name)
        yield Bar(tiny_lines, id="tiny")

    def on_mount(self) -> None:
        """Begin the review, and look from time to time for what other processes wrote."""
        self.front.act(self.front.controller.begin, *self.app.size)
        self.call_after_refresh(self.front.begin)
        self.set_interval(POLL, self._poll)

    def on_resize(self, event: events.Resize) -> None:
        if self.ready:
            self.front.act(self.front.controller.resized, *event.size)

    def _poll(self) -> None:
        controller = self.front.controller
        remote = self.app.is_headless or self.app.is_web
        gone = not remote and not os.isatty(0)
        self.front.act(controller.end if gone else controller.poll)

    def bar(self, name: str) -> Bar:
        return self.query_one(f"#{name}", Bar)

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
        """Move by lines or, with ``pages``, by screenfuls: in a list, or the text with the keys."""
        controller = self.front.controller
        widget = self._focused(controller.panes)
        lines = int(by * widget.page) if pages else int(by)
        if isinstance(widget, QueueList) or (controller.where == RUNS and not pages):
            self.front.act(controller.step, lines)
        else:
            widget.move(lines)

    def jump(self, by: int | str) -> None:
        """Scroll the pane that has the keys by sections, or to a section's title."""
        jury = self.front.controller.panes.current == "jury"
        pane = self.text("jury" if jury else "item")
        if isinstance(by, str):
            pane.reach(by)
        else:
            pane.jump(by)

    @property
    def figures_in_view(self) -> list[str]:
        if self.front.controller.page is not None:
            return self.item.in_view
        return [self.bar("strip").text, self.bar("header").text]

    # drawing

    def draw(self) -> None:
        """Draw what the controller holds; what has not changed is not drawn again."""
        if not self.ready:
            return
        controller = self.front.controller
        page = controller.page
        arranged = controller.panes, page is None
        if arranged != self._arranged:
            self._arranged = arranged
            self._arrange(controller.panes, review=page is None)
        if page is None:
            self._draw_review(controller)
        else:
            self.item.show(partial(painted_page, page.document()), keep=page.shown == self._page)
        self._page = None if page is None else page.shown
        jobs = controller.jobs
        name = "" if page is None else page.name
        header = controller.session, controller.saved, jobs.text, controller.figures.pace, name
        self.bar("header").paint(partial(one_line, header_line, *header))
        self.bar("asking").paint(partial(asking_lines, jobs.rerun))
        notice = controller.notice
        text = inline(notice.text, 1000)
        self.bar("status").paint(partial(status_lines, text, notice.tone))
        keys = self.front.keymap.first
        self.bar("footer").paint(partial(one_line, footer_line, controller.hints, keys))

    def _draw_review(self, controller: ReviewController) -> None:
        panes = controller.panes
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

    def _arrange(self, panes: Panes, *, review: bool) -> None:
        """Show the panes that are in view, and give the keys to the current one."""
        # Textual's tooltip and toasts are children too, but they show and hide themselves.
        for child in self.query_children("Bar, #body"):
            child.display = (child.id == "tiny") is panes.tiny
        for name in ("item-title", "criteria", "verdict", "reasons", "strip"):
            self.bar(name).display = review and not panes.tiny
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
                rows = bool(waiting), bool(controller.reasons), controller.jobs.rerun is not None
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
        """Carry out the action of a key; return False if it has no action or quits the app.

        While the line of reasons is open, its keys go there.
        """
        controller = self.front.controller
        if controller.reasons is not None and controller.page is None and key in REASON_KEYS:
            self.front.act(controller.safely, press_reason, controller, key)
            return True
        name = self.bound.get(key)
        if name is None or name == "quit.anywhere":
            return False
        self.action_do(name)
        return True

    def action_do(self, name: str) -> None:
        if self.ready:
            self.front.act(self.front.controller.handle, name)

    def on_click(self, event: events.Click) -> None:
        """Choose the run that is clicked in the list of runs."""
        if event.widget is self.item and self.front.controller.where == RUNS:
            line = event.y + self.item.scroll_offset.y
            self.front.act(self.front.controller.choose_row, line - 1)

    def on_screen_resume(self) -> None:
        self.front.act(self.front.controller.guard.hide)

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


def painted_page(document: Document, width: int, _height: int) -> PaintedItem:
    return PaintedItem(document_lines(document, width))


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
