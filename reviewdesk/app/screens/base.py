"""The base of every desk screen: the lines around its body, and carrying out actions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen

from reviewdesk.app.controllers.notices import Notice
from reviewdesk.app.keys.actions import hints
from reviewdesk.app.paint.frame import footer_line, status_line
from reviewdesk.app.paint.pages import tiny_lines
from reviewdesk.app.paint.styled import inline
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp

SMALLEST = Size(40, 10)
FAR = 1 << 40
"""More lines than any queue or text has."""


class DeskScreen(Screen[None], inherit_bindings=False):
    """Header, body, status line and footer; a terminal that is too small shows none of them."""

    where: ClassVar[str] = ""
    """The name under which the registry knows the screen."""
    has_strip: ClassVar[bool] = False

    DEFAULT_CSS = """
    DeskScreen { layout: vertical; background: $background; color: $foreground; }
    DeskScreen #header { background: $desk-bar; }
    DeskScreen #status { background: $background; }
    DeskScreen #strip { height: 2; background: $desk-bar; }
    DeskScreen #footer { background: $desk-bar; }
    DeskScreen #tiny { height: 1fr; display: none; }
    DeskScreen #body { height: 1fr; }
    """
    AUTO_FOCUS = None

    def __init__(self, notice: str = "") -> None:
        """Start with ``notice`` on the status line."""
        super().__init__()
        self.verbs: dict[str, Callable[[], None]] = self._moves()
        self.tiny = False
        self._notice = Notice(notice)

    def _moves(self) -> dict[str, Callable[[], None]]:
        return {
            "down": partial(self.move, 1),
            "up": partial(self.move, -1),
            "half.down": partial(self.move, 0.5, pages=True),
            "half.up": partial(self.move, -0.5, pages=True),
            "page.down": partial(self.move, 1, pages=True),
            "page.up": partial(self.move, -1, pages=True),
            "first": partial(self.move, -FAR),
            "last": partial(self.move, FAR),
        }

    @property
    def desk_app(self) -> ReviewApp:
        """The running app, typed as ReviewApp."""
        return cast("ReviewApp", self.app)

    @property
    def abandoned(self) -> bool:
        """Whether the terminal is gone, so that no key can come any more."""
        return not self.app.is_headless and not os.isatty(0)

    @property
    def ready(self) -> bool:
        """Whether the screen is composed and still running; keys and workers may come earlier."""
        return self.is_running and bool(self.query_children("#tiny"))

    # what each screen defines

    def body(self) -> ComposeResult:
        """Yield the widgets between header and status line, inside one with the id ``body``."""
        raise NotImplementedError

    def header(self, width: int) -> Content:
        """Return the first line of the screen."""
        raise NotImplementedError

    def hints(self) -> Mapping[str, object]:
        """Return the actions that the footer offers now, as ``keys.actions.hints`` takes them."""
        raise NotImplementedError

    @property
    def shown(self) -> object:
        """A value that identifies what is in view: an item, a run or a page."""
        raise NotImplementedError

    def arrived(self) -> None:
        """Update the screen after a report was loaded or a run indexed in the background."""

    def move(self, by: float, *, pages: bool = False) -> None:
        """Move or scroll by lines or, with ``pages``, by screenfuls."""
        raise NotImplementedError

    # the frame

    def compose(self) -> ComposeResult:
        """Lay out header, body, status and footer."""
        yield Bar(id="header")
        yield from self.body()
        yield Bar(id="status")
        if self.has_strip:
            yield Bar(id="strip")
        yield Bar(id="footer")
        yield Bar(tiny_lines, id="tiny")

    def on_resize(self, event: events.Resize) -> None:
        """Fit the screen to its new size; no state is lost."""
        if self.ready:
            self.fit(event.size)
            self.frame()

    def fit(self, size: Size) -> None:
        """Show the screen or, if the terminal is too small for it, a note that says so."""
        self.tiny = size.width < SMALLEST.width or size.height < SMALLEST.height
        # Textual's tooltip and toasts are children too, but they show and hide themselves.
        for child in self.query_children("Bar, #body"):
            child.display = (child.id == "tiny") is self.tiny

    def frame(self) -> None:
        """Draw the lines around the body."""
        if not self.ready:
            return
        self.bar("header").paint(lambda width: [self.header(width)])
        self._notice = self._notice.beside(self.shown)
        self._paint_notice()
        wanted, keymap = hints(self.hints()), self.desk_app.keymap
        self.bar("footer").paint(lambda width: [footer_line(wanted, keymap.first, width)])

    def bar(self, name: str) -> Bar:
        """Return the line with the id ``name``: header, status, strip, footer or tiny."""
        return self.query_one(f"#{name}", Bar)

    def say(self, text: str, ink: str = Ink.TEXT) -> None:
        """Show a line about what just happened; it stays until the next notice."""
        self._set_notice(Notice(text, ink))

    def say_here(self, text: str, ink: str = Ink.MUTED) -> None:
        """Show a line about what is in view; it goes when something else comes into view."""
        self._set_notice(Notice(text, ink, about=self.shown))

    def _set_notice(self, notice: Notice) -> None:
        self._notice = notice
        if self.ready:
            self._paint_notice()

    def _paint_notice(self) -> None:
        notice = self._notice
        self.bar("status").paint(lambda width: [status_line(notice.text, notice.ink, width)])

    def complain(self, error: ReviewDeskError) -> None:
        """Show an error on the status line."""
        self.say(inline(error, 1000), Ink.FAIL)

    def calm(self) -> None:
        """Clear the error of the previous attempt from the status line."""
        if self._notice.ink == Ink.FAIL:
            self.say("")

    def action_do(self, name: str) -> None:
        """Carry out one action of the registry."""
        self.desk_app.do(name)
