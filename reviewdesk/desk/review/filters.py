"""Saved filters, and the names that complete a filter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from reviewdesk.desk.review.marks import known_tags
from reviewdesk.domain.query.completion import Vocabulary
from reviewdesk.domain.query.filter import expand_filter
from reviewdesk.errors import NotFoundError, UsageError
from reviewdesk.store import jurors, labels, reviewer
from reviewdesk.store.connect import writing
from reviewdesk.store.explain import explained

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.records import Run

_NAME = re.compile(r"[\w.-]{1,40}")
_MOST = 200
"""The most names of one kind that are offered."""


def saved(desk: Desk) -> dict[str, str]:
    """Return the reviewer's saved filters as a mapping from name to text."""
    with explained(desk.path):
        return reviewer.saved_filters(desk.conn, desk.reviewer)


def save(desk: Desk, name: str, text: str) -> None:
    """Save a filter under a name and replace an older one; expand every ``@name`` in it."""
    name = name.removeprefix("@")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a filter", "Use up to 40 letters, digits, - _ and dots."
        )
    expanded = expand(desk, text)
    if not expanded:
        raise UsageError("an empty filter keeps everything", "Give one: esc label:none.")
    with writing(desk.conn, desk.path):
        reviewer.save_filter(desk.conn, desk.reviewer, name, expanded)


def forget(desk: Desk, name: str) -> None:
    """Delete a saved filter."""
    name = name.removeprefix("@")
    with writing(desk.conn, desk.path):
        if not reviewer.forget_filter(desk.conn, desk.reviewer, name):
            known = ", ".join(saved(desk)) or "none"
            raise NotFoundError(f"no saved filter {name!r}", f"Saved filters: {known}.")


def expand(desk: Desk, text: str) -> str:
    """Return a valid filter, in which the saved filter replaces every word ``@name``.

    Raises:
        FilterError: the filter cannot be read; the error points at the wrong column of ``text``.
    """
    return expand_filter(text, saved(desk) if "@" in text else {})


def vocabulary(desk: Desk, run: Run) -> Vocabulary:
    """Return the names in the desk that a filter over ``run`` may use."""
    with explained(desk.path):
        return Vocabulary(
            tags=_names([*labels.case_tags(desk.conn, run.key), *known_tags(desk)]),
            jurors=_names(jurors.names(desk.conn, run.key)),
            runs=tuple(one.name for one in reversed(desk.runs())),
            filters=saved(desk),
        )


def _names(found: Iterable[str | None]) -> tuple[str, ...]:
    folded = {name.casefold(): name for name in found if isinstance(name, str)}
    return tuple(sorted(folded.values(), key=str.casefold)[:_MOST])
