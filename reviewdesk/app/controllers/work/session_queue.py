"""The queue of a review session: what has been read of it, and what waits for the rest."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Mapping, Sequence

from msgspec.structs import replace

from reviewdesk.app.controllers.session import SearchHits, Session
from reviewdesk.app.controllers.work.claims import ItemClaims
from reviewdesk.app.controllers.work.exposure import Exposure
from reviewdesk.app.controllers.work.outbox import Outbox, with_waiting
from reviewdesk.app.controllers.work.repeats import Repeats
from reviewdesk.desk import Desk
from reviewdesk.domain.query.places import place_of
from reviewdesk.domain.records import Item, Progress, QueueRow, Run, View
from reviewdesk.settings import Feedback


class SessionQueue:
    """The session's queue: its first page or the whole, with the items that come back."""

    def __init__(
        self,
        desk: Desk,
        run: Run,
        view: View,
        feedback: Feedback,
        share: float,
        outbox: Outbox,
        earlier: SessionQueue | None,
        claims: ItemClaims | None = None,
    ) -> None:
        """Start with an empty queue; ``earlier`` is the session with another run."""
        self.claims = claims or ItemClaims(desk)
        self.desk, self.outbox = desk, outbox
        self._decided: Container[int] = frozenset()
        """The verdicts that had a label when the queue was read."""
        self.exposure: Exposure = earlier.exposure if earlier else Exposure()
        self.repeats: Repeats = earlier.repeats if earlier else Repeats(desk, share)
        self._later: list[Callable[[], object]] = []
        """Steps that wait for the whole queue, in order."""
        self.session = Session(run, view, array("q"), desk.progress(run), feedback=feedback)

    @property
    def waiting(self) -> bool:
        """Whether a step waits for the whole queue, so that none after it can be taken."""
        return bool(self._later)

    def item(self, key: int) -> Item:
        """Return a verdict as the session shows it, with what is being saved of it."""
        item = self.outbox.overlay(self.repeats.item(self.desk.item(key)))
        return replace(item, row=self.claims.shown(item.row))

    def rows(self, keys: Sequence[int]) -> list[QueueRow]:
        """Return the queue rows of ``keys``."""
        rows = map(self.claims.shown, self.repeats.rows(self.desk.rows(keys)))
        return with_waiting(list(rows), self.outbox.waiting)

    def _fill(self, keys: array[int], *, whole: bool) -> None:
        """Replace the first page of the queue by more of it, and take the steps that waited."""
        self._keys = keys
        self.session = replace(self.session, keys=array("q"), whole=whole)
        self._read_repeats()
        self.session = replace(self.session, progress=self.progress())
        later, self._later = self._later, []
        for step in later:
            self._wait(step) if self._later else step()

    def _wait(self, step: Callable[[], object]) -> bool:
        """Take a step once the queue is whole; return False."""
        self._later.append(step)
        return False

    def when_whole(self, step: Callable[[], object]) -> bool:
        """Return True if the queue is whole; else take the step once it is."""
        return self.session.whole or self._wait(step)

    def give_up(self) -> None:
        """Forget the steps that wait for a queue which cannot be read."""
        self._later.clear()

    def _take(self, view: View, keys: array[int], *, whole: bool) -> None:
        self._keys = keys
        self._decided = self.desk.decided(self.session.run)
        found = self.session.found
        self.session = replace(
            self.session, view=view, keys=keys, whole=whole, index=None, item=None,
            found=found and found.placed(keys), chosen=frozenset(),
        )  # fmt: skip
        self.session = replace(self.session, progress=self.progress())
        self._read_repeats()

    def progress(self) -> Progress:
        """Count what is labelled, and what is left of the queue once it is whole."""
        session = self.session
        return self.desk.progress(session.run, session.keys if session.whole else None)

    def _read_repeats(self) -> None:
        """Follow the log: an item that came back stands behind the one it came after."""
        self.repeats.read(self.session)
        session, keys = self.session, self.repeats.placed(self._keys)
        if keys is not session.keys and (len(keys) != len(session.keys) or keys != session.keys):
            index = None if session.item is None else place_of(keys, session.item.row.key)
            found = session.found and session.found.placed(keys)
            self.session = replace(session, keys=keys, index=index, found=found)

    def _next_undecided(self, after: int | None = None) -> int | None:
        """Return the place of the next undecided item, by default after the current one.

        In the first page of a queue it is ``None`` if only the whole queue can tell.
        """
        session = self.session
        # What others have open is read before the labels, as a label comes before it is given up.
        self.claims.read(session.run)
        skipped = dict.fromkeys((*self.claims.open_with, *self.outbox.skips))
        waiting = {**self.repeats.waiting, **skipped}
        onwards = after is None
        if after is None:
            if not session.whole and session.index is None:
                return None
            after = -1 if session.index is None else session.index
        found = self.desk.next_undecided(session.run, session.keys, after, waiting)
        if onwards and found is not None and self.claims.open_with:
            held = self._held(waiting, session.keys[found])
            found = found if held is None else held
        if session.whole or found is None:
            return found
        # Before the item, and among the deferred ones, comes only what is last of all.
        late = found <= after or self.desk.rows([session.keys[found]])[0].deferred
        return None if late else found

    def _held(self, waiting: Mapping[int, bool | None], found: int) -> int | None:
        """Return the place of the item that is held to come next, if it is still undecided.

        An item that came back, which was ``found``, goes before it.
        """
        session, key = self.session, self.claims.next
        here = None if session.item is None else session.item.row.key
        if key is None or key in {found, here} or self.repeats.of(found) is not None:
            return None
        place = place_of(session.keys, key)
        if place is None:
            return None
        nearest = self.desk.next_undecided(session.run, session.keys, place - 1, waiting)
        return place if nearest == place else None

    def choose(self, keys: frozenset[int]) -> None:
        """Select verdicts, in place of those that are selected."""
        self.session = replace(self.session, chosen=keys)

    def found(self, found: SearchHits | None, placed: array[int] | None = None) -> None:
        """Store the hits of a search, which may be ``placed`` in a queue; ``None`` clears them."""
        keys = self.session.keys
        here = found if found is None or placed is keys else found.placed(keys)
        self.session = replace(self.session, found=here)
