"""Load one report into the desk: many short transactions under a hidden run, then one shows it.

Bodies, tags and packed ballots are written as they are read. The narrow rows depend on the whole
run (the draw does), so they wait as columns in a temporary file and are written last.
"""

import json
import marshal
import sqlite3
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reviewdesk.domain.labels.sampling import FIRST_REST
from reviewdesk.store import events, measures, runs
from reviewdesk.store.connect import explained, first_column, insert, value
from reviewdesk.store.load.hidden_runs import MOST, Hold, LockPace

if TYPE_CHECKING:
    from reviewdesk.domain.labels.draw import Draw
    from reviewdesk.domain.report_model import Written
    from reviewdesk.domain.run.details import RunMeasures
    from reviewdesk.domain.run.window import Counts, VerdictWindow

NAMES = ("draw", "mix")
SIZE = 4096
"""The number of places in a row; the last of an order may have fewer."""


def pieces(run: int, name: str, places: "array[int]") -> Iterator[tuple[int, str, int, bytes]]:
    """Yield the rows that hold an order."""
    for first in range(0, len(places), SIZE):
        yield run, name, first, places[first : first + SIZE].tobytes()


def put(conn: sqlite3.Connection, rows: list[tuple[int, str, int, bytes]]) -> None:
    """Write rows of ``pieces``, inside the caller's transaction."""
    conn.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?, ?)", rows)


def read(
    conn: sqlite3.Connection, run: int, name: str, start: int = 0, end: int | None = None
) -> "array[int]":
    """Return the places of a run's verdicts in one of its orders, from ``start`` up to ``end``."""
    most = sys.maxsize if end is None else end
    query = """SELECT places FROM orders WHERE run = ? AND name = ? AND first > ? AND first < ?
               ORDER BY first"""
    found = array("i", b"".join(first_column(conn, query, (run, name, start - SIZE, most))))
    before = start % SIZE
    return found[before : before + most - start]


def rebuild(conn: sqlite3.Connection) -> None:
    """Write the orders of every run from the columns of its verdicts, replacing all rows."""
    conn.execute("DELETE FROM orders")
    for run in first_column(conn, "SELECT key FROM runs"):
        for name in NAMES:
            put(conn, list(pieces(run, name, _sorted(conn, run, name))))


def problems(conn: sqlite3.Connection, run: int) -> Iterator[str]:
    """Report each order of a run that differs from the order of its verdicts."""
    query = "SELECT first FROM orders WHERE run = ? AND name = ? ORDER BY first"
    for name in NAMES:
        starts = first_column(conn, query, (run, name))
        held = read(conn, run, name)
        if starts != list(range(0, len(held), SIZE)) or held != _sorted(conn, run, name):
            yield f"its order {name} is not that of its verdicts"


def _sorted(conn: sqlite3.Connection, run: int, name: str) -> "array[int]":
    query = f"SELECT pos FROM verdicts WHERE run = ? ORDER BY {name}"
    return array("i", first_column(conn, query, (run,)))


_MOST_BYTES = 2 << 20
"""A transaction writes no more characters of bodies than this, unless one verdict is longer."""
_READING = 0.85
"""The share of a load that is done once every verdict has been read and its body written."""
_SMALL = 200
"""A report of one window with at most this many verdicts is written in one transaction."""
_IN_MEMORY = 1 << 20
"""The bytes of waiting rows that are kept in memory; more are in a temporary file."""
_TEMPORARY = Path("the temporary folder")
_ORDER_ROWS = 32
"""How many rows of ``orders`` a transaction writes: half a megabyte."""
_DRAWN = ("flags", "stratum", "rank", "draw", "mix", "audit")


class NewRun(Struct, frozen=True):
    """The facts of a run that are known before its verdicts are read."""

    hash: str
    file: str
    file_hash: str
    format: str
    options: Mapping[str, Any]
    loaded_at: str
    header: Mapping[str, Any]
    seed: str | None
    audit_share: float
    name: str = ""
    """A name for a run whose header states none and whose file gives none."""
    by_verdict: bool = False
    """Whether verdicts are drawn instead of contents: a run that an older version drew is loaded
    again, or the run comes from a desk that drew it this way."""


class ReadReport(Struct, frozen=True):
    """A report whose bodies are in the desk and whose rows wait: its counts, draw and notes."""

    new: NewRun
    counts: "Counts"
    measures: "RunMeasures"
    drawn: "Draw"
    columns: Sequence[Any]
    """The columns ``_DRAWN`` of the rows."""
    seed: str
    notes: list[str]
    skipped: int
    archive: str | None = None
    """The statistics of an archive, whose counts, measures and strata cover more than its rows."""

    @property
    def rows(self) -> int:
        return len(self.columns[0])


class Ingest:
    """Reads one report into the hidden run of a ``Hold``."""

    def __init__(
        self, hold: Hold, new: NewRun, progress: Callable[[float, int], None], whole: ExitStack
    ) -> None:
        """Tell ``progress`` the share and the number of verdicts read; it may raise to cancel.

        ``whole`` ends after the run is shown; the one transaction of a small report ends with it.
        """
        # Imported here because both load numpy, which commands that only read do not need.
        from reviewdesk.domain.run.digest import RunDigest

        self._hold = hold
        self._conn = hold.conn
        self._new = new
        self._progress = progress
        self.whole = whole
        self._spool = whole.enter_context(SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115
        """The names and the rows of each window, which wait until the run is drawn."""
        self._sizes: list[tuple[int, int]] = []
        """The bytes of both, for each window."""
        self.digest = RunDigest()
        self.tags = RunDigest()

    def read(
        self,
        bodies: "Iterable[Written]",
        position: Callable[[], float],
        notes: Callable[[], tuple[list[str], int]],
    ) -> ReadReport:
        """Write the bodies of a report, and assess and draw its verdicts.

        ``position`` is the share of the file read; ``notes`` is called after the last body and
        returns the reader's notes and the number of skipped rows.
        """
        from reviewdesk.domain.run.window import WindowReader

        new = self._new
        reader = WindowReader(new.header, new.options, new.hash)
        windows = reader.windows(bodies)
        start = list(islice(windows, 1))
        if start and len(start[0].bodies) <= _SMALL:
            start += islice(windows, 1)
        small = len(start) == 1 and len(start[0].bodies) <= _SMALL
        if small or not start:
            self._progress(_READING if small else 1.0, reader.tally.verdicts)
        if small:
            self.whole.enter_context(self._hold.step(hashed=True))
        # An iterator that has ended, unlike the list, holds no window.
        windows = chain(iter(start), windows)
        del start
        for window in windows:
            count = window.first + len(window.bodies)
            self.keep(window, position())
            # The bodies of two windows are never held at once.
            del window
            if not small:
                self._progress(_READING * position(), count)
        noted, skipped = notes()
        tally = reader.tally
        # The default seed comes from the items and not from the panel's answers. So two runs over
        # the same items draw the same ones, and the order of a blind queue does not hint at a
        # decision.
        seed = new.seed or tally.contents.hexdigest()
        drawn, columns = self.draw(tally.final_flags(), tally.strata(), seed, new.audit_share)
        found = measures.figures(self._conn, self._hold.hidden.run, reader)
        told = with_undecided(noted, tally)
        return ReadReport(new, tally, found, drawn, columns, seed, told, skipped)

    def keep(self, window: "VerdictWindow", position: float) -> None:
        """Write the bodies of the next window, except those that an earlier load has left.

        Its rows wait until the run is drawn.
        """
        hidden = self._hold.hidden
        last = window.first + len(window.bodies)
        start = max(window.first, hidden.bodies)
        while start < last:
            size = 0
            end = start
            while end < last and size < _MOST_BYTES:
                size += len(window.bodies[end - window.first])
                end += 1
            with self._hold.step():
                self._conn.executemany(
                    "INSERT INTO bodies VALUES (?, CAST(? AS TEXT))",
                    enumerate(
                        window.bodies[start - window.first : end - window.first],
                        hidden.first + start,
                    ),
                )
                if end == last:
                    measures.put_window(self._conn, hidden.run, window)
                    tags = [(hidden.run, tag, hidden.first + pos) for pos, tag in window.tags]
                    self._conn.executemany("INSERT OR IGNORE INTO case_tags VALUES (?, ?, ?)", tags)
                self._hold.advance(bodies=end, rows=0, share=_READING * position)
            start = end
        columns = [list(column) for column in window.columns.values()]
        names = columns[0] if self._new.by_verdict else window.names()
        parts = marshal.dumps(names), marshal.dumps(columns)
        with explained(_TEMPORARY):
            self._spool.writelines(parts)
        self._sizes.append((len(parts[0]), len(parts[1])))
        self.digest.add("body", window.bodies)
        for name, column in window.columns.items():
            self.digest.add(name, column)
        self.digest.add_packed(window.packed)
        self.tags.add_tags(window.tags)

    def _staged(self, part: int) -> Iterator[Any]:
        """Yield the names (0) or the columns (1) of each window."""
        at = 0
        for sizes in self._sizes:
            self._spool.seek(at + sizes[0] * part)
            yield marshal.loads(self._spool.read(sizes[part]))  # noqa: S302 - our own
            at += sum(sizes)

    def draw(self, flags: Any, strata: Any, seed: str, share: float) -> "tuple[Draw, list[Any]]":
        """Draw the verdicts that were kept, and return the draw with the columns ``_DRAWN``."""
        from reviewdesk.domain.labels.draw import draw

        drawn = draw(chain.from_iterable(self._staged(0)), strata, seed, share)
        audit = drawn.audit + 2 * drawn.copies
        columns = [flags, drawn.stratum, drawn.rank, drawn.order, drawn.mixed, audit]
        for name, column in zip(_DRAWN, columns, strict=True):
            for start in range(0, len(column), MOST):
                self.digest.add(name, column[start : start + MOST].tolist())
        return drawn, columns

    def write_rows(self, read: ReadReport) -> None:
        """Write the rows of the run, except those that an earlier load has left."""
        from reviewdesk.domain.labels.draw import places
        from reviewdesk.domain.run.window import DERIVED

        hold = self._hold
        hidden = hold.hidden
        count = read.rows
        names = ", ".join(("key", "run", "pos", "id", "test", "item", *DERIVED, *_DRAWN))
        query = f"INSERT INTO verdicts ({names}) VALUES ({', '.join('?' * len(names.split()))})"
        orders = zip(NAMES, (read.drawn.order, read.drawn.mixed), strict=True)
        pieces_of = chain.from_iterable(
            pieces(hidden.run, name, array("i", places(column).tobytes()))
            for name, column in orders
        )
        while some := list(islice(pieces_of, _ORDER_ROWS)):
            with hold.step():
                put(self._conn, some)

        def every() -> Iterator[tuple[Any, ...]]:
            first = 0
            for columns in self._staged(1):
                end = first + len(columns[0])
                drawn = [column[first:end].tolist() for column in read.columns]
                keys = range(hidden.first + first, hidden.first + end)
                yield from zip(
                    keys, repeat(hidden.run), range(first, end), *columns, *drawn, strict=False
                )
                first = end

        # The time that bodies took does not predict that of rows.
        hold.pace = LockPace()
        rows = islice(every(), hidden.rows, None)
        while lines := list(islice(rows, hold.pace.rows)):
            start = hold.hidden.rows
            end = start + len(lines)
            share = _READING + (1 - _READING) * end / count
            with hold.step():
                self._conn.executemany(query, lines)
                events.place_verdicts(self._conn, hidden.first + start, end - start)
                hold.advance(bodies=count, rows=end, share=share)
            if end < count:
                self._progress(share, count)


_UNDECIDED = (
    "without a decision: not stated, and not computable "
    "(--threshold, --quorum and --strategy fill what is unknown)"
)
_VOTELESS = "without a decision: no juror cast a vote"


def with_undecided(notes: list[str], counts: "Counts") -> list[str]:
    """Return the notes of a run, ending in how many of its verdicts have no decision and why."""
    kept = [note for note in notes if not note.endswith((_UNDECIDED, _VOTELESS))]
    reasons = ((counts.undecidable, _UNDECIDED), (counts.voteless, _VOTELESS))
    return kept + [f"{count} {reason}" for count, reason in reasons if count]


def show(hold: Hold, ingest: Ingest, read: ReadReport, at: str) -> int:
    """Make a hidden run whose rows are written visible, inside a step; return the run's key."""
    from reviewdesk.domain.run.digest import RULES

    conn = hold.conn
    run = hold.hidden.run
    new = read.new
    counts = read.counts
    sizes = read.drawn.sizes
    audited = read.drawn.audited
    same = ("hash", "file", "file_hash", "format", "loaded_at")
    row = {
        "key": run,
        "contents": None if new.by_verdict else int((~read.drawn.copies).sum()),
        "name": runs.unique_name(conn, str(new.header.get("report_id") or new.name), new.file),
        **{name: getattr(new, name) for name in same},
        "options": json.dumps(new.options),
        "header": json.dumps(new.header, ensure_ascii=False, separators=(",", ":")),
        "notes": json.dumps(read.notes, ensure_ascii=False),
        "verdicts": read.rows,
        **runs.counted(counts),
        "flagged": sum(n for h, n in sizes.items() if h < FIRST_REST),
        "audit": sum(audited.values()),
        **{name: getattr(read, name) for name in ("seed", "skipped", "archive")},
        "escalation_stated": counts.stated_escalation,
        "scores_stated": bool(counts.stated_scores),
        "opened": value(conn, "SELECT ifnull(max(opened), 0) + 1 FROM runs"),
    }
    insert(conn, "runs", row)
    decided = {} if new.by_verdict else read.drawn.decided
    conn.executemany(
        "INSERT INTO strata VALUES (?, ?, ?, ?, ?, ?)",
        [
            (run, h, sizes[h], audited.get(h, 0), *decided.get(h, (None, None)))
            for h in sorted(sizes)
        ],
    )
    measures.enter(conn, run, read.measures)
    content = ingest.digest.hexdigest(runs.facts(conn, run))
    conn.execute("UPDATE runs SET content = ? WHERE key = ?", (content, run))
    columns = ingest.digest.columns()
    tags = ingest.tags.hexdigest()
    hashes = {"content": content, "columns": columns, "tags": tags, "rules": RULES}
    runs.cover(conn, run, at, "run", hashes)
    hold.end()
    return run
