"""Tell an error on a damaged desk apart from a fault of the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reviewdesk.errors import DeskError, ReviewDeskError
from reviewdesk.file_output import is_desk
from reviewdesk.store import audit
from reviewdesk.store.connect import connect_read_only
from reviewdesk.store.explain import damaged


def found_damage(fault: Exception, *paths: Path) -> DeskError | None:
    """Return the error to show in place of a fault, or ``None`` if each desk is whole.

    Any exception may come of a damaged desk, so those among the files are verified.
    """
    if isinstance(fault, ReviewDeskError):
        return None
    for path in filter(is_desk, [one.resolve() for one in paths]):
        try:
            with connect_read_only(path) as conn:
                problems = audit.verify(conn).problems
        except DeskError as error:
            return error
        if problems:
            return damaged(path, problems[0])
    return None


@contextmanager
def damage_explained(path: Path) -> Iterator[None]:
    """Raise DeskError in place of a fault, if a damaged desk explains it."""
    try:
        yield
    except Exception as fault:
        if (problem := found_damage(fault, path)) is None:
            raise
        raise problem from fault
