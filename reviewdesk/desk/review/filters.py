"""Filters kept by name, and what a filter may be completed with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reviewdesk.domain.query.completion import Vocabulary
from reviewdesk.domain.query.filter import expand_filter
from reviewdesk.errors import NotFoundError, UsageError
from reviewdesk.store import filters
from reviewdesk.store.connect import explained, writing

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.records import Run

_NAME = re.compile(r"[\w.-]{1,40}")


def saved(desk: Desk) -> dict[str, str]:
    """The reviewer's saved filters by name."""
    with explained(desk.path):
        return filters.saved(desk.conn, desk.reviewer)


def save(desk: Desk, name: str, text: str) -> None:
    """Keep a filter under a name, in the place of an older one; what it quotes is written out."""
    name = name.removeprefix("@")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a filter", "Use up to 40 letters, digits, - _ and dots."
        )
    expanded = expand(desk, text)
    if not expanded:
        raise UsageError("an empty filter keeps everything", "Give one: esc label:none.")
    with writing(desk.conn, desk.path):
        filters.save(desk.conn, desk.reviewer, name, expanded)


def forget(desk: Desk, name: str) -> None:
    """Drop a saved filter."""
    name = name.removeprefix("@")
    with writing(desk.conn, desk.path):
        if not filters.forget(desk.conn, desk.reviewer, name):
            known = ", ".join(saved(desk)) or "none"
            raise NotFoundError(f"no saved filter {name!r}", f"Saved filters: {known}.")


def expand(desk: Desk, text: str) -> str:
    """A filter that can be read, every word ``@name`` replaced by the saved filter of that name.

    A ``FilterError`` points at the column of ``text`` that is wrong.
    """
    return expand_filter(text, saved(desk) if "@" in text else {})


def vocabulary(desk: Desk, run: Run) -> Vocabulary:
    """The names of the desk that a filter over ``run`` may use."""
    with explained(desk.path):
        return Vocabulary(
            tags=filters.tags(desk.conn, run.key),
            jurors=filters.jurors(desk.conn, run.key),
            runs=filters.run_names(desk.conn),
            filters=saved(desk),
        )
