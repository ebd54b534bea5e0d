"""The history of the item under review and of the reviewer's own work, newest first."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.requests import HistoryForm
from reviewdesk.app.paint.document import words_line
from reviewdesk.app.paint.styled import Lines, cut, inline, line
from reviewdesk.app.screens.dialog import ChoiceList, ListDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar
from reviewdesk.domain.panel.rerun_result import RerunResult
from reviewdesk.domain.records import Event
from reviewdesk.views.document import outside
from reviewdesk.views.events import event, given


class HistoryScreen(ListDialog[Event | None]):
    """Two lists of events, of the item and of the reviewer; ``tab`` changes between them."""

    CSS = """
    HistoryScreen { align: center middle; background: $background 50%; }
    HistoryScreen > Vertical { width: 90; max-width: 100%; height: 100%; max-height: 40;
        background: $panel; padding: 1 1; }
    HistoryScreen OptionList { height: 1fr; border: none; background: $panel; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,at", "close", "Close"),
        ("tab,shift+tab", "turn", "Item or session"),
        ("j", "move('cursor_down')", "Down"),
        ("k", "move('cursor_up')", "Up"),
        ("ctrl+d,space", "move('page_down')", "Page down"),
        ("ctrl+u", "move('page_up')", "Page up"),
        ("g", "move('first')", "First"),
        ("G", "move('last')", "Last"),
    ]

    def __init__(self, form: HistoryForm) -> None:
        """Show the item's events if there are any, else the reviewer's own."""
        super().__init__()
        self._form = form
        self._lists = {"item": form.item, "session": form.session}
        self._which = "item" if form.item else "session"

    def compose(self) -> ComposeResult:
        """Show the title and the list."""
        with Vertical():
            yield Bar(self._head)
            yield ChoiceList(markup=False)

    def on_mount(self) -> None:
        """Fill the list: the item's events if there are any, else the reviewer's own."""
        self._fill()

    def _head(self, width: int) -> Lines:
        item = self._which == "item"
        what = f"History of {inline(self._form.title, 80)}" if item else "My work, newest first"
        other = "my work" if item else "the item"
        head = line(
            (what, Ink.STRONG), (f"   tab {other}, enter goes there, esc closes", Ink.MUTED)
        )
        return [cut(head, width)]

    def _fill(self) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        events = self._lists[self._which]
        options.add_options([Option(event_line(one, self._form.found(one))) for one in events])
        if not events:
            options.add_option(Option(Content("nothing yet"), disabled=True))
        options.highlighted = 0 if events else None
        self.query_one(Bar).paint(self._head)

    def action_turn(self) -> None:
        """Show the other list."""
        self._which = "session" if self._which == "item" else "item"
        self._fill()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the item of the chosen event."""
        chosen = self._lists[self._which][event.option_index]
        if chosen.verdict is not None:
            self.dismiss(chosen)

    def action_close(self) -> None:
        """Close history."""
        self.dismiss(None)


def event_line(one: Event, found: RerunResult | None) -> Content:
    """Return one event on one line: when, what, about which verdict, by whom."""
    when, who = given(one)
    name = outside(one.verdict or "", 80)
    return words_line((when, "  ", *event(one, found), "  ", name, "  ", who))
