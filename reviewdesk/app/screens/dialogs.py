"""The dialogs: their frame, pages of a document or a list, and fields for a line, note or name."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, TypeAlias

from msgspec.structs import replace
from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.strip import Strip
from textual.widgets import Input, OptionList, TextArea
from textual.widgets.option_list import Option as ListOption

from reviewdesk.app.controllers.state import (
    Act,
    Choice,
    DialogPage,
    FieldInput,
    PageForm,
    PromptForm,
)
from reviewdesk.app.keys.actions import LABEL, Action, rows
from reviewdesk.app.paint.document import document_lines, words_line
from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    clip,
    cut,
    cut_below,
    heading,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.widgets.lines import Bar, Pane, harmless
from reviewdesk.app.widgets.queue_list import legend
from reviewdesk.domain.query.filter import Completion
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Document, Tone

Keys: TypeAlias = Sequence[tuple[str, str]]
"""Keys and what they do, the one that closes the dialog last."""
SHORT = 20
SHORT_LOW = 30
"""The lines of a terminal below which a dialog has no blank lines, and its fields fewer lines.

A dialog at the bottom is shortened earlier, because it is about the item above it."""


def title_line(what: str, name: str, note: str, width: int) -> Content:
    """Return what a dialog is about, an item's name, cut at its start, and a faint note."""
    pieces: list[Piece | str] = [(what, Tone.STRONG)]
    if name:
        room = max(12, width - cell_len(what) - 1)
        pieces += [" ", (clip(inline(name), room, lead=0), Tone.KEY)]
    if note:
        pieces += ["   ", (note, Tone.MUTED)]
    return cut(line(*pieces), width)


def keys_line(keys: Keys, width: int) -> Content:
    """Return the keys that fit with what they do; the last one, which closes, always stays."""
    between = line((" · ", Tone.MUTED))
    shown = [line((key, Tone.KEY), (f" {does}", Tone.MUTED)) for key, does in keys]
    while (made := between.join(shown)).cell_length > width and len(shown) > 1:
        del shown[-2]
    return cut(made, width)


_NOTHING = Document(())
_MOVES = frozenset({
    "j", "k", "down", "up", "ctrl+d", "ctrl+u", "pagedown", "pageup", "space", "g", "G", "home",
    "end",
})  # fmt: skip
"""The keys that scroll a text; every other key that does nothing closes a strict page."""


class Dialog(ModalScreen[ScreenResultType]):
    """Keeps every key to itself; if ``low``, it stands below the item that it is about."""

    low: ClassVar[bool] = False
    about: tuple[str, str, str] = ("", "", "")
    """The subject of the dialog, the name of an item, and a note."""
    keys: Keys = ()
    DEFAULT_CSS = """
    Dialog { align: center middle; background: transparent; }
    Dialog > #box { margin-top: 1; width: 80; max-width: 100%; height: auto; max-height: 100%;
        background: $panel; border: solid $desk-rule; padding: 0 1; }
    Dialog #title { margin: 0 0 1 0; }
    Dialog #keys { margin: 1 0 0 0; }
    Dialog.-short #title, Dialog.-short #keys, Dialog.-low #title, Dialog.-low #keys { margin: 0; }
    Dialog Pane { background: $panel; margin-left: -1; width: 100%; }
    Dialog.-low { align: center bottom; }
    Dialog.-low > #box { width: 100%; border: none; border-top: solid $desk-rule; }
    """

    def __init__(self) -> None:
        super().__init__(classes="-low" if self.low else "")

    def content(self) -> ComposeResult:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Bar(lambda width: [title_line(*self.about, width)], id="title")
            yield from self.content()
            yield Bar(lambda width: [keys_line(self.keys, width)], id="keys")

    def redraw(self) -> None:
        for name in ("title", "keys"):
            self.query_one(f"#{name}", Bar).redraw()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height < (SHORT_LOW if self.low else SHORT), "-short")

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        # Textual pops the screen on top, which would then be the one below the dialog.
        return super().dismiss(result) if self.is_current else AwaitComplete()

    def action_close(self) -> None:
        self.dismiss(None)


class ChoiceList(OptionList, inherit_bindings=False):
    """A list in which the keys of its dialog move."""

    BINDINGS: ClassVar[list[BindingType]] = [("enter", "select", "Choose")]
    DEFAULT_CSS = """
    ChoiceList, ChoiceList:focus { border: none; background: $panel; padding: 0;
        background-tint: $foreground 0%; }
    ChoiceList > .option-list--option-highlighted { text-style: bold reverse; }
    """


class PageDialog(Dialog[Any]):
    """Draws the pages of a form, one at a time; closes with the answer of a key or a line.

    Vim's letters and the arrows move in its list or its text. A list is as high as its lines, and
    scrolls where they do not fit.
    """

    DEFAULT_CSS = """
    PageDialog ChoiceList { height: auto; }
    PageDialog Pane, PageDialog.-document ChoiceList { display: none; }
    PageDialog.-document Pane { display: block; }
    PageDialog #foot { height: auto; margin: 1 0 0 0; }
    PageDialog.-short #foot { margin: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("j,down", "move('cursor_down')", "Down"),
        ("k,up", "move('cursor_up')", "Up"),
        ("ctrl+d,pagedown,space", "move('page_down')", "Page down"),
        ("ctrl+u,pageup", "move('page_up')", "Page up"),
        ("g,home", "move('first')", "First"),
        ("G,end", "move('last')", "Last"),
        ("escape", "close", "Close"),
        ("tab", "turn('tab')", "Next page"),
        ("shift+tab", "turn('shift+tab')", "Page before"),
    ]

    def __init__(self, form: PageForm) -> None:
        super().__init__()
        self._form = form
        self._at = form.at
        self._page = form.read(form.at)

    def content(self) -> ComposeResult:
        yield ChoiceList(markup=False)
        yield Pane()
        yield Bar(lambda width: document_lines(self._page.foot or _NOTHING, width), id="foot")

    def action_move(self, how: str) -> None:
        """Move by the list's own action ``how``, or scroll the text as far."""
        options = self.query_one(OptionList)
        if self._page.document is not None:
            shown = self.query_one(Pane)
            lines = {"cursor": 1, "page": shown.page}.get(how.split("_", maxsplit=1)[0], 1 << 40)
            shown.move(lines if how.endswith(("down", "last")) else -lines)
        elif options.scrollable_content_region.height:
            # Textual fails on a page key before a list has been laid out.
            getattr(options, f"action_{how}")()

    def on_mount(self) -> None:
        self.show()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._fit()

    def on_screen_resume(self) -> None:
        self._form.drawn()

    def follow(self) -> None:
        page = self._form.read(self._at)
        if self.query("#box") and replace(page, acts={}) != replace(self._page, acts={}):
            same = page.document is self._page.document
            self._page = page
            self.show(keep=same)
            self.call_after_refresh(self._form.drawn)

    def _fit(self) -> None:
        """Give list or text the height that they need, within that of the screen."""
        page = self._page
        self.query_one("#box").styles.width = page.width
        # The frame with title and keys, the screen's header, and what stands below the list.
        width = min(page.width, self.app.size.width) - 4
        foot = len(document_lines(page.foot or _NOTHING, width))
        around = 7 + (foot + 1) * bool(foot) - 2 * self.has_class("-short")
        most = max(1, self.app.size.height - around)
        self.query_one(OptionList).styles.max_height = most
        text = document_lines(page.document or _NOTHING, width - 1)
        self.query_one(Pane).styles.height = min(most, len(text))

    def show(self, *, keep: bool = False) -> None:
        """Draw the page; ``keep`` leaves its text scrolled."""
        page = self._page
        self.about = inline(page.title, 200), page.name, page.note
        self.keys = page.keys
        options = self.query_one(OptionList)
        self.set_class(page.document is not None, "-document")
        self.query_one("#foot").display = page.foot is not None
        self.query_one("#foot", Bar).redraw()
        self._fit()
        self.redraw()
        # A hidden list would keep the focus, and act on enter.
        self.set_focus(None if page.document is not None else options)
        if page.document is not None:
            self.query_one(Pane).paint(partial(document_lines, page.document), keep=keep)
            return
        kept = options.highlighted if len(options.options) == len(page.choices) else None
        options.clear_options()
        width = min(page.width, self.app.size.width) - 6  # within frame and scroll bar
        options.add_options([_option(one, width) for one in page.choices])
        if not page.choices:
            options.add_option(ListOption(Content("nothing yet"), disabled=True))
        options.highlighted = page.chosen if kept is None else kept
        if kept is None:
            options.scroll_home(animate=False)

    def action_turn(self, key: str) -> None:
        if by := self._form.turns.get(key):
            self._at = (self._at + by) % self._form.count
            self._page = self._form.read(self._at)
            self.show()

    def on_key(self, event: events.Key) -> None:
        key = event.key
        page = self._page
        if key in page.closes:
            self.dismiss(None)
        elif key in page.answers:
            self.dismiss(page.answers[key])
        elif key in page.acts:
            self._do(page.acts[key])
        elif key in self._form.turns:
            self.action_turn(key)
        elif page.strict and key not in _MOVES:
            self.dismiss(None)
        else:
            return
        event.stop()
        event.prevent_default()

    def _do(self, act: Act) -> None:
        """Act on the highlighted line; close with the result unless it is ``None``."""
        front: Any = self.app
        found: list[object] = []
        at = self.query_one(OptionList).highlighted or 0
        front.act(lambda: found.append(act(at)))
        if found and found[0] is not None:
            self.dismiss(found[0])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the answer of a line; go on to the next line if it has none."""
        if "enter" in self._page.acts:
            self._do(self._page.acts["enter"])
            return
        answer = self._page.choices[event.option_index].answer
        if answer is None:
            self.action_move("cursor_down")
        else:
            self.dismiss(answer)


def _option(one: Choice, width: int) -> ListOption:
    lines = [words_line(one.text)]
    if one.below:
        below = paragraph(inline(one.below, 2000), width, first=[("  ", "")], indent=2)
        lines = [lines[0].stylize("bold"), *below]
    name = one.answer if isinstance(one.answer, str) else None
    return ListOption(Content("\n").join(lines), id=name, disabled=one.head)


def help_form(actions: Iterable[Action], shown: Callable[[str], str]) -> PageForm:
    """Return the help: ``shown`` keys by group, and the signs; it answers an action to do."""
    choices = list[Choice]()
    # The list begins with an action that gives no label.
    chosen: int | None = None
    for group, members in rows(actions).items():
        choices.append(Choice(heading(group.upper(), 36).plain, head=True))
        for title, row in members.items():
            if chosen is None and group != LABEL:
                chosen = len(choices)
            first = (shown(action.id).split(" ")[0] for action in row)
            each = shown(row[0].id) if len(row) == 1 else " ".join(first)
            choices.append(Choice(f"  {each:<12} {title}", row[0].id))
    move = ("j k", "move")
    close = ("esc", "closes")
    keys = (("enter", "does it"), ("tab", "signs"), move, close)
    signs = (("tab", "keys"), ("j k", "scroll"), close)
    closes = frozenset({"q", "question_mark"})
    pages = (
        DialogPage("Keys", keys, choices=choices, chosen=chosen or 0, closes=closes),
        DialogPage("Signs", signs, document=legend(), closes=closes),
    )
    return PageForm(pages.__getitem__, 2, turns={"tab": 1})


ROWS = 6
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
    PromptField #help { height: 6; }
    PromptField.-short.-ruled #help { height: 3; }
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
        self.set_class(bool(form.rule), "-ruled")
        self.form = form
        self._past = [*form.past, form.value]
        self._place = len(self._past) - 1
        self._cycle: tuple[str, Completion, int] | None = None
        """The text that completions replace, all completions, and the place of the one in use."""
        self._own = ""
        self.about = form.title, form.name, ""
        arrows = "" if form.past else "↑ ↓ "
        completes = [(f"{arrows}tab", "completes")] if form.complete else []
        recalls = [("↑", "brings back")] if form.past else []
        self.keys = ("enter", "applies"), *completes, *recalls, ("esc", "closes")

    def content(self) -> ComposeResult:
        for rule in self.form.rule.splitlines():
            yield Bar(partial(paragraph, rule, ink=Tone.MUTED))
        yield Field(self.form.value, select_on_focus=self.form.replaces)
        yield Bar(self._help, id="help")

    @property
    def field(self) -> Input:
        return self.query_one(Input)

    # completion

    def _completion(self) -> Completion:
        if self._cycle is not None:
            return self._cycle[1]
        # Drawing must not raise: the user can go on typing without completions.
        with suppress(ReviewDeskError):
            if self.form.complete is not None:
                return self.form.complete(self.field.value, self.field.cursor_position)
        return Completion(0, 0, ())

    def _help(self, width: int) -> Lines:
        options = self._completion().options if self.is_mounted else ()
        chosen = self._cycle[2] if self._cycle is not None else -1
        if not options:
            return paragraph(self.form.hint, width, Tone.MUTED)
        rows = max(1, self.query_one("#help").size.height or ROWS)
        start = max(0, min(chosen - rows + 2, len(options) - rows))
        shown = options[start : start + rows]
        note = max(len(option.note) for option in shown)
        room = max(width // 2, width - note - 1)
        column = min(max(len(option.text) for option in shown) + 2, room)
        lines = []
        for place, option in enumerate(shown, start):
            mark, ink = ("▸", Tone.STRONG) if place == chosen else (" ", Tone.KEY)
            text = (pad(inline(option.text), column), ink)
            lines.append(
                cut(line((mark, Tone.KEY), text, (inline(option.note), Tone.MUTED)), width)
            )
        return lines

    def action_complete(self, by: int) -> None:
        """Put the next completion into the field; after the last, the first."""
        found = self._completion()
        if not found.options:
            return
        text, _, at = self._cycle or (self.field.value, found, -1 if by > 0 else 0)
        place = (at + by) % len(found.options)
        self._cycle = (text, found, place)
        word = found.options[place].text
        self._put(text[: found.start] + word + text[found.end :], found.start + len(word))

    def action_recall(self, by: int) -> None:
        """Put what was typed before or after into the field; without any, the next completion."""
        if not self.form.past:
            self.action_complete(by)
            return
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
        """Close with the text, or with its only completion; if ``check`` raises, show why."""
        try:
            self.form.check(event.value)
        except ReviewDeskError as error:
            if self._cycle is None and len(self._completion().options) == 1:
                self.action_complete(1)
                self.on_input_submitted(Input.Submitted(self.field, self.field.value))
            else:
                self._show_error(error)
        else:
            self.dismiss(FieldInput(event.value.strip(), given=True))

    def _show_error(self, error: ReviewDeskError) -> None:
        at = getattr(error, "column", None)

        def painter(width: int) -> Lines:
            lines = paragraph(inline(error, 1000), width, Tone.FAIL)
            lines = cut_below(lines, ROWS - (at is not None), width)
            if at is None:
                return lines
            column = min(at, max(0, width - 1))
            return [cut(line((" " * column + "▲", Tone.FAIL)), width), *lines]

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


_WHY = (
    "Your name stands with every label that you give here. Use the same one each time: your place "
    "in the queue and what you have done are kept under it."
)


class DoorDialog(PromptField):
    """Asks for the reviewer's name until ``enter`` takes it."""

    low = False
    CSS = "DoorDialog Bar { height: auto; }"

    def __init__(self, run: str, enter: Callable[[str], None]) -> None:
        """Ask for a name; ``enter`` raises ReviewDeskError if it refuses the name."""
        super().__init__(PromptForm("reviewdesk", name=run, check=enter, rule=_WHY))
        self.keys = ("enter", "opens the desk"), ("ctrl+q", "closes")

    def action_leave(self) -> None:
        """Stay: there is nothing behind the door."""
