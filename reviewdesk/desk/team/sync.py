"""Exchange chains and runs with other desks through a shared place, without a server.

Each chain is a file that only its own desk writes, so that no two machines ever write the same one.
What others wrote is taken in first, each chain by itself; then what is new here is put there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast

from reviewdesk.desk.team import run_files
from reviewdesk.desk.team.merge import ASK, ArrivingChain, Taking
from reviewdesk.desk.team.run_files import AGAIN, UPDATE
from reviewdesk.domain.labels.chain import DESK, ChainEvent, ChainProblem
from reviewdesk.domain.labels.chain_file import (
    FILE,
    LINE,
    NEWER,
    ChainName,
    event_line,
    file_name,
    header_line,
    read_events,
    read_header,
)
from reviewdesk.errors import Cancelled, ChainError, DeskError, ReportError
from reviewdesk.frozen import Frozen
from reviewdesk.remote.place import LARGER, PlaceProblem, SharedFile, SharedPlace
from reviewdesk.store import runs
from reviewdesk.store.connect import refuse_read_only
from reviewdesk.store.events import desk_id
from reviewdesk.store.team import chains
from reviewdesk.store.team.run_events import said_of

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.records import Run

CHAINS, RUNS = "chains", "runs"
MOST = 1 << 30
"""The most bytes of a chain's file: those of about two million events."""
_IN_MEMORY = 4 << 20
_TRIES = 8
"""How often what others published meanwhile is fetched before what is new here is."""
_OWN_HINT = "This desk has the chain: delete the file, and the next sync writes it anew."
_OTHER_HINT = (
    "Nothing of it was taken; delete it, and its own desk writes it anew at its next sync."
)

Told = Callable[[float, int], bool]
"""Takes the share that is done and the number of files so far; returning ``False`` cancels."""


class SyncOptions(Frozen):
    """What a sync is to do: whether runs travel too, and whether anything is written at all."""

    runs: bool = True
    dry: bool = False


class SyncedChain(Frozen):
    """A chain of the place: how many events it has, and how many were new here and there."""

    desk: str
    reviewer: str
    events: int
    taken: int = 0
    sent: int = 0


class SyncedRun(Frozen):
    """A run that was taken from the place, or sent to it."""

    hash: str
    name: str
    taken: bool


class RefusedFile(Frozen):
    """A file of the place that was not taken: which, what is wrong with it, and what to do."""

    file: str
    problem: str
    hint: str


class Synced(Frozen):
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


def sync(desk: Desk, place: SharedPlace, options: SyncOptions, told: Told) -> Synced:
    """Take in what others put at a place, and put there what is new on this desk.

    Raises:
        DeskError: the place cannot be read or written, or the desk is busy or read-only.
    """
    refuse_read_only(desk.conn)
    found = PlaceExchange(desk, place, options, told)
    for _ in range(_TRIES):
        if not options.dry:
            place.fetch()
        found.take()
        found.send()
        if options.dry or place.publish():
            return found.result()
    raise DeskError(
        f"{place.address}: others published first, {_TRIES} times in a row",
        "What was taken is here; sync again in a minute.",
    )


@dataclass(slots=True)
class PlaceExchange:
    """One exchange with a place; taking and sending may be repeated, and then do what is new."""

    desk: Desk
    place: SharedPlace
    options: SyncOptions
    told: Told
    _chains: dict[ChainName, SyncedChain] = field(default_factory=dict)
    _runs: dict[str, SyncedRun] = field(default_factory=dict)
    _refused: dict[str, RefusedFile] = field(default_factory=dict)
    _notes: list[str] = field(default_factory=list)

    def result(self) -> Synced:
        """Return what was exchanged so far."""
        every = sorted(self._chains.values(), key=lambda one: (one.desk, one.reviewer))
        refused = sorted(self._refused.values(), key=lambda one: one.file)
        return Synced(
            self.place.address,
            tuple(every),
            tuple(self._runs.values()),
            tuple(refused),
            tuple(dict.fromkeys(self._notes)),
            self.desk.head(),
        )

    def take(self) -> None:
        """Take in every chain and run of the place that is as it was written."""
        self._refused.clear()
        self._notes.clear()
        self._take_chains()
        if self.options.runs:
            self._take_runs()

    def send(self) -> None:
        """Write the chains of this desk that have grown, and the runs that are not there."""
        own = desk_id(self.desk.conn)
        for end in [one for one in chains.ends(self.desk.conn) if one.desk == own]:
            self._send_chain(end)
        if self.options.runs:
            self._send_runs()

    # Chains

    def _take_chains(self) -> None:
        taking, last = Taking(self.desk), file_name(ChainName("", DESK))
        files = self._files(CHAINS, FILE.fullmatch)
        # What a desk itself says of its events is needed to check those of its reviewers.
        files.sort(key=lambda one: (not one.name.endswith(last), one.name))
        for number, entry in enumerate(files):
            self._tell(number / len(files), number)
            with self._refusing(entry), self._arriving(entry) as arrival:
                self._take_chain(taking, arrival)

    def _take_chain(self, taking: Taking, arrival: ArrivingChain) -> None:
        here = chains.end(self.desk.conn, arrival.desk, arrival.reviewer).seq
        count = taking.check(arrival)
        new = max(0, count - here) if self.options.dry else taking.take(arrival)
        name = ChainName(arrival.desk, arrival.reviewer)
        before = self._chains.get(name)
        taken = new + (before.taken if before else 0)
        sent = before.sent if before else 0
        self._chains[name] = SyncedChain(arrival.desk, arrival.reviewer, count, taken, sent)

    @contextmanager
    def _arriving(self, entry: SharedFile) -> Iterator[ArrivingChain]:
        """Copy the file of a chain, so that what is checked is what is taken."""
        with _spool() as file:
            self._copy(entry, file, MOST)

            def lines() -> Iterator[bytes]:
                file.seek(0)
                return iter(partial(file.readline, LINE + 1), b"")

            def read() -> Iterator[ChainEvent]:
                every = lines()
                next(every)
                yield from read_events(every)

            name = read_header(next(lines(), b""))
            if f"{CHAINS}/{file_name(name)}" != entry.name:
                raise PlaceProblem("holds another chain than its name says")
            yield ArrivingChain(name.desk, name.reviewer, read)

    @contextmanager
    def _refusing(self, entry: SharedFile) -> Iterator[None]:
        """Note what is wrong with a file, so that the others are taken nevertheless."""
        own = entry.name.split("/")[1] == desk_id(self.desk.conn)
        hint = _OWN_HINT if own else _OTHER_HINT
        try:
            yield
        except ChainError as error:
            self._refuse(entry, error.message, hint if error.hint == ASK else error.hint)
        except ChainProblem as error:
            self._refuse(entry, str(error), UPDATE if error.text == NEWER else hint)
        except ReportError as error:
            todo = UPDATE if error.hint == UPDATE else AGAIN
            self._refuse(entry, error.message.removeprefix(f"{entry.name}: "), todo)
        except PlaceProblem as error:
            self._refuse(entry, str(error), error.hint or hint)

    def _refuse(self, entry: SharedFile, problem: str, hint: str) -> None:
        self._refused[entry.name] = RefusedFile(entry.name, problem, hint)

    def _send_chain(self, end: chains.ChainEnd) -> None:
        name = ChainName(end.desk, end.reviewer)
        path, there = f"{CHAINS}/{file_name(name)}", self._chains.get(name)
        if path in self._refused or (there and there.events >= end.seq):
            return
        if not self.options.dry:
            with _spool() as file:
                file.write(header_line(name))
                for event in chains.events_of(self.desk.conn, end.desk, end.reviewer):
                    file.write(event_line(event))
                file.seek(0)
                self.place.put(path, file)
        before = there or SyncedChain(end.desk, end.reviewer, 0)
        sent = before.sent + end.seq - before.events
        self._chains[name] = SyncedChain(end.desk, end.reviewer, end.seq, before.taken, sent)

    # Runs

    def _take_runs(self) -> None:
        files = self._files(RUNS, run_files.NAME.fullmatch)
        for number, entry in enumerate(files):
            run_hash = _run_of(entry)
            if runs.by_hash(self.desk.conn, run_hash) is not None:
                continue
            said = said_of(self.desk.conn, run_hash)
            if not said and not self.options.dry:
                self._notes.append(f"{entry.name}: no desk's chain names this run, left alone")
                continue
            with self._refusing(entry):
                self._take_run(entry, run_hash, number / len(files))

    def _take_run(self, entry: SharedFile, run_hash: str, start: float) -> None:
        if self.options.dry:
            self._runs[run_hash] = SyncedRun(run_hash, run_hash[:12], taken=True)
            return

        def told(_share: float, _count: int) -> bool:
            return self.told(start, len(self._runs))

        with _spool() as file:
            self._copy(entry, file, run_files.MOST)
            said = partial(said_of, self.desk.conn)
            run = run_files.read_run(self.desk, entry.name, file, said, told)
        self._runs[run_hash] = SyncedRun(run.hash, run.name, taken=True)

    def _send_runs(self) -> None:
        there = {_run_of(one) for one in self._files(RUNS, run_files.NAME.fullmatch)}
        for run in self.desk.runs():
            if run.hash in there:
                continue
            if not run_files.travels(self.desk, run):
                self._notes.append(
                    f"run {run.name}: is an archive, whose parts stay where they are"
                )
                continue
            self._send_run(run)

    def _send_run(self, run: Run) -> None:
        if not self.options.dry:
            with _spool() as file:
                name = run_files.write_run(self.desk, run, file)
                self.place.put(f"{RUNS}/{name}", file)
        self._runs[run.hash] = SyncedRun(run.hash, run.name, taken=False)

    # Files

    def _files(self, folder: str, fits: Callable[[str], object]) -> list[SharedFile]:
        """Return the files of a folder by name; those that we do not write are left alone."""
        found = []
        for entry in self.place.entries(folder):
            name = entry.name.removeprefix(f"{folder}/")
            if fits(name):
                found.append(entry)
            elif not name.rpartition("/")[2].startswith("."):
                self._notes.append(f"{entry.name}: is no file of a desk, left alone")
        return sorted(found, key=lambda one: one.name)

    def _copy(self, entry: SharedFile, file: BinaryIO, most: int) -> None:
        if entry.problem:
            raise PlaceProblem(entry.problem)
        if entry.size > most:
            raise PlaceProblem(LARGER)
        self.place.copy(entry.name, file, most)

    def _tell(self, share: float, count: int) -> None:
        if not self.told(share, count):
            raise Cancelled("the sync was stopped; what was exchanged stays")


def _run_of(entry: SharedFile) -> str:
    return entry.name.removeprefix(f"{RUNS}/").partition(".")[0]


def _spool() -> BinaryIO:
    return cast("BinaryIO", SpooledTemporaryFile(_IN_MEMORY, prefix="reviewdesk-"))
