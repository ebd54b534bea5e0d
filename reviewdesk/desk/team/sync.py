"""Take in what people did on other desks: from a desk file, or through a shared folder.

Each chain is checked by its hashes before any of it is kept. In a folder, each chain is a file that
only its own desk writes, so that no two machines ever write the same one. What others wrote is read
first, chain by chain; then everything new here is written there.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from msgspec import Struct
from msgspec.structs import astuple, replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import filters
from reviewdesk.desk.team import run_file
from reviewdesk.desk.team.run_file import AGAIN, MOST, UPDATE
from reviewdesk.domain.labels.chain import (
    COUNTED,
    DESK,
    FILE,
    LINE,
    NEWER,
    ChainCheck,
    ChainName,
    ChainProblem,
    Covered,
    checked_detail,
    covered,
    event_line,
    file_name,
    header_line,
    read_events,
    read_header,
)
from reviewdesk.domain.records import ChainEvent
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import Cancelled, ChainError, DeskError, ReportError, UsageError, reason
from reviewdesk.file_output import open_regular, whole_file
from reviewdesk.store import events, reviewers, runs
from reviewdesk.store.connect import refuse_read_only, writing
from reviewdesk.store.events import desk_id
from reviewdesk.store.load.hidden_runs import LockPace

_ASK = "Nothing of it was taken; ask for another copy."
_FORKED = "is another event than the one here"
_HINTS = {
    _FORKED: "One of the desks is a copy or an older backup that was written to, or was changed.",
    NEWER: UPDATE,
}

Reader = Callable[[], Iterator[ChainEvent]]
"""Yields the events of a chain from elsewhere, anew at each call."""


class SharedChain(Struct, frozen=True):
    """A chain of another desk or place: its events, and how many were new here and there."""

    desk: str
    reviewer: str
    events: int
    taken: int = 0
    sent: int = 0


def merge(desk: Desk, other: Path) -> "Synced":
    """Merge every chain of another desk file, which is only read; one bad chain stops the merge."""
    refuse_read_only(desk.conn)
    if other.exists() and other.samefile(desk.path):
        raise UsageError(f"{other}: is the desk itself", "Name the file of another desk.")
    arriving = _Arriving(desk)
    with reviewers.elsewhere(other) as conn:
        # The file is from somebody else, so even a name may have the wrong type.
        chains = [
            (ChainName(str(one.desk), str(one.reviewer)),
             partial(reviewers.events_of, conn, one.desk, one.reviewer))
            for one in reviewers.ends(conn)
        ]  # fmt: skip
        counts = [arriving.check(*chain) for chain in chains]
        found = [
            SharedChain(name.desk, name.reviewer, count, arriving.take(name, read))
            for (name, read), count in zip(chains, counts, strict=True)
        ]
        filters.add_digits(desk, conn)
    return Synced(str(other), tuple(found), head=desk.head())


class _Arriving:
    """Checks chains that arrive, those of the desks themselves first, and takes them in."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._counted: dict[str, Mapping[str, Covered]] = {}
        """The counters that the chain of a desk gives to its reviewers, once it is checked."""

    def check(self, name: ChainName, read: Reader) -> int:
        """Check a whole chain against its hashes and the part that is here; return its length."""
        conn = self._desk.conn
        with _named(name):
            counted = self._counted.get(name.desk) or events.coverage(conn, name.desk)
            if not counted and name.reviewer == DESK:
                # The chain gives counters to its desk's events, its own included.
                counted = _first_counters(read())
            check = ChainCheck(name.desk, name.reviewer, counted.get(name.reviewer))
            held = reviewers.hashes_of(conn, *astuple(name))
            for event in read():
                check.add(event)
                if next(held, event.hash) != event.hash:
                    raise ChainProblem(event.seq, _FORKED)
            self._counted[name.desk] = counted
        return check.seq

    def take(self, name: ChainName, read: Reader) -> int:
        """Add the new events of a checked chain to the log, and return their number."""
        desk = self._desk
        here = reviewers.end(desk.conn, *astuple(name)).seq
        older = self._counted[name.desk].get(name.reviewer)
        pace = LockPace()
        new = 0
        # The events that a chain covers itself come with the one that covers them.
        least = older.seq + 1 if older and name.reviewer == DESK else 0
        with _named(name):
            new_events = (event for event in read() if event.seq > here)
            left = ((event, older.counter(event.seq) if older else None) for event in new_events)
            while some := list(islice(left, max(pace.rows, least))):
                with pace.timed(), writing(desk.conn):
                    reviewers.begin(desk.conn, desk.at())
                    new += reviewers.put(desk.conn, some)
                pace.turn()
        return new


def _first_counters(found: Iterator[ChainEvent]) -> Mapping[str, Covered]:
    counted = next((event for event in found if event.kind == COUNTED), None)
    if counted is None:
        return {}
    detail = checked_detail(counted)
    try:
        return covered(detail)
    except ValueError as error:
        raise ChainProblem(counted.seq, str(error)) from error


@contextmanager
def _named(name: ChainName) -> Iterator[None]:
    try:
        yield
    except ChainProblem as wrong:
        hint = _HINTS.get(wrong.text, _ASK)
        names = show_line(name.desk, 40), show_line(name.reviewer, 80)
        raise ChainError(*names, wrong.seq, wrong.text, hint) from wrong


# Through a shared folder

CHAINS = "chains"
RUNS = "runs"
_LOOK = 500
_OWN_HINT = "This desk has the chain: delete the file, and the next sync writes it anew."
_OTHER_HINT = "Nothing of it was taken; delete it, and its desk writes it anew at its next sync."
_CAME_BACK = (
    "{}: this desk's own chain had grown there by {:,}, as after restoring a backup here; if you "
    "restored none, somebody else wrote that"
)

Told = Callable[[float, int], bool]
"""Takes the share that is done and the number of files so far; returning ``False`` cancels."""


class SyncedRun(Struct, frozen=True):
    """A run that was taken from the place, or sent to it."""

    hash: str
    name: str
    taken: bool


class RefusedFile(Struct, frozen=True):
    """A file of the place that was not taken: its name, the problem, and what to do."""

    file: str
    problem: str
    hint: str


class Synced(Struct, frozen=True):
    """What was exchanged with a place, or taken from a desk, and the head of the log after it."""

    place: str
    chains: tuple[SharedChain, ...]
    runs: tuple[SyncedRun, ...] = ()
    refused: tuple[RefusedFile, ...] = ()
    notes: tuple[str, ...] = ()
    head: str = ""

    @property
    def taken(self) -> int:
        return sum(one.taken for one in self.chains)

    @property
    def sent(self) -> int:
        return sum(one.sent for one in self.chains)


def sync(desk: Desk, place: "SharedFolder", told: Told, *, with_runs: bool = True) -> Synced:
    refuse_read_only(desk.conn)
    one = _Sync(desk, place, told)
    one.take_chains()
    if with_runs:
        one.take_runs()
    one.send_chains()
    if with_runs:
        one.send_runs()
    grown = [
        _CAME_BACK.format(show_line(chain.reviewer, 80), chain.taken)
        for chain in one.chains.values()
        if chain.taken and chain.desk == desk_id(desk.conn)
    ]
    return Synced(
        place.address,
        tuple(sorted(one.chains.values(), key=lambda chain: (chain.desk, chain.reviewer))),
        tuple(one.runs.values()),
        tuple(sorted(one.refused.values(), key=lambda refused: refused.file)),
        (*grown, *dict.fromkeys(one.notes)),
        desk.head(),
    )


@dataclass(slots=True)
class _Sync:
    """One exchange: chains and runs found at a place or sent there, refused files, and notes."""

    desk: Desk
    place: "SharedFolder"
    told: Told
    chains: dict[ChainName, SharedChain] = field(default_factory=dict)
    runs: dict[str, SyncedRun] = field(default_factory=dict)
    refused: dict[str, RefusedFile] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def named(self, folder: str, fits: Callable[[str], object]) -> list[str]:
        """Return the files of a folder by name; files that desks do not write are left alone."""
        found = []
        for path in self.place.entries(folder):
            if fits(path.removeprefix(f"{folder}/")):
                found.append(path)
            elif not path.rpartition("/")[2].startswith("."):
                self.notes.append(f"{path}: not a file of a desk, left alone")
        return found

    @contextmanager
    def refusing(self, path: str, hint: str) -> Iterator[None]:
        """Note the problem of a file, so that the other files are still taken."""
        try:
            yield
        except (ChainProblem, ChainError, ReportError, PlaceProblem) as error:
            problem = str(getattr(error, "message", error)).removeprefix(f"{path}: ")
            own = UPDATE if problem == NEWER else getattr(error, "hint", "")
            # The hints of a reader of reports are for a person who has the report.
            if own != UPDATE and (own in {_ASK, ""} or isinstance(error, ReportError)):
                own = hint
            self.refused[path] = RefusedFile(path, problem, own)

    def take_chains(self) -> None:
        arriving = _Arriving(self.desk)
        last = file_name(ChainName("", DESK))
        every = self.named(CHAINS, FILE.fullmatch)
        # A desk's own chain is needed to check the chains of its reviewers.
        every.sort(key=lambda path: (not path.endswith(last), path))
        for number, path in enumerate(every):
            hint = _OWN_HINT if path.split("/")[1] == desk_id(self.desk.conn) else _OTHER_HINT
            with self.refusing(path, hint), self.place.copied(path, MOST) as file:
                name = read_header(file.readline(LINE + 1))
                if f"{CHAINS}/{file_name(name)}" != path:
                    raise PlaceProblem("contains another chain than its name says")
                told = partial(self.told, number / len(every), number)
                read = partial(_events_in, file, told)
                here = reviewers.end(self.desk.conn, *astuple(name)).seq
                count = arriving.check(name, read)
                new = arriving.take(name, read) if count > here else 0
                self.chains[name] = SharedChain(name.desk, name.reviewer, count, new)

    def send_chains(self) -> None:
        """Write the chains of this desk that have grown; the desk's own comes first."""
        conn = self.desk.conn
        for end in [one for one in reviewers.ends(conn) if one.desk == desk_id(conn)]:
            name = ChainName(end.desk, end.reviewer)
            path = f"{CHAINS}/{file_name(name)}"
            before = self.chains.get(name) or SharedChain(end.desk, end.reviewer, 0)
            if path in self.refused or before.events >= end.seq:
                continue
            with spool() as file:
                file.write(header_line(name))
                file.writelines(map(event_line, reviewers.events_of(conn, *astuple(name))))
                file.seek(0)
                self.place.put(path, file)
            self.chains[name] = replace(before, events=end.seq, sent=end.seq - before.events)

    def take_runs(self) -> None:
        conn = self.desk.conn
        every = self.named(RUNS, run_file.NAME.fullmatch)
        for number, path in enumerate(every):
            if runs.by_hash(conn, _run_of(path)) is not None:
                continue
            if not reviewers.said_of(conn, _run_of(path)):
                self.notes.append(f"{path}: no desk's chain names this run, left alone")
                continue
            told = partial(self.told, number / len(every), len(self.runs))
            with self.refusing(path, AGAIN), self.place.copied(path, MOST) as file:
                run = run_file.read_run(self.desk, path, file, lambda *_, told=told: told())
                self.runs[run.hash] = SyncedRun(run.hash, run.name, taken=True)

    def send_runs(self) -> None:
        there = {_run_of(one) for one in self.named(RUNS, run_file.NAME.fullmatch)}
        for run in self.desk.runs():
            if run.hash in there:
                continue
            if runs.archive_text(self.desk.conn, run.key) is not None:
                self.notes.append(f"run {run.name}: is an archive, and stays where it is")
                continue
            with spool() as file:
                name = run_file.write_run(self.desk, run, file)
                self.place.put(f"{RUNS}/{name}", file)
            self.runs[run.hash] = SyncedRun(run.hash, run.name, taken=False)


def _run_of(path: str) -> str:
    return path.removeprefix(f"{RUNS}/").partition(".")[0]


def _events_in(file: BinaryIO, told: Callable[[], bool]) -> Iterator[ChainEvent]:
    """Yield the events in a chain's file; raise Cancelled if ``told`` returned False."""
    file.seek(0)
    lines = iter(partial(file.readline, LINE + 1), b"")
    next(lines)
    for place, event in enumerate(read_events(lines)):
        if place % _LOOK == 0 and not told():
            raise Cancelled("the sync was stopped; what was exchanged stays")
        yield event


MOST_FILES = 100_000
BLOCK = 1 << 20
LARGER = "is larger than its kind of file may be"
_OTHERS_WRITE = 0o022


class PlaceProblem(ValueError):
    """A file of a place is not taken; the text says what was found, the hint what to do."""

    def __init__(self, text: str, hint: str = "") -> None:
        """Keep the hint separately; it is empty if the content of the file is wrong."""
        self.hint = hint
        super().__init__(text)


class SharedFolder:
    """A shared folder. Links inside it are neither followed nor replaced by folders."""

    def __init__(self, where: str | Path) -> None:
        """Take a folder; the first file makes it if it is missing."""
        if not str(where).strip():
            raise UsageError("WHERE: is empty", "Name the shared folder.")
        if "://" in str(where):
            raise UsageError(
                f"{where}: is an address, and desks sync through a folder",
                "Mount it, or let git, rclone or Syncthing copy a folder, and name that.",
            )
        path = Path(where).expanduser()
        self.address = str(path)
        self._root = path
        if path.is_dir():
            return
        if os.path.lexists(path):
            raise UsageError(f"{path}: is not a folder", "Name the shared folder.")
        if not path.parent.is_dir():
            hint = "Check the path, and that the share is mounted."
            raise UsageError(f"{path}: there is no folder {path.parent}", hint)

    def entries(self, folder: str) -> list[str]:
        """Return the names of the files of a folder and of the folders in it."""
        folders = [folder]
        found: list[str] = []
        try:
            for place in folders:
                self._refuse_links(place)
                for one in (self._root / place).iterdir():
                    is_folder = place == folder and one.is_dir() and not one.is_symlink()
                    (folders if is_folder else found).append(f"{place}/{one.name}")
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _failed(f"{self.address}/{folder}", error, "Check its permissions.") from error
        if len(found) > MOST_FILES:
            raise DeskError(
                f"{self.address}: has more than {MOST_FILES:,} files",
                "Give your team a folder of its own.",
            )
        return sorted(found)

    @contextmanager
    def copied(self, name: str, most: int) -> Iterator[BinaryIO]:
        """Copy a file, so that what is checked is what is taken; it has at most so many bytes."""
        path = self._root / name
        with spool() as into:
            try:
                self._refuse_links(name.rpartition("/")[0])
                with open_regular(path) as given:
                    if os.fstat(given.fileno()).st_size > most:
                        raise PlaceProblem(LARGER)
                    copyfileobj(given, into, BLOCK)
            except OSError as error:
                hint = "Check the connection and whether you may read it, and sync again."
                if error.errno == errno.EINVAL:
                    hint = ""  # it is a link or a pipe
                raise PlaceProblem(f"cannot be read: {reason(error)}", hint) from error
            into.seek(0)
            yield into

    def put(self, name: str, given: BinaryIO) -> None:
        """Write a file under a temporary name, and then give it this one."""
        path = self._root / name
        try:
            self._root.mkdir(exist_ok=True)
            folder = self._root
            # Writers of the place may write in the first folder. A folder inside it belongs to a
            # desk; others may read in it what they may read in the place.
            mode = self._mode()
            for part in name.split("/")[:-1]:
                folder /= part
                with suppress(FileExistsError):
                    folder.mkdir()
                    if os.name == "posix":
                        folder.chmod(mode)
                mode &= ~_OTHERS_WRITE
            self._refuse_links(name.rpartition("/")[0])
            with whole_file(path, replace=True) as out:
                copyfileobj(given, out, BLOCK)
            if os.name == "posix":
                # Everybody who may read the place may read the file, whatever the writer's umask.
                with open_regular(path) as written:
                    os.fchmod(written.fileno(), self._mode() & 0o666 & ~_OTHERS_WRITE | 0o600)
        except OSError as error:
            hint = "Check free space and permissions; what was written before is there."
            raise _failed(str(path), error, hint) from error

    def _mode(self) -> int:
        return stat.S_IMODE(self._root.stat().st_mode)

    def _refuse_links(self, folder: str) -> None:
        """Raise OSError if a folder is a link, which may lead anywhere."""
        path = self._root
        for name in folder.split("/"):
            path /= name
            if not stat.S_ISDIR(path.lstat().st_mode):
                raise NotADirectoryError(None, "a folder was expected, and it is a link or file")


def _failed(what: str, error: OSError, hint: str) -> DeskError:
    return DeskError(f"{what}: {reason(error)}", hint)


_IN_MEMORY = 4 << 20


def spool() -> BinaryIO:
    return cast("BinaryIO", SpooledTemporaryFile(_IN_MEMORY, prefix="reviewdesk-"))
