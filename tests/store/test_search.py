"""Edits of the full-text index, which change what a search finds, are seen by ``verify --full``."""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reviewdesk.desk.backups import repair_desk
from reviewdesk.desk.core import verify
from reviewdesk.desk.review.filters import find, index, indexed
from reviewdesk.store import search as stored
from reviewdesk.store.connect import writing
from tests.helpers import contents, load, numbered, open_desk, report, set_back, unmeasure, verdict

NAMES = "rowid, name, rubric, input, output, reasons"
GONE = f"INSERT INTO search (search, {NAMES}) VALUES ('delete', 1, {{}})"
"""Takes words of the first verdict out of the index, as an index without texts wants to be told."""
PLANT = f"INSERT INTO search ({NAMES}) VALUES ({{}}, '', '', '', 'planted', '')"
ATTACKS = {
    "a word gone": (GONE.format("'v0', '', '', '', ''"), "differs"),
    "a word added": (PLANT.format(3), "differs"),
    "words of the other run": (PLANT.format(6), "differs"),
    "words of no verdict": (PLANT.format(99), "differs"),
    "all words gone": ("INSERT INTO search (search) VALUES ('delete-all')", "differs"),
    "pages": ("UPDATE search_data SET block = zeroblob(40) WHERE id > 10", "search index"),
    "the way to pages": ("DELETE FROM search_idx WHERE pgno > 2", "does not find"),
    "counted as whole": ("UPDATE indexed_runs SET verdicts = 2 WHERE run = 2", "differs"),
    "counted beyond": ("UPDATE indexed_runs SET verdicts = 9", "9 of its 5 verdicts are indexed"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk of five verdicts that are indexed, and three of which the first is."""
    path = tmp_path_factory.mktemp("made") / "desk.db"
    with closing(open_desk(path)) as desk:
        # So that even these few words take several pages.
        desk.conn.execute("INSERT INTO search (search, rank) VALUES ('pgsz', 64)")
        assert index(desk, load(desk, numbered(5)))
        other = load(desk, report(*map(verdict, ("w0", "w1", "w2")), report_id="other"))
        batch = stored.prepare(desk.conn, other.key, 0)[:1]
        with writing(desk.conn):
            stored.put(desk.conn, other.key, 0, batch)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "desk.db"))


def told(_share: float, _count: int) -> None:
    """Nothing is drawn."""


def test_an_index_that_is_whole_has_no_problem_also_in_part(path: Path) -> None:
    assert verify(path, full=told).ok
    with closing(open_desk(path)) as desk:
        assert desk.verify(full=told).ok  # nothing of the first is left in the connection
        assert desk.verify(full=told).ok
        assert index(desk, desk.run("other"))
        assert desk.verify(full=told).ok


@pytest.mark.parametrize("name", ATTACKS)
def test_an_edit_of_the_index_is_named(path: Path, name: str) -> None:
    statement, expected = ATTACKS[name]
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute(statement)
    problems = verify(path, full=told).problems
    assert any(expected in text for text in problems), problems


def test_a_repair_builds_the_index_anew(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute(GONE.format("'v0', '', '', '', ''"))
    new = tmp_path / "new.db"
    repair_desk(path, new, lambda: datetime(2025, 1, 31, tzinfo=UTC), lambda *_: None)
    with closing(open_desk(new)) as desk:
        run = desk.run("run")
        assert index(desk, run)
        assert len(find(desk, run, "v0", blind=False)) == 1
        assert desk.verify(full=told).ok


def test_an_older_desk_gets_its_tags_and_an_empty_index(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    cases: tuple[list[str], ...] = (["refund", "a\x00b", "refund"], [], ["Über"])
    bodies = [verdict(f"v{n}", case={"test": "t", "tags": tags}) for n, tags in enumerate(cases)]
    with closing(open_desk(path)) as desk:
        load(desk, report(*bodies, verdict("v3")))
        load(desk, report(verdict("w", case={"test": "t", "tags": ["refund"]}), report_id="two"))
        filled = contents(desk)["case_tags"]
        assert len(filled) == 4
        unmeasure(desk.conn)
        for name in ("search", "indexed_runs", "case_tags", "filters", "seen"):
            desk.conn.execute(f"DROP TABLE {name}")
        desk.conn.execute("DROP INDEX label_events_deferred")
        set_back(desk.conn, "add_search")
    with closing(open_desk(path)) as desk:
        assert contents(desk)["case_tags"] == filled
        run = desk.run("run")
        assert indexed(desk, run) == 0
        assert list(find(desk, run, "question", blind=False)) == []
        assert index(desk, run)
        assert len(find(desk, run, "question", blind=False)) == 4
        assert indexed(desk, desk.run("two")) == 0
        assert [len(desk.queue(run, text)) for text in ("tag:refund", "tag:none")] == [1, 2]
        assert desk.verify().ok
