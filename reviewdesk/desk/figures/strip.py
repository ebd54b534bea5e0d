"""The strip's figures: the labels of a run are kept in columns, and counted anew after each."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.figures.calibration import blockers, labelled
from reviewdesk.desk.review.history import PaceReader
from reviewdesk.desk.team.second_opinions import told_marks
from reviewdesk.domain.labels.rows import RunFigures
from reviewdesk.domain.records import Blocker, Calibration, DrawGap, Metrics, Pace, Run
from reviewdesk.store import events, figures, queue, verdicts
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.labels.label_columns import LabelColumns


class Strip(Struct, frozen=True):
    """Both lines of the strip, the figures of the labelled verdicts alone, and the pace."""

    calibration: Calibration
    alone: Metrics
    pace: Pace
    blockers: tuple[Blocker, ...] = ()
    """What labels wait behind, by the draw."""


class LiveStrip:
    """The strip of the run that was requested last. Any thread may use it with any desk.

    Each call reads one state of the desk: the marks of all labels, whichever process gave them, and
    the facts of the verdicts that have got one since the previous call.
    """

    def __init__(self) -> None:
        """Start without labels; the first call reads all."""
        self._lock = Lock()
        self._of: object = None
        """The desk, the reviewer and the run whose labels are kept."""
        self._columns: LabelColumns | None = None
        self._span: queue.RunKeys | None = None
        self._totals: RunFigures | None = None
        self._copies: bool | None = None
        """Whether verdicts, and not contents, were drawn, of which several are on one content."""
        self._work = PaceReader()
        self._places = dict[tuple[int, int], tuple[Blocker, ...]]()
        """The items at the places of the run's draw that were looked up."""

    def read(self, desk: Desk, run: Run) -> Strip:
        """Return the figures of a run as the desk holds them at this moment."""
        with self._lock:
            of = str(desk.path), events.desk_id(desk.conn), desk.reviewer, run.hash
            if of != self._of:
                self._of = of
                self._columns = None
                self._copies = None
                self._span = None
                self._totals = None
                self._work = PaceReader()
                self._places = {}
            with reading(desk.conn, desk.path):
                # They follow from the verdicts alone, which do not change while a desk is open.
                self._totals = self._totals or figures.run_figures(desk.conn, run.key)
                calibration, alone = self._figures(desk, run, self._totals)
                pace = self._work.pace(desk, run)
            return Strip(calibration, alone, pace, self._named(desk, run, calibration.gaps))

    def _figures(self, desk: Desk, run: Run, totals: RunFigures) -> tuple[Calibration, Metrics]:
        # Imported here because it loads numpy, which takes a tenth of a second.
        from reviewdesk.domain.labels import summary
        from reviewdesk.domain.labels.label_columns import LabelColumns, labelled_alone, strip_lines

        if self._copies is None:
            self._copies = run.by_verdict and verdicts.has_copies(desk.conn, run.key)
        if self._copies:
            # The weight of a content depends on every stratum that has one of its verdicts.
            rows = sorted(labelled(desk, run), key=lambda one: one.key)
            return summary.summarise(rows, totals), summary.alone(rows, {}).metrics
        if self._span is None:
            self._span = queue.span(desk.conn, run.key)
        of = self._span
        known = self._columns or LabelColumns.none()
        marks = told_marks(desk, of, desk.apart.now)
        self._columns = known.following(
            marks, of.first, lambda fresh: figures.label_columns(desk.conn, of.first, fresh)
        )
        return strip_lines(totals, self._columns), labelled_alone(self._columns)

    def _named(self, desk: Desk, run: Run, gaps: Sequence[DrawGap]) -> tuple[Blocker, ...]:
        """Name what labels wait behind; each place is looked up once."""
        named = []
        for gap in gaps:
            place = gap.stratum, gap.rank
            if place not in self._places:
                self._places[place] = blockers(desk, run, [gap])
            named += [replace(one, waiting=gap.waiting) for one in self._places[place]]
        return tuple(named)
