"""Exchange chains and runs with other desks through a shared folder, without a server.

Each chain is a file that only its own desk writes, so that no two machines ever write the same one.
What others wrote is read first, chain by chain; then everything new here is written there.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from msgspec import Struct
from msgspec.structs import astuple, replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.team import merge
from reviewdesk.desk.team.merge import AGAIN, ASK, UPDATE, ArrivingChain, SharedChain, Taking
from reviewdesk.domain.labels.chain import (
    DESK,
    FILE,
    LINE,
    NEWER,
    ChainName,
    ChainProblem,
    event_line,
    file_name,
    header_line,
    read_events,
    read_header,
)
from reviewdesk.domain.records import ChainEvent
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import Cancelled, ChainError, DeskError, ReportError, UsageError
from reviewdesk.file_output import whole_file
from reviewdesk.store import reviewers, runs
from reviewdesk.store.connect import refuse_read_only
from reviewdesk.store.events import desk_id
from reviewdesk.store.reviewers import said_of

CHAINS = "chains"
RUNS = "runs"
MOST = 1 << 30
"""The most bytes of a chain's file: those of about two million events."""
_LOOK = 500
"""The number of events that are read between two checks for a stop."""
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
    """What was exchanged with a place, and the head of the log after it."""

    place: str
    chains: tuple[SharedChain, ...]
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


def sync(desk: Desk, place: "SharedFolder", told: Told, *, with_runs: bool = True) -> Synced:
    """Read what others put at a place, and write there what is new on this desk.

    Raise DeskError if the place cannot be read or written, or the desk is busy or read-only.
    """
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

    def named(self, folder: str, fits: Callable[[str], object]) -> "list[SharedFile]":
        """Return the files of a folder by name; files that desks do not write are left alone."""
        found = []
        for entry in self.place.entries(folder):
            name = entry.name.removeprefix(f"{folder}/")
            if fits(name):
                found.append(entry)
            elif not name.rpartition("/")[2].startswith("."):
                self.notes.append(f"{entry.name}: not a file of a desk, left alone")
        return sorted(found, key=lambda one: one.name)

    @contextmanager
    def refusing(self, entry: "SharedFile", hint: str) -> Iterator[None]:
        """Note the problem of a file, so that the other files are still taken."""
        try:
            yield
        except ChainProblem as error:
            problem = str(error)
            todo = UPDATE if error.text == NEWER else hint
        except (ChainError, ReportError, PlaceProblem) as error:
            problem = str(getattr(error, "message", error)).removeprefix(f"{entry.name}: ")
            is_own = error.hint == UPDATE or not isinstance(error, ReportError)
            todo = error.hint if is_own and error.hint not in {ASK, ""} else hint
        else:
            return
        self.refused[entry.name] = RefusedFile(entry.name, problem, todo)

    def chain(self, name: ChainName) -> SharedChain:
        return self.chains.get(name) or SharedChain(name.desk, name.reviewer, 0)

    def take_chains(self) -> None:
        """Take in every intact chain of others."""
        conn = self.desk.conn
        taking = Taking(self.desk)
        last = file_name(ChainName("", DESK))
        every = self.named(CHAINS, FILE.fullmatch)
        # A desk's own chain is needed to check the chains of its reviewers.
        every.sort(key=lambda one: (not one.name.endswith(last), one.name))
        for number, entry in enumerate(every):
            is_own = entry.name.split("/")[1] == desk_id(conn)
            hint = _OWN_HINT if is_own else _OTHER_HINT
            with self.refusing(entry, hint), self.place.copied(entry, MOST) as file:

                def read(
                    file: BinaryIO = file, entry: "SharedFile" = entry, number: int = number
                ) -> Iterator[ChainEvent]:
                    file.seek(0)
                    lines = iter(partial(file.readline, LINE + 1), b"")
                    next(lines)
                    for place, event in enumerate(read_events(lines)):
                        share = min(1.0, file.tell() / (entry.size or 1))
                        if place % _LOOK == 0 and not self.told(
                            (number + share) / len(every), number
                        ):
                            raise Cancelled("the sync was stopped; what was exchanged stays")
                        yield event

                name = read_header(file.readline(LINE + 1))
                if f"{CHAINS}/{file_name(name)}" != entry.name:
                    raise PlaceProblem("contains another chain than its name says")
                arrival = ArrivingChain(name.desk, name.reviewer, read)
                here = reviewers.end(conn, name.desk, name.reviewer).seq
                count = taking.check(arrival)
                new = taking.take(arrival) if count > here else 0
                before = self.chain(name)
                self.chains[name] = replace(before, events=count, taken=before.taken + new)

    def send_chains(self) -> None:
        """Write the chains of this desk that have grown; the desk's own comes first."""
        conn = self.desk.conn
        for end in [one for one in reviewers.ends(conn) if one.desk == desk_id(conn)]:
            name = ChainName(end.desk, end.reviewer)
            path = f"{CHAINS}/{file_name(name)}"
            before = self.chain(name)
            if path in self.refused or before.events >= end.seq:
                continue
            with spool() as file:
                file.write(header_line(name))
                file.writelines(map(event_line, reviewers.events_of(conn, *astuple(name))))
                file.seek(0)
                self.place.put(path, file)
            sent = before.sent + end.seq - before.events
            self.chains[name] = replace(before, events=end.seq, sent=sent)

    def take_runs(self) -> None:
        """Take in every run that is not here and that a chain names."""
        desk = self.desk
        every = self.named(RUNS, merge.NAME.fullmatch)
        for number, entry in enumerate(every):
            run_hash = _run_of(entry)
            if runs.by_hash(desk.conn, run_hash) is not None:
                continue
            if not said_of(desk.conn, run_hash):
                self.notes.append(f"{entry.name}: no desk's chain names this run, left alone")
                continue

            def far(_share: float, _count: int, start: float = number / len(every)) -> bool:
                return self.told(start, len(self.runs))

            with self.refusing(entry, AGAIN), self.place.copied(entry, merge.MOST) as file:
                run = merge.read_run(desk, entry.name, file, partial(said_of, desk.conn), far)
                self.runs[run.hash] = SyncedRun(run.hash, run.name, taken=True)

    def send_runs(self) -> None:
        """Write the runs that nobody has written yet."""
        there = {_run_of(one) for one in self.named(RUNS, merge.NAME.fullmatch)}
        for run in self.desk.runs():
            if run.hash in there:
                continue
            if runs.archive_text(self.desk.conn, run.key) is not None:
                self.notes.append(f"run {run.name}: is an archive, and stays where it is")
                continue
            with spool() as file:
                name = merge.write_run(self.desk, run, file)
                self.place.put(f"{RUNS}/{name}", file)
            self.runs[run.hash] = SyncedRun(run.hash, run.name, taken=False)


def _run_of(entry: "SharedFile") -> str:
    return entry.name.removeprefix(f"{RUNS}/").partition(".")[0]


MOST_FILES = 100_000
"""The most files of a place that are looked at."""
BLOCK = 1 << 20
LARGER = "is larger than its kind of file may be"
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
"""A link is not followed, and opening a pipe does not wait for a writer."""
_OTHERS_WRITE = 0o022
_NO_FILE = "is a link, or no regular file, so it was not read"


class SharedFile(Struct, frozen=True):
    """A file of a place: its name, in which ``/`` parts folders, and its size in bytes."""

    name: str
    size: int


class PlaceProblem(ValueError):
    """A file of a place is not taken; the text says what was found, the hint what to do."""

    def __init__(self, text: str, hint: str = "") -> None:
        """Keep the hint separately; it is empty if the content of the file is wrong."""
        self.hint = hint
        super().__init__(text)


class SharedFolder:
    """A shared folder. Links inside it are neither followed nor replaced by folders."""

    def __init__(self, where: str | Path) -> None:
        """Take a folder; the first file makes it if it is missing.

        Raise UsageError if the path is empty, an address or a file, or has no folder to make it in.
        """
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

    def entries(self, folder: str) -> Iterator[SharedFile]:
        """Yield the files of a folder and of the folders in it."""
        for count, entry in enumerate(self._walk(folder, deeper=1)):
            if count > MOST_FILES:
                raise DeskError(
                    f"{self.address}: has more than {MOST_FILES:,} files",
                    "Give your team a folder of its own.",
                )
            yield entry

    def _walk(self, folder: str, deeper: int) -> Iterator[SharedFile]:
        try:
            self._refuse_links(folder)
            with os.scandir(self._root / folder) as found:
                for one in found:
                    name = f"{folder}/{one.name}"
                    if one.is_dir(follow_symlinks=False):
                        if deeper:
                            yield from self._walk(name, deeper - 1)
                    else:
                        yield SharedFile(name, one.stat(follow_symlinks=False).st_size)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _failed(f"{self.address}/{folder}", error, "Check its permissions.") from error

    @contextmanager
    def copied(self, entry: SharedFile, most: int) -> Iterator[BinaryIO]:
        """Copy a file, so that what is checked is what is taken.

        Raise PlaceProblem if it cannot be read, is not a regular file, or has more than ``most``
        bytes.
        """
        path = self._root / entry.name
        with spool() as into:
            try:
                self._refuse_links(entry.name.rpartition("/")[0])
                if not stat.S_ISREG(path.lstat().st_mode):
                    raise PlaceProblem(_NO_FILE)
                with os.fdopen(os.open(path, _READ), "rb") as given:
                    if not stat.S_ISREG(os.fstat(given.fileno()).st_mode):
                        raise PlaceProblem(_NO_FILE)
                    while block := given.read(BLOCK):
                        most -= len(block)
                        if most < 0:
                            raise PlaceProblem(LARGER)
                        into.write(block)
            except OSError as error:
                hint = "Check the connection and whether you may read it, and sync again."
                raise PlaceProblem(f"cannot be read: {_reason(error)}", hint) from error
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
                descriptor = os.open(path, _READ)
                try:
                    os.fchmod(descriptor, self._mode() & 0o666 & ~_OTHERS_WRITE | 0o600)
                finally:
                    os.close(descriptor)
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


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _failed(what: str, error: OSError, hint: str) -> DeskError:
    return DeskError(f"{what}: {_reason(error)}", hint)


_IN_MEMORY = 4 << 20


def spool() -> BinaryIO:
    """Return a temporary file, in memory as long as it is small."""
    return cast("BinaryIO", SpooledTemporaryFile(_IN_MEMORY, prefix="reviewdesk-"))
