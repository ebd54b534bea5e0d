"""The items that others have open, and the items that two people label."""

from collections.abc import Collection
from itertools import chain

from reviewdesk.desk.protocol import OpenFile
from reviewdesk.domain.labels.chain import DESK
from reviewdesk.domain.labels.sampling import LabelledRow
from reviewdesk.domain.labels.team import MOST_OPINIONS, is_double
from reviewdesk.domain.records import NOT_WITHHELD, Head, Run, Withheld
from reviewdesk.store import figures, reviewers, verdicts
from reviewdesk.store.connect import writing
from reviewdesk.store.events import head, marks, touched
from reviewdesk.store.queue import RunKeys

RENEWED = reviewers.LASTS.total_seconds() / 2
"""A claim is renewed by a key this many seconds after it was written."""


def claim(desk: OpenFile, key: int | None) -> bytes | None:
    """Claim the item of a verdict, if any, and give up all others; return it if it was free."""
    with writing(desk.conn, hashed=False):
        return reviewers.claim(desk.conn, desk.reviewer, key, desk.clock())


def open_with(desk: OpenFile, run: Run) -> dict[int, str]:
    return reviewers.others(desk.conn, desk.reviewer, run.key, desk.at())


def release(desk: OpenFile) -> None:
    if not desk.read_only:
        reviewers.release(desk.conn, desk.reviewer)


def double_share(desk: OpenFile, given: float | None = None) -> float:
    """Return the desk's share of items that two people label, or the ``given`` one."""
    found = _kept(desk, "double", None if given is None else float(given))
    return found if isinstance(found, float) and 0 <= found <= 1 else 0.0


def opinions_wanted(desk: OpenFile, given: int | None = None) -> int:
    found = _kept(desk, "opinions", given)
    return found if isinstance(found, int) and 2 <= found <= MOST_OPINIONS else 2


def _kept(desk: OpenFile, name: str, given: float | None) -> object:
    """Return a value that is kept for the whole desk, after replacing it by ``given``."""
    stored: object = reviewers.kept(desk.conn, DESK).get(name)
    if given is None:
        return stored
    if given != stored and not desk.read_only:
        with writing(desk.conn):
            reviewers.keep(desk.conn, DESK, {name: given})
    return given


def withheld(desk: OpenFile, items: Collection[bytes] | None = None) -> Withheld:
    """Read what is withheld from the reviewer at this moment, of some items or of all."""
    if desk.double is None:
        return NOT_WITHHELD
    waiting = set()
    others = set()
    few = reviewers.others_labels(desk.conn, desk.reviewer, desk.opinions - 1, items)
    for item, labels, revealed in few:
        if is_double(item, desk.double):
            waiting.add(item)
        elif labels == 1 and not revealed:
            others.add(item)
    return Withheld(desk.reviewer, waiting, others)


def labelled(desk: OpenFile, run: Run) -> list[LabelledRow]:
    """Return the run's labelled verdicts in draw order, without those that a figure may reveal."""
    waiting = withheld(desk).waiting if desk.double else ()
    return [row for row in figures.labelled(desk.conn, run.key) if row.item not in waiting]


def told_marks(desk: OpenFile, of: RunKeys, hidden: Withheld) -> bytearray:
    """Return the byte of each verdict's label; 0 if it waits for the reviewer's second opinion."""
    found = marks(desk.conn, of.first, of.size)
    waiting = verdicts.keys_of_items(desk.conn, of.run, hidden.waiting)
    for key in chain.from_iterable(waiting.values()):
        found[key - of.first] = 0
    return found


class WithheldLabels:
    """What is withheld from one reviewer; reading again costs a step for each label added since."""

    def __init__(self, desk: OpenFile) -> None:
        self._desk = desk
        self.seen: Head | None = None
        """The newest event that was read."""
        self._asked: tuple[float, int] | None = None
        self._changes = 0
        """What was asked for when the log was last read, and the rows written by then."""
        self._waiting: set[bytes] = set()
        self._others: set[bytes] = set()
        self._run = 0
        self._keys: dict[bytes, frozenset[int]] = {}
        """The verdicts of the waiting items in the run that was asked for last."""

    @property
    def now(self) -> Withheld:
        """What is withheld at this moment; nothing from the shell."""
        desk = self._desk
        if desk.double is None:
            return NOT_WITHHELD
        asked = desk.double, desk.opinions
        if not desk.still or (self._asked, self._changes) != (asked, desk.conn.total_changes):
            since = None
            if self.seen is not None and self._asked == asked:
                since = touched(desk.conn, self.seen)
            self.seen, items = since or (head(desk.conn), None)
            self._follow(items)
            self._asked = asked
            self._changes = desk.conn.total_changes
        return Withheld(desk.reviewer, self._waiting, self._others)

    def _follow(self, items: set[bytes] | None) -> None:
        if items is not None and not items:
            return
        found = withheld(self._desk, items)
        for held, now in ((self._waiting, found.waiting), (self._others, found.others)):
            held.difference_update(held.copy() if items is None else items)
            held.update(now)

    def waiting(self, run: Run) -> frozenset[int]:
        """Return the verdicts of a run, by key, that wait for the reviewer's second opinion."""
        waiting = self.now.waiting if self._desk.double else None
        if not waiting:
            return frozenset()
        if self._run != run.key:
            self._run = run.key
            self._keys = {}
        if missing := waiting - self._keys.keys():
            found = verdicts.keys_of_items(self._desk.conn, run.key, missing)
            self._keys |= {item: frozenset(found.get(item, ())) for item in missing}
        return frozenset().union(*(self._keys[item] for item in waiting))
