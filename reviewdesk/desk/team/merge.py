"""Take in the chains of other desks: each is held to its hashes before any of it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.desk.review import marks
from reviewdesk.domain.labels.chain import (
    COUNTED,
    DESK,
    ChainCheck,
    ChainEvent,
    ChainProblem,
    Covered,
    checked_detail,
    covered,
)
from reviewdesk.domain.labels.chain_file import NEWER
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ChainError, UsageError
from reviewdesk.store import label_state
from reviewdesk.store.connect import refuse_read_only, writing
from reviewdesk.store.load.hidden_runs import LockPace
from reviewdesk.store.team import chains

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

ASK = "Nothing of it was taken; ask for another copy."
"""What to do about a chain that is not as it was written."""
_FORKED = "is another event than the one here"
_HINTS = {
    _FORKED: "One of both desks is a copy or an older backup that was written to, or was changed.",
    NEWER: "Update reviewdesk.",
}


class ArrivingChain(Struct, frozen=True):
    """A chain that comes from elsewhere; ``read`` yields its events anew at each call."""

    desk: str
    reviewer: str
    read: Callable[[], Iterator[ChainEvent]]


class MergedChain(Struct, frozen=True):
    """A chain that is here now, with the number of its events and of those that were new."""

    desk: str
    reviewer: str
    events: int
    new: int


class Merged(Struct, frozen=True):
    """The chains of another desk, and the head of the log that holds them."""

    chains: tuple[MergedChain, ...]
    head: str

    @property
    def new(self) -> int:
        """The number of events that were not here before."""
        return sum(one.new for one in self.chains)


def merge(desk: Desk, other: Path) -> Merged:
    """Take in every chain of another desk file, which is only read; one that is wrong stops all.

    Raises:
        ChainError: a chain is not as it was written, or is another one than the chain that is here.
        DeskError: the file cannot be read, or is of another version.
    """
    refuse_read_only(desk.conn)
    if other.exists() and other.samefile(desk.path):
        raise UsageError(f"{other}: is the desk itself", "Name the file of another desk.")
    with chains.elsewhere(other) as conn:
        arrivals = [
            # The file is somebody else's, so that even a name may be of a wrong kind.
            ArrivingChain(
                str(one.desk), str(one.reviewer), partial(chains.events_of, conn, *_key(one))
            )
            for one in chains.ends(conn)
        ]
        taking = Taking(desk)
        counts = [taking.check(arrival) for arrival in arrivals]
        found = [
            MergedChain(one.desk, one.reviewer, count, taking.take(one))
            for one, count in zip(arrivals, counts, strict=True)
        ]
        marks.add_digits(desk, conn)
    return Merged(tuple(found), desk.head())


def _key(one: chains.ChainEnd) -> tuple[str, str]:
    return one.desk, one.reviewer


class Taking:
    """Checks chains that arrive, those of the desks themselves first, and takes them in."""

    def __init__(self, desk: Desk) -> None:
        """Know no chain but those that are here."""
        self._desk = desk
        self._covered: dict[str, dict[str, Covered]] = {}

    def check(self, arrival: ArrivingChain) -> int:
        """Hold a whole chain to its hashes, and to the part of it that is here; return its length.

        Raises:
            ChainError: it is not as it was written, or another one is here.
        """
        try:
            with _named(arrival):
                return self._check(arrival)
        except ChainError:
            # What a wrong chain says of counters covers nothing.
            self._covered.pop(arrival.desk, None)
            raise

    def _check(self, arrival: ArrivingChain) -> int:
        conn, check = self._desk.conn, self._check_of(arrival)
        here = chains.end(conn, arrival.desk, arrival.reviewer)
        for event, _ in _checked(arrival, check):
            if event.seq == here.seq and event.hash != here.hash:
                raise ChainProblem(self._first_other(arrival), _FORKED)
        if 0 < check.seq < here.seq:
            held = chains.hash_at(conn, here.desk, here.reviewer, check.seq)
            if held != check.hash:
                raise ChainProblem(self._first_other(arrival), _FORKED)
        return check.seq

    def take(self, arrival: ArrivingChain) -> int:
        """Put what is new of a checked chain into the log, and return the number of events."""
        desk, pace, new = self._desk, LockPace(), 0
        here = chains.end(desk.conn, arrival.desk, arrival.reviewer).seq
        with _named(arrival):
            check = self._check_of(arrival)
            left = (one for one in _checked(arrival, check) if one[0].seq > here)
            # The events that a chain covers itself come with the one that covers them.
            first = check.older.seq + 1 if check.older and arrival.reviewer == DESK else 0
            while some := list(islice(left, max(pace.rows, first))):
                with pace.timed(), writing(desk.conn, desk.path):
                    chains.begin(desk.conn, desk.at())
                    new += chains.put(desk.conn, some)
                pace.turn()
        return new

    def _check_of(self, arrival: ArrivingChain) -> ChainCheck:
        if arrival.desk not in self._covered:
            held = label_state.coverage(self._desk.conn, arrival.desk)
            self._covered[arrival.desk] = dict(held) or _coverage(arrival)
        older = self._covered[arrival.desk].get(arrival.reviewer)
        return ChainCheck(arrival.desk, arrival.reviewer, older)

    def _first_other(self, arrival: ArrivingChain) -> int:
        """Return the number of the first event that is another one than here."""
        place = arrival.desk, arrival.reviewer
        here = chains.events_of(self._desk.conn, *place)
        pairs = zip(arrival.read(), here, strict=False)
        return next(one.seq for one, held in pairs if one.hash != held.hash)


def _coverage(arrival: ArrivingChain) -> dict[str, Covered]:
    """Return which events of its desk a chain gives counters; it is checked afterwards."""
    if arrival.reviewer != DESK:
        return {}
    found = next((event for event in arrival.read() if event.kind == COUNTED), None)
    if found is None:
        return {}
    try:
        return covered(checked_detail(found))
    except ChainProblem:
        raise
    except ValueError as error:
        raise ChainProblem(found.seq, str(error)) from error


def _checked(arrival: ArrivingChain, check: ChainCheck) -> Iterator[tuple[ChainEvent, int | None]]:
    for event in arrival.read():
        yield event, check.add(event)


@contextmanager
def _named(arrival: ArrivingChain) -> Iterator[None]:
    """Say of what is wrong with an event whose chain it stands in."""
    try:
        yield
    except ChainProblem as wrong:
        hint = _HINTS.get(wrong.text, ASK)
        names = show_line(arrival.desk, 40), show_line(arrival.reviewer, 80)
        raise ChainError(*names, wrong.seq, wrong.text, hint) from wrong
