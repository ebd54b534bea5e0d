"""The name under which a person labels."""

from __future__ import annotations

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UsageError

LONGEST = 60


def reviewer_name(typed: str) -> str:
    """Return the name that a person typed, without the spaces around it.

    Raises:
        UsageError: nothing was typed, or what was typed cannot be a reviewer's name.
    """
    name = " ".join(typed.split())
    if not name:
        raise UsageError("no name was typed", "It stands with every label that you give.")
    if name.startswith("@"):
        raise UsageError(
            f"{show_line(name, 80)}: no reviewer's name begins with @", "Leave it out."
        )
    if len(name) > LONGEST or show_line(name, LONGEST + 1) != name:
        raise UsageError(f"a name has up to {LONGEST} plain characters", "Type it anew.")
    return name
