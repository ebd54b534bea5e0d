"""The base of dialogs: a title, the content and a line of keys, in one of two places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget
from textual.widgets import Input, OptionList

from reviewdesk.app.paint.styled import Piece, clip_start, cut, inline, line
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane

Keys: TypeAlias = Sequence[tuple[str, str]]
"""Keys and what they do, the one that closes the dialog last."""


def title_line(what: str, name: str, note: str, width: int) -> Content:
    """Return what a dialog is about, the item that it is about, and a note in faint ink.

    The name comes from outside; it is cut at its start, as the end of an id tells more.
    """
    pieces: list[Piece | str] = [(what, Ink.STRONG)]
    if name:
        room = max(12, width - cell_len(what) - 1)
        pieces += [" ", (clip_start(inline(name), room), Ink.KEY)]
    if note:
        pieces += ["   ", (note, Ink.MUTED)]
    return cut(line(*pieces), width)


def keys_line(keys: Keys, width: int) -> Content:
    """Return the keys that fit with what they do; the last one, which closes, always stays."""
    shown = list(keys)
    made = _joined(shown)
    while made.cell_length > width and len(shown) > 1:
        del shown[-2]
        made = _joined(shown)
    return cut(made, width)


def _joined(keys: Keys) -> Content:
    pieces: list[Piece | str] = []
    for key, does in keys:
        pieces += [(" · ", Ink.MUTED)] if pieces else []
        pieces += [(key, Ink.KEY), (f" {does}", Ink.MUTED)]
    return line(*pieces)


SHORT = 20
SHORT_LOW = 30
"""The lines of a terminal below which a dialog has no blank lines, and its fields fewer lines.

One at the bottom is short earlier, as the item above it is what it is about."""


TALLEST = 28
"""The most lines of a dialog's list: more are read no faster, and cost more over a slow line."""


def has_lines(shown: OptionList) -> bool:
    """Return True if a list has been laid out; Textual fails on a page key before that."""
    return shown.scrollable_content_region.height > 0


class ChoiceList(OptionList):
    """A list that stops at its ends, and ignores page keys while it has no line on screen."""

    DEFAULT_CSS = """
    ChoiceList, ChoiceList:focus { border: none; background: $panel; padding: 0;
        background-tint: $foreground 0%; }
    ChoiceList > .option-list--option-highlighted { text-style: bold reverse; }
    """

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in {"page_up", "page_down"} and not has_lines(self):
            return False
        return super().check_action(action, parameters)

    def _move(self, move: Callable[[], None], way: int) -> None:
        before = self.highlighted
        move()
        after = self.highlighted
        if before is not None and (after is None or (after - before) * way < 0):
            (self.action_last if way > 0 else self.action_first)()

    def action_cursor_down(self) -> None:
        self._move(super().action_cursor_down, 1)

    def action_cursor_up(self) -> None:
        self._move(super().action_cursor_up, -1)

    def action_page_down(self) -> None:
        self._move(super().action_page_down, 1)

    def action_page_up(self) -> None:
        self._move(super().action_page_up, -1)


class Dialog(ModalScreen[ScreenResultType]):
    """A screen above the others that keeps every key to itself.

    It stands in the middle or, ``low``, at the bottom, where the item above it stays readable.
    """

    low: ClassVar[bool] = False
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

    # what each dialog defines

    def title_facts(self) -> tuple[str, str, str]:
        raise NotImplementedError

    def content(self) -> ComposeResult:
        raise NotImplementedError

    def keys(self) -> Keys:
        raise NotImplementedError

    # the frame

    def compose(self) -> ComposeResult:
        """Lay out title, content and keys."""
        with Vertical(id="box"):
            yield Bar(lambda width: [title_line(*self.title_facts(), width)], id="title")
            yield from self.content()
            yield Bar(lambda width: [keys_line(self.keys(), width)], id="keys")

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


class MovingDialog(Dialog[ScreenResultType]):
    """A dialog with a list or a text, in which vim's letters and the arrows move."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("j,down", "move('cursor_down')", "Down"),
        ("k,up", "move('cursor_up')", "Up"),
        ("ctrl+d,pagedown,space", "move('page_down')", "Page down"),
        ("ctrl+u,pageup", "move('page_up')", "Page up"),
        ("g,home", "move('first')", "First"),
        ("G,end", "move('last')", "Last"),
    ]

    def moving(self) -> Widget:
        return self.query_one(OptionList)

    def action_move(self, how: str) -> None:
        """Move by the list's own action ``how``, or scroll the text as far."""
        shown = self.moving()
        if isinstance(shown, Pane):
            lines = {"cursor": 1, "page": shown.page}.get(how.split("_", maxsplit=1)[0], 1 << 40)
            shown.move(lines if how.endswith(("down", "last")) else -lines)
        elif isinstance(shown, OptionList) and has_lines(shown):
            getattr(shown, f"action_{how}")()


class ListDialog(MovingDialog[ScreenResultType]):
    """A dialog with a list that is as high as its options, and scrolls where they do not fit."""

    around: ClassVar[int] = 7
    """The lines of the dialog and of the screen's header that are not the list's."""
    DEFAULT_CSS = f"ListDialog ChoiceList {{ height: auto; max-height: {TALLEST}; }}"

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        room = event.size.height - self.around + 2 * self.has_class("-short")
        self.query_one(OptionList).styles.max_height = max(1, min(room, TALLEST))


class Palette(CommandPalette):
    """Textual's palette; it closes only once, as our dialogs do."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_current else AwaitComplete()

    @on(Input.Changed)
    def drop_late(self, event: Input.Changed) -> None:
        if not (self.is_current and self.query(OptionList)):
            event.stop().prevent_default()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "command_list" and not all(map(has_lines, self.query(OptionList))):
            return False
        return super().check_action(action, parameters)
