"""Undo and redo: one transaction for each action, and one for each batch of an import."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from reviewdesk.desk.open_file import OpenFile
from reviewdesk.desk.review import items
from reviewdesk.desk.review.edits import ONCE
from reviewdesk.domain.records import Event
from reviewdesk.errors import Cancelled
from reviewdesk.store import events
from reviewdesk.store.connect import writing

_FIND = {"undo": events.next_undo, "redo": events.next_redo}


class Turn(Struct, frozen=True):
    """An undo or redo of the reviewer's newest action; ``facts`` are kept in its event."""

    kind: str
    facts: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, desk: OpenFile) -> Event | None:
        """Undo or redo it, or the first batch of the import that it is of, and return the event.

        ``None`` if there is nothing to undo or redo.
        """
        with writing(desk.conn, desk.path):
            action = _FIND[self.kind](desk.conn, desk.reviewer)
            return None if action is None else _turn(desk, self.kind, action, self.facts)

    def fits(self, desk: OpenFile, last: str, keys: frozenset[str]) -> bool:
        """Return True if the reviewer did nothing since ``last`` but the edits with these keys."""
        since = events.actions_after(desk.conn, desk.reviewer, last)
        return since is not None and keys.issuperset(since) and self.facts[ONCE] not in since


def is_import(desk: OpenFile, done: Event) -> bool:
    """Return True if what an event undid or redid is one of the batches of an import."""
    return events.import_of(desk.conn, desk.reviewer, done.target or 0) is not None


def rest(
    desk: OpenFile, done: Event, progress: Callable[[float], bool] = lambda _share: True
) -> Event:
    """Undo or redo the other batches of an import like the first one, and return an event of all.

    Each batch is a transaction of its own. What a kill leaves, the next undo or redo goes on with.

    Raises:
        Cancelled: ``progress`` returned False.
    """
    batches = events.batches(desk.conn, desk.reviewer, done.target or 0)
    from reviewdesk.store.load.hidden_runs import LockPace

    count, pace = done.detail["count"], LockPace()
    for place, action in enumerate(reversed(batches) if done.kind == "undo" else batches):
        if not progress(place / len(batches)):
            raise Cancelled(f"the {done.kind} was stopped")
        with pace.timed(), writing(desk.conn, desk.path):
            if events.is_undone(desk.conn, desk.reviewer, action) is (done.kind == "redo"):
                count += _turn(desk, done.kind, action).detail["count"]
        pace.turn()
    return replace(done, detail={"was": f"import of {count} labels", "count": count})


def whole(desk: OpenFile, kind: str) -> Event | None:
    """Undo or redo the reviewer's newest action, an import with all its batches."""
    done = Turn(kind)(desk)
    return rest(desk, done) if done is not None and is_import(desk, done) else done


def _turn(
    desk: OpenFile, kind: str, action: int, facts: Mapping[str, object] | None = None
) -> Event:
    entry = items.undo_event(desk, kind, action)
    entry = replace(entry, detail={**entry.detail, **(facts or {})})
    return events.append(desk.conn, desk.reviewer, [entry])[0]
