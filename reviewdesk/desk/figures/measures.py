"""Measure runs that an older version loaded: compute their packed columns and figures.

A run that this version loads is measured on loading; see ``store/ingest.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.records import Run
from reviewdesk.domain.run.measures import Measures, RunMeasures
from reviewdesk.domain.verdict import Generator, Policy, verdict_from_body
from reviewdesk.errors import Cancelled, DeskError
from reviewdesk.store import measures, runs
from reviewdesk.store.connect import explained, writing
from reviewdesk.store.staging import waiting

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.run.packing import PackedRun
    from reviewdesk.domain.verdict import Verdict

_BATCH = 500
_TABLES = {**measures.WINDOWS, **measures.LATER}

Progress = Callable[[float, int], bool]
"""Takes the share and the number of verdicts so far; returning ``False`` cancels."""


def measured(desk: Desk, run: Run) -> bool:
    """Return True if the desk holds a run's measures."""
    with explained(desk.path):
        return measures.known(desk.conn, run.key)


def measure(desk: Desk, run: Run, progress: Progress | None = None) -> bool:
    """Measure a run unless the desk holds its measures; return False if ``progress`` cancels.

    The verdicts are read outside of the write lock. After a cancellation nothing is kept.
    """
    if measured(desk, run):
        return True
    try:
        with _staging(desk, run, progress) as found:
            _store(desk, run, found)
    except Cancelled:
        return False
    return True


def packed(desk: Desk, run: Run) -> PackedRun:
    """Return a run's packed columns; compute them if the desk lacks them, and try to store them."""
    with explained(desk.path):
        known = measures.packed(desk.conn, run.key)
    if known is not None:
        return known
    with _staging(desk, run, None) as found:
        # If the desk is locked or read-only, the next call computes the columns again.
        with suppress(DeskError):
            _store(desk, run, found)
        return measures.waiting_packed(desk.conn, found)


def _store(desk: Desk, run: Run, found: RunMeasures) -> None:
    """Store the staged measures, unless another process has done so meanwhile."""
    with writing(desk.conn, desk.path):
        if not measures.known(desk.conn, run.key):
            measures.fill(desk.conn, run.key, found)


@contextmanager
def _staging(desk: Desk, run: Run, progress: Progress | None) -> Iterator[RunMeasures]:
    """Stage the columns and measures of a run in temporary tables, and yield its figures."""
    with waiting(desk.conn, _TABLES):
        writer, done = measures.MeasureWriter(desk.conn), 0
        for batch in _batches(desk, run):
            made = []
            for verdict in batch:
                found = assess(verdict)
                writer.add(verdict, found)
                made.append((done, Measures.of(found)))
                done += 1
            measures.wait_for(desk.conn, made)
            if progress is not None and not progress(done / run.verdicts, done):
                raise Cancelled("measuring was stopped; nothing was kept")
        yield writer.finish()


def _batches(desk: Desk, run: Run) -> Iterator[list[Verdict]]:
    """Yield the verdicts of a run in batches, in file order."""
    with explained(desk.path):
        filled = Policy.from_body(runs.options(desk.conn, run.key))
    defaults = Policy.from_body(run.header.get("defaults"))
    stated = run.header.get("generator") or {}
    generator = Generator(stated.get("model"), stated.get("vendor"))
    for start in range(0, run.verdicts, _BATCH):
        with explained(desk.path):
            bodies = measures.bodies(desk.conn, run.key, start, _BATCH)
        yield [verdict_from_body(json.loads(body), defaults, generator, filled) for body in bodies]
