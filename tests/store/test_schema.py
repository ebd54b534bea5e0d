import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.runs import overview, tallies
from reviewdesk.domain.query.filter import Vocabulary, complete, parse_filter
from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError
from reviewdesk.store import connect, schema, verification
from reviewdesk.store.connect import APPLICATION_ID
from reviewdesk.store.measures import unknown_ballots
from reviewdesk.views.json.review import run_line
from tests.desk.test_read_only import without_rights
from tests.helpers import POSIX, load, numbered, open_desk, report, verdict


def test_a_new_desk_has_every_migration_and_the_pragmas_of_durability(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.touch()  # an empty file becomes a desk
    desk = open_desk(path)
    assert desk.runs() == []
    recorded = desk.conn.execute("SELECT count(*) FROM migrations").fetchone()[0]
    assert desk.conn.execute("PRAGMA user_version").fetchone()[0] == recorded == schema.VERSION
    # 2 is FULL: NORMAL (1) loses acknowledged labels when the power goes.
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "recursive_triggers": 1}
    for name, value in wanted.items():
        assert desk.conn.execute(f"PRAGMA {name}").fetchone()[0] == value
    assert path.read_bytes()[68:72] == APPLICATION_ID.to_bytes(4, "big") == b"RDK1"
    # A second opening meets a file whose tables are still in the log alone.
    open_desk(path).close()
    desk.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    desk = open_desk(path)
    desk.conn.execute(f"PRAGMA user_version={schema.VERSION + 1}")
    desk.close()
    before = path.read_bytes()
    with pytest.raises(DeskError, match="made by a newer reviewdesk") as caught:
        open_desk(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def colours(monkeypatch: pytest.MonkeyPatch, more: str = "") -> int:
    """Let a later version add a table, and ``more``; return its number."""
    monkeypatch.setattr(schema, "LAYOUT", f"{schema.LAYOUT};CREATE TABLE colours (name TEXT){more}")
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    return schema.VERSION


def test_an_older_desk_is_kept_and_updated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "desk.db"
    desk = open_desk(path)
    run = load(desk, numbered(3))
    desk.label(desk.find(run, "v1"), Truth.PASS)
    desk.close()

    version = colours(monkeypatch)
    verification.layout.cache_clear()
    desk = open_desk(path)
    assert desk.conn.execute("PRAGMA user_version").fetchone()[0] == version
    assert desk.conn.execute("SELECT count(*) FROM colours").fetchone()[0] == 0
    assert desk.verify().ok
    assert desk.progress(run).labelled == 1
    desk.close()
    backup = sqlite3.connect(tmp_path / f"desk.db.schema-{version - 1}.backup")
    assert backup.execute("PRAGMA user_version").fetchone()[0] == version - 1
    assert backup.execute("SELECT count(*) FROM label_events").fetchone()[0] == 2
    backup.close()
    monkeypatch.undo()
    verification.layout.cache_clear()


def test_failed_migrations_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "desk.db"
    open_desk(path).close()
    with monkeypatch.context() as later:
        colours(later, ";CREATE INDEX half ON nowhere (name)")
        for _ in range(2):
            with pytest.raises(DeskError, match="nowhere"):
                open_desk(path)
    desk = open_desk(path)
    tables = {row[0] for row in desk.conn.execute("SELECT name FROM sqlite_master")}
    assert "colours" not in tables
    assert desk.verify().ok


def test_a_file_in_the_making_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refusal(path: Path) -> str:
    with pytest.raises(DeskError) as caught:
        open_desk(path)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"{path}: ")
    return text.removeprefix(f"{path}: ")


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_of_something_else(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA journal_mode={journal}")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    other.close()
    before = snapshot(tmp_path)
    assert refusal(path).startswith("a SQLite file of another program")
    assert snapshot(tmp_path) == before


def test_a_foreign_log_that_was_left_behind_is_not_folded(tmp_path: Path) -> None:
    made = tmp_path / "made.db"
    other = sqlite3.connect(made, isolation_level=None)
    other.execute("PRAGMA journal_mode=WAL")
    other.execute("CREATE TABLE t (x)")
    left = tmp_path / "left"
    left.mkdir()
    # As a crash leaves it: the table is in the log alone.
    shutil.copy(made, left / "x.db")
    shutil.copy(f"{made}-wal", left / "x.db-wal")
    other.close()
    before = snapshot(left)
    assert before["x.db-wal"]
    assert refusal(left / "x.db").startswith("a SQLite file of another program")
    assert snapshot(left) == before


@pytest.mark.parametrize(
    "data",
    [b"just text\n", b"SQLite format 3", b"\x00" * 4096, b"\x89PNG\r\n\x1a\n" + bytes(range(256))],
    ids=["text", "magic-cut", "zeros", "png"],
)
def test_a_file_that_is_no_database(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    assert refusal(path).startswith("not a desk file")
    assert snapshot(tmp_path) == {"notes.txt": data}


def test_a_folder_is_refused_and_one_under_a_file(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith("not a file")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    refusal(tmp_path / "file" / "desk.db")
    assert snapshot(tmp_path) == {"file": b"x"}


def test_a_damaged_desk_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    desk = open_desk(path)
    load(desk, numbered(30))
    desk.close()
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * 2000 + data[2100:])
    before = path.read_bytes()
    with pytest.raises(DeskError) as caught:
        open_desk(path).runs()
    assert "damaged" in str(caught.value) or "not a desk" in str(caught.value)
    assert path.read_bytes() == before


@POSIX
def test_a_folder_that_may_not_be_written() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o555)
        with without_rights():
            refusal(folder / "desk.db")
        assert list(folder.iterdir()) == []
        folder.chmod(0o755)


def juried(name: str, *statuses: str) -> dict[str, object]:
    """Two jurors that differ, and one of each status."""
    seats = [{"id": f"s{n}", "status": status} for n, status in enumerate(statuses)]
    made = verdict(name, 0.9, 0.2)
    return {**made, "jurors": [*made["jurors"], *seats]}


@pytest.fixture
def desk(desk: Desk) -> Desk:
    same, votes = verdict("same", 0.9, 0.9), verdict("votes", 0.9, 0.8)
    # An error without a status, and one that a label stands for, are failures too.
    error = juried("error")
    error["jurors"] = [*error["jurors"], {"id": "x", "error": {"message": "503"}}]  # type: ignore[misc]
    label = juried("label")
    label["jurors"] = [*label["jurors"], {"id": "x", "label": "PARSE_FAIL"}]  # type: ignore[misc]
    raw = juried("raw", "timeout")
    raw["jurors"] = [*raw["jurors"], {"id": "x", "raw_score": 7}]  # type: ignore[misc]
    rest = [
        juried("quiet", "abstained"), juried("odd", "unknown", "unknown"),
        juried("spared", "not_asked"), juried("late", "timeout", "abstained"),
    ]  # fmt: skip
    load(desk, report(same, votes, error, label, raw, *rest, verdict("alone", 0.9)))
    return desk


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("failed", "error label late raw"),
        # A number that waits for its scale is no abstention.
        ("abstained", "late quiet"),
        ("unanimous_votes", "same votes"),
        ("!failed abstained", "quiet"),
    ],
)
def test_what_a_word_keeps(desk: Desk, text: str, ids: str) -> None:
    rows = desk.rows(desk.queue(desk.run(None), text))
    assert sorted(row.id for row in rows) == ids.split()


@pytest.mark.parametrize("word", ["failed", "abstained", "unanimous_votes"])
def test_it_is_hidden_under_blind_and_can_be_completed(word: str) -> None:
    assert parse_filter(word).hidden
    offered = complete(word[:4], 4, Vocabulary()).options
    assert word in [option.text for option in offered]


def test_a_run_counts_them(desk: Desk) -> None:
    [line] = overview(desk)
    shape = run_line(line, tallies(desk)[line.run.key])
    assert (shape["unanimous_scores"], shape["unanimous_votes"]) == (1, 2)
    # Of the failed: 503, the label, and two timeouts; two were not understood.
    assert (shape["failed_ballots"], shape["unknown_ballots"]) == (4, 2)


def test_a_run_counts_those_of_all_its_windows(tmp_path: Path) -> None:
    # More verdicts than a window holds, of which the first and the last lie in different windows.
    names = [f"v{n}" for n in range(600)]
    unknown = {"v0": ("unknown",), "v1": ("unknown", "unknown"), "v599": ("unknown",)}
    with closing(open_desk(tmp_path / "desk.db")) as made:
        loaded = load(made, report(*(juried(name, *unknown.get(name, ())) for name in names)))
        assert made.conn.execute("SELECT count(*) FROM packed").fetchone()[0] > 1
        other = load(made, report(juried("v", "unknown", "error"), report_id="other"))
        assert unknown_ballots(made.conn) == {loaded.key: 4, other.key: 1}
        assert unknown_ballots(made.conn, loaded.key) == {loaded.key: 4}


def test_a_file_that_another_process_makes_meanwhile_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "desk.db"

    def access(*_: object, **__: object) -> bool:
        path.touch()
        return False

    monkeypatch.setattr(os, "access", access)
    with closing(connect.connect(path)) as conn:
        assert not conn.read_only
