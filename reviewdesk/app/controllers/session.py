"""One reviewer's session with one run: the queue, the place in it, and the way back."""

from array import array
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.exposure import Exposure, Repeats
from reviewdesk.app.controllers.jobs import CLAIMS, Job, Outbox, Report, Runner
from reviewdesk.app.controllers.state import Criterion, SearchHits, Session, effective_order
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.question import asked_keys
from reviewdesk.desk.review import edits, items
from reviewdesk.desk.review.edits import Edit, hurry
from reviewdesk.desk.team import claims
from reviewdesk.domain.query.filter import parse_filter
from reviewdesk.domain.query.places import place_of
from reviewdesk.domain.records import Item, Progress, QueueRow, Run, View
from reviewdesk.errors import NotFoundError, ReviewDeskError, UsageError
from reviewdesk.settings import Settings

BACKLOG = 500
"""How many items ``back`` remembers."""
_MOST_ROWS = 5000
_AHEAD = 16
_NEAR = 200
"""How many verdicts are assessed ahead, and how far ahead these are looked for."""

_PATIENCE = 1
"""Seconds that a job waits for the lock; the next one tries again."""


class ItemClaims:
    """The claims of one session, and what the other reviewers of the desk have open."""

    def __init__(
        self, desk: Desk, runner: Runner | None = None, clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._desk = desk
        self._runner = runner
        self._clock = clock
        self.offered: int | None = None
        """The verdict in view, if it was reached by going to the next undecided one."""
        self.open_with: Mapping[int, str] = {}
        """The verdicts that others have open, with their names, as they were read last."""
        self._claimed: tuple[int, bytes | None] | None = None
        """What was claimed last: the run, and the item in view."""
        self._at = float("-inf")
        self._running = False
        self.pressed = False
        """Whether a key came since the last job began."""

    def read(self, run: Run) -> bool:
        """Read which verdicts of a run others have open now; return True if they changed."""
        old = self.open_with
        if self._runner is not None and not self._desk.still:
            self.open_with = claims.open_with(self._desk, run)
        return self.open_with != old

    def shown(self, row: QueueRow) -> QueueRow:
        name = self.open_with.get(row.key)
        return row if name is None else replace(row, open_with=name)

    def follow(self, session: Session, lost: Callable[[int], None]) -> None:
        """Claim the item that stays in view; ``lost`` is called for one that another has."""
        wanted = _open_item(session)
        now = self._clock()
        if self._runner is None or not self.active:
            return
        renewed = wanted[1] is not None and self.pressed and now - self._at >= claims.RENEWED
        if wanted == self._claimed and not renewed:
            return
        self._claimed = wanted
        self._at = now
        self._running = True
        self.pressed = False

        def ended(found: object, error: ReviewDeskError | None) -> None:
            self._running = False
            if error is not None:
                # The desk is busy or gone; other writes report that, and this is tried again.
                self._claimed = None
            elif session.item is not None and found is False:
                lost(session.item.row.key)

        self._runner.start(Job(CLAIMS, partial(_claim, session, wanted[1]), ended))

    @property
    def active(self) -> bool:
        return self._runner is not None and not self._desk.read_only and not self._running

    def took(self, session: Session, held: bytes | None) -> None:
        """Take the claim made with a label; ``follow`` handles what somebody else got instead."""
        wanted = _open_item(session)
        if held is not None and wanted[1] == held:
            self._claimed = wanted
            self._at = self._clock()
            self.pressed = False

    def release(self) -> None:
        """Give up all claims, for good."""
        runner = self._runner
        self._runner = None
        if runner is not None:
            runner.cancel(CLAIMS)
            claims.release(self._desk)


def _claim(session: Session, item: bytes | None, desk: Desk, _report: Report) -> bool:
    """Claim the item in view in a worker's thread; return whether it is the reviewer's to label."""
    hurry(desk, _PATIENCE)
    key = None if item is None or session.item is None else session.item.row.key
    held = claims.claim(desk, key)
    if key is None:
        return True
    # The previous holder may have labelled it since it came into view. An item that the reviewer
    # labelled has come back.
    labelled = desk.rows([key])[0].decided and not desk.item(key).labelled_before
    return held == item and not labelled


def _open_item(session: Session) -> tuple[int, bytes | None]:
    """Return the run, and the item that is open for a label or ``None``."""
    item = session.item
    if item is None or item.row.decided:
        return session.run.key, None
    return session.run.key, bytes.fromhex(item.item_hash)


class ReviewSession:
    """A reviewer's session with one run: each step calls the desk, then replaces ``session``."""

    def __init__(
        self, desk: Desk, run: Run, view: View, *, outbox: Outbox, settings: Settings,
        claims: ItemClaims, earlier: "ReviewSession | None" = None,
    ) -> None:  # fmt: skip
        """Open the queue where ``view`` left it; ``earlier`` is the session with another run."""
        self.claims = claims
        self.desk = desk
        self.outbox = outbox
        self._decided: Container[int] = frozenset()
        """The verdicts that had a label when the queue was read."""
        self.exposure: Exposure = earlier.exposure if earlier else Exposure()
        self.repeats: Repeats = earlier.repeats if earlier else Repeats(desk, settings.repeat)
        self.known: dict[int, QueueRow] = {}
        """The rows of the queue that were read, as long as nothing may have changed them."""
        self.session = Session(
            run, view, array("q"), desk.progress(run), feedback=settings.feedback
        )
        self._led: tuple[int | None, View | None] = None, None
        """The item that labels led to since the view was saved, and that view without its item."""
        self.asked = tuple(asked_keys(desk, run))
        """The verdicts that the open question has drawn, in order; empty without a question."""
        self._trail: list[int] = []
        self._criteria: dict[int, list[tuple[str, int]]] = {}
        """The criteria of each response that was shown, by the verdict of each of them."""
        self._left_at: dict[int, int] = {}
        """By criterion: the verdict at which the queue was left, and after which it continues."""
        self.dropped = ""
        """A notice, if the filter or the order of the view could not be used."""
        try:
            self._open(view, view.item, stay=parse_filter(view.filter).decided)
        except UsageError as error:
            self.dropped = f"opened without the filter and order you left: {error}"
            self._open(View(blind=view.blind, item=view.item), view.item, stay=False)

    def item(self, key: int) -> Item:
        found = self.desk.item(key, self.session.run)
        item = self.outbox.overlay(self.repeats.item(found))
        return replace(item, row=self.claims.shown(item.row))

    def rows(self, keys: Sequence[int]) -> list[QueueRow]:
        return self._as_shown(self.desk.rows(keys))

    def _as_shown(self, rows: Iterable[QueueRow]) -> list[QueueRow]:
        return self.outbox.shown(map(self.claims.shown, self.repeats.rows(rows)))

    def listed(self, keys: Sequence[int]) -> list[QueueRow]:
        """Return the queue rows of ``keys`` as they were read last; see ``known``."""
        if len(self.known) > _MOST_ROWS:
            self.known.clear()
        if missing := [key for key in keys if key not in self.known]:
            self.known |= {row.key: row for row in self.desk.rows(missing)}
        return self._as_shown(self.known[key] for key in keys if key in self.known)

    def labelled(self, item: Item, act: Edit) -> None:
        """Apply a label of the reviewer to the queue's rows; read again the rows it may change."""
        row = self.known.pop(item.row.key, None)
        if item.same_content > 1:
            self.known.clear()
        elif row and not (row.decided or row.labelled_by_other or self.desk.double):
            self.known[row.key] = replace(row, label=act.label, deferred=False)

    def criteria(self) -> tuple[Criterion, ...]:
        """Return the criteria of the current response as they are now; empty if it has only one."""
        item = self.session.item
        group: list[tuple[str, int]] = []
        if item is not None and item.dimension is not None:
            group = self._criteria.get(item.row.key, [])
            if not group:
                if len(self._criteria) > _MOST_ROWS:
                    self._criteria.clear()
                group = items.criteria(self.desk, item)
                self._criteria |= dict.fromkeys((item.row.key, *(key for _, key in group)), group)
        keys = [key for _, key in group]
        rows = {row.key: row for row in self.listed(keys)} if len(keys) > 1 else {}
        if item is not None:
            rows[item.row.key] = item.row
        return tuple(
            Criterion(name, rows[key], item is not None and key == item.row.key)
            for name, key in group
            if len(rows) > 1 and key in rows
        )

    def ahead(self) -> int | None:
        """Return the verdict to claim with a label: the next one, if any."""
        session = self.session
        if session.item is None or session.index is None:
            return None
        found = self._next_undecided(left_out={session.item.row.key})
        return None if found is None or found == session.index else session.keys[found]

    @property
    def undecided_ahead(self) -> list[int]:
        """The verdicts after the current one that have no label, and are likely to come next."""
        session = self.session
        first = 0 if session.index is None else session.index + 1
        decided = self.desk.decided(session.run)
        near = session.keys[first : first + _NEAR]
        return [key for key in near if key not in decided][:_AHEAD]

    def _take(self, view: View, keys: "array[int]") -> None:
        session = self.session
        self._keys = keys
        self._decided = self.desk.decided(session.run)
        self.session = replace(
            session, view=view, keys=keys, index=None, item=None, chosen=frozenset(),
            found=session.found and session.found.placed(keys),
            progress=self.desk.progress(session.run, keys),
        )  # fmt: skip
        self._read_repeats()

    def progress(self) -> Progress:
        return self.desk.progress(self.session.run, self.session.keys)

    def _read_repeats(self) -> None:
        """Read the log, and place each item that came back after the item it followed."""
        self.repeats.read(self.session)
        session = self.session
        keys = self.repeats.placed(self._keys)
        if keys is not session.keys and (len(keys) != len(session.keys) or keys != session.keys):
            index = None if session.item is None else place_of(keys, session.item.row.key)
            found = session.found and session.found.placed(keys)
            self.session = replace(session, keys=keys, index=index, found=found)

    def _next_undecided(
        self, after: int | None = None, left_out: Collection[int] = ()
    ) -> int | None:
        """Return the place of the next undecided item, by default after the current one."""
        session = self.session
        # What others have open is read before the labels, as a label comes before it is given up.
        self.claims.read(session.run)
        skipped = dict.fromkeys((*self.claims.open_with, *self.outbox.skips, *left_out))
        waiting = {**self.repeats.waiting, **skipped}
        if after is None:
            after = -1 if session.index is None else session.index
        found = self._asked(waiting)
        if found is not None and found != session.index:
            return found
        found = self._criterion(after, waiting)
        if found is not None:
            return found
        return self.desk.next_undecided(session.run, session.keys, after, waiting)

    def _asked(self, waiting: Mapping[int, bool | None]) -> int | None:
        """Return the place of the next item that the open question has drawn, or ``None``.

        The criteria of one response come together.
        """
        session = self.session
        if not self.asked or session.view.filter or session.view.order != "draw":
            return None
        decided = self.desk.decided(session.run)
        if all(key in decided for key in self.asked):
            self.asked = tuple(asked_keys(self.desk, session.run))
        left = [key for key in self.asked if key not in decided and key not in waiting]
        here = session.item.row.key if session.item else None
        near = {key for _, key in self._criteria.get(here, ())} if here is not None else set()
        found = next((key for key in left if key in near), left[0] if left else None)
        return None if found is None else place_of(session.keys, found)

    def _criterion(self, at: int, waiting: Mapping[int, bool | None]) -> int | None:
        """Return the place that comes after a criterion of a response, ``None`` if any may.

        Once it is decided, the next undecided criterion comes first. After the last one the queue
        continues where it was left, without those that the reviewer stepped over.
        """
        session = self.session
        here = session.keys[at] if 0 <= at < len(session.keys) else 0
        keys = [key for _, key in self._criteria.get(here, ())]
        if len(keys) < 2 or here not in keys:
            return None
        item = session.item
        late = item is not None and item.row.key == here and item.row.deferred
        if late or here in waiting or here in self.desk.decided(session.run):
            turn = keys.index(here) + 1
            for row in self.listed([*keys[turn:], *keys[: turn - 1]]):
                taken = row.decided or row.deferred or row.open_with or row.key in waiting
                place = None if taken else place_of(session.keys, row.key)
                if place is not None:
                    return place
        left = place_of(session.keys, self._left_at.get(here, here))
        if left is None or left == at:
            return None
        skipped = {**waiting, **dict.fromkeys(keys)}
        return self.desk.next_undecided(session.run, session.keys, left, skipped)

    def choose(self, keys: frozenset[int]) -> None:
        self.session = replace(self.session, chosen=keys)

    def found(self, found: SearchHits | None, placed: "array[int] | None" = None) -> None:
        """Store the hits of a search, which may be ``placed`` in a queue; ``None`` clears them."""
        keys = self.session.keys
        here = found if found is None or placed is keys else found.placed(keys)
        self.session = replace(self.session, found=here)

    def _open(self, view: View, item: str | None, *, stay: bool) -> None:
        """Read the queue of a view, and show an item of it.

        Raises:
            UsageError: the filter or the order cannot be read.
        """
        self._take(view, self.desk.queue(self.session.run, view.filter, effective_order(view)))
        self._land(item, stay=stay)

    def arrive(self, view: View, keys: "array[int]") -> None:
        """Take the queue of another filter or order."""
        old = self.session.view
        left = self.session.item
        self._take(view, keys)
        if view.order == old.order:
            self._land(left.verdict.id if left else None, stay=True)
        elif not keys:
            self._land(None)
        else:
            self.show(self._next_undecided(-1) or 0)
        if left is not None and view.order != old.order:
            self._trail.append(left.row.key)
        self.save()

    def set_blind(self, blind: bool) -> None:
        """Hide or show the panel's answers, and take the queue in its other order."""
        # An open search also matches the jurors' reasons, which its hits would reveal.
        self.session = replace(self.session, found=None)
        current = self.session.item
        view = replace(self.session.view, blind=blind)
        self._open(view, current.verdict.id if current else None, stay=True)
        self.save()

    def _land(self, verdict_id: str | None, *, stay: bool = False) -> None:
        """Show ``verdict_id`` if it is undecided (or with ``stay``), else the next undecided."""
        session = self.session
        if not session.keys:
            self.session = replace(session, item=None, index=None)
            return
        start = -1
        key = None
        if verdict_id is not None:
            with suppress(NotFoundError):
                key = self.desk.find(session.run, verdict_id)
        index = None if key is None else place_of(session.keys, key)
        if index is not None:
            row = self.rows([session.keys[index]])[0]
            if stay or not (row.decided or row.open_with):
                self.show(index)
                return
            start = index
        found = self._next_undecided(start)
        if found is not None:
            self.claims.offered = self.show(found)
        elif stay and session.view.filter:
            # A filter that leaves only decided verdicts is meant to show them.
            self.show(0)
        else:
            self._finish(max(start, 0))

    def show(self, index: int, *, trail: bool = True) -> int:
        """Make the queue's item at ``index`` the current one; return its key."""
        index = max(0, min(index, len(self.session.keys) - 1))
        self.show_key(key := self.session.keys[index], index, trail=trail)
        return key

    def show_key(self, key: int, index: int | None, *, trail: bool = True) -> None:
        """Make a verdict the current one; ``index`` is its place in the queue, ``None`` outside."""
        item = self.item(key)
        old = self.session.item
        if trail and old is not None and old.row.key != key:
            self._trail = [*self._trail[-BACKLOG:], old.row.key]
        self.session = replace(self.session, index=index, item=item)
        self.claims.offered = None
        self.exposure.opened(self.session)

    def step(self, by: int) -> bool:
        """Move by rows of the queue, decided ones included; return False at its end."""
        if not self.session.keys:
            return False
        index = -1 if self.session.index is None else self.session.index
        target = max(0, min(index + by, len(self.session.keys) - 1))
        if target == index and self.session.item is not None:
            return False
        self.show(target)
        return True

    def go_on(self) -> None:
        """Go on after a label: to the next undecided item or, at a second look, to the next row."""
        # An item that was decided when the queue was read, and has not come back, is seen again.
        index = self.session.index
        key = 0 if index is None else self.session.keys[index]
        second = key in self._decided and not self.repeats.of(key)
        second = second and bool(self.session.view.filter or self._next_undecided() is None)
        if not (second and self.step(1)) and self.next_undecided() and self.session.item:
            self._led = self.session.item.row.key, self._led[1]

    def next_undecided(self) -> bool:
        """Go to the next undecided item; if none is left, show the done page and return False."""
        self._read_repeats()
        if not self.session.keys:
            return False
        found = self._next_undecided()
        if found is None:
            self._finish(self.session.index or 0)
            return False
        item = self.session.item
        before = 0 if item is None else item.row.key
        key = self.show(found)
        self.claims.offered = key
        if any(key == one for _, one in self._criteria.get(before, ())):
            self._left_at.setdefault(key, self._left_at.get(before, before))
        else:
            self._left_at.pop(key, None)
        return True

    def _finish(self, index: int) -> None:
        if self.session.item is not None:
            self._trail.append(self.session.item.row.key)
        told = self.session.told or not self.session.view.filter
        self.session = replace(self.session, index=index, item=None, told=told)

    def back(self) -> bool:
        """Go to the item seen before; return False if there is none."""
        while self._trail:
            key = self._trail.pop()
            if self.session.item is not None and key == self.session.item.row.key:
                continue
            self.goto(key, trail=False)
            return True
        return False

    def goto(self, key: int, *, trail: bool = True) -> None:
        self.show_key(key, place_of(self.session.keys, key), trail=trail)

    def refresh(self) -> None:
        self._read_repeats()
        session = self.session
        item = session.item and self.item(session.item.row.key)
        self.session = replace(session, item=item, progress=self.progress())
        # Labels of two others may have ended what a blind session hid of the item.
        self.exposure.opened(self.session)

    def view(self) -> View:
        item = self.session.item
        return replace(self.session.view, item=item.verdict.id if item else None)

    def place(self) -> View | None:
        """Return the view to save with a label, ``None`` if the saved view leads to the same item.

        It does if only labels led from its item to this one: the next start would continue from
        it to the same undecided item.
        """
        view = self.view()
        where = replace(view, item=None)
        item = self.session.item
        led = item is not None and self._led == (item.row.key, where) and not view.filter
        self._led = None, where
        return None if led else view

    def save(self) -> None:
        """Save the view, so that the next start resumes here, and the verdicts that were seen."""
        run = self.session.run
        view = self.view()
        self._led = None, None
        seen = self.exposure.unkept()
        self.outbox.keep(("view", run.key), lambda desk: desk.save_view(run, view))
        if seen:
            self.outbox.keep(None, lambda desk: edits.keep_seen(desk, seen))
