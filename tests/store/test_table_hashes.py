"""Damage of the small tables that no event covers is found, and what reviewdesk writes is not."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk.backups import repair_desk
from reviewdesk.desk.review import edits, filters
from reviewdesk.domain.records import Truth, View
from tests.helpers import Clock, load, mostly_slow, numbered, open_desk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "desk.db"
    with closing(open_desk(found)) as desk:
        run = load(desk, numbered(4))
        desk.opened(load(desk, numbered(2, report_id="second")))
        filters.save(desk, "mine", "esc")
        desk.save_view(run, View("esc", "score"))
        edits.keep(desk, {"columns": ["score"]})
        edits.NoteDraft(desk.find(run, "v1"), "half a note")(desk)
        assert desk.verify().problems == ()
    return found


CHANGES = {
    "filters": "UPDATE filters SET text = 'flag'",
    "views": "UPDATE views SET state = replace(state, 'score', 'margin')",
    "kept_settings": "UPDATE kept_settings SET value = '[]'",
    "drafts": "DELETE FROM drafts",
    "runs": "UPDATE runs SET opened = 9 - opened",
    "meta": "INSERT INTO meta VALUES ('double', '0.5')",
    "migrations": "UPDATE migrations SET at = '2020-01-01' WHERE rowid = 13",
}


@pytest.mark.parametrize("table", mostly_slow(CHANGES))
def test_a_changed_table_is_named_until_the_desk_is_repaired(path: Path, table: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        assert conn.execute(CHANGES[table]).rowcount > 0
    said = f"{table} is not as it was written"
    with closing(open_desk(path)) as desk:
        assert desk.verify().problems == (said,)
        # Labels are saved all the same, and do not hide the damage.
        desk.label(desk.find(desk.run("run"), "v1"), Truth.PASS)
        assert desk.verify().problems == (said,)
    new = path.with_name("new.db")
    repair_desk(path, new, Clock(), lambda *_: None)
    with closing(open_desk(new)) as desk:
        assert desk.verify().problems == ()


def test_a_desk_without_hashes_gets_them_with_its_next_change(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("DELETE FROM meta WHERE key = 'hashes'")
        conn.execute("UPDATE filters SET text = 'flag'")
    with closing(open_desk(path)) as desk:
        assert desk.verify().ok
        desk.opened(desk.run("run"))
        desk.conn.execute("UPDATE filters SET text = 'esc'")
        assert desk.verify().problems == ("filters is not as it was written",)
