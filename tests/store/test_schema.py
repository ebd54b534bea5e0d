from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError
from reviewdesk.store import connect, schema
from reviewdesk.store.connect import APPLICATION_ID
from tests.helpers import load, numbered, open_desk


def test_migrations_are_recorded_and_mirrored(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "desk.db")
    names = [row["name"] for row in desk.conn.execute("SELECT * FROM migrations ORDER BY rowid")]
    assert names == [migration.__name__ for migration in schema.MIGRATIONS]
    version = desk.conn.execute("PRAGMA user_version").fetchone()[0]
    assert version == len(schema.MIGRATIONS) >= 2
    desk.close()


def test_the_pragmas_that_durability_rests_on(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "desk.db")
    found = {
        name: desk.conn.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers")
    }
    # 2 is FULL: NORMAL (1) loses acknowledged labels when the power goes.
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "recursive_triggers": 1,
    }
    desk.close()


def test_the_mark_is_in_the_header_before_the_log_is_folded(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    desk = open_desk(path)
    assert path.read_bytes()[68:72] == APPLICATION_ID.to_bytes(4, "big") == b"RDK1"
    # A second opening meets a file whose tables are still in the log alone.
    open_desk(path).close()
    desk.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    desk = open_desk(path)
    desk.conn.execute(f"PRAGMA user_version={len(schema.MIGRATIONS) + 1}")
    desk.close()
    before = path.read_bytes()
    with pytest.raises(DeskError, match="made by a newer reviewdesk") as caught:
        open_desk(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_an_older_desk_is_backed_up_then_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "desk.db"
    desk = open_desk(path)
    run = load(desk, numbered(3))
    desk.label(desk.find(run, "v1"), Truth.PASS)
    desk.close()

    def add_colours(conn: sqlite3.Connection) -> None:
        conn.execute("CREATE TABLE colours (name TEXT)")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_colours))
    desk = open_desk(path)
    version = len(schema.MIGRATIONS)
    assert desk.conn.execute("PRAGMA user_version").fetchone()[0] == version
    assert desk.conn.execute("SELECT count(*) FROM colours").fetchone()[0] == 0
    assert desk.verify().ok
    assert desk.progress(run).labelled == 1
    desk.close()
    backup = sqlite3.connect(tmp_path / f"desk.db.schema-{version - 1}.backup")
    assert backup.execute("PRAGMA user_version").fetchone()[0] == version - 1
    assert backup.execute("SELECT count(*) FROM label_events").fetchone()[0] == 2
    backup.close()


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "desk.db"
    open_desk(path).close()

    def half_done(conn: sqlite3.Connection) -> None:
        conn.execute("CREATE TABLE half (name TEXT)")
        conn.execute("SELECT * FROM nowhere")

    known = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", (*known, half_done))
    for _ in range(2):
        with pytest.raises(DeskError, match="nowhere"):
            open_desk(path)
    monkeypatch.setattr(schema, "MIGRATIONS", known)
    desk = open_desk(path)
    tables = {row[0] for row in desk.conn.execute("SELECT name FROM sqlite_master")}
    assert "half" not in tables
    assert desk.verify().ok
    desk.close()


def test_a_new_file_that_another_process_is_making_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "desk.db"
    monkeypatch.setattr("reviewdesk.desk.core.migrate", schema.migrate)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(f"PRAGMA application_id={APPLICATION_ID}")
    other.execute("BEGIN IMMEDIATE")
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        other.execute("COMMIT")

    # SQLite itself does not wait when a file is switched to a log.
    monkeypatch.setattr(connect, "sleep", wait)
    desk = open_desk(path)
    assert len(waited) == 1
    assert desk.conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert desk.verify().ok
    desk.close()
    other.close()
