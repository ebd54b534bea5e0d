"""The strip of figures below the review, computed anew after every label."""

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import blockers
from reviewdesk.desk.figures.question import answer, question
from reviewdesk.desk.review.items import PaceReader
from reviewdesk.desk.team.claims import labelled, told_marks
from reviewdesk.domain.labels.question import RunAnswer
from reviewdesk.domain.labels.sampling import RunFigures
from reviewdesk.domain.records import Applied, Blocker, Calibration, Head, Metrics, Pace, Run
from reviewdesk.store import figures, queue
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from reviewdesk.domain.labels.label_columns import LabelColumns


class Strip(Struct, frozen=True):
    """Both lines of the strip, the figures of the labelled verdicts alone, and the pace."""

    calibration: Calibration | None = None
    alone: Metrics | None = None
    pace: Pace | None = None
    blockers: tuple[Blocker, ...] = ()
    """The items that labels wait for, by the draw or, in a blind session, by its queue."""
    answer: RunAnswer | None = None


class LiveStrip:
    """The strip of the run that was requested last, for any thread; each call reads one state."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: object = None
        """The desk, the reviewer and the run whose labels are kept."""
        self._forget()

    def _forget(self) -> None:
        self._columns: LabelColumns | None = None
        self._span: queue.RunKeys | None = None
        self._totals: RunFigures | None = None
        self._work = PaceReader()
        self._marks = bytearray()
        self._asks = False
        self._head: Head | None = None
        """The labels of the verdicts as bytes, and the newest event that they hold."""

    def read(self, desk: Desk, run: Run, done: Sequence[Applied] = ()) -> Strip:
        """Return a run's figures; from ``done`` alone if that begins where the last call ended."""
        # Imported here because it loads numpy, which takes a tenth of a second.
        from reviewdesk.domain.labels.label_columns import LabelColumns

        with self._lock:
            of = str(desk.path), getattr(desk.conn, "identity", None), desk.reviewer, run.hash
            span = self._span
            totals = self._totals
            if of == self._of and span and totals and self._follow(run, span, done):
                calibration, alone = self._counted(desk, span, totals)
            else:
                if of != self._of:
                    self._of = of
                    self._forget()
                with reading(desk.conn):
                    # They follow from the verdicts alone, which do not change meanwhile.
                    totals = self._totals = self._totals or figures.run_figures(desk.conn, run.key)
                    if run.by_verdict:
                        # The weight of a content depends on every stratum with one of its verdicts.
                        rows = sorted(labelled(desk, run), key=lambda one: one.key)
                        calibration, alone = _lines(LabelColumns.of_rows(rows), totals)
                    else:
                        span = self._span = self._span or queue.span(desk.conn, run.key)
                        self._marks = told_marks(desk, span, desk.apart.now)
                        self._head = desk.apart.seen
                        calibration, alone = self._counted(desk, span, totals)
                    self._work.pace(desk, run)
                asked = question(desk, run)
                self._asks = asked is not None and not asked.closed
            found = answer(desk, run) if self._asks else None
            named = blockers(desk, run, calibration.gaps)
            return Strip(calibration, alone, self._work.now, named, found)

    def _follow(self, run: Run, span: queue.RunKeys, done: Sequence[Applied]) -> bool:
        """Take in labels of the reviewer; return False if the desk is to be read instead."""
        if self._head is None:
            return False
        key = self._head.key
        new = [one for one in done if one.first > key]
        for one in new:
            if one.first != key + 1 or {event.kind for event in one.events} != {"label"}:
                return False
            key = one.head.key
        for one in new:
            for verdict, mark in one.marks.items():
                if 0 <= verdict - span.first < span.size:
                    self._marks[verdict - span.first] = mark
            self._work.follow(one.events, run)
            self._head = one.head
        return bool(new)

    def _counted(
        self, desk: Desk, span: queue.RunKeys, totals: RunFigures
    ) -> tuple[Calibration, Metrics]:
        """Count the labels, after reading the facts of newly labelled verdicts."""
        from reviewdesk.domain.labels.label_columns import LabelColumns

        known = self._columns or LabelColumns.of_rows(())
        self._columns = known.following(
            self._marks,
            span.first,
            lambda fresh: figures.label_columns(desk.conn, span.first, fresh),
        )
        return _lines(self._columns, totals)


def _lines(columns: "LabelColumns", totals: RunFigures) -> tuple[Calibration, Metrics]:
    """Return the lines of labelled verdicts, by the draw of the run and of themselves alone."""
    from reviewdesk.domain.labels.label_columns import weigh
    from reviewdesk.domain.stats.calibration import measure

    return weigh(columns, totals).lines, measure(columns.own_rows()[0])
