"""The tags of a desk, saved filters, the names that complete a filter, and full-text search."""

import re
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Sequence
from time import sleep

from reviewdesk.desk.core import Desk
from reviewdesk.desk.team import claims
from reviewdesk.domain.labels.chain import DESK
from reviewdesk.domain.query.filter import Vocabulary, expand_filter, parse_filter, parse_order
from reviewdesk.domain.records import Run, TagCount
from reviewdesk.domain.tags import DIGITS, digit_tags, usable_tags
from reviewdesk.errors import BusyError, NotFoundError, UsageError
from reviewdesk.store import reviewers, search, verdicts
from reviewdesk.store.connect import writing


def tag_counts(desk: Desk, run: Run) -> list[TagCount]:
    """Count a run's items with each tag, most used first, without what is withheld."""
    told = verdicts.told_tags(desk.conn, desk.apart.now)
    there = verdicts.keys_of_items(desk.conn, run.key, set().union(*told.values()))
    found = [TagCount(tag, len(items & there.keys())) for tag, items in told.items()]
    return sorted((one for one in found if one.count), key=lambda one: (-one.count, one.tag))


def own_tags(desk: Desk) -> list[str]:
    return verdicts.used_tags(desk.conn, desk.reviewer)


def known_tags(desk: Desk) -> list[str]:
    told = verdicts.told_tags(desk.conn, desk.apart.now)
    return sorted(told, key=lambda tag: (-len(told[tag]), tag))


_DIGITS = "tag_digits"
"""The name under which the desk itself keeps the tags of the digits, for every reviewer."""


def tag_digits(desk: Desk, configured: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """Return the tags that the digits give, and keep those that are new on the desk."""
    found = digit_tags(_digits(desk), configured, own)
    if desk.read_only or found == _stored_digits(desk.conn, DESK):
        return found
    try:
        return _keep_digits(desk, configured, own)
    except BusyError:
        return _digits(desk)


def add_digits(desk: Desk, other: sqlite3.Connection) -> None:
    """Assign the next free digits on this desk to tags that have a digit on another desk."""
    if found := _stored_digits(other, DESK):
        _keep_digits(desk, found, ())


def _keep_digits(desk: Desk, configured: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    with writing(desk.conn):
        found = digit_tags(_digits(desk), configured, own)
        reviewers.keep(desk.conn, DESK, {_DIGITS: found})
    return found


def _digits(desk: Desk) -> tuple[str, ...]:
    return _stored_digits(desk.conn, DESK) or _stored_digits(desk.conn, desk.reviewer)


def _stored_digits(conn: sqlite3.Connection, who: str) -> tuple[str, ...]:
    values = reviewers.kept(conn, who).get(_DIGITS)
    texts = values if isinstance(values, list) else ()
    return usable_tags(text for text in texts if isinstance(text, str))[:DIGITS]


_NAME = re.compile(r"[\w.-]{1,40}")
_MOST = 200


def saved(desk: Desk) -> dict[str, str]:
    return reviewers.named_texts(desk.conn, "filters", desk.reviewer)


def save(desk: Desk, name: str, text: str) -> None:
    name = name.removeprefix("@")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a name for a filter", "Use up to 40 letters, digits, - _ and dots."
        )
    expanded = expand(desk, text)
    if not expanded:
        raise UsageError("an empty filter keeps everything", "Give one: esc label:none.")
    with writing(desk.conn):
        reviewers.keep_texts(desk.conn, "filters", desk.reviewer, {name: expanded})


def forget(desk: Desk, name: str) -> None:
    name = name.removeprefix("@")
    with writing(desk.conn):
        if not reviewers.forget_texts(desk.conn, "filters", desk.reviewer, [name]):
            known = ", ".join(saved(desk)) or "none"
            raise NotFoundError(f"no saved filter {name!r}", f"Saved filters: {known}.")


def expand(desk: Desk, text: str) -> str:
    """Return a valid filter, in which the saved filter replaces every word ``@name``."""
    return expand_filter(text, saved(desk) if "@" in text else {})


def vocabulary(desk: Desk, run: Run) -> Vocabulary:
    return Vocabulary(
        tags=_names([*verdicts.case_tags(desk.conn, run.key), *known_tags(desk)]),
        jurors=_names(search.juror_names(desk.conn, run.key)),
        runs=tuple(one.name for one in reversed(desk.runs())),
        filters=saved(desk),
    )


def _names(found: Iterable[str | None]) -> tuple[str, ...]:
    folded = {name.casefold(): name for name in found if isinstance(name, str)}
    return tuple(sorted(folded.values(), key=str.casefold)[:_MOST])


_PAUSE = 0.02
"""Seconds between two batches, because others poll for the write lock only at intervals."""


def index(desk: Desk, run: Run, progress: Callable[[float, int], bool] | None = None) -> bool:
    """Index the rest of a run in batches, until ``progress`` says False; True if complete."""
    while True:
        done, total = search.reach(desk.conn, run.key)
        batch = search.prepare(desk.conn, run.key, done)
        if not batch or desk.read_only:
            return done >= total
        with writing(desk.conn):
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
    """Return the filter with its saved filters expanded; index the run if the filter needs that."""
    parse_order(order)
    text = expand(desk, text) if text else text
    if parse_filter(text).searches:
        index(desk, run, progress)
    return text


def indexed(desk: Desk, run: Run) -> float:
    done, total = search.reach(desk.conn, run.key)
    return done / total if total else 1.0


def find(desk: Desk, run: Run, text: str, *, blind: bool) -> "array[int]":
    """Return the keys of the verdicts that contain every term; ``blind`` leaves reasons out."""
    return search.find(desk.conn, run.key, text, desk.reviewer, claims.withheld(desk), blind=blind)
