"""Small dialogs: a question, a choice and the order of the queue."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.requests import ChoiceForm, OrderForm, QuestionForm
from reviewdesk.app.paint.styled import inline, paragraph
from reviewdesk.app.screens.dialog import ChoiceList, Dialog, Keys, ListDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar
from reviewdesk.domain.query import words
from reviewdesk.domain.query.filter import ORDERS, hidden_order

_BLIND_DRAW = "a seeded permutation of all"
_COLUMN = max(map(len, ORDERS)) + 2
_HIDDEN_ORDER = "hidden: asks first"


class Question(Dialog[bool]):
    """A yes-or-no question; every key but ``y`` means no."""

    CSS = "Question Bar { height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "answer(True)", "Yes"),
        ("n,enter,escape", "answer(False)", "No"),
    ]

    def __init__(self, form: QuestionForm) -> None:
        """Ask the question of ``form``."""
        super().__init__()
        self._form = form

    def title_facts(self) -> tuple[str, str, str]:
        """Return the kind of dialog; the question itself may be long."""
        return "Question", "", ""

    def content(self) -> ComposeResult:
        """Show question and reason."""
        question, reason = inline(self._form.question), self._form.reason
        yield Bar(lambda width: paragraph(question, width, Ink.STRONG))
        yield Bar(lambda width: paragraph(reason, width, Ink.MUTED))

    def keys(self) -> Keys:
        """Return the two answers."""
        return ("y", "yes"), ("n enter esc", "no")

    def action_answer(self, answer: bool) -> None:
        """Close with the answer."""
        self.dismiss(answer)


class ChoiceDialog(ListDialog[int | None]):
    """Offers a list; closes with the index of the chosen option, ``None`` without a choice."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "close", "Close")]

    def __init__(self, form: ChoiceForm) -> None:
        """Offer the options of ``form``."""
        super().__init__()
        self._form = form

    def title_facts(self) -> tuple[str, str, str]:
        """Return the title of the form."""
        return self._form.title, "", ""

    def content(self) -> ComposeResult:
        """Show the list."""
        yield ChoiceList(
            *(Option(Content(inline(o, 200))) for o in self._form.options), markup=False
        )

    def keys(self) -> Keys:
        """Return the keys of a list."""
        return ("enter", "chooses"), ("j k", "move"), ("esc", "closes")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the choice."""
        self.dismiss(event.option_index)


class OrderDialog(ListDialog[str | None]):
    """Choose the order of the queue."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,o", "close", "Close"),
        ("minus", "turn", "Descending"),
        *((letter, f"jump('{letter}')", "Jump") for letter in sorted({n[0] for n in ORDERS})),
    ]

    def __init__(self, form: OrderForm) -> None:
        """Open with the order that is in force."""
        super().__init__()
        self._order, self._blind = form.order, form.blind
        self._descending = form.order.startswith("-")

    def title_facts(self) -> tuple[str, str, str]:
        """Return the direction beside the title."""
        return "Order of the queue", "", "descending" if self._descending else "ascending"

    def content(self) -> ComposeResult:
        """List every order with what it brings up first."""
        yield ChoiceList(
            *(Option(Content(f"{name:<{_COLUMN}}{self._note(name)}"), id=name) for name in ORDERS),
            markup=False,
        )

    def keys(self) -> Keys:
        """Return the keys of the list, and the one that reverses."""
        way = "ascending" if self._descending else "descending"
        return (
            ("enter", "chooses"),
            ("-", way),
            ("j k", "move"),
            ("letters", "jump"),
            ("esc", "closes"),
        )

    def on_mount(self) -> None:
        """Highlight the order in force."""
        name = self._order.removeprefix("-")
        self.query_one(OptionList).highlighted = ORDERS.index(name) if name in ORDERS else 0

    def _note(self, name: str) -> str:
        if self._blind and hidden_order(name):
            return _HIDDEN_ORDER
        return _BLIND_DRAW if self._blind and name == "draw" else words.ORDERS[name]

    def action_jump(self, letter: str) -> None:
        """Highlight the next order that begins with ``letter``, from the top after the last."""
        options = self.query_one(OptionList)
        after = (options.highlighted or 0) + 1
        around = [*range(after, len(ORDERS)), *range(after)]
        options.highlighted = next(i for i in around if ORDERS[i].startswith(letter))

    def action_turn(self) -> None:
        """Reverse the direction."""
        self._descending = not self._descending
        self.redraw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the chosen order."""
        self.dismiss(("-" if self._descending else "") + (event.option.id or "draw"))
