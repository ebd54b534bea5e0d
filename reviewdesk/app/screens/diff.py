"""Compares an item with its re-runs, and with the same content in other runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewdesk.app.paint.diff import diff_lines
from reviewdesk.app.paint.styled import (
    Lines,
    cut,
    inline,
    line,
)
from reviewdesk.app.screens.dialog import Dialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.desk.review.other_runs import OtherRunVerdict, flips
from reviewdesk.domain.records import Item, Run

if TYPE_CHECKING:
    from reviewdesk.desk import Desk


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

    def __init__(
        self,
        desk: Desk,
        item: Item,
        other_runs: Sequence[OtherRunVerdict | Item],
        *,
        blind: bool,
        halts: Sequence[str] = (),
    ) -> None:
        """Compare ``item`` with its re-runs and with its verdicts in other runs.

        ``halts`` says how far each stopped re-run came. ``blind`` leaves out how many verdicts
        differ, because that count includes verdicts without a label.
        """
        super().__init__()
        self._desk, self._item, self._other_runs, self._blind = desk, item, other_runs, blind
        self._halts, self._place = halts, 0

    def compose(self) -> ComposeResult:
        """Show what is compared, and the comparison."""
        with Vertical():
            yield Bar()
            yield Pane()

    def on_mount(self) -> None:
        """Compare with the newest re-run, or the newest other run."""
        self._show()

    def _show(self) -> None:
        other_run = self._other_runs[self._place]
        other = other_run if isinstance(other_run, Item) else self._desk.item(other_run.key)
        whole = any(isinstance(one, Item) for one in self._other_runs)
        count = f"{self._place + 1} of {len(self._other_runs)}{'' if whole else ' other runs'}"
        halt = self._halts[self._place] if self._place < len(self._halts) else ""
        if isinstance(other_run, Item):
            summary, keys = "the same item, asked again", "n next, j k scroll, esc closes"
        else:
            summary, keys = (
                self._flips_text(other_run),
                "f shows those, n next run, j k scroll, esc closes",
            )

        def head(width: int) -> Lines:
            first = (f"Compared with {inline(other.run.name, 60)}", Ink.STRONG)
            stopped = (f"{halt} · " if halt else "", Ink.WARN)
            return [
                cut(line(stopped, first, (f"   {count}", Ink.MUTED)), width),
                cut(line((f"{summary} · ", Ink.TEXT), (keys, Ink.MUTED)), width),
            ]

        self.query_one(Bar).paint(head)
        self.query_one(Pane).paint(lambda width: diff_lines(self._item, other, width))

    def _flips_text(self, other_run: OtherRunVerdict) -> str:
        found = flips(self._desk, self._item.run, other_run.run)
        shared = f"{found.shared:,} items in both runs"
        return shared if self._blind else f"{shared}, {found.flipped:,} decided otherwise"

    def action_turn(self, by: int) -> None:
        """Compare with another run."""
        self._place = (self._place + by) % len(self._other_runs)
        self._show()

    def action_flips(self) -> None:
        """Close and show the verdicts that the two runs decide differently."""
        other_run = self._other_runs[self._place]
        if not isinstance(other_run, Item):
            self.dismiss(other_run.run)

    def action_scroll(self, lines: int) -> None:
        """Scroll the comparison."""
        self.query_one(Pane).move(lines)

    def action_close(self) -> None:
        """Close the comparison."""
        self.dismiss(None)
