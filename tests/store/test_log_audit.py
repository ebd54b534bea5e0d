"""Tampering with the label log behind the desk's back, and what ``verify`` makes of it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk, verify
from reviewdesk.domain.records import Truth, event_hash
from reviewdesk.errors import UsageError
from reviewdesk.store.events import rebuild
from tests.helpers import load, mostly_slow, numbered, open_desk, unguarded

Attack = Callable[[sqlite3.Connection], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A desk with the run's event, six of ann (the first item labelled twice) and two of ben."""
    found = tmp_path_factory.mktemp("made") / "desk.db"
    for reviewer, names in (("ann", ("v0", "v0", "v1", "v2", "v3", "v4")), ("ben", ("v0", "v1"))):
        desk = open_desk(found, reviewer)
        run = load(desk, numbered(5))
        for place, name in enumerate(names):
            desk.label(desk.find(run, name), Truth.FAIL if place else Truth.PASS)
        desk.close()
    return found.read_bytes()


@pytest.fixture
def path(made: bytes, tmp_path: Path) -> Path:
    (tmp_path / "desk.db").write_bytes(made)
    return tmp_path / "desk.db"


def tamper(path: Path, attack: Attack, *, restore: bool = True) -> None:
    """Attack with the guards out of the way; a careful attacker puts them back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.row_factory = sqlite3.Row
        with unguarded(conn, restored=restore):
            attack(conn)


def sql(*statements: str) -> Attack:
    return lambda conn: [conn.execute(statement) for statement in statements]


def reverse(conn: sqlite3.Connection) -> None:
    """Swap the two labels of one item, so that the older one is the newest."""
    conn.execute("UPDATE label_events SET key = -1 WHERE key = 2")
    conn.execute("UPDATE label_events SET key = 2 WHERE key = 3")
    conn.execute("UPDATE label_events SET key = 3 WHERE key = -1")


def forge(conn: sqlite3.Connection) -> None:
    """Change an event and give it a hash of its own that fits."""
    conn.execute("UPDATE label_events SET label = 'pass' WHERE reviewer = 'ann' AND seq = 3")
    row = dict(
        conn.execute("SELECT * FROM label_events WHERE reviewer = 'ann' AND seq = 3").fetchone()
    )
    conn.execute("UPDATE label_events SET hash = ? WHERE key = ?", (event_hash(row), row["key"]))


ATTACKS: dict[str, tuple[Attack, str]] = {
    "changed label": (
        sql("UPDATE label_events SET label = 'pass' WHERE key = 4"),
        "event 3 of ann: was changed after it was written",
    ),
    "changed time": (
        sql("UPDATE label_events SET at = '2020-01-01' WHERE key = 7"),
        "event 6 of ann: was changed after it was written",
    ),
    "deleted middle": (
        sql("DELETE FROM label_events WHERE key = 4"),
        "event 4 of ann: 1 events before it are missing",
    ),
    "deleted middle, renumbered": (
        sql(
            "DELETE FROM label_events WHERE key = 4",
            "UPDATE label_events SET seq = seq - 1 WHERE reviewer = 'ann' AND seq > 3",
        ),
        "event 3 of ann: does not follow the event before it",
    ),
    "forged hash": (forge, "event 4 of ann: does not follow the event before it"),
    "reordered": (reverse, "event 2 of ann: comes before the event that it follows"),
    "cut tail": (
        sql("DELETE FROM label_events WHERE key = 9"),
        "9 events were written and 8 are there",
    ),
    "whole chain removed": (
        sql("DELETE FROM label_events WHERE reviewer = 'ann'"),
        "9 events were written and 3 are there",
    ),
    "everything removed": (
        sql("DELETE FROM label_events"),
        "9 events were written and 0 are there",
    ),
    "a view that lies": (
        sql(
            "DROP VIEW truths",
            "CREATE VIEW truths AS SELECT item, 'pass' AS truth, 0 AS tentative FROM labels",
        ),
        "the view truths was changed",
    ),
    "a table that lies": (
        sql("UPDATE current_events SET label = 'pass' WHERE author = 'ben' AND key = 9"),
        "current_events: the label of ben on item {v1} is not in the log",
    ),
    "a label that is left out": (
        sql("DELETE FROM current_events WHERE author = 'ben' AND key = 9"),
        "current_events: the label of ben on item {v1} is missing",
    ),
    "a byte that lies": (
        sql("UPDATE label_marks SET marks = zeroblob(4096)"),
        "label_marks: the labels of verdicts 0 to 4095 differ",
    ),
    "a tag that nobody gave": (
        sql("INSERT INTO tag_uses VALUES ('ann', 'x', 1)"),
        "tag_uses: x of ann is on 0 items",
    ),
}


def test_the_desk_is_whole_before_any_attack(path: Path) -> None:
    found = verify(path)
    assert (found.ok, found.events, found.problems) == (True, 9, ())


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_detected(path: Path, name: str) -> None:
    attack, problem = ATTACKS[name]
    with closing(open_desk(path)) as desk:
        v1 = desk.item(desk.find(desk.run(), "v1")).item_hash[:12]
    tamper(path, attack)
    found = verify(path)
    assert not found.ok
    assert problem.format(v1=v1) in found.problems


@pytest.mark.parametrize("name", ["label_events_next", "label_events_fixed", "label_events_kept"])
def test_a_guard_that_is_gone_is_missed(path: Path, name: str) -> None:
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(f"DROP TRIGGER {name}")
    assert verify(path).problems == (f"the trigger {name} is gone",)


def test_a_guard_that_guards_nothing_is_seen(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("DROP TRIGGER label_events_fixed")
        conn.execute(
            "CREATE TRIGGER label_events_fixed BEFORE UPDATE ON label_events WHEN 0 "
            "BEGIN SELECT RAISE(ABORT, 'never'); END"
        )
    assert verify(path).problems == ("the trigger label_events_fixed was changed",)


COVERED: dict[str, str] = {
    "tail": "key = 9", "chain of ben": "reviewer = 'ben'", "chain of ann": "reviewer = 'ann'",
    "all labels": "reviewer <> '@desk'",
}  # fmt: skip


@pytest.mark.parametrize("name", COVERED)
def test_a_cut_with_the_traces_removed_needs_the_head(path: Path, name: str) -> None:
    head = verify(path).head

    def cut(conn: sqlite3.Connection) -> None:
        conn.execute(f"DELETE FROM label_events WHERE {COVERED[name]}")
        for new, row in enumerate(
            conn.execute("SELECT key FROM label_events ORDER BY key").fetchall(), 1
        ):
            conn.execute("UPDATE label_events SET key = ? WHERE key = ?", (new, row["key"]))
        left = conn.execute("SELECT count(*) FROM label_events").fetchone()[0]
        conn.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'label_events'", (left,))
        rebuild(conn)

    tamper(path, cut)
    assert verify(path).ok
    found = verify(path, head)
    assert not found.ok
    assert found.problems[0].startswith("the log was cut: 9 events expected")


def test_another_log_of_the_same_length_is_not_the_expected_one(path: Path) -> None:
    head = verify(path).head

    def rewrite(conn: sqlite3.Connection) -> None:
        """Write the last event of ben anew, chain, hash and all."""
        row = dict(conn.execute("SELECT * FROM label_events WHERE key = 9").fetchone())
        row["label"] = "unsure"
        conn.execute(
            "UPDATE label_events SET label = ?, hash = ? WHERE key = 9",
            (row["label"], event_hash(row)),
        )
        rebuild(conn)

    tamper(path, rewrite)
    assert verify(path).ok
    assert verify(path, head).problems == ("the first 9 events are not those of the expected head",)


@pytest.fixture
def heads(tmp_path: Path) -> tuple[Path, list[str]]:
    """Every head on the way to eight events by two reviewers in turn."""
    found = tmp_path / "desk.db"
    ann, ben = open_desk(found, "ann"), open_desk(found, "ben")
    run = load(ann, numbered(4))
    seen = [ann.head()]
    for place in range(4):
        for desk in (ann, ben):
            desk.label(desk.find(run, f"v{place}"), Truth.PASS)
            seen.append(desk.head())
    ann.close()
    ben.close()
    return found, seen


def test_an_earlier_head_stays_valid(heads: tuple[Path, list[str]]) -> None:
    path, seen = heads
    assert [int(head.partition(":")[0]) for head in seen] == list(range(1, 10))
    assert len(set(seen)) == 9
    for head in seen:
        assert verify(path, head).ok
    assert verify(path).head == seen[-1]


def test_a_head_of_the_wrong_count_is_not_valid(heads: tuple[Path, list[str]]) -> None:
    path, seen = heads
    digest = seen[4].partition(":")[2]
    assert not verify(path, f"4:{digest}").ok
    assert not verify(path, f"10:{digest}").ok
    assert not verify(path, f"5:{digest[:-1]}x").ok


@pytest.mark.parametrize("text", ["", "5", "5:", ":abc", "x:abc", "-1:abc"])
def test_what_is_no_head_is_an_error(path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="is not a head"):
        verify(path, text)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A plain connection, as a database shell opens it, to a desk with a run and three labels."""
    desk = open_desk(tmp_path / "desk.db")
    run = load(desk, numbered(4))
    for name in ("v0", "v1", "v2"):
        desk.label(desk.find(run, name), Truth.PASS)
    desk.close()
    plain = sqlite3.connect(tmp_path / "desk.db", isolation_level=None)
    plain.row_factory = sqlite3.Row
    before = rows(plain)
    yield plain
    assert rows(plain) == before
    plain.close()


def rows(conn: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in conn.execute("SELECT * FROM label_events ORDER BY key")]


def put(conn: sqlite3.Connection, verb: str = "INSERT", **changes: Any) -> None:
    """Insert what would be the next event but for some changes; the key is left to SQLite."""
    row = dict(conn.execute("SELECT * FROM label_events ORDER BY key DESC LIMIT 1").fetchone())
    follower = {**row, "seq": row["seq"] + 1, "prev_hash": row["hash"], "hash": "0" * 64}
    del follower["key"]
    follower |= changes
    names = ", ".join(follower)
    conn.execute(
        f"{verb} INTO label_events ({names}) VALUES ({', '.join('?' * len(follower))})",
        tuple(follower.values()),
    )


def test_the_next_event_would_be_taken(log: sqlite3.Connection) -> None:
    log.execute("BEGIN")
    put(log)
    assert len(rows(log)) == 5
    log.execute("ROLLBACK")


COLUMNS = ("label", "at", "hash", "seq", "key", "reviewer")


@pytest.mark.parametrize(
    "statement",
    [
        *(f"UPDATE label_events SET {column} = {column}" for column in COLUMNS),
        *(f"DELETE FROM label_events {where}" for where in ("", "WHERE seq = 3")),
    ],
)
def test_no_event_is_changed_or_deleted(log: sqlite3.Connection, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=r"never (changed|deleted)"):
        log.execute(statement)


@pytest.mark.parametrize(
    "changes",
    [
        *({"seq": seq} for seq in (-1, 0, 3, 5)),
        *({"prev_hash": text} for text in ("", "0" * 64)),
        *({"key": key} for key in (1, 3)),
        {"reviewer": "ben"}, {"reviewer": "ben", "seq": 1}, {"desk": "elsewhere"},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("verb", mostly_slow(["INSERT", "INSERT OR REPLACE"]))
def test_no_insert_out_of_place(log: sqlite3.Connection, verb: str, changes: Any) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="not the next event"):
        put(log, verb, **changes)


def test_insert_or_replace_meets_the_guards_on_the_desks_own_connection(desk: Desk) -> None:
    desk.label(desk.find(load(desk, numbered(4)), "v1"), Truth.PASS)
    before = rows(desk.conn)
    with pytest.raises(Exception, match="label_events"):
        put(desk.conn, "INSERT OR REPLACE", key=1)
    with pytest.raises(Exception, match="label_events"):
        put(desk.conn, "INSERT OR REPLACE", seq=1)
    assert rows(desk.conn) == before
