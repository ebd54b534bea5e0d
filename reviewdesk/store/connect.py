"""Open desk files, run statements whose errors are one sentence, and read and write rows."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from hashlib import sha256
from pathlib import Path
from random import uniform
from time import monotonic, sleep
from typing import Any, TypeVar
from weakref import WeakSet

from msgspec import Struct, convert

from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import BusyError, DeskError, Ended, UsageError
from reviewdesk.file_output import create_private
from reviewdesk.system.locks import WriterPlace
from reviewdesk.system.signals import asked_to_end

T = TypeVar("T", bound=Struct)

_PAGE = 900
"""Rows per query, below the oldest limit of SQLite on bound values."""


def value(conn: sqlite3.Connection, query: str, values: Any = ()) -> Any:
    """Return the first column of the only row of a query."""
    return conn.execute(query, values).fetchone()[0]


def lookup(conn: sqlite3.Connection, query: str, values: Any = ()) -> Any:
    """Return the first column of the first row, or ``None`` without a row."""
    row = conn.execute(query, values).fetchone()
    return None if row is None else row[0]


def first_column(conn: sqlite3.Connection, query: str, values: Any = ()) -> list[Any]:
    """Return the first column of every row of a query."""
    return [row[0] for row in conn.execute(query, values)]


def record(kind: type[T], row: Mapping[str, Any] | sqlite3.Row, **more: Any) -> T:
    """Build a record from columns and ``more``; ValueError if one does not fit, as by damage."""
    return convert({**dict(row), **more}, kind, strict=False)


def decision(row: sqlite3.Row | Mapping[str, Any]) -> Decision | None:
    return Decision(row["decision"]) if row["decision"] else None


def insert(conn: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int | None:
    """Insert one row by the names of its columns, and return its key."""
    marks = ", ".join(f":{name}" for name in row)
    query = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
    return conn.execute(query, row).lastrowid


def in_pages(
    conn: sqlite3.Connection, query: str, wanted: Sequence[Any], *before: Any
) -> Iterator[sqlite3.Row]:
    """Yield the rows of a query in which ``IN (*)`` takes any number of values after ``before``."""
    for start in range(0, len(wanted), _PAGE):
        page = wanted[start : start + _PAGE]
        places = range(len(before) + 1, len(before) + len(page) + 1)
        marks = ", ".join(f"?{place}" for place in places)
        yield from conn.execute(query.replace("IN (*)", f"IN ({marks})"), (*before, *page))


def data_version(conn: sqlite3.Connection) -> int:
    """Return a number that changes when another connection writes to the desk."""
    return int(value(conn, "PRAGMA data_version"))


HASHES = "hashes"
_HASHED = {
    "drafts": "item, reviewer, text",
    "filters": "reviewer, name, text",
    "kept_settings": "reviewer, name, value",
    "meta": "key, value",
    "migrations": "name, at",
    "runs": "key, opened",
    "views": "run, reviewer, state",
}
_WHERE = {"meta": f"key <> '{HASHES}'"}
STATED = f"SELECT value FROM meta WHERE key = '{HASHES}'"


def table_hashes(conn: sqlite3.Connection) -> tuple[dict[str, str], str | None]:
    """Return the hash of each table by name, and the text of those that were stored last.

    Both are empty if a table is missing or cannot be read.
    """
    parts = []
    for table, columns in _HASHED.items():
        cells = " || ".join(f"typeof({one}) || hex({one})" for one in columns.split(", "))
        rows = f"SELECT {cells} AS cells FROM {table} WHERE {_WHERE.get(table, 1)} ORDER BY 1"
        parts.append(f"(SELECT CAST(group_concat(cells) AS BLOB) FROM ({rows}))")
    try:
        # One statement reads all of them, because each label runs it.
        *texts, stated = conn.execute(f"SELECT {', '.join(parts)}, ({STATED})").fetchone()
    except (DeskError, sqlite3.Error):
        return {}, None
    hashes = (sha256(text or b"").hexdigest()[:16] for text in texts)
    return dict(zip(_HASHED, hashes, strict=True)), stated


BUSIEST = 60.0
"""Seconds for which one statement may keep SQLite busy."""


@contextmanager
def explained(path: Path, ran_long: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Turn errors into a DeskError or UsageError with a clear sentence.

    A statement that was stopped, unless it ``ran_long``, raises KeyboardInterrupt.
    """
    try:
        yield
    except sqlite3.Error as error:
        stopped = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
        if stopped and not ran_long():
            # A signal handler ran inside SQLite, which cannot pass its error on.
            number = asked_to_end()
            raise (KeyboardInterrupt() if number is None else Ended(number)) from error
        if is_busy(error):
            raise busy(path) from error
        text = str(error).lower()
        for sign, sentence, hint in _SENTENCES:
            if sign in text:
                raise DeskError(f"{path}: {sentence}", hint) from error
        if isinstance(error, sqlite3.IntegrityError):
            raise DeskError(f"{path}: {error}") from error
        raise damaged(path, _NO_TEXT if "could not decode" in text else str(error)) from error
    except UnicodeDecodeError as error:
        # SQLite repeats the bytes of a damaged schema in its errors.
        raise damaged(path, _NO_TEXT) from error
    except UnicodeEncodeError as error:
        raise UsageError(
            "a name or text contains bytes that are not UTF-8, and nothing was written",
            "Give it in UTF-8.",
        ) from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise DeskError(f"{path}: {reason}", "Name another desk with --desk.") from error


_BUSY = "another process is writing", "Try again, or close the other window."
_SENTENCES = (
    (
        "interrupted",
        f"a statement ran for over {BUSIEST:.0f} seconds and was stopped",
        "Ask desk verify whether the desk was changed.",
    ),
    ("too big", "a text in the desk is too long to read", "Restore a backup."),
    ("locked", *_BUSY),
    ("readonly", "the desk is read-only", "Make file and folder writable, or use another --desk."),
    ("full", "the disk is full", "What was saved stays; free some space, and try again."),
    ("unable to open", "the desk cannot be opened", "Check the folder, or use another --desk."),
    ("not a database", "not a desk file", "Name another with --desk."),
    ("disk i/o", "the disk reports an error", "Check the disk; nothing was written."),
)


_NO_TEXT = "a text contains bytes that are not UTF-8"


def is_busy(error: sqlite3.Error) -> bool:
    # The low byte is the error code; the bytes above it give the kind of busy error.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def busy(path: Path) -> BusyError:
    return BusyError(f"{path}: {_BUSY[0]}", _BUSY[1])


def damaged(path: Path, problem: str) -> DeskError:
    return DeskError(
        f"{path}: the desk is damaged: {problem}", "Run desk restore BACKUP, or desk repair."
    )


class ExplainedCursor(sqlite3.Cursor):
    """A cursor of an ExplainedConnection, which explains errors of reading rows."""

    def _explained(self) -> AbstractContextManager[None]:
        watched: Any = self.connection
        return explained(watched.path, watched.ran_long)

    def fetchone(self) -> Any:
        with self._explained():
            return super().fetchone()

    def fetchmany(self, *args: Any, **named: Any) -> list[Any]:
        with self._explained():
            return super().fetchmany(*args, **named)

    def fetchall(self) -> list[Any]:
        with self._explained():
            return super().fetchall()

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        """Yield the rest of the rows."""
        with self._explained():
            yield from iter(super().__next__, None)


APPLICATION_ID = 0x52444B31
"""SQLite's application id of a desk: the bytes ``RDK1``."""

BUSY_SECONDS = 15
_RETRY = 0.0005, 0.002
"""The least and the most seconds between two attempts to take the write lock. SQLite's own waits
grow to a tenth of a second, and all others overtake a writer that sleeps so long."""
_MOST_BYTES = 1 << 28
PAGE_SIZE = 16384
_HEADER_SIZE = 100

_open_desks: "WeakSet[ExplainedConnection]" = WeakSet()


_BEGIN = "BEGIN IMMEDIATE"


class ExplainedConnection(sqlite3.Connection):
    """A connection whose statements raise DeskError or UsageError if they fail or take too long."""

    path = Path()
    patience: float = BUSY_SECONDS
    """Seconds that a transaction waits for the write lock; other statements wait for 15."""
    place: WriterPlace | None = None
    """Where a transaction that could not begin waits for the write lock."""
    identity: tuple[int, int] | None = None
    """Device and inode of the open file, even if the path names another file later."""
    read_only = False
    way_out = "Make file and folder writable, or use a copy: reviewdesk desk backup FILE."
    stamp: tuple[int, int] | None = None
    """Time and size of a file that is read without its log, and so must not change meanwhile."""
    _busy = _last = 0.0

    def watch(self) -> None:

        def too_long() -> bool:
            last = self._last
            self._last = monotonic()
            # The rest was spent on the rows, or waiting.
            self._busy += min(self._last - last, 0.05)
            return self.ran_long()

        self.set_progress_handler(too_long, 100_000)

    def ran_long(self) -> bool:
        return self._busy > BUSIEST

    def refuse_changed(self) -> None:
        if self.stamp is not None and self.stamp != _stamp(self.path):
            raise DeskError(
                f"{self.path}: changed while it was read", "Close it and open it again."
            )

    def close(self) -> None:
        """Close the desk, and give up the place among the waiting writers."""
        if self.place is not None:
            self.place.leave()
        _open_desks.discard(self)
        super().close()

    def cursor(self, factory: Any = ExplainedCursor) -> Any:
        return super().cursor(factory)

    def execute(self, *args: Any) -> sqlite3.Cursor:
        self._busy = 0.0
        begun = self._last = monotonic()
        with explained(self.path, self.ran_long):
            self.refuse_changed()
            made: sqlite3.Cursor = self.cursor()
            while True:
                try:
                    return made.execute(*args)
                except sqlite3.OperationalError as error:
                    late = monotonic() - begun > BUSY_SECONDS
                    if late or not is_busy(error) or args[0] == _BEGIN:
                        raise
                    sleep(uniform(*_RETRY))  # noqa: S311 - no secret depends on it

    def executemany(self, *args: Any) -> sqlite3.Cursor:
        self._busy = 0.0
        self._last = monotonic()
        with explained(self.path, self.ran_long):
            return super().executemany(*args)


def connect(path: Path, *, read_only: bool = False) -> ExplainedConnection:
    """Open or create a desk file durably; raise DeskError if it is not a desk or cannot be opened.

    With ``read_only`` the file must exist, and nothing is written to it or beside it.
    """
    with explained(path):
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
        _refuse_other(path, missing=read_only)
        # SQLite keeps the log in the folder.
        both = (path, path.absolute().parent)
        effective = os.access in os.supports_effective_ids
        there = path.exists()  # asked first, because another process may be creating the file
        writable = all(os.access(one, os.W_OK, effective_ids=effective) for one in both)
        unwritten = read_only or (there and not writable)
        if not unwritten:
            # SQLite gives the files beside it the same mode.
            create_private(path)
        # A file whose header says that it has a log, but has none, is read without: SQLite would
        # create a missing log, and nobody would remove it.
        alone = False
        if unwritten and not path.with_name(f"{path.name}-wal").exists():
            with path.open("rb") as file:
                alone = file.read(_HEADER_SIZE)[18:19] == b"\x02"
        mode = f"?mode=ro{'&immutable=1' * alone}" if unwritten else ""
        conn = sqlite3.connect(
            path.resolve().as_uri() + mode,
            uri=True,
            timeout=0,  # SQLite's own waits are too long: ``execute`` and ``_take_lock`` wait
            isolation_level=None,
            factory=ExplainedConnection,
            check_same_thread=False,  # a worker's connection serves one thread after the other
        )
        conn.path = path
        conn.row_factory = sqlite3.Row
        conn.read_only = unwritten
        if read_only:
            conn.way_out = "Other commands open it for writing: reviewdesk runs."
        try:
            if unwritten:
                conn.stamp = _stamp(path) if alone else None
            else:
                _prepare(conn, path)
        except BaseException:
            conn.close()
            raise
        conn.identity = _identity(path)
        _open_desks.add(conn)
        return conn


@contextmanager
def connect_read_only(path: Path) -> Iterator[ExplainedConnection]:
    """Open a desk file without writing to it or beside it; DeskError if that cannot be done."""
    with closing(connect(path, read_only=True)) as conn:
        conn.watch()
        yield conn
    conn.refuse_changed()


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def refuse_read_only(
    conn: ExplainedConnection, problem: str = "so labels and notes cannot be saved"
) -> None:
    """Raise DeskError if the file or its folder may not be written."""
    if conn.read_only:
        raise DeskError(f"{conn.path}: the desk is read-only, {problem}", conn.way_out)


def is_open_desk(path: Path) -> bool:
    """Return True if this process has the file open as a desk, and so must not read it as bytes.

    Closing it would drop SQLite's locks on it, and another process would delete a log in use.
    """
    identity = _identity(path)
    return identity is not None and any(one.identity == identity for one in _open_desks)


def is_own_file(desk: Path, path: Path) -> bool:
    """Return True if the path names the desk file, or a file that SQLite keeps beside it."""
    for name in ("", "-wal", "-shm", "-journal"):
        own = desk.with_name(desk.name + name)
        try:
            if path.resolve() == own.resolve() or path.samefile(own):
                return True
        except OSError:
            continue
    return False


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file without opening it, or ``None`` if it does not exist."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _prepare(conn: ExplainedConnection, path: Path) -> None:
    """Set the pragmas; mark a new file as a desk, and switch it to write-ahead logging."""
    conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    conn.watch()
    if sqlite3.sqlite_version_info >= (3, 41):
        # Older versions of SQLite treat json_extract in our own views as an unsafe function.
        conn.execute("PRAGMA trusted_schema=OFF")
    if path.stat().st_size == 0:
        # Set before the log exists, so that the header alone identifies a desk.
        conn.execute(f"PRAGMA page_size={PAGE_SIZE}")
        conn.execute(f"PRAGMA application_id={APPLICATION_ID}")
    conn.execute("PRAGMA journal_mode=WAL").fetchone()
    conn.execute("PRAGMA synchronous=FULL")
    conn.execute("PRAGMA fullfsync=ON")  # only macOS knows it
    conn.execute("PRAGMA foreign_keys=ON")
    # Without it INSERT OR REPLACE would bypass the triggers that guard the label log.
    conn.execute("PRAGMA recursive_triggers=ON")


def _refuse_other(path: Path, *, missing: bool) -> None:
    """Raise DeskError if the file is not a desk, as SQLite may write to it, or if it is missing."""
    # Checked in this order, because another process may be creating the file.
    if not (there := path.exists()) and not missing:
        return
    if not path.is_file():
        problem = "not a file" if there else "there is no desk"
        raise DeskError(f"{path}: {problem}", "Name a desk file with --desk.")
    if is_open_desk(path):
        return
    with path.open("rb") as file:
        head = file.read(_HEADER_SIZE)
    if head and not head.startswith(b"SQLite format 3\0"):
        raise DeskError(f"{path}: not a desk file", "Name another with --desk.")
    if head and head[68:72] != APPLICATION_ID.to_bytes(4, "big"):
        raise DeskError(f"{path}: a SQLite file of another program", "Name another with --desk.")


def still_there(conn: ExplainedConnection) -> None:
    """Raise DeskError if the file was deleted or replaced: nobody would find the write again."""
    if conn.identity is not None and _identity(conn.path) != conn.identity:
        raise DeskError(
            f"{conn.path}: the desk file was deleted or replaced, and nothing was saved",
            "Put it back, or close and open the desk again.",
        )


@contextmanager
def writing(conn: ExplainedConnection, *, hashed: bool = True) -> Iterator[None]:
    """Run one transaction that takes the write lock at once: all of it is saved, or nothing.

    If it is not ``hashed``, it must not write to the tables that ``table_hashes`` covers.
    """
    refuse_read_only(conn)
    still_there(conn)
    with explained(conn.path):
        _take_lock(conn)
        try:
            before, stated = table_hashes(conn) if hashed else ({}, None)
            yield
            # Only hashes that were right before are renewed, if all tables can be read.
            right = hashed and stated in {None, json.dumps(before)}
            after = table_hashes(conn)[0] if right else {}
            if after and (after != before or not stated):
                put = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
                conn.execute(put, (HASHES, json.dumps(after)))
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise


def _take_lock(conn: ExplainedConnection) -> None:
    """Begin a transaction that may write; raise BusyError if the lock is not free in time."""
    begun = monotonic()
    path = conn.path
    # SQLite takes no locks on its log, so closing a descriptor of it drops none.
    place = conn.place = conn.place or WriterPlace(path.with_name(f"{path.name}-wal"))
    while True:
        try:
            if not place.is_first():
                raise busy(path)
            conn.execute(_BEGIN)
        except BusyError:
            # Read each time, because another thread may shorten it.
            if monotonic() - begun >= conn.patience:
                raise
        else:
            place.leave()
            conn.place = None
            return
        sleep(uniform(*_RETRY))  # noqa: S311 - no secret depends on it


@contextmanager
def reading(conn: sqlite3.Connection) -> Iterator[None]:
    """Run several reads that see one state of the desk, even while others write."""
    conn.execute("BEGIN")
    try:
        yield
    finally:
        conn.execute("ROLLBACK")


def fold(conn: ExplainedConnection) -> None:
    """Merge the write-ahead log into the file, if others release it in time."""
    conn.execute(f"PRAGMA busy_timeout={int(1000 * conn.patience)}")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
