"""The first screen of a console in a browser: it asks who reviews."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from reviewdesk.app.paint.dialog import Keys
from reviewdesk.app.paint.styled import inline, paragraph
from reviewdesk.app.screens.dialog import Dialog
from reviewdesk.app.screens.prompt import Field
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar
from reviewdesk.errors import ReviewDeskError

_WHY = (
    "Your name stands with every label that you give here. Use the same one each time: your place"
    " in the queue and what you have done are kept under it."
)


class DoorDialog(Dialog[None]):
    """Asks for the reviewer's name until ``enter`` takes it."""

    CSS = """
    DoorDialog Input { border: none; height: 1; padding: 0 1; margin: 0 0 1 0; }
    DoorDialog Input, DoorDialog Input:focus { background: $background;
        background-tint: $foreground 0%; }
    DoorDialog #why { height: 3; }
    DoorDialog #refusal { height: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, run: str, enter: Callable[[str], None]) -> None:
        """Ask for a name; ``enter`` raises ReviewDeskError if it does not take one."""
        super().__init__()
        self._run, self._enter = run, enter

    def title_facts(self) -> tuple[str, str, str]:
        """Return what waits behind the door."""
        return "reviewdesk", self._run, ""

    def content(self) -> ComposeResult:
        """Show why a name is asked for, the field, and why a name was refused."""
        yield Bar(lambda width: paragraph(_WHY, width, Ink.MUTED), id="why")
        yield Field(placeholder="your name")
        yield Bar(id="refusal")

    def keys(self) -> Keys:
        """Return the keys of the field."""
        return ("enter", "opens the desk"), ("ctrl+q", "closes")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter under the name, or say why that cannot be."""
        try:
            self._enter(event.value)
        except ReviewDeskError as error:
            refusal = inline(error, 1000)
            paint = lambda width: paragraph(refusal, width, Ink.FAIL)  # noqa: E731
            self.query_one("#refusal", Bar).paint(paint)
