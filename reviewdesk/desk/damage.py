"""A fault on a desk whose values somebody changed behind its back is no fault of the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reviewdesk.errors import DeskError

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What values of a wrong kind raise, wherever they are read."""


def found_damage(desk: Desk, fault: BaseException) -> DeskError | None:
    """Return the sentence for a fault of damaged values, ``None`` if the desk is whole."""
    if not isinstance(fault, DAMAGE) or isinstance(fault, UnicodeError):
        return None
    problems = desk.verify().problems
    if not problems:
        return None
    hint = "Ask desk verify for the rest, and restore a backup."
    return DeskError(f"{desk.path}: {problems[0]}", hint)


@contextmanager
def damage_explained(desk: Desk) -> Iterator[None]:
    """Raise DeskError in place of a fault, if damaged values of the desk are behind it."""
    try:
        yield
    except DAMAGE as fault:
        problem = found_damage(desk, fault)
        if problem is None:
            raise
        raise problem from fault
