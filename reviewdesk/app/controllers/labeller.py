"""What a sitting writes: labels, notes, tags, marks, and taking them back.

Each is one event of the desk, on disk when the method returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reviewdesk.app.controllers.review_session import ReviewSession
from reviewdesk.desk.review import drafts, exposure, marks
from reviewdesk.domain.records import Event, Item, Run, Truth
from reviewdesk.settings import Feedback


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """What a label came to: the event, the item as it was shown, whether it was given blind."""

    event: Event
    item: Item
    blind: bool


class Labeller:
    """Writes for the reviewer of a sitting."""

    def __init__(self, sitting: ReviewSession) -> None:
        """Write what the reviewer of ``sitting`` decides."""
        self._sitting = sitting

    @property
    def _key(self) -> int | None:
        item = self._sitting.session.item
        return None if item is None else item.row.key

    def label(self, truth: Truth, *, tentative: bool) -> GivenLabel | None:
        """Label the current item. The cursor does not move yet."""
        sitting = self._sitting
        session, item = sitting.session, sitting.session.item
        if item is None:
            return None
        blind = sitting.exposure.is_blind(session, item)
        blind = blind and not exposure.was_seen(sitting.desk, item.row.key)
        event = sitting.desk.label(
            item.row.key,
            truth,
            tentative=tentative,
            blind=blind,
            revealed_at=item.revealed_at,
            view=sitting.view(),
        )
        if session.feedback is Feedback.AFTER or not session.view.blind:
            sitting.exposure.labelled(item)
        sitting.session = replace(session, progress=sitting.desk.progress(session.run))
        return GivenLabel(event, item, blind)

    def defer(self) -> bool:
        """Put the current item at the end of the queue, still undecided."""
        if self._key is None:
            return False
        self._sitting.desk.defer(self._key)
        self._sitting.refresh()
        return True

    def note(self, key: int, text: str) -> None:
        """Write the note of an item; its draft is done with."""
        self._sitting.desk.note(key, text)
        drafts.keep(self._sitting.desk, key, "")
        self._sitting.refresh()

    def tag(self, key: int, tags: Sequence[str]) -> bool:
        """Give an item these tags; ``False`` where it has them already."""
        done = marks.tag(self._sitting.desk, key, tags) is not None
        self._sitting.refresh()
        return done

    def mark(self) -> bool | None:
        """Mark the current item or take its mark away; the new state, ``None`` without an item."""
        item = self._sitting.session.item
        if item is None:
            return None
        on = not item.marked
        marks.mark(self._sitting.desk, item.row.key, on)
        self._sitting.refresh()
        return on

    def reveal(self) -> None:
        """Show the panel of the current item from now on."""
        if self._key is None:
            return
        self._sitting.desk.reveal(self._key)
        self._sitting.refresh()
        self._sitting.exposure.opened(self._sitting.session)

    def undo(self, *, redo: bool = False) -> Event | None:
        """Undo or redo the newest event and go to its item; ``None`` when there is nothing."""
        sitting = self._sitting
        event = sitting.desk.redo() if redo else sitting.desk.undo()
        if event is None:
            return None
        run = sitting.session.run
        if event.verdict is not None and is_of(event, run):
            sitting.goto(sitting.desk.find(run, event.verdict))
        sitting.refresh()
        return event


def is_of(event: Event, run: Run) -> bool:
    """Whether an event belongs to a run."""
    return event.run in {None, run.hash, run.name}
