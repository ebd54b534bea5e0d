"""Compares an item with its re-runs, and with the same content in other runs."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewdesk.app.controllers.requests import DiffForm
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines, cut, inline, line
from reviewdesk.app.screens.dialog import Dialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.domain.records import Run
from reviewdesk.views.comparison import comparison


class DiffScreen(Dialog[Run | None]):
    """Compares with one run at a time; closes with a run whose flipped verdicts are to be shown."""

    CSS = """
    DiffScreen { align: center middle; background: $background 50%; }
    DiffScreen > Vertical { width: 110; max-width: 100%; height: 100%;
        background: $panel; padding: 1 1; }
    DiffScreen Bar { height: 2; }
    DiffScreen Pane { height: 1fr; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,d", "close", "Close"),
        ("n,tab", "turn(1)", "Next run"),
        ("N,shift+tab", "turn(-1)", "Run before"),
        ("f", "flips", "Filter the queue to the turned verdicts"),
        ("j,down", "scroll(1)", "Down"),
        ("k,up", "scroll(-1)", "Up"),
        ("ctrl+d,pagedown,space", "scroll(10)", "Page down"),
        ("ctrl+u,pageup", "scroll(-10)", "Page up"),
    ]

    def __init__(self, form: DiffForm) -> None:
        """Compare the item of ``form`` with its re-runs and with its verdicts in other runs."""
        super().__init__()
        self._form, self._place = form, 0
        self._shown = form.read(0)

    def compose(self) -> ComposeResult:
        """Show what is compared, and the comparison."""
        with Vertical():
            yield Bar()
            yield Pane()

    def on_mount(self) -> None:
        """Compare with the newest re-run, or the newest other run."""
        self._show()

    def _show(self) -> None:
        form, shown = self._form, self._shown
        count = f"{self._place + 1} of {form.count}{'' if form.whole else ' other runs'}"
        if shown.flips is None:
            summary, keys = "the same item, asked again", "n next, j k scroll, esc closes"
        else:
            summary = f"{shown.flips.shared:,} items in both runs"
            if not form.blind:
                # That count includes verdicts without a label.
                summary += f", {shown.flips.flipped:,} decided otherwise"
            keys = "f shows those, n next run, j k scroll, esc closes"

        def head(width: int) -> Lines:
            first = (f"Compared with {inline(shown.other.run.name, 60)}", Ink.STRONG)
            stopped = (f"{shown.halt} · " if shown.halt else "", Ink.WARN)
            return [
                cut(line(stopped, first, (f"   {count}", Ink.MUTED)), width),
                cut(line((f"{summary} · ", Ink.TEXT), (keys, Ink.MUTED)), width),
            ]

        self.query_one(Bar).paint(head)
        found = comparison(form.item, shown.other)
        self.query_one(Pane).paint(lambda width: document_lines(found, width))

    def action_turn(self, by: int) -> None:
        """Compare with another run."""
        self._place = (self._place + by) % self._form.count
        self._shown = self._form.read(self._place)
        self._show()

    def action_flips(self) -> None:
        """Close and show the verdicts that the two runs decide differently."""
        if self._shown.flips is not None:
            self.dismiss(self._shown.other.run)

    def action_scroll(self, lines: int) -> None:
        """Scroll the comparison."""
        self.query_one(Pane).move(lines)

    def action_close(self) -> None:
        """Close the comparison."""
        self.dismiss(None)
