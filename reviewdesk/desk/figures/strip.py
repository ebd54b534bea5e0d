"""The strip's figures, kept from one label to the next and brought up to date by the log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING

from reviewdesk.domain.labels.pace import PaceEvent, Pacing
from reviewdesk.domain.records import Calibration, Metrics, Pace, Run
from reviewdesk.store.connect import reading
from reviewdesk.store.log_tail import (
    Head,
    done,
    head,
    holds,
    touched,
)

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.labels.strip import LiveFigures
    from reviewdesk.domain.labels.summary import RunFigures

MANY = 500
"""Where more contents than these were touched, all labels are read again."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Both lines of the strip, what the labelled verdicts tell by themselves, and the pace."""

    calibration: Calibration
    alone: Metrics
    pace: Pace


class _Work:
    """What the reviewer did in a run, as far as the log was read."""

    def __init__(self) -> None:
        self._pacing, self._seq = Pacing(), 0

    def pace(self, desk: Desk, run: Run) -> Pace:
        """The pace of ``chronicle.pace``."""
        for event in done(desk.conn, desk.reviewer, self._seq):
            self._seq = event.seq
            if event.target is not None:
                self._pacing.turn(event.target, stands=event.kind == "redo")
            if event.run == run.hash and not event.untimed:
                step = PaceEvent(datetime.fromisoformat(event.at), event.kind)
                self._pacing.add(step, event.action)
        return self._pacing.pace()


@dataclass(frozen=True, slots=True)
class _Kept:
    """The figures of a run as far as the log was read."""

    desk: tuple[str, str]
    run: str
    seen: Head
    live: LiveFigures
    work: _Work


class LiveStrip:
    """The strip of the run that was asked for last, for any thread and any desk.

    Each call reads one state of the desk: the labels that the log touched since the call before,
    whichever process wrote them. All labels are read anew for another run or desk file, where the
    run's totals changed, where the log is not the one that was read, and after any error.
    """

    def __init__(self) -> None:
        """Nothing was read."""
        self._lock = Lock()
        self._kept: _Kept | None = None
        self.rebuilt = 0
        """How often all labels were read."""

    def read(self, desk: Desk, run: Run) -> Strip:
        """The figures of a run as the desk has them at this moment."""
        from reviewdesk.store import figures

        with self._lock:
            # Out of sight until it is whole again: what fails on the way leaves nothing half done.
            kept, self._kept = self._kept, None
            with reading(desk.conn, desk.path):
                totals = figures.run_figures(desk.conn, run.key)
                newest = head(desk.conn)
                if kept is not None and _follow(desk, run, totals, kept):
                    live, work = kept.live, kept.work
                else:
                    live, work = self._build(desk, run, totals), _Work()
                pace = work.pace(desk, run)
            self._kept = _Kept(_whose(desk), run.hash, newest, live, work)
            return Strip(live.calibration(), live.alone(), pace)

    def _build(self, desk: Desk, run: Run, totals: RunFigures) -> LiveFigures:
        from reviewdesk.domain.labels.strip import LiveFigures
        from reviewdesk.store import figures

        self.rebuilt += 1
        live = LiveFigures(totals)
        found = figures.labelled(desk.conn, run.key)
        # In file order, for the order of the draw tells of verdicts that have no label.
        live.apply({one.key: one for one in sorted(found, key=lambda one: one.key)})
        return live


def _whose(desk: Desk) -> tuple[str, str]:
    return str(desk.path), desk.reviewer


def _follow(desk: Desk, run: Run, totals: RunFigures, kept: _Kept) -> bool:
    """Bring kept figures up to date; ``False`` where they are not those of this run and log."""
    from reviewdesk.store import figures

    if (kept.desk, kept.run) != (_whose(desk), run.hash) or kept.live.figures != totals:
        return False
    items = touched(desk.conn, kept.seen, MANY) if holds(desk.conn, kept.seen) else None
    if items is None:
        return False
    for item in items:
        kept.live.apply(figures.labelled_now(desk.conn, run.key, item))
    return True
