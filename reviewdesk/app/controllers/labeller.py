"""Writes what the reviewer decides: labels, notes, tags, marks and undo.

Each decision is one event of the desk, on disk when the method returns.
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
    """A saved label: its event, the item as it was shown, and whether the label is blind."""

    event: Event
    item: Item
    blind: bool


class Labeller:
    """Saves the decisions of one review session's reviewer to the desk."""

    def __init__(self, review_session: ReviewSession) -> None:
        """Save labels for the reviewer of ``review_session``, and update its state."""
        self._review_session = review_session

    @property
    def _key(self) -> int | None:
        item = self._review_session.session.item
        return None if item is None else item.row.key

    def label(self, truth: Truth, *, tentative: bool) -> GivenLabel | None:
        """Label the current item without moving on; return ``None`` if there is no item."""
        review_session = self._review_session
        session, item = review_session.session, review_session.session.item
        if item is None:
            return None
        blind = review_session.exposure.is_blind(session, item)
        blind = blind and not exposure.was_seen(review_session.desk, item.row.key)
        event = review_session.desk.label(
            item.row.key,
            truth,
            tentative=tentative,
            blind=blind,
            revealed_at=item.revealed_at,
            view=review_session.view(),
        )
        if session.feedback is Feedback.AFTER or not session.view.blind:
            review_session.exposure.labelled(item)
        review_session.session = replace(
            session, progress=review_session.desk.progress(session.run)
        )
        return GivenLabel(event, item, blind)

    def defer(self) -> bool:
        """Move the current item, undecided, to the end of the queue; return False without one."""
        if self._key is None:
            return False
        self._review_session.desk.defer(self._key)
        self._review_session.refresh()
        return True

    def note(self, key: int, text: str) -> None:
        """Save the note of a verdict and delete its draft."""
        self._review_session.desk.note(key, text)
        drafts.keep(self._review_session.desk, key, "")
        self._review_session.refresh()

    def tag(self, key: int, tags: Sequence[str]) -> bool:
        """Give a verdict these tags; return False if it has exactly these already."""
        done = marks.tag(self._review_session.desk, key, tags) is not None
        self._review_session.refresh()
        return done

    def mark(self) -> bool | None:
        """Mark or unmark the current item; return the new state, ``None`` without an item."""
        item = self._review_session.session.item
        if item is None:
            return None
        on = not item.marked
        marks.mark(self._review_session.desk, item.row.key, on)
        self._review_session.refresh()
        return on

    def reveal(self) -> None:
        """Show the panel of the current item from now on."""
        if self._key is None:
            return
        self._review_session.desk.reveal(self._key)
        self._review_session.refresh()
        self._review_session.exposure.opened(self._review_session.session)

    def undo(self, *, redo: bool = False) -> Event | None:
        """Undo or redo the newest event and go to its item; return ``None`` if there is none."""
        review_session = self._review_session
        event = review_session.desk.redo() if redo else review_session.desk.undo()
        if event is None:
            return None
        run = review_session.session.run
        if event.verdict is not None and is_of(event, run):
            review_session.goto(review_session.desk.find(run, event.verdict))
        review_session.refresh()
        return event


def is_of(event: Event, run: Run) -> bool:
    """Return True if an event belongs to ``run``, or to no run."""
    return event.run in {None, run.hash, run.name}
