"""What a reviewer chose on the screen, as the desk stores it."""

import json
from pathlib import Path

from reviewdesk.desk.core import glance
from reviewdesk.desk.review import edits
from reviewdesk.domain.records import Truth, View
from tests.helpers import drop_label_state, load, numbered, open_desk, set_back, unload


def test_values_are_stored_replaced_and_forgotten_by_name_and_reviewer(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "d.db")
    edits.keep(desk, {"theme": "desk-light", "wrap": False, "names": ["a", "ü\x00"]})
    edits.keep(desk, {"theme": "desk-light", "wrap": None})
    assert edits.kept(desk) == {"theme": "desk-light", "names": ["a", "ü\x00"]}
    edits.keep(desk, {"names": None})
    assert edits.kept(desk) == {"theme": "desk-light"}
    edits.keep(desk, {"theme": None})
    assert edits.kept(desk) == {}
    assert desk.verify().ok
    ann, ben = open_desk(tmp_path / "d.db"), open_desk(tmp_path / "d.db", "ben")
    edits.keep(ann, {"theme": "desk-light"})
    edits.keep(ben, {"theme": "desk-light"})
    edits.keep(ann, {"theme": None})
    assert (edits.kept(ann), edits.kept(ben)) == ({}, {"theme": "desk-light"})


def test_a_desk_of_the_schema_before_opens_and_keeps(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    desk = open_desk(path)
    run = load(desk, numbered(3))
    desk.label(desk.find(run, "v1"), Truth.PASS)
    desk.save_view(run, View(order="score"))
    desk.conn.execute("DROP TABLE kept_settings")
    unload(desk.conn)
    drop_label_state(desk.conn)
    set_back(desk.conn, "add_kept_settings")
    desk.close()
    before = path.read_bytes()
    # A look does not migrate.
    assert glance(path, "ann") is None
    assert path.read_bytes() == before
    desk = open_desk(path)
    assert desk.progress(run).labelled == 1
    assert desk.verify().ok
    edits.keep(desk, {"theme": "desk-light"})
    assert edits.kept(desk) == {"theme": "desk-light"}
    desk.close()


def test_a_look_at_no_desk_finds_nothing_and_makes_nothing(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("not a desk")
    for path in (tmp_path / "none.db", other, tmp_path):
        assert glance(path, "ann") is None
    assert list(tmp_path.iterdir()) == [other]


def test_a_damaged_view_counts_as_none(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "d.db")
    run = load(desk, numbered(3))
    values = ({"order": 3}, {"blind": "yes"}, {"item": 7}, {"item": "\ud800"})
    for text in ("", "[]", "{", "[" * 100_000, *map(json.dumps, values)):
        desk.conn.execute("INSERT OR REPLACE INTO views VALUES (?, 'ann', ?)", (run.key, text))
        assert desk.view(run) is None
