"""Where a key goes, and the base of every desk screen: the lines around its body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.state import ViewState
from reviewdesk.app.keys.actions import ACTIONS, GIVES_LABEL, LABEL, Keymap, hints
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

WINDOW = 0.025
"""Seconds between two keys within which they may belong to one burst."""
MANY = 4
"""How many printable keys, each within ``WINDOW`` of the one before, are a burst."""
REST = 0.150
"""Seconds without a key after which a burst is over: a long paste arrives in several parts."""
_SLACK = 1e-6
"""Tolerance in seconds for rounding errors."""

WAITS = GIVES_LABEL | {
    *(name for name, action in ACTIONS.items() if action.group == LABEL),
    "adjudicate", "blind", "mark", "quit", "reveal", "run.remove",
}  # fmt: skip
"""The actions whose keys wait for ``WINDOW``: they change the desk or how labels count."""


class Pressed(Struct, frozen=True):
    """A key: its event, its name, and when it was read.

    ``waits`` is True if it changes something, so that it must not act before it is known whether
    it belongs to a burst. ``printable`` is True if it types a character.
    """

    event: Any
    name: str
    at: float
    printable: bool
    waits: bool


class Bursts:
    """Holds back keys that change something until it is known that no burst follows.

    A key that changes nothing acts at once, unless it comes after one that is held back: keys
    act in the order in which they were pressed. One such key that repeats is held down and makes
    no burst. Times are those of reading, so that keys which the app handles late are no burst.
    """

    def __init__(self) -> None:
        self._held: list[Pressed] = []
        self._names: list[str] = []
        self._printable = 0
        self._last = float("-inf")
        self.on = False
        """Whether the newest keys are a burst."""

    def press(self, key: Pressed) -> list[Pressed]:
        """Take a key; return those that are to act now, in order.

        The keys of a burst that are still held back never act, and neither does one that comes
        before the burst has been over for ``REST``.
        """
        act = self.due(key.at)
        if key.at - self._last > (REST if self.on else WINDOW) + _SLACK:
            self._names = []
            self._printable = 0
            self.on = False
        self._last = max(key.at, self._last)
        self._names = [*self._names, key.name][-MANY:]
        self._printable += key.printable
        repeats = len(set(self._names)) == 1 and not key.waits
        if self.on or (self._printable >= MANY and not repeats):
            self.on = True
            self._held.clear()
        elif self._held or key.waits:
            self._held.append(key)
        else:
            act.append(key)
        return act

    def due(self, now: float) -> list[Pressed]:
        """Return the keys that need not be held back any longer, in order."""
        if now - self._last <= WINDOW + _SLACK:
            return []
        held = self._held
        self._held = []
        return held

    def rest(self, now: float) -> float | None:
        return max(0.0, self._last + WINDOW - now) if self._held else None


SHORTEST = 0.005
"""The least seconds for which a key is held back, however late it is handled: before that, not all
keys that were read together with it have arrived."""
_MOVES_IN_DIALOG = frozenset({"j", "k", "g", "G", "space"})
PASTED = "A paste does nothing outside a text field."
TOO_FAST = "Several keys came at once, as from a paste: they did nothing."


class TypeAhead:
    """Takes keys and pastes before any widget does.

    Keys wait while a field opens, until it has the focus, and before the first screen is drawn. All
    others go to the screen in view: the way through its widgets takes longer than a step of the
    list. Outside a text, a paste and a burst of keys do nothing.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._bursts = Bursts()
        self._looks = False
        self._held: list[events.Key | events.Paste] | None = []

    async def take(self, event: events.Key | events.Paste, at: float) -> None:
        """Take a key or a paste read at ``at``, and pass on the keys that are to act now."""
        if self._held is not None:
            self._held.append(event)
        elif self._app.focused is not None and self._app.focused.check_consume_key("p", "p"):
            await self._app.pass_on(event, at)
        elif isinstance(event, events.Paste):
            self._app.warn(PASTED)
        else:
            before = self._bursts.on
            if self._app.asking:
                waits = event.is_printable and event.key not in _MOVES_IN_DIALOG
            else:
                waits = event.key.isdecimal() or self._app.top.bound.get(event.key) in WAITS
            pressed = Pressed(event, event.key, at, event.is_printable, waits)
            act = self._bursts.press(pressed)
            if self._bursts.on and not before:
                self._app.warn(TOO_FAST)
            await self._release(act)

    async def _release(self, act: Sequence[Pressed]) -> None:
        """Pass keys on, and look again when the others need not be held back any longer."""
        for pressed in act:
            if self._held is not None:
                self._held.append(pressed.event)
            else:
                await self._app.pass_on(pressed.event, pressed.at)
        rest = self._bursts.rest(self._app.clock())
        if rest is not None and not self._looks:
            self._looks = True
            # After the keys that wait in the app's queue already.
            look = partial(self._app.call_later, self._look)
            self._app.later(max(rest, SHORTEST), look)

    async def _look(self) -> None:
        self._looks = False
        await self._release(self._bursts.due(self._app.clock()))

    def begin(self) -> None:
        self._app.call_next(self._hand_over)

    def opened(self, dialog: Screen[Any], *, text: bool) -> None:
        """Hold keys until the text of a dialog has the focus; without a text, drop those held."""
        if not text or not dialog.is_current:
            self._held = None
            return
        self._held = self._held or []
        if dialog.focused is None:
            dialog.call_after_refresh(self.opened, dialog, text=True)
        else:
            self._app.call_next(self._hand_over)

    async def _hand_over(self) -> None:
        held = self._held or []
        self._held = None
        for event in held:
            await self._app.on_event(event)


ERROR_LINES = 3
"""The most lines that the status line takes for an error."""


class Front(Protocol):
    """What a screen needs from the app."""

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
    """Header, body, status line and footer; a terminal that is too small does not show them."""

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

    def draw_body(self, state: ViewState, before: ViewState | None) -> None:
        """Draw the differences from ``before``, the state that was drawn last."""
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
        page = "" if state.page is None else state.page.name
        header = Header(state.session, state.saved, state.jobs, pace, page)
        self.bar("header").paint(partial(one_line, header_line, header))
        asking = self.bar("asking")
        asking.styles.height = int(state.asking is not None)
        asking.paint(partial(asking_lines, state.asking))
        # An error says what was found and what to do, which takes more than a short line.
        status = self.bar("status")
        rows = ERROR_LINES if tone is Tone.FAIL else 1
        status_painter = partial(status_lines, text, tone, rows)
        if rows > 1 or (before is not None and before.notice.tone is Tone.FAIL):
            status.styles.height = len(status_painter(state.panes.width))
        status.paint(status_painter)
        self.bar("footer").paint(partial(one_line, footer_line, wanted, keys))

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
            controller = self.front.controller
            late = self.front.lateness
            self.front.act(partial(controller.handle, name, late))
