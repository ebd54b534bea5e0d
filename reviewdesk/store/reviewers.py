"""Each reviewer's settings, labels and open items, and the chains of other reviewers."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from sqlite3 import Connection, Row
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from reviewdesk.domain.labels.chain import DESK, ChainProblem, checked
from reviewdesk.domain.records import COLUMNS, ChainEvent, View
from reviewdesk.errors import DeskError
from reviewdesk.store.connect import (
    ExplainedConnection,
    connect_read_only,
    explained,
    first_column,
    in_pages,
    insert,
    lookup,
    value,
    writing,
)  # fmt: skip
from reviewdesk.store.events import (
    CHAINS,
    IN_ORDER,
    NewEvent,
    append,
    changed_items,
    desk_id,
    follow,
)
from reviewdesk.store.schema import VERSION
from reviewdesk.store.verification import refuse_harmful


def save_view(conn: Connection, run: int, reviewer: str, state: View) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO views VALUES (?, ?, ?)", (run, reviewer, json.dumps(asdict(state)))
    )


def views(conn: Connection, reviewer: str) -> dict[str, View]:
    """Return the last view of a reviewer in each loaded run, by the run's name."""
    query = """SELECT r.name, v.state FROM views v JOIN runs r ON r.key = v.run
               WHERE v.reviewer = ? AND r.removed_at IS NULL ORDER BY r.key"""
    rows = conn.execute(query, (reviewer,))
    found = {}
    for name, text in rows:
        with suppress(RecursionError, TypeError, ValueError):  # a damaged view counts as none
            found[name] = msgspec.json.decode(text, type=View)
    return found


Named = Literal["filters", "kept_settings"]
"""A table of a reviewer's texts by name: saved filters, or choices on the screen as JSON."""


def named_texts(conn: Connection, table: Named, reviewer: str) -> dict[str, str]:
    rows = conn.execute(f"SELECT * FROM {table} WHERE reviewer = ? ORDER BY name", (reviewer,))
    # A damaged choice counts as none, a damaged filter as an error.
    return {name: text for _, name, text in rows if table == "filters" or isinstance(text, str)}


def keep_texts(conn: Connection, table: Named, reviewer: str, texts: Mapping[str, str]) -> None:
    query = f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)"
    conn.executemany(query, [(reviewer, *one) for one in texts.items()])


def forget_texts(conn: Connection, table: Named, reviewer: str, names: Iterable[str]) -> bool:
    query = f"DELETE FROM {table} WHERE reviewer = ? AND name = ?"
    return conn.executemany(query, [(reviewer, name) for name in names]).rowcount > 0


def kept(conn: Connection, who: str) -> dict[str, Any]:
    """Return the choices of a reviewer, or of the desk itself, by name, without damaged ones."""
    found = {}
    for name, text in named_texts(conn, "kept_settings", who).items():
        with suppress(RecursionError, ValueError):
            found[name] = json.loads(text)
    return found


def keep(conn: Connection, who: str, values: Mapping[str, Any]) -> None:
    texts = {name: json.dumps(value) for name, value in values.items() if value is not None}
    keep_texts(conn, "kept_settings", who, texts)
    forget_texts(conn, "kept_settings", who, [name for name in values if name not in texts])


def draft(conn: Connection, key: int, reviewer: str) -> str | None:
    query = """SELECT d.text FROM drafts d JOIN verdicts v ON v.item = d.item
               WHERE v.key = ? AND d.reviewer = ?"""
    found: str | None = lookup(conn, query, (key, reviewer))
    return found


def save_draft(conn: Connection, key: int, reviewer: str, text: str) -> None:
    """Store an unfinished note on a verdict's content; an empty text deletes it."""
    if text:
        conn.execute(
            "INSERT OR REPLACE INTO drafts SELECT item, ?, ? FROM verdicts WHERE key = ?",
            (reviewer, text, key),
        )
    else:
        query = """DELETE FROM drafts WHERE reviewer = ?
                   AND item = (SELECT item FROM verdicts WHERE key = ?)"""
        conn.execute(query, (reviewer, key))


def save_seen(conn: Connection, keys: Iterable[int], reviewer: str) -> None:
    conn.executemany(
        "INSERT OR IGNORE INTO seen SELECT ?, item FROM verdicts WHERE key = ?",
        [(reviewer, key) for key in keys],
    )


def was_seen(conn: Connection, key: int, reviewer: str) -> bool:
    query = """SELECT 1 FROM seen s JOIN verdicts v ON v.item = s.item
               WHERE v.key = ? AND s.reviewer = ?"""
    return lookup(conn, query, (key, reviewer)) is not None


def author_labels(conn: Connection, run: int) -> Iterator[tuple[int, str, str | None]]:
    """Yield verdict, author and label of each person with a label on an item, in draw order.

    The label is that from before the others' could be seen, ``None`` if they were revealed.
    """
    own: dict[tuple[bytes, str], str | None] = {}
    authors: dict[bytes, set[str]] = {}
    query = f"""SELECT e.item, e.author, e.label, json_extract(e.detail, '$.revealed_at') AS shown
                FROM label_events e
                WHERE e.kind = 'label' AND e.item IN (SELECT item FROM verdicts WHERE run = ?)
                ORDER BY {IN_ORDER}"""
    for item, author, label, shown in conn.execute(query, (run,)):
        others = authors.setdefault(item, set()) - {author}
        if not others or author not in authors[item]:
            own[item, author] = None if others and shown else label
        authors[item].add(author)
    rows = conn.execute(
        """SELECT v.key, v.item, c.author FROM current_events c
           CROSS JOIN verdicts v ON v.item = c.item AND v.run = ?
           WHERE c.slot = 'label' ORDER BY v.draw, c.author""",
        (run,),
    )
    for verdict, item, author in rows:
        yield verdict, author, own.get((item, author))


def disputed(conn: Connection, run: int) -> list[int]:
    query = """SELECT v.key FROM (SELECT item FROM current_events WHERE slot = 'label'
                                  GROUP BY item HAVING min(label) <> max(label)) d
               CROSS JOIN verdicts v ON v.item = d.item AND v.run = ? ORDER BY v.draw"""
    return first_column(conn, query, (run,))


def adjudicated(conn: Connection, run: int) -> int:
    query = """SELECT count(*) FROM current_events a
               CROSS JOIN verdicts v ON v.item = a.item AND v.run = ?
               WHERE a.slot = 'adjudication' AND a.item IN (SELECT item FROM truths)"""
    return int(value(conn, query, (run,)))


def reviewers(conn: Connection, run_hash: str) -> list[str]:
    query = """SELECT DISTINCT reviewer FROM label_events
               WHERE desk = ? AND run = ? AND kind IN ('label', 'repeat') ORDER BY reviewer"""
    return first_column(conn, query, (desk_id(conn), run_hash))


def labellers(conn: Connection, run: int) -> list[tuple[str, int, str]]:
    """Return authors of a run's labels, how many verdicts and the last time; the busiest first."""
    query = """SELECT c.author, count(*) AS n, max(e.at) FROM current_events c
               JOIN label_events e ON e.key = c.key
               CROSS JOIN verdicts v ON v.item = c.item AND v.run = ?
               WHERE c.slot = 'label' GROUP BY c.author ORDER BY n DESC, c.author"""
    return [(row[0], row[1], row[2]) for row in conn.execute(query, (run,))]


_OTHERS_WORK = f"{CHAINS} SELECT 1 FROM chains WHERE reviewer NOT IN (?, ?) LIMIT 1"
_FEW = """SELECT c.item, count(*) AS labels,
                 EXISTS (SELECT 1 FROM label_events r WHERE r.item = c.item
                           AND r.kind = 'reveal' AND r.reviewer = ?) AS revealed
          FROM current_events c
          WHERE c.slot = 'label' AND NOT EXISTS (
            SELECT 1 FROM current_events o CROSS JOIN label_events e ON e.key = o.key
            WHERE o.item = c.item AND (o.slot = 'adjudication'
                                       OR o.slot = 'label' AND ? IN (o.author, e.reviewer)))"""


def others_labels(
    conn: Connection, reviewer: str, most: int, items: Collection[bytes] | None = None
) -> Iterator[tuple[bytes, int, bool]]:
    """Yield items that at most ``most`` others labelled, how many did, and if that is revealed.

    Items with an adjudication, or with a label that the reviewer gave or imported, are left out.
    """
    who = (reviewer,) * 2
    rows: Iterable[Row] = ()
    few = f"GROUP BY c.item HAVING count(*) <= {int(most)}"
    if items is not None:
        rows = in_pages(conn, f"{_FEW} AND c.item IN (*) {few}", sorted(items), *who)
    elif lookup(conn, _OTHERS_WORK, (reviewer, DESK)):
        rows = conn.execute(f"{_FEW} {few}", who)
    for item, labels, revealed in rows:
        yield item, labels, bool(revealed)


_ABOUT = "reviewer = ? AND kind IN ('run', 'rules') AND run = ?"


def said_of(conn: Connection, run_hash: str) -> list[Mapping[str, Any]]:
    """Return the facts of each event in which a desk covers a run."""
    query = f"SELECT detail FROM label_events WHERE {_ABOUT} ORDER BY key"
    return list(map(json.loads, first_column(conn, query, (DESK, run_hash))))


def own_word(conn: Connection, run_hash: str) -> Mapping[str, Any]:
    """Return the facts of this desk's newest event that covers a run, which must exist."""
    query = f"""SELECT detail FROM label_events WHERE {_ABOUT} AND desk = ?
                ORDER BY seq DESC LIMIT 1"""
    found: Mapping[str, Any] = json.loads(value(conn, query, (DESK, run_hash, desk_id(conn))))
    return found


LASTS = timedelta(minutes=10)
"""How long a claim lasts; an item that was left open waits no longer than this."""


def claim(conn: Connection, reviewer: str, key: int | None, now: datetime) -> bytes | None:
    """Claim the item of a verdict, if any, and give up all others; return it if it was free."""
    at, until = (time.isoformat(timespec="milliseconds") for time in (now, now + LASTS))
    query = """DELETE FROM claims WHERE until <= ?1
               OR reviewer = ?2 AND item IS NOT (SELECT item FROM verdicts WHERE key = ?3)"""
    conn.execute(query, (at, reviewer, key))
    query = """INSERT INTO claims SELECT item, ?1, ?2 FROM verdicts WHERE key = ?3
               ON CONFLICT (item) DO UPDATE SET until = excluded.until
               WHERE reviewer = excluded.reviewer RETURNING item"""
    found: bytes | None = lookup(conn, query, (reviewer, until, key))
    return found


def release(conn: ExplainedConnection, reviewer: str) -> None:
    if lookup(conn, "SELECT 1 FROM claims WHERE reviewer = ?", (reviewer,)):
        with writing(conn, hashed=False):
            conn.execute("DELETE FROM claims WHERE reviewer = ?", (reviewer,))


def others(conn: Connection, reviewer: str, run: int, at: str) -> dict[int, str]:
    """Return the verdicts of a run, by key, whose items others have open, and with whom."""
    query = """SELECT v.key, c.reviewer FROM claims c CROSS JOIN verdicts v
               ON v.item = c.item AND v.run = ? WHERE c.reviewer <> ? AND c.until > ?"""
    return dict(map(tuple, conn.execute(query, (run, reviewer, at))))


class ChainEnd(Struct, frozen=True):
    """The end of a chain in this desk: the number and the hash of its last event."""

    desk: str
    reviewer: str
    seq: int
    hash: str


def ends(conn: Connection) -> list[ChainEnd]:
    """Return the end of each chain, by desk; the chain of the desk itself comes first."""
    query = """SELECT desk, reviewer, max(seq), hash FROM label_events GROUP BY desk, reviewer
               ORDER BY desk, reviewer <> ?, reviewer"""
    return [ChainEnd(*row) for row in conn.execute(query, (DESK,))]


def end(conn: Connection, desk: str, reviewer: str) -> ChainEnd:
    """Return the end of one chain; its number is 0 if the desk has no event of it."""
    query = """SELECT seq, hash FROM label_events WHERE desk = ? AND reviewer = ?
               ORDER BY seq DESC LIMIT 1"""
    row = conn.execute(query, (desk, reviewer)).fetchone()
    return ChainEnd(desk, reviewer, *(row or (0, "")))


def hashes_of(conn: Connection, desk: str, reviewer: str) -> Iterator[str]:
    query = "SELECT hash FROM label_events WHERE desk = ? AND reviewer = ? ORDER BY seq"
    return (row[0] for row in conn.execute(query, (desk, reviewer)))


def events_of(conn: Connection, desk: str, reviewer: str) -> Iterator[ChainEvent]:
    """Yield the events of a chain; raise ChainProblem if a row of another file is not an event."""
    query = f"""SELECT {", ".join(COLUMNS)} FROM label_events WHERE desk = ? AND reviewer = ?
                ORDER BY seq"""
    for place, row in enumerate(conn.execute(query, (desk, reviewer)), 1):
        values = dict(zip(COLUMNS, row, strict=True))
        seq = values["seq"]
        yield checked(values, seq if type(seq) is int else place)


def begin(conn: Connection, at: str) -> None:
    """Append the first event of a desk without events, because its events make its id known."""
    if lookup(conn, "SELECT 1 FROM label_events WHERE desk = ?", (desk_id(conn),)) is None:
        append(conn, DESK, [NewEvent("joined", at)])


def put(conn: Connection, found: Sequence[tuple[ChainEvent, int | None]]) -> int:
    """Put the next events of a chain, with counters that they lack; return how many were new."""
    desk = found[0][0].desk
    reviewer = found[0][0].reviewer
    here = end(conn, desk, reviewer)
    new = [(event, counter) for event, counter in found if event.seq > here.seq]
    if not new:
        return 0
    if (new[0][0].seq, new[0][0].prev_hash) != (here.seq + 1, here.hash):
        raise ChainProblem(new[0][0].seq, "does not continue the chain that is here")
    for event, counter in new:
        key = insert(conn, "label_events", event.row())
        if counter is not None:
            conn.execute("INSERT INTO event_places VALUES (?, ?)", (key, counter))
    every = [event for event, _ in new]
    follow(conn, changed_items(conn, desk, reviewer, every))
    return len(new)


@contextmanager
def elsewhere(path: Path) -> Iterator[Connection]:
    """Open another person's desk file to read; DeskError if harmful or not current."""
    with connect_read_only(path) as conn, explained(path):
        conn.execute("PRAGMA trusted_schema=OFF")
        conn.execute("BEGIN")
        refuse_harmful(conn, path)
        version = value(conn, "PRAGMA user_version")
        if version > VERSION:
            raise DeskError(f"{path}: made by a newer reviewdesk", "Update reviewdesk.")
        if version < VERSION:
            raise DeskError(
                f"{path}: made by an older reviewdesk, whose events have no counters",
                f"Open it once with this one: reviewdesk --desk {path} desk info.",
            )
        yield conn
