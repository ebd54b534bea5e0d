"""A one-line field at the bottom of the screen, with completion and errors that mark their place.

The typed text is returned even if the field was left with escape.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.strip import Strip
from textual.widgets import Input

from reviewdesk.app.controllers.requests import FieldInput, PromptForm
from reviewdesk.app.paint.dialog import Keys
from reviewdesk.app.paint.styled import Lines, cut, cut_below, inline, line, pad, paragraph
from reviewdesk.app.screens.dialog import Dialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.harmless import harmless
from reviewdesk.app.widgets.lines import Bar
from reviewdesk.domain.query.completion import Completion
from reviewdesk.errors import ReviewDeskError

ROWS = 5
"""The number of lines below the field, for completions or an error."""


class Field(Input):
    """A field that draws no control characters, whatever was pasted into it."""

    def render_line(self, y: int) -> Strip:
        """Draw without control characters."""
        return harmless(super().render_line(y))


class PromptField(Dialog[FieldInput]):
    """Asks for one line. If ``check`` raises, the field stays open and shows the error."""

    low = True
    CSS = """
    PromptField Input { border: none; height: 1; padding: 0; background: $surface; }
    PromptField #help { height: 5; }
    PromptField.-short #help { height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close"),
        Binding("tab", "complete(1)", "Next completion", priority=True),
        Binding("shift+tab", "complete(-1)", "Completion before", priority=True),
        Binding("up", "recall(-1)", "What was typed before"),
        Binding("down", "recall(1)", "What was typed after"),
    ]

    def __init__(self, form: PromptForm) -> None:
        """Open with the value of ``form`` in the field."""
        super().__init__()
        self.form = form
        self._past = [*form.past, form.value]
        self._place = len(self._past) - 1
        self._cycle: tuple[str, Completion, int] | None = None
        self._own = ""

    def title_facts(self) -> tuple[str, str, str]:
        """Return the title and the item of the form."""
        return self.form.title, self.form.name, ""

    def content(self) -> ComposeResult:
        """Show the rule of what may be typed, the field and help."""
        for rule in self.form.rule.splitlines():
            yield Bar(partial(_rule, rule))
        yield Field(self.form.value, select_on_focus=self.form.replaces)
        yield Bar(self._help, id="help")

    def keys(self) -> Keys:
        """Return the keys of the field."""
        completes = [("tab", "completes")] if self.form.complete else []
        recalls = [("↑", "brings back")] if len(self._past) > 1 else []
        return ("enter", "applies"), *completes, *recalls, ("esc", "closes")

    @property
    def field(self) -> Input:
        """The input widget."""
        return self.query_one(Input)

    # completion

    def _completion(self) -> Completion | None:
        if self.form.complete is None:
            return None
        if self._cycle is not None:
            return self._cycle[1]
        try:
            return self.form.complete(self.field.value, self.field.cursor_position)
        except ReviewDeskError:
            # Drawing must not raise: the user can go on typing without completions.
            return None

    def _help(self, width: int) -> Lines:
        found = self._completion() if self.is_mounted else None
        chosen = self._cycle[2] if self._cycle is not None else -1
        if found is None or not found.options:
            return paragraph(self.form.hint, width, Ink.MUTED)
        rows = max(1, self.query_one("#help").size.height or ROWS)
        start = max(0, min(chosen - rows + 2, len(found.options) - rows))
        shown = found.options[start : start + rows]
        column = min(max((len(option.text) for option in shown), default=0) + 2, width // 2)
        return [
            _option(option.text, option.note, column, width, chosen=start + i == chosen)
            for i, option in enumerate(shown)
        ]

    def action_complete(self, by: int) -> None:
        """Put the next completion into the field, going round."""
        found = self._completion()
        if found is None or not found.options:
            return
        text = self._cycle[0] if self._cycle is not None else self.field.value
        place = self._cycle[2] + by if self._cycle is not None else (0 if by > 0 else -1)
        place %= len(found.options)
        self._cycle = (text, found, place)
        word = found.options[place].text
        self._put(text[: found.start] + word + text[found.end :], found.start + len(word))

    def action_recall(self, by: int) -> None:
        """Bring back an earlier or a later input."""
        self._place = max(0, min(self._place + by, len(self._past) - 1))
        self._cycle = None
        self._put(self._past[self._place], len(self._past[self._place]))

    def _put(self, text: str, cursor: int) -> None:
        self._own = text
        self.field.value = text
        self.field.cursor_position = cursor
        self._show_help()

    def _show_help(self) -> None:
        bar = self.query_one("#help", Bar)
        bar.styles.height = None
        bar.paint(self._help)

    def on_input_changed(self, event: Input.Changed) -> None:
        """End the round of completions and remove the error when something is typed."""
        if event.value != self._own:
            self._cycle, self._own = None, ""
        self._show_help()

    # the answer

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with the text, unless ``check`` raises: then stay open and show the error."""
        try:
            self.form.check(event.value)
        except ReviewDeskError as error:
            self._show_error(error)
        else:
            self.dismiss(FieldInput(event.value.strip(), given=True))

    def _show_error(self, error: ReviewDeskError) -> None:
        at = getattr(error, "column", None)

        def painter(width: int) -> Lines:
            error_lines = paragraph(inline(error, 1000), width, Ink.FAIL)
            error_lines = cut_below(error_lines, ROWS - (at is not None), width)
            if at is None:
                return error_lines
            column = min(at, max(0, width - 1))
            return [cut(line((" " * column + "▲", Ink.FAIL)), width), *error_lines]

        if at is not None:
            self.field.cursor_position = at
        bar = self.query_one("#help", Bar)
        # A low terminal has fewer lines for completions than an error may need.
        bar.styles.height = max(bar.size.height, len(painter(bar.size.width)))
        bar.paint(painter)

    def action_leave(self) -> None:
        """Close without using what was typed."""
        self.dismiss(FieldInput(self.field.value, given=False))


def _rule(text: str, width: int) -> Lines:
    return [cut(line((text, Ink.MUTED)), width)]


def _option(text: str, note: str, column: int, width: int, *, chosen: bool) -> Content:
    mark, ink = ("▸", Ink.STRONG) if chosen else (" ", Ink.KEY)
    option_text = (pad(inline(text), column), ink)
    return cut(line((mark, Ink.KEY), option_text, (inline(note), Ink.MUTED)), width)
