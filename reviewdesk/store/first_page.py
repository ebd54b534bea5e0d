"""Read the first page of a queue with SQLite alone, so that it can be shown at once.

It opens the desk for reading, takes a bounded time, and gives up rather than wait: what it cannot
tell at once, the app tells a moment later.
"""

from __future__ import annotations

import sqlite3
from time import monotonic

from reviewdesk.domain.assessment.flag_words import Flag
from reviewdesk.store.load.orders import read as read_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeAlias

    _Rows: TypeAlias = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]

SCHEMA = 20
"""The version of the schema that these statements read."""
SECONDS = 0.05
"""How long all the statements together may take."""
_STATE = ("filter", "order", "blind", "item")
_STEPS = 2000
_ORDERS = ("draw", "mix", "file", "id")
_COLUMNS = "key, id, test, item, decision, agreement, band, flags"


class FirstRow:
    """One row of the queue, with the fields of a ``QueueRow`` that its line shows."""

    def __init__(self, stored: Sequence[Any]) -> None:
        """Take the columns; the labels are added afterwards."""
        self.key, self.id, self.test, self.item, decision, self.agreement, band, flags = stored
        self.decision: str | None = decision or None
        self.band: str | None = band or None
        self.flags = Flag(flags)
        self.label: str | None = None
        self.tentative = self.deferred = self.marked = False
        self.noted = self.noted_by_others = self.saving = self.labelled_by_other = False
        self.open_with = ""


class FirstPage:
    """A run, how its reviewer left it, and the rows around the current one.

    ``done`` and ``place`` are ``None`` where counting them would take long; without ``current``
    the current row is not known.
    """

    def __init__(self, run: str, verdicts: int, state: Mapping[str, Any]) -> None:
        """Start without rows."""
        self.run, self.verdicts, self.state = run, verdicts, state
        self.kept: dict[str, Any] = {}
        self.rows: list[FirstRow] = []
        self.current: int | None = None
        self.place: int | None = None
        self.done: int | None = None


def read(
    path: str,
    reviewer: str,
    run: str | None,
    defaults: Mapping[str, Any],
    options: Mapping[str, Any],
    height: int,
) -> FirstPage | None:
    """Return the first page of the named run, by default of the one that was opened last.

    How the reviewer left the run goes before ``defaults``, and ``options`` before that. It is
    ``None`` if the file is no desk of this version, or cannot be read at once.
    """
    end = monotonic() + SECONDS
    try:
        conn = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, timeout=0)
    except sqlite3.Error:
        return None
    try:
        conn.execute("PRAGMA trusted_schema=OFF")
        conn.set_progress_handler(lambda: monotonic() > end, _STEPS)
        if conn.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:
            return None
        found = _page(conn, reviewer, run)
        if found is None:
            return None
        key, page = found
        page.state = {**defaults, **page.state, **options}
        _add_rows(conn, key, page, reviewer, height)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError, sqlite3.Error):
        # A desk that is damaged or in use is told of by the app, in words.
        return None
    else:
        return page
    finally:
        conn.close()


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _page(
    conn: sqlite3.Connection, reviewer: str, name: str | None
) -> tuple[int, FirstPage] | None:
    """Return the key of the run, and the page without rows."""
    condition = "" if name is None else " AND name = :name"
    run = conn.execute(
        f"""SELECT key, name, verdicts FROM runs WHERE removed_at IS NULL{condition}
            ORDER BY opened DESC LIMIT 1""",
        {"name": name},
    ).fetchone()
    if run is None:
        return None
    # SQLite reads the JSON, because Python's reader would have to be loaded.
    left = conn.execute(
        f"""SELECT {", ".join(f"json_extract(state, '$.{name}')" for name in _STATE)}
            FROM views WHERE run = ? AND reviewer = ?""",
        (run[0], reviewer),
    ).fetchone()
    page = FirstPage(run[1], run[2], dict(zip(_STATE, left, strict=True)) if left else {})
    page.kept = dict(
        conn.execute(
            "SELECT name, json_extract(value, '$') FROM kept_settings WHERE reviewer = ?",
            (reviewer,),
        )
    )
    return run[0], page


def _add_rows(
    conn: sqlite3.Connection, run: int, page: FirstPage, reviewer: str, height: int
) -> None:
    try:
        _read_rows(conn, run, page, reviewer, height)
        # Not worth a wait: of very many labels the app tells it.
        end = monotonic() + SECONDS / 10
        conn.set_progress_handler(lambda: monotonic() > end, _STEPS)
        page.done = None if _double(conn) else _done(conn, run)
    except sqlite3.OperationalError:
        # Out of time: the page is shown with what was read.
        return


def _read_rows(
    conn: sqlite3.Connection, run: int, page: FirstPage, reviewer: str, height: int
) -> None:
    """Read the rows as the list shows them: the current one in view, as far up as possible."""
    order, most = page.state.get("order", "draw"), 2 * height
    if page.state.get("filter") or order not in _ORDERS:
        return
    if order == "draw" and page.state.get("blind"):
        order = "mix"
    here = conn.execute(
        "SELECT id, draw, mix, pos AS file, key FROM verdicts WHERE run = ? AND id = ?",
        (run, page.state.get("item")),
    ).fetchone()
    if order == "id":
        before, after = _by_id(conn, run, here[0] if here else "", most)
        passed = len(before) if len(before) < most else None
    else:
        passed = here[1 + _ORDERS.index(order)] if here else 0
        before, after = _by_place(conn, run, order, passed, most)
    rows = [FirstRow(one) for one in (*before, *after)]
    _add_labels(conn, rows, reviewer)
    open_ = (at for at in range(len(before), len(rows)) if _is_open(rows[at]))
    current = next(open_, None)
    if current is not None:
        top = max(0, current - height + 1)
        page.rows, page.current = rows[top : top + height], current - top
        page.place = None if passed is None else passed + current - len(before) + 1


def _by_id(conn: sqlite3.Connection, run: int, start: str, most: int) -> _Rows:
    """Return the rows before and from an id."""
    query = f"SELECT {_COLUMNS} FROM verdicts WHERE run = ? AND id"
    after = conn.execute(f"{query} >= ? ORDER BY id LIMIT ?", (run, start, most))
    before = conn.execute(f"{query} < ? ORDER BY id DESC LIMIT ?", (run, start, most))
    return before.fetchall()[::-1], after.fetchall()


def _by_place(conn: sqlite3.Connection, run: int, order: str, start: int, most: int) -> _Rows:
    """Return the rows before and from a place in the order of the draw or of the file."""
    begin, end = max(0, start - most), start + most
    first = conn.execute("SELECT key - pos FROM verdicts WHERE run = ? LIMIT 1", (run,)).fetchone()
    if first is None:
        return [], []
    places = range(begin, end) if order == "file" else read_order(conn, run, order, begin, end)
    keys = [first[0] + place for place in places]
    marks = ", ".join("?" * len(keys))
    # Without the plus SQLite takes the index by run, and reads all of it.
    found = conn.execute(
        f"SELECT {_COLUMNS} FROM verdicts WHERE key IN ({marks}) AND +run = ?", (*keys, run)
    )
    by_key = {row[0]: row for row in found}
    rows = [by_key[key] for key in keys if key in by_key]
    return rows[: start - begin], rows[start - begin :]


def _is_open(row: FirstRow) -> bool:
    return row.label is None and not row.deferred and not row.labelled_by_other


_ANY_LABEL = "SELECT 1 FROM label_events WHERE reviewer <> '@desk' LIMIT 1"


def _add_labels(conn: sqlite3.Connection, rows: Sequence[FirstRow], reviewer: str) -> None:
    """Add what stands of each row's content: labels, notes, marks, deferrals."""
    import json

    if conn.execute(_ANY_LABEL).fetchone() is None:
        return
    by_item: dict[bytes, list[FirstRow]] = {}
    for row in rows:
        by_item.setdefault(row.item, []).append(row)
    found = conn.execute(
        f"""SELECT c.item, c.slot, c.author, c.label, c.tentative, e.detail, e.reviewer
            FROM current_events c CROSS JOIN label_events e ON e.key = c.key
            WHERE c.item IN ({", ".join("?" * len(by_item))})""",
        tuple(by_item),
    )
    labels: dict[bytes, dict[str, tuple[str, bool]]] = {}
    settled: dict[bytes, str] = {}
    brought: set[bytes] = set()
    for item, slot, author, label, tentative, text, by in found:
        own = author == reviewer
        if slot == "adjudication":
            settled[item] = label
        elif slot == "label":
            labels.setdefault(item, {})[author] = label, bool(tentative)
            brought |= {item} if by == reviewer else set()
        for row in by_item[item]:
            row.deferred |= own and slot == "defer"
            if own and slot == "mark":
                row.marked = bool(json.loads(text).get("on"))
            elif slot == "note":
                written = bool(json.loads(text).get("note"))
                row.noted |= written and own
                row.noted_by_others |= written and not own
    for item, given in labels.items():
        words = {word for word, _ in given.values()}
        for row in by_item[item]:
            row.label = settled.get(item, min(words) if len(words) == 1 else "disputed")
            row.tentative = any(unsure for _, unsure in given.values()) and item not in settled
        if len(given) == 1 and reviewer not in given and not {item} & (settled.keys() | brought):
            _withhold(conn, item, by_item[item])


def _withhold(conn: sqlite3.Connection, item: bytes, rows: Sequence[FirstRow]) -> None:
    """Tell nothing of what one other person gave an item; it may wait for a second opinion."""
    from reviewdesk.domain.labels.second_opinions import is_double

    waits = is_double(item, _double(conn))
    for row in rows:
        row.label, row.tentative, row.noted_by_others = None, False, False
        row.labelled_by_other = not waits


def _double(conn: sqlite3.Connection) -> float:
    """Return the share of items that two people label on this desk."""
    query = "SELECT value FROM kept_settings WHERE reviewer = '@desk' AND name = 'double'"
    row = conn.execute(query).fetchone()
    return float(row[0]) if row else 0.0


def _done(conn: sqlite3.Connection, run: int) -> int:
    if conn.execute(_ANY_LABEL).fetchone() is None:
        return 0
    count: int = conn.execute(
        """SELECT count(*) FROM truths t CROSS JOIN verdicts v ON v.item = t.item AND v.run = ?""",
        (run,),
    ).fetchone()[0]
    return count
