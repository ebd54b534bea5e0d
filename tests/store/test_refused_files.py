"""Files that are no desk: one sentence, and not a byte of them changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError
from tests.helpers import load, numbered, open_desk


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
    assert refusal(path).startswith("a SQLite file of something else")
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
    assert refusal(left / "x.db").startswith("a SQLite file of something else")
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


def test_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith("not a file")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_under_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    refusal(tmp_path / "file" / "desk.db")
    assert snapshot(tmp_path) == {"file": b"x"}


def test_an_empty_file_becomes_a_desk(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.touch()
    desk = open_desk(path)
    assert desk.runs() == []
    desk.close()


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


@contextmanager
def _without_rights() -> Iterator[None]:
    """As somebody else, where the tests run as root and rights would not count."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights of this kind are POSIX's")
def test_a_folder_that_may_not_be_written(public: Path) -> None:
    public.chmod(0o555)
    with _without_rights():
        refusal(public / "desk.db")
    assert list(public.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights of this kind are POSIX's")
def test_a_desk_that_may_not_be_written(public: Path) -> None:
    path = public / "desk.db"
    desk = open_desk(path)
    run = load(desk, numbered(3))
    key = desk.find(run, "v1")
    desk.close()
    path.chmod(0o444)
    public.chmod(0o555)
    before = snapshot(public)
    with _without_rights(), pytest.raises(DeskError) as caught:
        open_desk(path).label(key, Truth.PASS)
    assert "\n" not in str(caught.value)
    assert snapshot(public) == before
