"""Search: a full-text index that is built beside the work, and what it finds."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from time import sleep
from typing import TYPE_CHECKING

from reviewdesk.domain.query import search as language
from reviewdesk.store import search
from reviewdesk.store.connect import explained, writing

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.records import Run

_PAUSE = 0.02
"""Seconds between two batches: who waits for the write lock only looks for it now and then."""


def index(desk: Desk, run: Run, progress: Callable[[float, int], bool] | None = None) -> bool:
    """Index what is left of a run, batch by batch; whether the index is then complete.

    ``progress`` is told the share and the count after each batch, and stops it with ``False``;
    whatever was indexed by then is kept, and another call goes on from there.
    """
    while True:
        with explained(desk.path):
            done, total = search.reach(desk.conn, run.key)
            batch = search.prepare(desk.conn, run.key, done)
        if not batch:
            return done >= total
        with writing(desk.conn, desk.path):
            search.put(desk.conn, run.key, done, batch)
        done += len(batch)
        if progress is not None and not progress(min(1.0, done / total), done):
            return done >= total
        sleep(_PAUSE if done < total else 0)


def indexed(desk: Desk, run: Run) -> float:
    """The share of a run's verdicts that a search can find."""
    done, total = search.reach(desk.conn, run.key)
    return done / total if total else 1.0


def find(desk: Desk, run: Run, text: str, *, blind: bool) -> array[int]:
    """The keys of the verdicts in which everything that is sought occurs, in no given order.

    ``blind`` leaves out the jurors' reasons and the notes of others. An empty search is refused.
    """
    with explained(desk.path):
        return search.find(desk.conn, run.key, text, desk.reviewer, blind=blind)


def words(text: str) -> list[str]:
    """The words of a search, to highlight on a screen."""
    return language.words(text)
