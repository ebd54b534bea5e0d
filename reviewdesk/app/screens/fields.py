"""The dialogs with a field: a line of text, a note, and a visitor's name."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widgets import Input, TextArea

from reviewdesk.app.controllers.state import FieldInput, PromptForm
from reviewdesk.app.paint.inks import Ink
from reviewdesk.app.paint.styled import Lines, cut, cut_below, inline, line, pad, paragraph
from reviewdesk.app.screens.dialogs import Dialog
from reviewdesk.app.widgets.lines import Bar, harmless
from reviewdesk.domain.query.completion import Completion
from reviewdesk.errors import ReviewDeskError

ROWS = 5
"""The number of lines below the field, for completions or an error."""


class Field(Input):
    """A field that draws no control characters, whatever was pasted into it."""

    def render_line(self, y: int) -> Strip:
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
        super().__init__()
        self.form = form
        self._past = [*form.past, form.value]
        self._place = len(self._past) - 1
        self._cycle: tuple[str, Completion, int] | None = None
        """The text that completions replace, all completions, and the place of the one in use."""
        self._own = ""
        self.about = form.title, form.name, ""
        completes = [("tab", "completes")] if form.complete else []
        recalls = [("↑", "brings back")] if form.past else []
        self.keys = ("enter", "applies"), *completes, *recalls, ("esc", "closes")

    def content(self) -> ComposeResult:
        for rule in self.form.rule.splitlines():
            yield Bar(partial(paragraph, rule, ink=Ink.MUTED))
        yield Field(self.form.value, select_on_focus=self.form.replaces)
        yield Bar(self._help, id="help")

    @property
    def field(self) -> Input:
        return self.query_one(Input)

    # completion

    def _completion(self) -> Completion | None:
        if self._cycle is not None:
            return self._cycle[1]
        try:
            complete = self.form.complete
            return complete and complete(self.field.value, self.field.cursor_position)
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
        column = min(max(len(option.text) for option in shown) + 2, width // 2)
        lines = []
        for place, option in enumerate(shown, start):
            mark, ink = ("▸", Ink.STRONG) if place == chosen else (" ", Ink.KEY)
            text = (pad(inline(option.text), column), ink)
            lines.append(cut(line((mark, Ink.KEY), text, (inline(option.note), Ink.MUTED)), width))
        return lines

    def action_complete(self, by: int) -> None:
        """Put the next completion into the field; after the last, the first."""
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
        if event.value != self._own:
            self._cycle = None
            self._own = ""
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
            lines = paragraph(inline(error, 1000), width, Ink.FAIL)
            lines = cut_below(lines, ROWS - (at is not None), width)
            if at is None:
                return lines
            column = min(at, max(0, width - 1))
            return [cut(line((" " * column + "▲", Ink.FAIL)), width), *lines]

        if at is not None:
            self.field.cursor_position = at
        bar = self.query_one("#help", Bar)
        # A low terminal has fewer lines for completions than an error may need.
        bar.styles.height = max(bar.size.height, len(painter(bar.size.width)))
        bar.paint(painter)

    def action_leave(self) -> None:
        self.dismiss(FieldInput(self.field.value, given=False))


class _NoteArea(TextArea):
    """Takes keys one after the other, so that enter saves all letters typed before it."""

    async def on_key(self, event: events.Key) -> None:
        done = {"enter": "save", "ctrl+j": "newline", "escape": "keep"}.get(event.key)
        if done is not None:
            event.stop()
            event.prevent_default()
            await self.screen.run_action(f"screen.{done}")

    def render_line(self, y: int) -> Strip:
        return harmless(super().render_line(y))


class NoteDialog(Dialog[FieldInput]):
    """Edits the note of an item; closes with the text and whether to save it."""

    low = True
    CSS = """
    NoteDialog TextArea { border: none; height: 6; padding: 0; background: $surface; }
    NoteDialog.-short TextArea { height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "save", "Save"),
        Binding("ctrl+j", "newline", "New line"),
        Binding("escape", "keep", "Close, keep the draft"),
    ]
    keys = ("enter", "saves"), ("ctrl+j", "new line"), ("esc", "closes, keeps the draft")

    def __init__(self, form: PromptForm) -> None:
        super().__init__()
        self._form = form
        self.about = form.title, form.name, form.note

    def content(self) -> ComposeResult:
        yield _NoteArea(self._form.value, soft_wrap=True, tab_behavior="focus")

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def on_text_area_changed(self) -> None:
        # The screen below shows an error.
        front: Any = self.app

        def keep() -> None:
            self.about = self._form.title, self._form.name, self._form.changed(self.text)

        front.act(keep)
        self.redraw()

    @property
    def text(self) -> str:
        return self.query_one(TextArea).text

    def action_keep(self) -> None:
        self.dismiss(FieldInput(self.text, given=False))

    def action_save(self) -> None:
        self.dismiss(FieldInput(self.text, given=True))

    def action_newline(self) -> None:
        self.query_one(TextArea).insert("\n")


_WHY = """\
Your name stands with every label that you give here. Use the same one each
time: your place in the queue and what you have done are kept under it."""


class DoorDialog(PromptField):
    """Asks for the reviewer's name until ``enter`` takes it."""

    low = False

    def __init__(self, run: str, enter: Callable[[str], None]) -> None:
        """Ask for a name; ``enter`` raises ReviewDeskError if it refuses the name."""
        super().__init__(PromptForm("reviewdesk", name=run, check=enter, rule=_WHY))
        self.keys = ("enter", "opens the desk"), ("ctrl+q", "closes")

    def action_leave(self) -> None:
        """Stay: there is nothing behind the door."""
