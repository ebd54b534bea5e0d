"""Full-text search over a run, with an index that is built in the background."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from time import sleep

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.filters import expand
from reviewdesk.desk.team.claims import withheld
from reviewdesk.domain.query import filter as language
from reviewdesk.domain.query.filter import parse_filter, parse_order
from reviewdesk.domain.records import Run
from reviewdesk.store import search
from reviewdesk.store.connect import explained, writing

_PAUSE = 0.02
"""Seconds between two batches, because others poll for the write lock only at intervals."""


def index(desk: Desk, run: Run, progress: Callable[[float, int], bool] | None = None) -> bool:
    """Index the rest of a run in batches; return True if the index is then complete.

    After each batch ``progress`` gets the share and the count, and ``False`` from it stops. What
    was indexed by then is kept, and the next call continues from there.
    """
    while True:
        with explained(desk.path):
            done, total = search.reach(desk.conn, run.key)
            batch = search.prepare(desk.conn, run.key, done)
        if not batch or desk.read_only:
            return done >= total
        with writing(desk.conn, desk.path):
            search.put(desk.conn, run.key, done, batch)
        done += len(batch)
        if progress is not None and not progress(min(1.0, done / total), done):
            return done >= total
        sleep(_PAUSE if done < total else 0)


def ready(
    desk: Desk,
    run: Run,
    text: str,
    order: str = "draw",
    progress: Callable[[float, int], bool] | None = None,
) -> str:
    """Return the filter with its saved filters expanded; index the run if the filter needs that.

    Raises:
        UsageError: the filter or the order cannot be read.
    """
    parse_order(order)
    text = expand(desk, text) if text else text
    if parse_filter(text).searches:
        index(desk, run, progress)
    return text


def indexed(desk: Desk, run: Run) -> float:
    """Return the share of a run's verdicts that are in the index, from 0 to 1."""
    done, total = search.reach(desk.conn, run.key)
    return done / total if total else 1.0


def find(desk: Desk, run: Run, text: str, *, blind: bool) -> array[int]:
    """Return the keys of the verdicts that contain every term of ``text``, in no given order.

    With ``blind``, the jurors' reasons and the notes of others are not searched; notes of others on
    withheld items never are. An empty search is an error.
    """
    with explained(desk.path):
        return search.find(desk.conn, run.key, text, desk.reviewer, withheld(desk), blind=blind)


def words(text: str) -> list[str]:
    """Return the words of a search, for a screen to highlight."""
    return language.search_words(text)
