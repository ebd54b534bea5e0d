"""The dialogs without a field: a question, and pages of a document or a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from rich.console import Group
from rich.padding import Padding
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.requests import Choice, DialogPage, PageForm, QuestionForm
from reviewdesk.app.keys.actions import LABEL, Action, by_group, rows
from reviewdesk.app.keys.keymap import NO_KEY
from reviewdesk.app.paint.document import document_lines, words_line
from reviewdesk.app.paint.legend import legend_lines
from reviewdesk.app.paint.styled import Lines, cut, heading, inline, pad, paragraph
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.dialog import ChoiceList, Dialog, Keys, ListDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.views.document import Document

WIDTH = 72
"""The width of the headings of the help."""
_KEYS = 23
"""The cells of the keys in a row of the help."""


class Question(Dialog[bool]):
    """A yes-or-no question; every key but ``y`` means no."""

    CSS = "Question Bar { height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "answer(True)", "Yes"),
        ("n,enter,escape", "answer(False)", "No"),
    ]

    def __init__(self, form: QuestionForm) -> None:
        super().__init__()
        self._form = form

    def title_facts(self) -> tuple[str, str, str]:
        return "Question", "", ""

    def content(self) -> ComposeResult:
        question = inline(self._form.question)
        reason = self._form.reason
        yield Bar(lambda width: paragraph(question, width, Ink.STRONG))
        yield Bar(lambda width: paragraph(reason, width, Ink.MUTED))

    def keys(self) -> Keys:
        return ("y", "yes"), ("n enter esc", "no")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class PageDialog(ListDialog[Any]):
    """Draws the pages of a form, one at a time; closes with what a key or a line answers."""

    CSS = """
    PageDialog.-high > #box { height: 100%; }
    PageDialog.-high ChoiceList, PageDialog Pane { height: 1fr; max-height: 100%; }
    PageDialog Pane, PageDialog.-document ChoiceList { display: none; }
    PageDialog.-document Pane { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "close", "Close"),
        ("tab", "turn('tab')", "Next page"),
        ("shift+tab", "turn('shift+tab')", "DialogPage before"),
    ]

    def __init__(self, form: PageForm) -> None:
        super().__init__()
        self._form = form
        self._at = form.at
        self._page = form.read(form.at)

    def title_facts(self) -> tuple[str, str, str]:
        page = self._page
        return inline(page.title, 200), page.name, page.note

    def content(self) -> ComposeResult:
        yield Bar(self._lead, id="lead")
        yield ChoiceList(markup=False)
        yield Pane()

    def keys(self) -> Keys:
        return self._page.keys

    def moving(self) -> Widget:
        return self.query_one(OptionList if self._page.document is None else Pane)

    @property
    def text(self) -> str:
        return "\n".join(str(option.prompt) for option in self.query_one(OptionList).options)

    def on_mount(self) -> None:
        """Draw the first page."""
        box = self.query_one("#box")
        box.styles.width = self._form.width
        if self._form.height:
            self.add_class("-high")
            box.styles.max_height = self._form.height
        self._show()

    def on_resize(self, event: events.Resize) -> None:
        """Keep the keys in view, whatever the height."""
        if self._form.height:
            Dialog.on_resize(self, event)
        else:
            super().on_resize(event)

    def _lead(self, width: int) -> Lines:
        return [cut(words_line(self._page.lead), width)]

    def _show(self) -> None:
        page = self._page
        options = self.query_one(OptionList)
        self.set_class(page.document is not None, "-document")
        self.query_one("#lead").display = bool(page.lead)
        self.query_one("#lead", Bar).redraw()
        self.redraw()
        # A hidden list would keep the focus, and act on enter.
        self.set_focus(None if page.document is not None else options)
        if isinstance(document := page.document, Document):
            self.query_one(Pane).paint(lambda width: document_lines(document, width))
        elif document is not None:
            self.query_one(Pane).paint(document)
        else:
            kept = options.highlighted if len(options.options) == len(page.choices) else None
            options.clear_options()
            options.add_options([_option(one) for one in page.choices])
            if not page.choices:
                options.add_option(Option(Content("nothing yet"), disabled=True))
            options.highlighted = page.chosen if kept is None else kept
            if kept is None:
                options.scroll_home(animate=False)

    def action_turn(self, key: str) -> None:
        """Show another page."""
        if by := self._form.turns.get(key):
            self._at = (self._at + by) % self._form.count
            self._page = self._form.read(self._at)
            self._show()

    def on_key(self, event: events.Key) -> None:
        """Close, answer, turn the page, or jump to a line that begins with a letter."""
        key = event.key
        if key in self._form.closes:
            self.dismiss(None)
        elif key in self._page.answers:
            self.dismiss(self._page.answers[key])
        elif key in self._form.turns:
            self.action_turn(key)
        elif not (self._form.jumps and self._jump(key)):
            return
        event.stop()
        event.prevent_default()

    def _jump(self, letter: str) -> bool:
        """Highlight the next line that begins with a letter, from the top after the last."""
        options = self.query_one(OptionList)
        count = len(self._page.choices)
        after = (options.highlighted or 0) + 1
        around = [*range(after, count), *range(after)]
        starts = (at for at in around if str(options.options[at].prompt).startswith(letter))
        found = next(starts, None)
        if found is not None:
            options.highlighted = found
        return found is not None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the answer of a line; go on to the next line if it has none."""
        answer = self._page.choices[event.option_index].answer
        if answer is None:
            self.action_move("cursor_down")
        else:
            self.dismiss(answer)


def _option(one: Choice) -> Option:
    prompt: VisualType = words_line(one.text)
    if one.below:
        # What is below a line stays indented where it wraps.
        below = Padding(Text(inline(one.below, 2000)), (0, 0, 0, 2))
        prompt = Group(Text(words_line(one.text).plain, "bold"), below)
    name = one.answer if isinstance(one.answer, str) else None
    return Option(prompt, id=name, disabled=one.head)


def live_actions(screen: DeskScreen, every: Iterable[Action]) -> list[tuple[Action, str]]:
    """Return every action that a key can start now, with its keys, the likely ones first."""
    active = {found.binding.id for key, found in screen.active_bindings.items() if key != NO_KEY}
    keymap = screen.front.keymap
    return [(action, keymap.shown(action.id)) for action in every if action.id in active]


def help_form(active: list[tuple[Action, str]]) -> PageForm:
    """Return the help: the active keys by group, and the signs; it answers an action to do."""
    keys = {action.id: shown for action, shown in active}
    choices = list[Choice]()
    for group, members in by_group(action for action, _ in active).items():
        choices.append(Choice(heading(group.upper(), WIDTH).plain, head=True))
        for title, row in rows(members).items():
            each = (
                keys[row[0].id]
                if len(row) == 1
                else " ".join(keys[action.id].split(" ")[0] for action in row)
            )
            choices.append(Choice(f"  {pad(each, _KEYS)} {title}", row[0].id))
    # The list begins with an action that gives no label.
    harmless = {action.id for action, _ in active if action.group != LABEL}
    chosen = next((at for at, one in enumerate(choices) if one.answer in harmless), 0)
    move = ("j k", "move")
    close = ("esc", "closes")
    pages = (
        DialogPage("Keys", (("enter", "does it"), ("tab", "signs"), move, close), choices=choices,
             chosen=chosen),
        DialogPage("Signs", (("tab", "keys"), ("j k", "scroll"), close), document=legend_lines),
    )  # fmt: skip
    closes = frozenset({"q", "question_mark"})
    return PageForm(pages.__getitem__, 2, turns={"tab": 1}, closes=closes, height=52)
