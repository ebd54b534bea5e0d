"""A fault on a damaged desk is the desk's; one on a whole desk stays the program's."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from reviewdesk.desk.damage import found_damage
from reviewdesk.errors import UsageError
from tests.helpers import load, numbered, open_desk


def test_any_fault_on_a_damaged_desk_is_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        load(desk, numbered(2))
    (tmp_path / "notes.txt").write_text("no desk")
    others = (tmp_path / "notes.txt", tmp_path / "nowhere.db", tmp_path)
    assert found_damage(TypeError("x"), path, *others) is None
    with closing(open_desk(path)) as desk:
        desk.conn.execute("UPDATE runs SET notes = '{'")
    for fault in (TypeError("x"), RecursionError("x"), UnicodeDecodeError("utf-8", b"", 0, 1, "")):
        found = str(found_damage(fault, *others, path))
        assert f"{path}: the desk is damaged: " in found
        assert found.endswith("Run desk restore BACKUP, or desk repair.")
    # What is said already needs no other words.
    assert found_damage(UsageError("x"), path) is None
