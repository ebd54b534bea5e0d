"""Hidden runs: the rows of a report whose load has not finished, and the process that holds it.

A hidden run has a row in ``loads`` and none in ``runs``, so no query that reads a run can find it.
It is written in short transactions; the last one adds the row of ``runs`` and takes this one away.
"""

import os
import secrets
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from msgspec import Struct
from msgspec.structs import asdict, replace

from reviewdesk.errors import DeskError
from reviewdesk.store.connect import (
    ExplainedConnection,
    explained,
    insert,
    lookup,
    record,
    value,
    writing,
)
from reviewdesk.store.events import displace_verdicts
from reviewdesk.store.runs import by_hash


def process_start(pid: int) -> str | None:
    """Return when a process was started, as the system states it; ``None`` if it does not run.

    If the system has given the number to another process, the start differs.
    """
    with suppress(OSError, IndexError):
        # The name of the program is in parentheses and may contain any character.
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        state, *fields = stat.rpartition(")")[2].split()
        return None if state in {"Z", "X"} else fields[18]
    if Path("/proc/self/stat").exists():
        return None
    with suppress(OSError):
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a number
        return told.stdout.strip() or None
    return None


_APART = 1 << 32
"""Keys kept free for a run that is being loaded, as the number of its verdicts is not known."""
_LONGEST = 0.025
"""The most seconds for which one transaction should hold the write lock."""
_UNSHARED = 0.01
"""Seconds for which the lock is held before other writers get their turn."""
_TURN = 0.005
"""Seconds left to other writers: ``connect.writing`` tries at least every two milliseconds."""
MOST = 6000
"""The most rows of verdicts that one transaction writes or deletes."""
LEAST = 100
"""The fewest rows that are chosen: fewer would touch nearly as many pages of the indexes."""
_UNFOLDED = 32
"""Transactions after which the log is folded into the file: each fold writes the indexes again."""
_FEW_UNFOLDED = 3
"""Transactions that may be left for the next writer to fold."""
PRAGMAS: Mapping[str, tuple[str, str]] = {
    # The row of the run comes last. Checking each row against its parent would cost a look-up.
    "foreign_keys": ("OFF", "ON"),
    # Folded between two transactions, not inside the lock's time.
    "wal_autocheckpoint": ("0", "1000"),
    "cache_size": ("-8000", "-2000"),
}
"""Settings of the connection while it loads, and after."""
_held: set[str] = set()
"""The tokens of the hidden runs that this process works on."""


class HiddenRun(Struct, frozen=True):
    """A run that is being loaded: its key, its first verdict's key, and how far it has come."""

    run: int
    hash: str
    file: str
    first: int
    made: str
    """What the rows depend on besides the file; only a load with the same value can continue."""
    pid: int
    started: str
    token: str
    bodies: int = 0
    rows: int = 0
    share: float = 0

    @property
    def sentence(self) -> str:
        """How far the load has come, and which process works on it."""
        far = f"{self.file}: {self.bodies:,} verdicts read ({self.share:.0%})"
        if self.held:
            return f"{far}, being loaded by process {self.pid}"
        return f"{far} by a load that did not end; load the file again to resume"

    @property
    def held(self) -> bool:
        """Whether a living process works on it."""
        if self.pid == os.getpid():
            return self.token in _held
        return process_start(self.pid) == self.started


def hidden_runs(conn: sqlite3.Connection) -> list[HiddenRun]:
    """Return every hidden run, the oldest first."""
    return [record(HiddenRun, row) for row in conn.execute("SELECT * FROM loads ORDER BY run")]


_CLAIMS = """SELECT l.file FROM loads l WHERE NOT (
      l.run NOT IN (SELECT key FROM runs) AND l.share BETWEEN 0 AND 1
      AND l.bodies = (SELECT count(*) FROM bodies b
                      WHERE b.verdict >= l.first AND b.verdict < l.first + l.bodies)
      AND l.rows = (SELECT count(*) FROM verdicts v
                    WHERE v.key >= l.first AND v.key < l.first + l.bodies AND +v.run = l.run)
      AND NOT EXISTS (SELECT 1 FROM verdicts v
                      WHERE v.key >= l.first AND v.key < l.first + l.bodies AND +v.run <> l.run))"""


def problems(conn: sqlite3.Connection) -> Iterator[str]:
    """Report hidden runs that claim a visible run, its verdicts, or rows that nobody wrote."""
    for row in conn.execute(_CLAIMS).fetchall():
        yield f"the load of {row['file']} claims rows that it did not write"


def of_hash(conn: sqlite3.Connection, run_hash: str) -> HiddenRun | None:
    return next((one for one in hidden_runs(conn) if one.hash == run_hash), None)


class LockPace(Struct):
    """Sizes transactions by how long they hold the write lock, and gives others a turn."""

    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], None] = sleep
    rows: int = 500
    """The number of rows for the next transaction."""
    _held: float = 0
    _left: float = float("-inf")

    def took(self, seconds: float) -> None:
        """Note how long a transaction held the lock: if too long, plan fewer rows, else more."""
        if seconds > _LONGEST:
            self.rows = max(LEAST, self.rows * 2 // 3)
        elif seconds < _LONGEST / 2:
            self.rows = min(MOST, self.rows * 3 // 2)

    @contextmanager
    def timed(self) -> Iterator[None]:
        start = self.clock()
        if start - self._left >= _TURN:
            self._held = 0
        yield
        self._left = self.clock()
        self._held += self._left - start
        self.took(self._left - start)

    def turn(self) -> None:
        """Leave the lock to others if it was held for long."""
        if self._held >= _UNSHARED:
            self.sleep(max(0.0, self._left + _TURN - self.clock()))
            self._held = 0


class Hold:
    """The right to write one hidden run, in short transactions."""

    def __init__(self, conn: ExplainedConnection, hidden: HiddenRun) -> None:
        """Take a hidden run that ``claim`` returned."""
        self.conn = conn
        self.hidden = hidden
        self.pace = LockPace()
        self.unfolded = 0
        """The number of transactions in the log."""

    @contextmanager
    def step(self, *, hashed: bool = False) -> Iterator[None]:
        """Run one transaction as ``writing`` does, unless another process has taken the run over.

        Inside another step, as in the load of a small report, it is a part of that one.
        """
        if self.conn.in_transaction:
            yield
            return
        with self.pace.timed(), writing(self.conn, hashed=hashed):
            query = "SELECT token FROM loads WHERE run = ?"
            if lookup(self.conn, query, (self.hidden.run,)) != self.hidden.token:
                raise DeskError(
                    f"{self.hidden.file}: another process has continued the load",
                    "Open it again to see how far that is.",
                )
            yield
        self.unfolded += 1
        if self.unfolded == _UNFOLDED:
            self.fold()
        self.pace.turn()

    def advance(self, *, bodies: int, rows: int, share: float) -> None:
        """Record, inside a step, how far the run has come."""
        self.hidden = replace(self.hidden, bodies=bodies, rows=rows, share=share)
        self.conn.execute(
            "UPDATE loads SET bodies = ?, rows = ?, share = ? WHERE run = ?",
            (bodies, rows, share, self.hidden.run),
        )

    def end(self) -> None:
        """Remove the hidden run, inside the step that makes it visible or deletes its last rows."""
        self.conn.execute("DELETE FROM loads WHERE run = ?", (self.hidden.run,))

    def sweep(self) -> None:
        """Delete everything that was written of the run, in short transactions."""
        run = self.hidden.run
        self.pace = LockPace()
        while self.hidden.rows:
            left = max(0, self.hidden.rows - self.pace.rows)
            self._cut("verdicts", "key", left, self.hidden.bodies, left)
        while self.hidden.bodies:
            left = max(0, self.hidden.bodies - self.pace.rows)
            self._cut("bodies", "verdict", left, left, 0)
        for table, keys in (
            ("case_tags", "run, tag, verdict"), ("packed", "run, first"),
            ("orders", "run, name, first"),
        ):  # fmt: skip
            some = f"SELECT {keys} FROM {table} WHERE run = ? LIMIT ?"
            delete = f"DELETE FROM {table} WHERE ({keys}) IN ({some})"
            gone = 1
            while gone:
                most = self.pace.rows if table == "case_tags" else 8
                with self.step():
                    gone = self.conn.execute(delete, (run, most)).rowcount
        with self.step():
            self.end()

    def _cut(self, table: str, key: str, left: int, bodies: int, rows: int) -> None:
        """Delete all but the first ``left`` of the run's rows of a table, in one step."""
        first = self.hidden.first + left
        count = self.hidden.bodies - left
        with self.step():
            self.conn.execute(
                f"DELETE FROM {table} WHERE {key} >= ? AND {key} < ?", (first, first + count)
            )
            if table == "verdicts":
                displace_verdicts(self.conn, first, self.hidden.rows - left)
            self.advance(bodies=bodies, rows=rows, share=0)

    def fold(self) -> None:
        """Fold the log into the file; the next transaction then starts it anew."""
        self.unfolded = 0
        self.conn.execute("PRAGMA wal_checkpoint(PASSIVE)")


@contextmanager
def holding(conn: ExplainedConnection, hidden: HiddenRun) -> Iterator[Hold]:
    """Hold a claimed run; after an error it is deleted, or left as a run that nobody holds."""
    for name, (value_of, _) in PRAGMAS.items():
        conn.execute(f"PRAGMA {name}={value_of}")
    hold = Hold(conn, hidden)
    try:
        yield hold
    except BaseException:
        # A full disk may refuse this too. The next load then deletes the run or continues it.
        with suppress(DeskError):
            hold.sweep()
        raise
    finally:
        _held.discard(hidden.token)
        # Otherwise the next label would have to fold the rest.
        if hold.unfolded > _FEW_UNFOLDED:
            with suppress(DeskError):
                hold.fold()
        for name, (_, value_of) in PRAGMAS.items():
            conn.execute(f"PRAGMA {name}={value_of}")


def claim(conn: ExplainedConnection, run_hash: str, file: str, made: str) -> HiddenRun | None:
    """Take the hidden run with this hash as it was left, or a new one.

    The result is ``None`` if another process holds it, or has made it visible.
    """
    with writing(conn, hashed=False):
        if by_hash(conn, run_hash) is not None:
            return None
        found = of_hash(conn, run_hash)
        if found is not None and found.held:
            return None
        if found is None:
            runs = "SELECT ifnull(max(key), 0) FROM runs"
            run = value(conn, f"SELECT 1 + max(({runs}), ifnull(max(run), 0)) FROM loads")
            others = value(conn, "SELECT max(first) FROM loads")
            first = value(
                conn,
                """SELECT 1 + max((SELECT ifnull(max(key), 0) FROM verdicts),
                                  (SELECT ifnull(max(verdict), 0) FROM bodies))""",
            )
            first = first if others is None else max(first, others + _APART)
            found = HiddenRun(run, run_hash, file, first, made, 0, "", "")
            insert(conn, "loads", asdict(found))
        return _take(conn, found)


def _take(conn: sqlite3.Connection, left: HiddenRun) -> HiddenRun:
    """Make this process the holder of a run that nobody holds, inside a transaction."""
    pid = os.getpid()
    token = secrets.token_hex(8)
    _held.add(token)
    ours = replace(left, pid=pid, started=process_start(pid) or "", token=token)
    conn.execute(
        "UPDATE loads SET pid = :pid, started = :started, token = :token WHERE run = :run",
        asdict(ours),
    )
    return ours


def sweep_left(conn: ExplainedConnection, run_hash: str, made: str) -> None:
    """Delete every unfinished run, except the one that a load of ``run_hash`` continues.

    Raise DeskError if a run claims rows that it did not write, which would be deleted with it.
    """
    with explained(conn.path):
        if foreign := next(problems(conn), None):
            hint = "Ask desk verify for the rest, and restore a backup."
            raise DeskError(f"{conn.path}: {foreign}", hint)
        left = [one for one in hidden_runs(conn) if not one.held]
    for one in left:
        if (one.hash, one.made) == (run_hash, made):
            continue
        with writing(conn, hashed=False):
            found = of_hash(conn, one.hash)
            if found is None or found.held:
                continue
            ours = _take(conn, found)
        with holding(conn, ours) as hold:
            hold.sweep()
