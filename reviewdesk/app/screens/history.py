"""The history of the item under review and of the reviewer's own work, newest first."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.requests import HistoryForm
from reviewdesk.app.paint.document import words_line
from reviewdesk.app.screens.dialog import ChoiceList, Keys, MovingDialog
from reviewdesk.domain.panel.rerun_result import RerunResult
from reviewdesk.domain.records import Event
from reviewdesk.views.document import outside
from reviewdesk.views.events import event, given


class HistoryScreen(MovingDialog[Event | None]):
    """Two lists of events, of the item and of the reviewer; ``tab`` changes between them."""

    CSS = """
    HistoryScreen > #box { width: 96; height: 100%; max-height: 40; }
    HistoryScreen ChoiceList { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,at", "close", "Close"),
        ("tab,shift+tab", "turn", "Item or session"),
    ]

    def __init__(self, form: HistoryForm) -> None:
        """Show the item's events if there are any, else the reviewer's own."""
        super().__init__()
        self._form = form
        self._lists = {"item": form.item, "session": form.session}
        self._which = "item" if form.item else "session"

    def title_facts(self) -> tuple[str, str, str]:
        """Return whose events are listed."""
        if self._which == "item":
            return "History of", self._form.title, "newest first"
        return "My work", "", "newest first"

    def content(self) -> ComposeResult:
        """Show the list."""
        yield ChoiceList(markup=False)

    def keys(self) -> Keys:
        """Return the keys of the list, and the one that shows the other list."""
        other = "my work" if self._which == "item" else "the item"
        return ("enter", "goes there"), ("tab", other), ("j k", "move"), ("esc", "closes")

    def on_mount(self) -> None:
        """Fill the list: the item's events if there are any, else the reviewer's own."""
        self._fill()

    def _fill(self) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        events = self._lists[self._which]
        options.add_options([Option(event_line(one, self._form.found(one))) for one in events])
        if not events:
            options.add_option(Option(Content("nothing yet"), disabled=True))
        options.highlighted = 0 if events else None
        self.redraw()

    def action_turn(self) -> None:
        """Show the other list."""
        self._which = "session" if self._which == "item" else "item"
        self._fill()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the item of the chosen event."""
        chosen = self._lists[self._which][event.option_index]
        if chosen.verdict is not None:
            self.dismiss(chosen)


def event_line(one: Event, found: RerunResult | None) -> Content:
    """Return one event on one line: when, what, about which verdict, by whom."""
    when, who = given(one)
    name = outside(one.verdict or "", 80)
    return words_line((when, "  ", *event(one, found), "  ", name, "  ", who))
