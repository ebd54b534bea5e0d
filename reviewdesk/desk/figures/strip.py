"""The strip's figures, which are kept between labels and updated from the label log."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.figures.blockers import blockers
from reviewdesk.desk.team.second_opinions import told_marks, withheld
from reviewdesk.domain.labels.second_opinions import NOTHING
from reviewdesk.domain.records import Blocker, Calibration, DrawGap, Metrics, Pace, Run
from reviewdesk.store import queue
from reviewdesk.store.connect import reading
from reviewdesk.store.events import Head, head, holds, touched

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.desk.review.history import PaceReader
    from reviewdesk.domain.labels.rows import RunFigures
    from reviewdesk.domain.labels.strip import LiveFigures, RecountedFigures

MANY = 500
"""If the log touched more contents than this, all labels are read again."""
ONE_BY_ONE = 2_000
"""Up to so many labels are counted one by one, which takes less than to load numpy."""


class Strip(Struct, frozen=True):
    """Both lines of the strip, the figures of the labelled verdicts alone, and the pace."""

    calibration: Calibration
    alone: Metrics
    pace: Pace
    blockers: tuple[Blocker, ...] = ()
    """What labels wait behind, by the draw."""


class _Snapshot(Struct, frozen=True):
    """The figures of a run, up to the head of the log that was read."""

    desk: tuple[str, str]
    run: str
    seen: Head
    live: LiveFigures | RecountedFigures
    work: PaceReader


class LiveStrip:
    """The strip of the run that was requested last. Any thread may use it with any desk.

    Each call reads one state of the desk: the labels that the log touched since the previous call,
    whichever process wrote them. All labels are read again for another run or desk file, if the
    run's totals changed, if the log is not the one that was read, and after any error.
    """

    def __init__(self) -> None:
        """Start without figures; the first call reads all labels."""
        self._lock = Lock()
        self._kept: _Snapshot | None = None
        self._placed, self._places = "", dict[tuple[int, int], tuple[Blocker, ...]]()
        """The items at the places of a run's draw that were looked up."""
        self.rebuilt = 0
        """How many times all labels were read."""

    def read(self, desk: Desk, run: Run) -> Strip:
        """Return the figures of a run as the desk holds them at this moment."""
        from reviewdesk.desk.review.history import PaceReader
        from reviewdesk.store import figures

        with self._lock:
            # The figures are removed while they change, so that an error leaves no partial update.
            kept, self._kept = self._kept, None
            with reading(desk.conn, desk.path):
                totals = figures.run_figures(desk.conn, run.key)
                newest = head(desk.conn)
                if kept is not None and _update(desk, run, totals, kept):
                    live, work = kept.live, kept.work
                else:
                    live, work = self._build(desk, run, totals), PaceReader()
                pace = work.pace(desk, run)
            self._kept = _Snapshot(_identity(desk), run.hash, newest, live, work)
            found = live.calibration()
            return Strip(found, live.alone(), pace, self._named(desk, run, found.gaps))

    def _named(self, desk: Desk, run: Run, gaps: Sequence[DrawGap]) -> tuple[Blocker, ...]:
        """Name what labels wait behind; each place is looked up once."""
        if self._placed != run.hash:
            self._placed, self._places = run.hash, {}
        named = []
        for gap in gaps:
            place = gap.stratum, gap.rank
            if place not in self._places:
                self._places[place] = blockers(desk, run, [gap])
            named += [replace(one, waiting=gap.waiting) for one in self._places[place]]
        return tuple(named)

    def _build(self, desk: Desk, run: Run, totals: RunFigures) -> LiveFigures | RecountedFigures:
        from reviewdesk.desk.figures.label_rows import labelled
        from reviewdesk.domain.labels.rows import by_content
        from reviewdesk.domain.labels.strip import LiveFigures, RecountedFigures

        self.rebuilt += 1
        if run.by_verdict:
            rows = labelled(desk, run)
            if len(by_content(rows)) < len(rows):
                return RecountedFigures(totals, rows)
        of, hidden = queue.span(desk.conn, run.key), withheld(desk) if desk.double else NOTHING
        marks = told_marks(desk, of, hidden)
        if len(marks) - marks.count(0) > ONE_BY_ONE:
            from reviewdesk.domain.labels.bulk import live_figures
            from reviewdesk.domain.labels.label_columns import LabelColumns
            from reviewdesk.store import figures

            found = figures.label_columns(desk.conn, of.first, marks)
            return live_figures(totals, LabelColumns.of(found))
        live = LiveFigures(totals)
        # In file order, because the order of the draw depends on verdicts without a label.
        rows = sorted(labelled(desk, run), key=lambda one: one.key)
        live.apply({one.key: one for one in rows})
        return live


def _identity(desk: Desk) -> tuple[str, str]:
    return str(desk.path), f"{desk.double} {desk.reviewer}"


def _update(desk: Desk, run: Run, totals: RunFigures, kept: _Snapshot) -> bool:
    """Update the kept figures; return False if they are not those of this run and log."""
    from reviewdesk.desk.figures.label_rows import labelled_now
    from reviewdesk.domain.labels.strip import LiveFigures

    if (kept.desk, kept.run) != (_identity(desk), run.hash) or kept.live.figures != totals:
        return False
    items = touched(desk.conn, kept.seen, MANY) if holds(desk.conn, kept.seen) else None
    if items is None:
        return False
    for changes in labelled_now(desk, run, items):
        if run.by_verdict and len(changes) > 1 and isinstance(kept.live, LiveFigures):
            return False
        kept.live.apply(changes)
    return True
