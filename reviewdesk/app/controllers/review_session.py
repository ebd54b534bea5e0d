"""One reviewer's session with one run: the queue, the place in it, and the way back.

It knows no widget. The screen calls a method and draws what ``session`` then holds. ``labeller.py``
writes to the desk.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reviewdesk.app.controllers.exposure import Exposure
from reviewdesk.app.controllers.session import (
    Page,
    SearchHits,
    Session,
    effective_order,
)
from reviewdesk.desk.review import exposure
from reviewdesk.domain.records import QueueRow, Run, View
from reviewdesk.errors import NotFoundError
from reviewdesk.settings import Feedback

if TYPE_CHECKING:
    from reviewdesk.desk import Desk

BACKLOG = 500
"""How many items ``back`` remembers."""


class ReviewSession:
    """A reviewer's hour with one run: every step is a use case of the desk, then a new session."""

    def __init__(
        self,
        desk: Desk,
        run: Run,
        view: View,
        *,
        feedback: Feedback = Feedback.AFTER,
        exposure: Exposure | None = None,
    ) -> None:
        """Open the run's queue where ``view`` left it; what was seen in other runs is passed on."""
        self.desk = desk
        self._trail: list[int] = []
        self.exposure = exposure or Exposure()
        self.session = Session(run, view, array("q"), desk.progress(run), feedback=feedback)
        self._query(view)
        self._land(view.item)

    def rows(self, keys: Sequence[int]) -> list[QueueRow]:
        """The lines of the queue that are on screen."""
        self.exposure.listed(self.session, keys)
        return self.desk.rows(keys)

    def reorder(self, *, filter_text: str | None = None, order: str | None = None) -> None:
        """Apply another filter or order; the current item stays where it is still in the queue."""
        view = self.session.view
        new = replace(
            view,
            filter=view.filter if filter_text is None else filter_text,
            order=view.order if order is None else order,
        )
        self._requery(new)

    def set_blind(self, blind: bool) -> None:
        """Turn blind review on or off; the current item stays."""
        # What a search in the open found may tell of the jurors' reasons.
        self.session = replace(self.session, found=None)
        self._requery(replace(self.session.view, blind=blind))

    def _requery(self, view: View) -> None:
        current = self.session.item
        self._query(view)
        self._land(current.verdict.id if current else None, stay=True)
        if view.filter and self.session.page is Page.DONE:
            # Whoever asks for decided verdicts wants to see them.
            self.show(0)
        self.save()

    def _query(self, view: View) -> None:
        run = self.session.run
        keys = self.desk.queue(run, view.filter, effective_order(view))
        self.session = replace(self.session, view=view, keys=keys, index=None, item=None)
        self._place_found()

    def _land(self, verdict_id: str | None, *, stay: bool = False) -> None:
        """Show the view's verdict if it is undecided (or ``stay``), else the next undecided."""
        session = self.session
        if not session.keys:
            self.session = replace(session, item=None, index=None, page=Page.NOTHING)
            return
        start = -1
        if (index := self._index_of(verdict_id)) is not None:
            if stay or self._undecided(session.keys[index]):
                self.show(index)
                return
            start = index
        found = self.desk.next_undecided(session.run, session.keys, start)
        if found is None:
            self._finish(max(start, 0))
        else:
            self.show(found)

    def _undecided(self, key: int) -> bool:
        row = self.desk.rows([key])[0]
        return row.label is None

    def _index_of(self, verdict_id: str | None) -> int | None:
        if verdict_id is None:
            return None
        try:
            return _place(self.session.keys, self.desk.find(self.session.run, verdict_id))
        except NotFoundError:
            return None

    def show(self, index: int, *, trail: bool = True) -> None:
        """Make the queue's item at ``index`` the current one."""
        index = max(0, min(index, len(self.session.keys) - 1))
        self.show_key(self.session.keys[index], index, trail=trail)

    def show_key(self, key: int, index: int | None, *, trail: bool = True) -> None:
        """Make a verdict current, inside the queue or outside of it."""
        item = self.desk.item(key)
        old = self.session.item
        if trail and old is not None and old.row.key != key:
            self._trail = [*self._trail[-BACKLOG:], old.row.key]
        self.session = replace(self.session, index=index, item=item, page=Page.ITEM)
        self.exposure.opened(self.session)

    def step(self, by: int) -> bool:
        """Move through the queue whatever the state; ``False`` at its end."""
        if not self.session.keys:
            return False
        index = -1 if self.session.index is None else self.session.index
        target = max(0, min(index + by, len(self.session.keys) - 1))
        if target == index and self.session.page is Page.ITEM:
            return False
        self.show(target)
        return True

    def next_undecided(self) -> bool:
        """Go to the next undecided item; ``False``, and the done page, if none is left."""
        session = self.session
        if not session.keys:
            return False
        after = -1 if session.index is None else session.index
        found = self.desk.next_undecided(session.run, session.keys, after)
        if found is None:
            self._finish(max(after, 0))
            return False
        self.show(found)
        return True

    def _finish(self, index: int) -> None:
        if self.session.item is not None:
            self._trail.append(self.session.item.row.key)
        told = self.session.told or not self.session.view.filter
        self.session = replace(self.session, index=index, item=None, page=Page.DONE, told=told)

    def back(self) -> bool:
        """Go to the item seen before; ``False`` when there is none."""
        while self._trail:
            key = self._trail.pop()
            if self.session.item is not None and key == self.session.item.row.key:
                continue
            self.goto(key, trail=False)
            return True
        return False

    def goto(self, key: int, *, trail: bool = True) -> None:
        """Make a verdict current, wherever it stands."""
        self.show_key(key, _place(self.session.keys, key), trail=trail)

    def refresh(self) -> None:
        """Read the current item and the counts again."""
        session = self.session
        item = session.item
        if item is not None:
            item = self.desk.item(item.row.key)
        self.session = replace(session, item=item, progress=self.desk.progress(session.run))

    def view(self) -> View:
        """What the next start resumes with."""
        item = self.session.item
        return replace(self.session.view, item=item.verdict.id if item else None)

    def found(self, found: SearchHits | None) -> None:
        """Keep what a search found, with its places in the queue as it stands."""
        self.session = replace(self.session, found=found)
        self._place_found()

    def _place_found(self) -> None:
        found = self.session.found
        if found is not None:
            keys = self.session.keys
            places = tuple(place for place, key in enumerate(keys) if key in found.keys)
            self.session = replace(self.session, found=replace(found, places=places))

    def save(self) -> None:
        """Keep the view, so that the next start resumes here."""
        self.desk.save_view(self.session.run, self.view())
        exposure.keep(self.desk, self.exposure.unkept())


def _place(keys: array[int], key: int) -> int | None:
    """Where a verdict stands in the queue; ``None`` where the filter leaves it out."""
    try:
        return keys.index(key)
    except ValueError:
        return None
