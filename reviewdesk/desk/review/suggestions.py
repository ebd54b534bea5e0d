"""Record what an agent thinks of an item, which is nobody's label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.desk.review import items
from reviewdesk.domain.labels.chain import AGENT
from reviewdesk.domain.records import SUGGESTION, Event, Truth
from reviewdesk.errors import UsageError
from reviewdesk.store import events
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent

if TYPE_CHECKING:
    from reviewdesk.desk.open_file import OpenFile

LONGEST_NAME, LONGEST_NOTE = 80, 4000
"""The most characters of an agent's name and of its note."""


def check_agent(name: str) -> None:
    """Raise UsageError if an agent's name is empty or too long."""
    if not name.strip() or len(name) > LONGEST_NAME:
        problem = f"the agent's name has {len(name)} characters"
        raise UsageError(problem, f"Give it 1 to {LONGEST_NAME}.")


def suggest(desk: OpenFile, key: int, truth: Truth, note: str | None, agent: str) -> Event:
    """Append an agent's suggestion to the log, in the chain of all agents.

    No label, truth, figure, progress or export counts it, and no undo takes it back.

    Raises:
        UsageError: the agent has no name, or name or note are too long.
    """
    check_agent(agent)
    if note is not None and len(note) > LONGEST_NOTE:
        raise UsageError(
            f"the note has {len(note):,} characters", f"Write at most {LONGEST_NOTE:,}."
        )
    detail = {"agent": agent, "beside": desk.reviewer, **({"note": note} if note else {})}
    entry = NewEvent(SUGGESTION, desk.at(), label=truth, detail=detail)
    with writing(desk.conn, desk.path):
        _, placed = items.about(desk, key, entry)
        return events.append(desk.conn, AGENT, [placed])[0]
