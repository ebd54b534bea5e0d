"""Copy a desk file and check the copy, and read a damaged file down to its pages."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO

from reviewdesk.domain.labels.chain import event_hash
from reviewdesk.errors import Cancelled, DeskError
from reviewdesk.file_output import whole_path
from reviewdesk.store.connect import APPLICATION_ID, value
from reviewdesk.store.explain import explained

UNREADABLE = (sqlite3.Error, MemoryError, UnicodeError)
"""The errors of reading a damaged file: a damaged length may ask for more memory than there is, and
SQLite repeats bytes of a damaged schema that are not text."""
_PAGE_SIZES = tuple(1 << power for power in range(9, 17))
Told = Callable[[float, int], object]


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


def back_up(
    conn: sqlite3.Connection,
    desk: Path,
    target: Path,
    *,
    replace: bool = False,
    go_on: Callable[[], bool] = lambda: True,
) -> None:
    """Copy the whole desk with its log to a file, which is checked before it gets its name.

    The copy is private to the owner, or to the group that may write the desk. ``go_on`` is called
    between short steps.

    Raises:
        Cancelled: ``go_on`` returned False; nothing is left of the copy.
        DeskError: the target exists and is not to be replaced, its folder does not exist, or the
            copy is damaged.
    """
    if is_own_file(desk, target):
        raise DeskError(f"{target}: is the desk itself", "Name a new file.")
    if not replace and os.path.lexists(target):
        raise DeskError(f"{target}: is there already", "Name a new file.")
    if not target.parent.is_dir():
        raise DeskError(f"{target}: there is no such folder", "Name a file in one that is there.")
    with explained(target), whole_path(target, replace=replace, of_desk=True) as part:
        copy = sqlite3.connect(part)
        try:
            _copy_pages(conn, copy, go_on)
            copy.set_progress_handler(lambda: not go_on(), _CHECK_STEPS)
            found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.OperationalError:
            if not go_on():
                raise Cancelled(_STOPPED) from None
            raise
        finally:
            copy.close()
        if found != "ok":
            raise DeskError(f"{target}: the copy is damaged: {found}", "Run desk verify.")
        if desk.stat().st_mode & 0o020:
            part.chmod(0o660)


_STOPPED = "the backup was stopped; nothing of it is left"
_STEP_PAGES = 64
_CHECK_STEPS = 100_000
"""Steps of SQLite's machine between two calls that ask whether a check continues."""


def _copy_pages(
    conn: sqlite3.Connection, copy: sqlite3.Connection, go_on: Callable[[], bool]
) -> None:
    """Copy a megabyte at a time.

    With a write-ahead log the copy shows one state, and writers never wait for it. Without one, it
    starts again after each write, and writers wait for the length of a step.
    """

    def between(*_: int) -> None:
        if not go_on():
            raise Cancelled(_STOPPED)
        sleep(0.001)

    # The whole file is flushed to the disk before it gets its name.
    copy.execute("PRAGMA synchronous=OFF")
    logged = not conn.in_transaction and conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    if logged:
        conn.execute("BEGIN")
        conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    try:
        conn.backup(copy, pages=_STEP_PAGES, progress=between)
    finally:
        if logged:
            conn.execute("ROLLBACK")


def copy_into(source: sqlite3.Connection, part: Path) -> None:
    """Copy a whole desk into an empty file."""
    with closing(sqlite3.connect(part)) as copy:
        source.backup(copy)


def is_in_use(path: Path) -> bool:
    """Return True if SQLite's locks on a desk show that another process has it open."""
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as conn:
        try:
            # Every reader of a log shares a lock that this requests exclusively.
            conn.execute("PRAGMA locking_mode=EXCLUSIVE")
            conn.execute("BEGIN EXCLUSIVE")
            conn.execute("ROLLBACK")
        except sqlite3.Error as error:
            return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return False


# A damaged file


def working_copy(desk: Path, folder: Path) -> Path:
    """Copy a desk file and its log into a folder, mend the copy's header, and fold the log in."""
    copy = folder / "damaged.db"
    with explained(desk):
        for beside in ("", "-wal", "-journal"):
            if (found := desk.with_name(desk.name + beside)).exists():
                shutil.copyfile(found, folder / f"{copy.name}{beside}")
    _mend_header(copy)
    try:
        with reading_copy(copy) as conn:
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except UNREADABLE:
        # The log cannot be read, but perhaps the file itself can.
        for beside in ("-wal", "-journal", "-shm"):
            (folder / f"{copy.name}{beside}").unlink(missing_ok=True)
    _mend_header(copy)
    return copy


def _mend_header(copy: Path) -> None:
    """Write the parts of the header that are the same in every desk, and the number of pages.

    The pages themselves stay as they are; reading does not need the list of free ones.
    """
    size = page_size(copy)
    with copy.open("r+b") as file:
        length = file.seek(0, os.SEEK_END)
        pages = -(-length // size)
        file.truncate(max(1, pages) * size)
        file.seek(0)
        head = bytearray(file.read(100))
        head[:16] = b"SQLite format 3\0"
        head[16:18] = (1 if size == 65536 else size).to_bytes(2, "big")
        logged = copy.with_name(f"{copy.name}-wal").exists()
        head[18:24] = bytes((2, 2, 0, 64, 32, 32)) if logged else bytes((1, 1, 0, 64, 32, 32))
        head[28:40] = pages.to_bytes(4, "big") + bytes(8)
        head[44:48] = (4).to_bytes(4, "big")
        head[52:60] = bytes(4) + (1).to_bytes(4, "big")
        head[64:72] = bytes(4) + APPLICATION_ID.to_bytes(4, "big")
        head[72:92] = bytes(20)
        head[92:96] = head[24:28]
        file.seek(0)
        file.write(head)


def page_size(file: Path) -> int:
    """Return the size of a file's pages, from its header or else guessed from the pages."""
    with file.open("rb") as found:
        head = found.read(100)
        stated = int.from_bytes(head[16:18], "big")
        stated = 65536 if stated == 1 else stated
        if head.startswith(b"SQLite format 3\0") and stated in _PAGE_SIZES:
            return stated
        seen: Counter[int] = Counter()
        for size in (16384, 4096, 1024, 65536, 8192):
            # Every page of a tree begins with one of four bytes and has few fragments.
            for page in range(1, 200):
                found.seek(page * size)
                start = found.read(8)
                seen[size] += len(start) == 8 and start[0] in {2, 5, 10, 13} and start[7] < 61
    best, count = seen.most_common(1)[0]
    return best if count else 16384


@contextmanager
def reading_copy(copy: Path) -> Iterator[sqlite3.Connection]:
    """Open a working copy so that its schema runs nothing; damage raises an error row by row."""
    with closing(sqlite3.connect(copy, isolation_level=None)) as conn:
        for pragma in ("trusted_schema=OFF", "writable_schema=ON", "cell_size_check=ON"):
            conn.execute(f"PRAGMA {pragma}")
        yield conn


def stated_version(copy: Path, latest: int) -> int:
    """Return the schema version of a working copy, or the latest if that cannot be read.

    Raises:
        DeskError: a newer version of reviewdesk made it.
    """
    with copy.open("rb") as file:
        stated = int.from_bytes(file.read(64)[60:64], "big")
    if 0 < stated <= latest:
        return stated
    with reading_copy(copy) as conn:
        try:
            recorded = int(value(conn, "SELECT count(*) FROM migrations"))
        except UNREADABLE:
            return latest
    if recorded > latest:
        raise DeskError("the desk was made by a newer reviewdesk", "Update reviewdesk.")
    return recorded or latest


class LeafPages:
    """Reads the rows on leaf pages of tables, as the file format of SQLite lays them out."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        """Read an open file whose pages have this size."""
        self._file = file
        self._size = size
        self.count = file.seek(0, os.SEEK_END) // size

    def _page(self, number: int) -> bytes:
        self._file.seek((number - 1) * self._size)
        return self._file.read(self._size)

    def rows(self, number: int, columns: int) -> Iterator[tuple[int, list[Any]]]:
        """Yield key and values of each row with so many columns on a page; skip damaged rows."""
        page = self._page(number)
        start = 100 if number == 1 else 0
        if len(page) < self._size or page[start] != 13:
            return
        cells = int.from_bytes(page[start + 3 : start + 5], "big")
        for at in range(start + 8, min(start + 8 + 2 * cells, self._size), 2):
            try:
                key, payload = self._cell(page, int.from_bytes(page[at : at + 2], "big"), columns)
                if payload:
                    yield key, _record(payload)
            except (IndexError, ValueError):
                continue

    def _cell(self, page: bytes, at: int, columns: int) -> tuple[int, bytes]:
        """Return key and record of a cell; the record is empty unless it has so many columns."""
        length, at = _varint(page, at)
        key, at = _varint(page, at)
        key -= (key >> 63) << 64
        head, place = _varint(page, at)
        end = at + head
        kinds = 0
        while place < end <= self._size and kinds <= columns:
            kinds += 1
            place = _varint(page, place)[1]
        if kinds != columns:
            return key, b""
        most = self._size - 35
        least = (self._size - 12) * 32 // 255 - 23
        here = length
        if length > most:
            here = least + (length - least) % (self._size - 4)
            here = here if here <= most else least
        payload = bytearray(page[at : at + here])
        following = int.from_bytes(page[at + here : at + here + 4], "big")
        while len(payload) < length:
            page = self._page(following) if 0 < following <= self.count else b""
            if not page:
                raise ValueError
            following = int.from_bytes(page[:4], "big")
            payload += page[4 : 4 + length - len(payload)]
        return key, bytes(payload)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    for place in range(at, at + 8):
        found = found << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return found, place + 1
    return found << 8 | data[at + 8], at + 9


_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
"""The bytes of a number in a record, by its kind."""


def _record(data: bytes) -> list[Any]:
    """Return the values of a record; real numbers are an error, as the log holds no such value."""
    end, at = _varint(data, 0)
    body = end
    found = list[Any]()
    while at < end:
        kind, at = _varint(data, at)
        if kind in {7, 10, 11}:
            raise ValueError
        size = (kind - 12) // 2 if kind >= 12 else _SIZES[kind]
        part = data[body : body + size]
        if len(part) < size:
            raise ValueError
        body += size
        if kind >= 12:
            found.append(part.decode() if kind % 2 else part)
        else:
            number = kind - 8 if kind >= 8 else int.from_bytes(part, "big", signed=True)
            found.append(number if kind else None)
    return found


def scan_events(copy: Path, columns: Sequence[str], told: Told) -> list[dict[str, Any]]:
    """Return the events with a correct hash on the leaf pages of a file, in the order of keys.

    ``columns`` are the columns of the log, in its order; the first is the key.
    """
    found: dict[str, dict[str, Any]] = {}
    with copy.open("rb") as file:
        pages = LeafPages(file, page_size(copy))
        for number in range(1, pages.count + 1):
            for key, row in pages.rows(number, len(columns)):
                event = {**dict(zip(columns, row, strict=True)), columns[0]: key}
                if _holds(event):
                    found.setdefault(event["hash"], event)
            if number % 1000 == 0:
                told(number / pages.count, len(found))
    return sorted(found.values(), key=lambda event: (event["key"], event["seq"]))


def _holds(event: Mapping[str, Any]) -> bool:
    texts = ("desk", "reviewer", "kind", "at", "author", "detail", "prev_hash", "hash")
    if not all(isinstance(event[name], str) for name in texts):
        return False
    if not all(type(event[name]) is int for name in ("key", "seq", "tentative", "action")):
        return False
    if not isinstance(event["item"], bytes | None):
        return False
    try:
        return bool(event_hash(event) == event["hash"])
    except (ValueError, TypeError):
        return False
