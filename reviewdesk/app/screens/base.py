"""The base of every desk screen: it draws the lines around its body from the controller's state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Protocol

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from reviewdesk.app.ahead import TypeAhead
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.state import ViewState
from reviewdesk.app.keys.actions import ACTIONS, Action, hints
from reviewdesk.app.keys.keymap import Keymap
from reviewdesk.app.paint.frame import (
    Header,
    asking_lines,
    footer_line,
    header_line,
    status_lines,
    tiny_lines,
)
from reviewdesk.app.paint.styled import inline, one_line
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.views.document import Tone

_ON_APP = frozenset({"palette", "quit.anywhere"})


def screen_bindings(name: str) -> list[Binding]:
    """Return the key bindings of the screen ``name``."""
    return [
        _binding(a, f"do('{a.id}')")
        for a in ACTIONS.values()
        if a.keys and name in a.where and a.id not in _ON_APP
    ]


def app_bindings() -> list[Binding]:
    """Return the bindings that must also work above a dialog."""
    return [
        _binding(ACTIONS["palette"], "command_palette"),
        _binding(ACTIONS["quit.anywhere"], "close_desk", priority=True),
    ]


def _binding(action: Action, method: str, *, priority: bool = False) -> Binding:
    return Binding(
        action.keys,
        method,
        action.title,
        show=bool(action.hint),
        tooltip=action.title,
        id=action.id,
        priority=priority,
    )


ERROR_LINES = 3
"""The most lines that the status line takes for an error."""


class Front(Protocol):
    """What a screen asks of the app."""

    controller: ReviewController
    keymap: Keymap
    ahead: TypeAhead
    lateness: float
    rest: float
    """Seconds without a step of the list after which the texts are drawn while a key is held."""

    started: Callable[[], None]
    """Called once when the first screen has been drawn."""

    @property
    def clock(self) -> Callable[[], float]:
        """Returns monotonic seconds."""

    def act(self, event: Callable[[], object]) -> None:
        """Pass an event to the controller; carry out its requests and draw its state."""


class DeskScreen(Screen[None], inherit_bindings=False):
    """Header, body, status line and footer; a terminal that is too small shows none of them."""

    where: ClassVar[str] = ""
    """The name under which the registry knows the screen."""
    has_strip: ClassVar[bool] = False

    DEFAULT_CSS = """
    DeskScreen { layout: vertical; background: $background; color: $foreground; }
    DeskScreen #header { background: $desk-bar; }
    DeskScreen #asking, DeskScreen #reasons { height: 0; }
    DeskScreen #status { background: $background; }
    DeskScreen #strip { background: $desk-bar; }
    DeskScreen #footer { background: $desk-bar; }
    DeskScreen #tiny { height: 1fr; display: none; }
    DeskScreen #body { height: 1fr; }
    """
    AUTO_FOCUS = None
    BLANK = True

    def __init__(self, front: Front) -> None:
        super().__init__()
        self.front = front
        self.bound = front.keymap.bound(self.where)
        """The action of every key that does something here."""
        self.drawn: ViewState | None = None
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

    def page_name(self, state: ViewState) -> str:
        del state
        return ""

    def draw_body(self, state: ViewState, before: ViewState | None) -> None:
        """Draw what differs from ``before``, the state that was drawn last."""
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
        """Lay out header, body, status and footer."""
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
        self.front.act(partial(self.front.controller.resized, *self.app.size))

    def on_resize(self, event: events.Resize) -> None:
        if self.ready:
            self.front.act(partial(self.front.controller.resized, *event.size))

    def draw(self, state: ViewState) -> None:
        """Draw a state, if anything in it differs from what is drawn."""
        before = self.drawn
        if not self.ready or state == before:
            return
        self.drawn = state
        if before is None or before.panes.tiny is not state.panes.tiny:
            # Textual's tooltip and toasts are children too, but they show and hide themselves.
            for child in self.query_children("Bar, #body"):
                child.display = (child.id == "tiny") is state.panes.tiny
        self.draw_body(state, before)
        text = inline(state.notice.text, 1000)
        tone = state.notice.tone
        wanted = hints(state.hints)
        keys = self.front.keymap.first
        pace = state.figures.pace
        page = self.page_name(state)
        header = Header(state.session, state.saved, state.jobs, pace, page)
        self.bar("header").paint(partial(one_line, header_line, header))
        asking = self.bar("asking")
        most = 3 if state.panes.height > 30 else 1
        if before is None or len(before.asking) != len(state.asking):
            asking.styles.height = min(len(state.asking), most)
        asking.paint(partial(asking_lines, state.asking, most))
        # An error says what was found and what to do, which takes more than a short line.
        status = self.bar("status")
        rows = ERROR_LINES if tone is Tone.FAIL else 1
        status_painter = partial(status_lines, text, tone, rows)
        if rows > 1 or (before is not None and before.notice.tone is Tone.FAIL):
            status.styles.height = len(status_painter(state.panes.width))
        status.paint(status_painter)
        self.bar("footer").paint(partial(one_line, footer_line, wanted, keys))

    def bar(self, name: str) -> Bar:
        """Return the line with the id ``name``: header, status, strip, footer or tiny."""
        return self.query_one(f"#{name}", Bar)

    @property
    def waiting(self) -> bool:
        return self.front.controller.core.review.waiting

    def press(self, key: str) -> bool:
        """Do what a key is bound to; return False if that is nothing, or the way out of the app."""
        name = self.bound.get(key)
        if name in {None, "quit.anywhere"}:
            return False
        self.action_do(name)
        return True

    def action_do(self, name: str) -> None:
        """Carry out one action of the registry."""
        if self.ready:
            controller = self.front.controller
            late = self.front.lateness
            self.front.act(partial(controller.handle, name, late))
        self.front.ahead.acted()
