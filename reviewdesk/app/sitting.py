"""A reviewer's sitting with one run: every step a use case of the desk, then a new session.

No widget is known here: the screen calls a method and draws what ``session`` then says.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reviewdesk.app.exposure import Exposure
from reviewdesk.app.session import Page, Session, effective_order
from reviewdesk.desk import drafts
from reviewdesk.domain.records import Event, Item, QueueRow, Run, Truth, View
from reviewdesk.errors import NotFoundError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk

BACKLOG = 500
"""How many items ``back`` remembers."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a label came to: the event, the item as it was shown, whether it was given blind."""

    event: Event
    item: Item
    blind: bool


class Sitting:
    """A reviewer's hour with one run: every step is a use case of the desk, then a new session."""

    def __init__(self, desk: Desk, run: Run, view: View) -> None:
        """Open the run's queue where ``view`` left it."""
        self.desk = desk
        self._trail: list[int] = []
        self._exposure = Exposure()
        self.session = Session(run, view, array("q"), desk.progress(run))
        self._query(view)
        self._land(view.item)

    def rows(self, keys: Sequence[int]) -> list[QueueRow]:
        """The lines of the queue that are on screen."""
        self._exposure.listed(self.session, keys)
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
        self._requery(replace(self.session.view, blind=blind))

    def _requery(self, view: View) -> None:
        current = self.session.item
        self._query(view)
        self._land(current.verdict.id if current else None, stay=True)
        self.save()

    def _query(self, view: View) -> None:
        run = self.session.run
        keys = self.desk.queue(run, view.filter, effective_order(view))
        self.session = replace(self.session, view=view, keys=keys, index=None, item=None)

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
        self._exposure.opened(self.session)

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
        self.session = replace(self.session, index=index, item=None, page=Page.DONE)

    def back(self) -> bool:
        """Go to the item seen before; ``False`` when there is none."""
        while self._trail:
            key = self._trail.pop()
            if self.session.item is not None and key == self.session.item.row.key:
                continue
            self._goto(key, trail=False)
            return True
        return False

    def _goto(self, key: int, *, trail: bool = True) -> None:
        self.show_key(key, _place(self.session.keys, key), trail=trail)

    def label(self, truth: Truth, *, tentative: bool) -> Labelled | None:
        """Label the current item; committed when this returns. The cursor does not move yet."""
        session, item = self.session, self.session.item
        if item is None:
            return None
        blind = self._exposure.is_blind(session, item)
        event = self.desk.label(
            item.row.key,
            truth,
            tentative=tentative,
            blind=blind,
            revealed_at=item.revealed_at,
            view=self._view(),
        )
        self._exposure.labelled(item)
        self.session = replace(session, progress=self.desk.progress(session.run))
        return Labelled(event, item, blind)

    def defer(self) -> bool:
        """Put the current item at the end of the queue, still undecided."""
        if self.session.item is None:
            return False
        self.desk.defer(self.session.item.row.key)
        self.refresh()
        return True

    def note(self, text: str) -> None:
        """Write the note of the current item; its draft is done with."""
        if self.session.item is None:
            return
        key = self.session.item.row.key
        self.desk.note(key, text)
        drafts.keep(self.desk, key, "")
        self.refresh()

    def reveal(self) -> None:
        """Show the panel of the current item from now on."""
        if self.session.item is None:
            return
        self.desk.reveal(self.session.item.row.key)
        self.refresh()
        self._exposure.opened(self.session)

    def undo(self, *, redo: bool = False) -> Event | None:
        """Undo or redo the newest event and go to its item; ``None`` when there is nothing."""
        event = self.desk.redo() if redo else self.desk.undo()
        if event is None:
            return None
        run = self.session.run
        if event.verdict is not None and event.run in {None, run.hash, run.name}:
            self._goto(self.desk.find(run, event.verdict))
        self.refresh()
        return event

    def refresh(self) -> None:
        """Read the current item and the counts again."""
        session = self.session
        item = session.item
        if item is not None:
            item = self.desk.item(item.row.key)
        self.session = replace(session, item=item, progress=self.desk.progress(session.run))

    def _view(self) -> View:
        item = self.session.item
        return replace(self.session.view, item=item.verdict.id if item else None)

    def save(self) -> None:
        """Keep the view, so that the next start resumes here."""
        self.desk.save_view(self.session.run, self._view())


def _place(keys: array[int], key: int) -> int | None:
    """Where a verdict stands in the queue; ``None`` where the filter leaves it out."""
    try:
        return keys.index(key)
    except ValueError:
        return None
