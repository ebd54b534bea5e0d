"""Claims what the reviewer has open and what comes next, so that others on the desk skip it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.jobs import CLAIMS, Job, Report, Runner
from reviewdesk.app.controllers.state import Page, Session
from reviewdesk.desk import Desk
from reviewdesk.desk.review.edits import hurry
from reviewdesk.desk.team import claims
from reviewdesk.domain.records import QueueRow, Run
from reviewdesk.errors import ReviewDeskError

_REST = 0.1
"""The fewest seconds between the starts of two jobs."""
_PATIENCE = 1
"""Seconds that a job waits for the lock; the next one tries again."""


class Claimed(Struct, frozen=True):
    """What a job found: whether the item in view is the reviewer's, and the key of the next one."""

    open: bool
    next: int | None


class ItemClaims:
    """The claims of one session, and what the other reviewers of the desk have open."""

    def __init__(
        self, desk: Desk, runner: Runner | None = None, clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._desk = desk
        self._runner = runner
        self._clock = clock
        self.next: int | None = None
        """The verdict that is held to come next."""
        self.offered: int | None = None
        """The verdict in view, if it came by going to the next undecided one."""
        self.open_with: Mapping[int, str] = {}
        """The verdicts that others have open, and with whom, as they were read last."""
        self._claimed: tuple[int, bytes | None] | None = None
        """What was claimed last: the run, and the item in view."""
        self._at = float("-inf")
        self._running = False
        self.pressed = False
        """Whether a key came since the last job began."""

    def read(self, run: Run) -> bool:
        """Read which verdicts of a run others have open now; return True if others than before."""
        old = self.open_with
        if self._runner is not None and not self._desk.still:
            self.open_with = claims.open_with(self._desk, run)
        return self.open_with != old

    def offer(self, key: int) -> None:
        self.offered = key
        self.next = None

    def shown(self, row: QueueRow) -> QueueRow:
        name = self.open_with.get(row.key)
        return row if name is None else replace(row, open_with=name)

    def follow(
        self,
        session: Session,
        skips: frozenset[int],
        lost: Callable[[int], None],
        *,
        rested: bool = False,
    ) -> None:
        """Claim what is in view and the next one; ``lost`` hears of an item that another has.

        ``skips`` are not to come next; ``rested`` says that the item has been in view for a while.
        """
        wanted = _open_item(session)
        now = self._clock()
        if self._runner is None or self._desk.read_only or self._running:
            return
        if wanted == self._claimed:
            if wanted[1] is None or not self.pressed or now - self._at < claims.RENEWED:
                return
        elif not rested:
            item = session.item if wanted[1] else None
            stepped = item is not None and item.row.key != self.offered
            if stepped or now - self._at < _REST:
                return
        self._claimed = wanted
        self._at = now
        self._running = True
        self.pressed = False
        work = partial(self._work, session, skips, wanted[1])
        key = None if session.item is None else session.item.row.key
        ended = partial(self._ended, key, lost)
        self._runner.start(Job(CLAIMS, work, ended))

    @property
    def active(self) -> bool:
        return self._runner is not None and not self._desk.read_only and not self._running

    def took(self, session: Session, claimed: Sequence[int], held: Collection[bytes]) -> None:
        """Hear what a label claimed: the item that was to come into view, and the next one.

        What somebody else got instead is left to ``follow``.
        """
        wanted = _open_item(session)
        key = None if session.item is None else session.item.row.key
        if claimed and key == claimed[0] and wanted[1] in held:
            self._claimed = wanted
            self._at = self._clock()
            self.pressed = False
            self.next = claimed[1] if len(claimed) == len(held) == 2 else None

    def _work(
        self, session: Session, skips: frozenset[int], item: bytes | None, desk: Desk, _: Report
    ) -> Claimed:
        """Write the claims, in the worker's thread."""
        hurry(desk, _PATIENCE)
        items = frozenset() if item is None else frozenset({item})
        if item is None or not session.whole or session.index is None:
            held = claims.claim(desk, items)
            key = None
        else:
            place = session.run, session.keys, session.index
            held, key = claims.claim_next(desk, items, *place, skips)
        # Whoever had it before may have labelled it since it came into view. An item that the
        # reviewer labelled has come back.
        won = item in held and session.item and not _taken(desk, session.item.row.key)
        return Claimed(item is None or bool(won), key)

    def _ended(
        self, key: int | None, lost: Callable[[int], None], found: object,
        error: ReviewDeskError | None,
    ) -> None:  # fmt: skip
        self._running = False
        if isinstance(found, Claimed):
            self.next = found.next
            if key is not None and not found.open:
                # What comes into view instead is claimed at once.
                self._at = float("-inf")
                lost(key)
        elif error is not None:
            # The desk is busy or gone, of which other writes tell; this is tried again.
            self._claimed = None

    def release(self) -> None:
        """Give up everything, for good."""
        runner = self._runner
        self._runner = None
        if runner is not None:
            runner.cancel(CLAIMS)
            claims.release(self._desk)


def _open_item(session: Session) -> tuple[int, bytes | None]:
    """Return the run, and the item that is open to be labelled, if any is."""
    item = session.item
    if session.page is not Page.ITEM or item is None or item.row.decided:
        return session.run.key, None
    return session.run.key, bytes.fromhex(item.item_hash)


def _taken(desk: Desk, key: int) -> bool:
    return desk.rows([key])[0].decided and not desk.item(key).labelled_before
