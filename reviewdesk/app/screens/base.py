"""What every screen of the desk shares: the lines around it, and carrying out actions."""

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
"""Further than any queue or text reaches."""


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
        """The app, as what it is."""
        return cast("ReviewApp", self.app)

    @property
    def abandoned(self) -> bool:
        """Whether the terminal has gone: nobody will press a key any more."""
        return not self.app.is_headless and not os.isatty(0)

    @property
    def ready(self) -> bool:
        """Whether it has been composed and is not going away: keys and workers may be early."""
        return self.is_running and bool(self.query_children("#tiny"))

    # what a screen says of itself

    def body(self) -> ComposeResult:
        """The widgets between header and status line, under one named ``body``."""
        raise NotImplementedError

    def header(self, width: int) -> Content:
        """The first line."""
        raise NotImplementedError

    def hints(self) -> Mapping[str, object]:
        """What can be done at this moment, for the footer."""
        raise NotImplementedError

    @property
    def shown(self) -> object:
        """What is in view, to be compared: an item, a run, a page."""
        raise NotImplementedError

    def arrived(self) -> None:
        """Something came from the background: a report, or an index."""

    def move(self, by: float, *, pages: bool = False) -> None:
        """Move or scroll by some lines, or by a share of what is in view."""
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
        """All state is kept at every size."""
        if self.ready:
            self.fit(event.size)
            self.frame()

    def fit(self, size: Size) -> None:
        """Show the screen, or that the terminal is too small for it."""
        self.tiny = size.width < SMALLEST.width or size.height < SMALLEST.height
        # Textual's own tooltip and toasts are children too, and show when they have something.
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
        """One of the lines around the body."""
        return self.query_one(f"#{name}", Bar)

    def say(self, text: str, ink: str = Ink.TEXT) -> None:
        """One line about what just happened; it stays until something else is said."""
        self._put(Notice(text, ink))

    def say_here(self, text: str, ink: str = Ink.MUTED) -> None:
        """One line about what is shown; it goes when something else is."""
        self._put(Notice(text, ink, about=self.shown))

    def _put(self, notice: Notice) -> None:
        self._notice = notice
        if self.ready:
            self._paint_notice()

    def _paint_notice(self) -> None:
        notice = self._notice
        self.bar("status").paint(lambda width: [status_line(notice.text, notice.ink, width)])

    def complain(self, error: ReviewDeskError) -> None:
        """An error as one line; nothing that was typed is lost."""
        self.say(inline(error, 1000), Ink.FAIL)

    def calm(self) -> None:
        """Something else is attempted: the error of what was tried before is told no more."""
        if self._notice.ink == Ink.FAIL:
            self.say("")

    def action_do(self, name: str) -> None:
        """Carry out one action of the registry."""
        self.desk_app.do(name)
