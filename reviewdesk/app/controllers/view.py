"""What the terminal shows at one moment: the frozen state that the screens draw."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.session import Session
from reviewdesk.app.controllers.widths import LEAST, SMALLEST, WIDE, columns
from reviewdesk.app.texts.layout import ItemScroll
from reviewdesk.app.texts.reading import ReadingOptions
from reviewdesk.domain.panel.rerun_result import OpenRerun, RerunHistory
from reviewdesk.domain.records import Blocker, Calibration, Metrics, Pace
from reviewdesk.domain.run.details import RunDetails, RunLine
from reviewdesk.domain.stats.figures import Target
from reviewdesk.views.document import Tone

__all__ = ["LEAST", "PANES", "SMALLEST", "WIDE", "Panes", "ViewState"]

PANES = ("queue", "item", "jury")


class Notice(Struct, frozen=True):
    """The text of the status line, raw; ``about`` is the item, run or page it concerns, if any.

    A notice about one item goes when another is shown, or it would seem to concern that one.
    """

    text: str = ""
    tone: Tone = Tone.NOTE
    about: object = None

    def beside(self, shown: object) -> Notice:
        """Return the notice if it concerns ``shown`` or no one thing, else an empty notice."""
        return self if self.about in (None, shown) else Notice()


class Panes(Struct, frozen=True):
    """Side by side on a wide terminal, else one at a time: queue, then item, then jury."""

    width: int = 80
    height: int = 24
    chosen: str | None = None
    zoomed: bool = False
    answer: bool = True
    """Whether there is a panel's answer to show; without it the jury has no pane."""
    queue: float | None = None
    jury: float | None = None
    """The shares of the width that were chosen for two panes; ``None`` is the default split."""

    @property
    def wide(self) -> bool:
        """Whether the terminal has room for three panes."""
        return self.width >= WIDE

    @property
    def tiny(self) -> bool:
        """Whether the terminal is too small to show anything."""
        return self.width < SMALLEST[0] or self.height < SMALLEST[1]

    @property
    def alone(self) -> bool:
        """Whether one pane is in view alone."""
        return self.zoomed or not self.wide

    @property
    def names(self) -> tuple[str, ...]:
        """The panes that can be shown, from the left."""
        return PANES if self.answer else PANES[:-1]

    @property
    def current(self) -> str:
        """The pane with the keys; by default the queue on a wide terminal, else the item."""
        chosen = self.chosen or ("queue" if self.wide else "item")
        return chosen if chosen in self.names else "item"

    @property
    def readable(self) -> bool:
        """Whether the item itself is on screen, not only its line in the queue."""
        return not self.alone or self.current != "queue"

    @property
    def shows_item(self) -> bool:
        """Whether the item can be read: its pane is in view, on a terminal that has room."""
        return self.readable and not self.tiny

    def beside(self, by: int, *, around: bool = False) -> str:
        """Return the name of the pane one level deeper or back; empty at the end."""
        place = self.names.index(self.current) + by
        if around:
            place %= len(self.names)
        return self.names[place] if 0 <= place < len(self.names) else ""

    @property
    def columns(self) -> dict[str, int]:
        """The columns of each pane where they stand side by side, without the rules between them.

        The queue is as wide with a jury as without one: the item alone gets the jury's place.
        """
        return columns(self.width, self.queue, self.jury, answer=self.answer)

    def sized(self, name: str, columns: int) -> Panes:
        """Return the panes with this width for queue or jury, as far as every pane stays usable.

        It is kept as a share, so that it follows the terminal's width.
        """
        fitted = self._sharing(name, columns).columns[name]
        return self._sharing(name, fitted)

    def _sharing(self, name: str, columns: int) -> Panes:
        share = round(columns / self.width, 4)
        return replace(self, queue=share) if name == "queue" else replace(self, jury=share)


class Figures(Struct, frozen=True, eq=False):
    """The figures of the strip; ``alone`` are the metrics of the labelled verdicts, if blind.

    ``given`` is how many items of the run the reviewer labelled on screen, ``None`` until it is
    known.
    """

    calibration: Calibration | None = None
    alone: Metrics | None = None
    pace: Pace | None = None
    given: int | None = None
    blockers: tuple[Blocker, ...] = ()
    """What labels wait behind, as far as the session may tell."""


class CalibrationState(Struct, frozen=True, eq=False):
    """The calibration screen: the page in view, as diagram or table, and the pages that are read.

    ``found`` holds what was read by the name under which pages share it.
    """

    at: int
    tables: bool
    target: Target
    found: Mapping[str, object]


class RunsState(Struct, frozen=True, eq=False):
    """The runs screen: its list, the cursor, and the details of the run under it."""

    runs: tuple[RunLine, ...]
    cursor: int
    details: RunDetails | None
    reading: bool
    """Whether the details have the keys, and not the list."""

    @property
    def content(self) -> tuple[object, ...]:
        """All that the two panes show."""
        return self.runs, self.cursor, self.details


class ViewState(Struct, frozen=True):
    """Everything that is drawn. ``page`` is that of the calibration or runs screen, if in view.

    The counters grow with every demand: ``start`` to show other texts, the item from where
    ``scroll`` says, ``rows`` to fetch the queue's rows again, ``seek`` to scroll to the first hit
    of the search.
    """

    where: str
    session: Session
    panes: Panes
    notice: Notice
    saved: str
    jobs: str
    asking: tuple[OpenRerun, ...]
    """The re-runs of several verdicts that are under way."""
    figures: Figures
    reading: ReadingOptions
    reruns: RerunHistory
    hints: Mapping[str, object]
    start: int
    rows: int
    seek: int
    scroll: ItemScroll
    page: CalibrationState | RunsState | None = None
