"""Compares an item with its re-runs, and with the same content in other runs."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from reviewdesk.app.controllers.requests import DiffForm
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines, cut, inline, line
from reviewdesk.app.screens.dialog import Keys, MovingDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.domain.records import Run
from reviewdesk.views.comparison import comparison


class DiffScreen(MovingDialog[Run | None]):
    """Compares with one run at a time; closes with a run whose flipped verdicts are to be shown."""

    CSS = """
    DiffScreen > #box { width: 112; height: 100%; max-height: 40; }
    DiffScreen Pane { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,d", "close", "Close"),
        ("n,tab", "turn(1)", "Next run"),
        ("N,shift+tab", "turn(-1)", "Run before"),
        ("f", "flips", "Filter the queue to the turned verdicts"),
    ]

    def __init__(self, form: DiffForm) -> None:
        """Compare the item of ``form`` with its re-runs and with its verdicts in other runs."""
        super().__init__()
        self._form, self._place = form, 0
        self._shown = form.read(0)

    def title_facts(self) -> tuple[str, str, str]:
        """Return the item, and which of the comparisons is in view."""
        form, runs = self._form, "" if self._form.whole else " other runs"
        count = f"{self._place + 1} of {form.count}{runs}"
        return "Compare", form.item.verdict.id, count

    def content(self) -> ComposeResult:
        """Show what the item is compared with, and the comparison."""
        yield Bar(self._about, id="about")
        yield Pane()

    def keys(self) -> Keys:
        """Return the keys of the comparison in view."""
        flips = [("f", "lists what flipped")] if self._shown.flips is not None else []
        more = [("n", "next")] if self._form.count > 1 else []
        return *flips, *more, ("j k", "scroll"), ("esc", "closes")

    def moving(self) -> Pane:
        """Return the comparison."""
        return self.query_one(Pane)

    def on_mount(self) -> None:
        """Compare with the newest re-run, or the newest other run."""
        self._show()

    def _about(self, width: int) -> Lines:
        shown, form = self._shown, self._form
        if shown.flips is None:
            summary = "the same item, asked again"
        else:
            summary = f"{shown.flips.shared:,} items in both runs"
            if not form.blind:
                # That count includes verdicts without a label.
                summary += f", {shown.flips.flipped:,} decided otherwise"
        stopped = (f"{shown.halt} · " if shown.halt else "", Ink.WARN)
        other = (f"with {inline(shown.other.run.name, 60)}", Ink.TEXT)
        return [cut(line(stopped, other, (f"   {summary}", Ink.MUTED)), width)]

    def _show(self) -> None:
        found = comparison(self._form.item, self._shown.other)
        self.query_one("#about", Bar).redraw()
        self.query_one(Pane).paint(lambda width: document_lines(found, width))
        self.redraw()

    def action_turn(self, by: int) -> None:
        """Compare with another run."""
        self._place = (self._place + by) % self._form.count
        self._shown = self._form.read(self._place)
        self._show()

    def action_flips(self) -> None:
        """Close and show the verdicts that the two runs decide differently."""
        if self._shown.flips is not None:
            self.dismiss(self._shown.other.run)
