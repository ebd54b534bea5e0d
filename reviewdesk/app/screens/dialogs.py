"""Small modal dialogs: a question, the order and the note.

While one is open the screen below gets no key, so that typing never labels.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.strip import Strip
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.requests import (
    ChoiceForm,
    FieldInput,
    NoteForm,
    OrderForm,
    QuestionForm,
)
from reviewdesk.app.paint.styled import Lines, Painter, cut, inline, line, paragraph
from reviewdesk.app.screens.dialog import ChoiceList, Dialog, ListDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.harmless import harmless
from reviewdesk.app.widgets.lines import Bar
from reviewdesk.domain.query import words
from reviewdesk.domain.query.filter import ORDERS, hidden_order

_BLIND_DRAW = "a seeded permutation of all"
_HIDDEN_ORDER = "hidden: asks first"


def _text_painter(*rows: tuple[str, str]) -> Painter:
    return lambda width: [cut(line((f" {text}", ink)), width) for text, ink in rows]


class Question(Dialog[bool]):
    """A yes-or-no question; every key but ``y`` means no."""

    CSS = """
    Question { align: center middle; background: $background 50%; }
    Question > Vertical { width: 64; max-width: 100%; height: auto;
        background: $panel; padding: 1 1; }
    Question Bar { height: 6; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "answer(True)", "Yes"),
        ("n,enter,escape", "answer(False)", "No"),
    ]

    def __init__(self, form: QuestionForm) -> None:
        """Ask the question of ``form``."""
        super().__init__()
        self._form = form

    def compose(self) -> ComposeResult:
        """Show question, reason and keys."""
        with Vertical():
            yield Bar(self._lines)

    def _lines(self, width: int) -> Lines:
        keys = line(("y", Ink.KEY), (" yes    ", Ink.TEXT), ("n enter esc", Ink.KEY), (" no", ""))
        return [
            *paragraph(inline(self._form.question), width, Ink.STRONG),
            *paragraph(self._form.reason, width, Ink.MUTED),
            Content(""),
            cut(keys, width),
        ]

    def action_answer(self, answer: bool) -> None:
        """Close with the answer."""
        self.dismiss(answer)


class ChoiceDialog(ListDialog[int | None]):
    """Offers a list; closes with the index of the chosen option, ``None`` without a choice."""

    CSS = """
    ChoiceDialog { align: center middle; background: $background 50%; }
    ChoiceDialog > Vertical { width: 76; max-width: 100%; height: auto; max-height: 100%;
        background: $panel; padding: 1 1; }
    ChoiceDialog OptionList { height: auto; max-height: 18; border: none; padding: 0;
        background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "close", "Close"),
        ("j", "move('cursor_down')", "Down"),
        ("k", "move('cursor_up')", "Up"),
    ]

    def __init__(self, form: ChoiceForm) -> None:
        """Offer the options of ``form``."""
        super().__init__()
        self._form = form

    def compose(self) -> ComposeResult:
        """Show the title and the list."""
        with Vertical():
            yield Bar(self._head)
            yield ChoiceList(
                *(Option(Content(inline(o, 200))) for o in self._form.options), markup=False
            )

    def _head(self, width: int) -> Lines:
        head = line((self._form.title, Ink.STRONG), ("   enter chooses, esc closes", Ink.MUTED))
        return [cut(head, width)]

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the choice."""
        self.dismiss(event.option_index)

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)


class OrderDialog(ListDialog[str | None]):
    """Choose the order of the queue."""

    CSS = """
    OrderDialog { align: center middle; background: $background 50%; }
    OrderDialog > Vertical { width: 64; max-width: 100%; height: auto; max-height: 100%;
        background: $panel; padding: 1 1; }
    OrderDialog OptionList { height: auto; max-height: 18; border: none; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "cancel", "Cancel"),
        ("minus", "turn", "Descending"),
        ("j", "move('cursor_down')", "Down"),
        ("k", "move('cursor_up')", "Up"),
    ]

    def __init__(self, form: OrderForm) -> None:
        """Open with the order that is in force."""
        super().__init__()
        self._order, self._blind = form.order, form.blind
        self._descending = form.order.startswith("-")

    def compose(self) -> ComposeResult:
        """List every order with what it brings up first."""
        with Vertical():
            yield Bar(_text_painter(("Order of the queue", Ink.STRONG)))
            yield ChoiceList(*self._options(), markup=False)
            yield Bar(self._keys)

    def on_mount(self) -> None:
        """Highlight the order in force."""
        name = self._order.removeprefix("-")
        self.query_one(OptionList).highlighted = ORDERS.index(name) if name in ORDERS else 0

    def _options(self) -> list[Option]:
        return [Option(Content(f"{name:<10} {self._note(name)}"), id=name) for name in ORDERS]

    def _note(self, name: str) -> str:
        if self._blind and hidden_order(name):
            return _HIDDEN_ORDER
        return _BLIND_DRAW if self._blind and name == "draw" else words.ORDERS[name]

    def _keys(self, width: int) -> Lines:
        way = "descending" if self._descending else "ascending"
        return [cut(line((" -", Ink.KEY), (f" {way}   ", ""), ("esc", Ink.KEY), " cancel"), width)]

    def action_turn(self) -> None:
        """Reverse the direction."""
        self._descending = not self._descending
        self.query(Bar).last().paint(self._keys)

    def action_cancel(self) -> None:
        """Keep the order in force."""
        self.dismiss(None)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the chosen order."""
        self.dismiss(("-" if self._descending else "") + (event.option.id or "draw"))


class _NoteArea(TextArea):
    """A text field that draws no control characters and handles the keys of its dialog itself.

    It handles keys one after the other, so that enter saves all letters typed before it.
    """

    async def on_key(self, event: events.Key) -> None:
        """Act on the dialog's keys before the text field sees them."""
        done = {"enter": "save", "ctrl+j": "newline", "escape": "keep"}.get(event.key)
        if done is not None:
            event.stop()
            event.prevent_default()
            await self.screen.run_action(f"screen.{done}")

    def render_line(self, y: int) -> Strip:
        """Draw a line without control characters."""
        return harmless(super().render_line(y))


class NoteDialog(Dialog[FieldInput]):
    """Edits the note of an item; closes with the text and whether to save it."""

    CSS = """
    NoteDialog { align: center bottom; background: $background 30%; }
    NoteDialog > Vertical { width: 100%; height: 8; background: $panel; }
    NoteDialog TextArea { border: none; height: 1fr; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "save", "Save"),
        Binding("ctrl+j", "newline", "New line"),
        Binding("escape", "keep", "Close, keep the draft"),
    ]

    def __init__(self, form: NoteForm) -> None:
        """Open with the text of ``form``."""
        super().__init__()
        self._form = form

    def compose(self) -> ComposeResult:
        """Show the field and its keys."""
        keys = "Note    enter saves, ctrl+j new line, esc closes and keeps the draft"
        with Vertical():
            yield Bar(_text_painter((keys, Ink.STRONG)))
            yield _NoteArea(self._form.text, soft_wrap=True, tab_behavior="focus")

    def on_mount(self) -> None:
        """Put the cursor at the end of the text."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def on_text_area_changed(self) -> None:
        """Save the draft at once, because the window may close at any moment."""
        self._form.changed(self.text)

    @property
    def text(self) -> str:
        """What has been typed so far."""
        return self.query_one(TextArea).text

    def action_keep(self) -> None:
        """Close without saving."""
        self.dismiss(FieldInput(self.text, given=False))

    def action_save(self) -> None:
        """Close and save."""
        self.dismiss(FieldInput(self.text, given=True))

    def action_newline(self) -> None:
        """Start a new line."""
        self.query_one(TextArea).insert("\n")
