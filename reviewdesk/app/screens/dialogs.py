"""The dialogs: a frame of title, content and keys; a question; pages of a document or a list."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Group
from rich.padding import Padding
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.visual import VisualType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.state import Act, Choice, DialogPage, PageForm
from reviewdesk.app.keys.actions import LABEL, Action, by_group, rows
from reviewdesk.app.paint.document import document_lines, words_line
from reviewdesk.app.paint.inks import Ink
from reviewdesk.app.paint.styled import Painter, Piece, clip, cut, heading, inline, line, pad
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.app.widgets.queue_list import legend
from reviewdesk.views.document import Document

Keys: TypeAlias = Sequence[tuple[str, str]]
"""Keys and what they do, the one that closes the dialog last."""
SHORT = 20
SHORT_LOW = 30
"""The lines of a terminal below which a dialog has no blank lines, and its fields fewer lines.

A dialog at the bottom is shortened earlier, because it is about the item above it."""


def title_line(what: str, name: str, note: str, width: int) -> Content:
    """Return what a dialog is about, an item's name, cut at its start, and a faint note."""
    pieces: list[Piece | str] = [(what, Ink.STRONG)]
    if name:
        room = max(12, width - cell_len(what) - 1)
        pieces += [" ", (clip(inline(name), room, lead=0), Ink.KEY)]
    if note:
        pieces += ["   ", (note, Ink.MUTED)]
    return cut(line(*pieces), width)


def keys_line(keys: Keys, width: int) -> Content:
    """Return the keys that fit with what they do; the last one, which closes, always stays."""
    between = line((" · ", Ink.MUTED))
    shown = [line((key, Ink.KEY), (f" {does}", Ink.MUTED)) for key, does in keys]
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


def has_lines(shown: OptionList) -> bool:
    """Return True if a list has been laid out; Textual fails on a page key before that."""
    return shown.scrollable_content_region.height > 0


class ChoiceList(OptionList):
    """A list that ignores page keys while it has no line on screen."""

    DEFAULT_CSS = """
    ChoiceList, ChoiceList:focus { border: none; background: $panel; padding: 0;
        background-tint: $foreground 0%; }
    ChoiceList > .option-list--option-highlighted { text-style: bold reverse; }
    """

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in {"page_up", "page_down"} and not has_lines(self):
            return False
        return super().check_action(action, parameters)


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
        elif has_lines(options):
            getattr(options, f"action_{how}")()

    @property
    def text(self) -> str:
        return "\n".join(str(option.prompt) for option in self.query_one(OptionList).options)

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

    def _painter(self) -> Painter:
        return partial(document_lines, self._page.document or _NOTHING)

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
        self.query_one(Pane).styles.height = min(most, len(self._painter()(width - 1)))

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
            self.query_one(Pane).paint(self._painter(), keep=keep)
            return
        kept = options.highlighted if len(options.options) == len(page.choices) else None
        options.clear_options()
        options.add_options([_option(one) for one in page.choices])
        if not page.choices:
            options.add_option(Option(Content("nothing yet"), disabled=True))
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
        front.controller.late = front.lateness
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


def _option(one: Choice) -> Option:
    prompt: VisualType = words_line(one.text)
    if one.below:
        # The text below a line stays indented where it wraps.
        below = Padding(Text(inline(one.below, 2000)), (0, 0, 0, 2))
        prompt = Group(Text(words_line(one.text).plain, "bold"), below)
    name = one.answer if isinstance(one.answer, str) else None
    return Option(prompt, id=name, disabled=one.head)


def help_form(actions: Iterable[Action], shown: Callable[[str], str]) -> PageForm:
    """Return the help: ``shown`` keys by group, and the signs; it answers an action to do."""
    choices = list[Choice]()
    # The list begins with an action that gives no label.
    chosen: int | None = None
    for group, members in by_group(actions).items():
        choices.append(Choice(heading(group.upper(), 72).plain, head=True))
        for title, row in rows(members).items():
            if chosen is None and group != LABEL:
                chosen = len(choices)
            first = (shown(action.id).split(" ")[0] for action in row)
            each = shown(row[0].id) if len(row) == 1 else " ".join(first)
            choices.append(Choice(f"  {pad(each, 23)} {title}", row[0].id))
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
