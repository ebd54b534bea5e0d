"""Exchange chains and runs with other desks through a shared folder, without a server.

Each chain is a file that only its own desk writes, so that no two machines ever write the same one.
What others wrote is taken in first, each chain by itself; then what is new here is put there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.desk.team import run_files
from reviewdesk.desk.team.merge import ArrivingChain, Taking
from reviewdesk.desk.team.place_files import PlaceFiles, RefusedFile, spool
from reviewdesk.desk.team.shared_folder import PlaceProblem, SharedFile, SharedFolder
from reviewdesk.domain.labels.chain import DESK, ChainEvent
from reviewdesk.domain.labels.chain_file import (
    FILE,
    LINE,
    ChainName,
    event_line,
    file_name,
    header_line,
    read_events,
    read_header,
)
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import Cancelled
from reviewdesk.store import runs
from reviewdesk.store.connect import refuse_read_only
from reviewdesk.store.events import desk_id
from reviewdesk.store.team import chains
from reviewdesk.store.team.run_events import said_of

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

CHAINS, RUNS = "chains", "runs"
MOST = 1 << 30
"""The most bytes of a chain's file: those of about two million events."""
_LOOK = 500
"""How many events are read between two looks at whether a person stops it."""
_OWN_HINT = "This desk has the chain: delete the file, and the next sync writes it anew."
_OTHER_HINT = "Nothing of it was taken; delete it, and its desk writes it anew at its next sync."
_CAME_BACK = (
    "{}: this desk's own chain had grown there by {:,}, as after restoring a backup here; if you "
    "restored none, somebody else wrote that"
)

Told = Callable[[float, int], bool]
"""Takes the share that is done and the number of files so far; returning ``False`` cancels."""


class SyncOptions(Struct, frozen=True):
    """What a sync is to do: whether runs travel too, and whether anything is written at all."""

    runs: bool = True
    dry: bool = False


class SyncedChain(Struct, frozen=True):
    """A chain of the place: how many events it has, and how many were new here and there."""

    desk: str
    reviewer: str
    events: int
    taken: int = 0
    sent: int = 0


class SyncedRun(Struct, frozen=True):
    """A run that was taken from the place, or sent to it."""

    hash: str
    name: str
    taken: bool


class Synced(Struct, frozen=True):
    """What was exchanged with a place, and the head of the log after it."""

    place: str
    chains: tuple[SyncedChain, ...]
    runs: tuple[SyncedRun, ...]
    refused: tuple[RefusedFile, ...]
    notes: tuple[str, ...]
    head: str

    @property
    def taken(self) -> int:
        """The number of events that were not here before."""
        return sum(one.taken for one in self.chains)

    @property
    def sent(self) -> int:
        """The number of events that were not there before."""
        return sum(one.sent for one in self.chains)


def sync(desk: Desk, place: SharedFolder, options: SyncOptions, told: Told) -> Synced:
    """Take in what others put at a place, and put there what is new on this desk.

    Raises:
        DeskError: the place cannot be read or written, or the desk is busy or read-only.
    """
    refuse_read_only(desk.conn)
    own, sent_runs = _Chains(desk, options, told), _Runs(desk, options, told)
    files = PlaceFiles(place)
    own.take(files)
    if options.runs:
        sent_runs.take(files)
    own.send(files)
    if options.runs:
        sent_runs.send(files)
    return Synced(
        place.address,
        tuple(sorted(own.found.values(), key=lambda one: (one.desk, one.reviewer))),
        tuple(sent_runs.found.values()),
        tuple(sorted(files.refused.values(), key=lambda one: one.file)),
        (*own.notes(), *dict.fromkeys(files.notes)),
        desk.head(),
    )


class _Chains:
    """Takes the chains of others and sends those of the desk."""

    def __init__(self, desk: Desk, options: SyncOptions, told: Told) -> None:
        self._desk, self._options, self._told = desk, options, told
        self._own = desk_id(desk.conn)
        self.found: dict[ChainName, SyncedChain] = {}

    def notes(self) -> Iterator[str]:
        """Say which chains of the desk itself have grown elsewhere."""
        for one in self.found.values():
            if one.taken and one.desk == self._own:
                yield _CAME_BACK.format(show_line(one.reviewer, 80), one.taken)

    def take(self, files: PlaceFiles) -> None:
        """Take in every chain that is as it was written."""
        taking, last = Taking(self._desk), file_name(ChainName("", DESK))
        every = files.named(CHAINS, FILE.fullmatch)
        # What a desk itself says of its events is needed to check those of its reviewers.
        every.sort(key=lambda one: (not one.name.endswith(last), one.name))
        for number, entry in enumerate(every):

            def far(share: float, number: int = number) -> None:
                if not self._told((number + share) / len(every), number):
                    raise Cancelled("the sync was stopped; what was exchanged stays")

            hint = _OWN_HINT if entry.name.split("/")[1] == self._own else _OTHER_HINT
            with files.refusing(entry, hint), _arriving(files, entry, far) as arrival:
                self._take(taking, arrival)

    def _take(self, taking: Taking, arrival: ArrivingChain) -> None:
        here = chains.end(self._desk.conn, arrival.desk, arrival.reviewer).seq
        count = taking.check(arrival)
        new = max(0, count - here)
        if new and not self._options.dry:
            new = taking.take(arrival)
        name = ChainName(arrival.desk, arrival.reviewer)
        before = self.found.get(name, SyncedChain(*_parts(name), 0))
        taken = before.taken + new
        self.found[name] = SyncedChain(*_parts(name), count, taken, before.sent)

    def send(self, files: PlaceFiles) -> None:
        """Write the chains of this desk that have grown; the desk's own comes first."""
        for end in [one for one in chains.ends(self._desk.conn) if one.desk == self._own]:
            name = ChainName(end.desk, end.reviewer)
            path = f"{CHAINS}/{file_name(name)}"
            before = self.found.get(name, SyncedChain(*_parts(name), 0))
            if path in files.refused or before.events >= end.seq:
                continue
            if not self._options.dry:
                self._write(files.place, path, name)
            sent = before.sent + end.seq - before.events
            self.found[name] = SyncedChain(*_parts(name), end.seq, before.taken, sent)

    def _write(self, place: SharedFolder, path: str, name: ChainName) -> None:
        with spool() as file:
            file.write(header_line(name))
            for event in chains.events_of(self._desk.conn, name.desk, name.reviewer):
                file.write(event_line(event))
            file.seek(0)
            place.put(path, file)


def _parts(name: ChainName) -> tuple[str, str]:
    return name.desk, name.reviewer


@contextmanager
def _arriving(
    files: PlaceFiles, entry: SharedFile, far: Callable[[float], None]
) -> Iterator[ArrivingChain]:
    """Yield the chain of a file; ``far`` is told how far that is read, and may raise to stop."""
    with files.copied(entry, MOST) as file:

        def lines() -> Iterator[bytes]:
            file.seek(0)
            return iter(partial(file.readline, LINE + 1), b"")

        def read() -> Iterator[ChainEvent]:
            every = lines()
            next(every)
            for number, event in enumerate(read_events(every)):
                if number % _LOOK == 0:
                    far(min(1.0, file.tell() / (entry.size or 1)))
                yield event

        name = read_header(next(lines(), b""))
        if f"{CHAINS}/{file_name(name)}" != entry.name:
            raise PlaceProblem("holds another chain than its name says")
        yield ArrivingChain(name.desk, name.reviewer, read)


class _Runs:
    """Takes the runs that desks wrote of in their chains, and sends those that are not there."""

    def __init__(self, desk: Desk, options: SyncOptions, told: Told) -> None:
        self._desk, self._options, self._told = desk, options, told
        self.found: dict[str, SyncedRun] = {}

    def take(self, files: PlaceFiles) -> None:
        """Take in every run that is not here and that a chain names."""
        every = files.named(RUNS, run_files.NAME.fullmatch)
        for number, entry in enumerate(every):
            run_hash = _run_of(entry)
            if runs.by_hash(self._desk.conn, run_hash) is not None:
                continue
            if self._options.dry:
                self.found[run_hash] = SyncedRun(run_hash, run_hash[:12], taken=True)
            elif said_of(self._desk.conn, run_hash):
                with files.refusing(entry, run_files.AGAIN):
                    self._take(files, entry, number / len(every))
            else:
                files.notes.append(f"{entry.name}: no desk's chain names this run, left alone")

    def _take(self, files: PlaceFiles, entry: SharedFile, start: float) -> None:
        def told(_share: float, _count: int) -> bool:
            return self._told(start, len(self.found))

        with files.copied(entry, run_files.MOST) as file:
            said = partial(said_of, self._desk.conn)
            run = run_files.read_run(self._desk, entry.name, file, said, told)
        self.found[run.hash] = SyncedRun(run.hash, run.name, taken=True)

    def send(self, files: PlaceFiles) -> None:
        """Write the runs that nobody has written yet."""
        there = {_run_of(one) for one in files.named(RUNS, run_files.NAME.fullmatch)}
        for run in self._desk.runs():
            if run.hash in there:
                continue
            if not run_files.travels(self._desk, run):
                files.notes.append(f"run {run.name}: is an archive, and stays where it is")
                continue
            if not self._options.dry:
                with spool() as file:
                    name = run_files.write_run(self._desk, run, file)
                    files.place.put(f"{RUNS}/{name}", file)
            self.found[run.hash] = SyncedRun(run.hash, run.name, taken=False)


def _run_of(entry: SharedFile) -> str:
    return entry.name.removeprefix(f"{RUNS}/").partition(".")[0]
