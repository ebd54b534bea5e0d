"""What is taken out of a desk, planted in it or put back is found by ``verify`` or refused."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.domain.records import Truth
from reviewdesk.errors import ReviewDeskError
from tests.helpers import load, numbered, open_desk
from tests.store.test_log_audit import Attack, sql

ATTACKS: dict[str, Attack] = {
    "changed strata": sql("UPDATE strata SET size = size + 1"),
    "drawn into the audit": sql("UPDATE verdicts SET audit = 1 - audit WHERE pos = 2"),
    "body removed": sql("DELETE FROM bodies WHERE verdict = 2"),
    "verdict removed": sql("DELETE FROM verdicts WHERE pos = 4"),
    "header changed": sql("UPDATE runs SET header = '{}'"),
    "seed changed": sql("UPDATE runs SET seed = 'x'"),
    "added trigger": sql(
        "CREATE TRIGGER planted AFTER INSERT ON label_events BEGIN SELECT 1; END"
    ),
    "migration forgotten": sql("DELETE FROM migrations WHERE rowid = 15"),
    "migration invented": sql("INSERT INTO migrations VALUES ('theirs', '2025-01-01')"),
    "added view": sql("CREATE VIEW planted AS SELECT 1 AS x"),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "desk.db"
    with closing(open_desk(path)) as desk:
        run = load(desk, numbered(5))
        for name in ("v0", "v1", "v2"):
            desk.label(desk.find(run, name), Truth.PASS)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "desk.db"))


def is_found(path: Path, expected: str | None = None) -> bool:
    """Whether the desk is refused in a sentence, or ``verify`` names a problem."""
    try:
        with closing(open_desk(path)) as desk:
            return not desk.verify(expected).ok
    except ReviewDeskError:
        return True


def test_the_desk_is_whole_before(path: Path) -> None:
    assert not is_found(path)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_change_is_found(path: Path, name: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        before = list(conn.iterdump())
        ATTACKS[name](conn)
        # An attack that changes nothing would prove nothing.
        assert list(conn.iterdump()) != before
    assert is_found(path)


def test_an_older_copy_is_found_by_the_expected_head(path: Path) -> None:
    older = Path(shutil.copy(path, path.with_name("older.db")))
    with closing(open_desk(path)) as desk:
        desk.label(desk.find(desk.run(), "v3"), Truth.FAIL)
        head = desk.verify().head
    assert not is_found(path, head)
    assert not is_found(older)
    assert is_found(older, head)
