"""Backups that are made by themselves, and putting one back."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from reviewdesk.app.controllers.jobs import BACKUP
from reviewdesk.desk import backups
from reviewdesk.desk.backups import after_labels, info, restore
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
from reviewdesk.errors import Cancelled, DeskError, UsageError
from reviewdesk.settings import Settings
from reviewdesk.store.repair import is_in_use
from tests.app.reviewkit import Review
from tests.helpers import START, Clock, contents, load, mostly_slow, numbered, open_desk, spawn

HOLD = """
import sys
from reviewdesk.desk.core import Desk
desk = Desk.open()
desk.runs()
print("ready", flush=True)
sys.stdin.readline()
desk.close()
"""


def going(_share: object) -> bool:
    return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(tmp_path: Path, clock: Clock) -> Iterator[Desk]:
    with closing(open_desk(tmp_path / "desk.db", clock=clock)) as found:
        load(found, numbered(6))
        yield found


def label(desk: Desk, name: str = "v1") -> None:
    desk.label(desk.find(desk.run(), name), Truth.PASS)


def names(desk: Desk) -> list[str]:
    folder = backups.folder(desk.path)
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def tomorrow(clock: Clock) -> None:
    clock.time += timedelta(days=1)


def test_a_backup_is_made_on_the_day_after_labels_and_only_then(desk: Desk, clock: Clock) -> None:
    assert after_labels(desk, going, 7) is None
    label(desk)
    assert after_labels(desk, going, 7) is None
    tomorrow(clock)
    made = after_labels(desk, going, 7)
    # The labels are of 31 January.
    assert made == desk.path.parent / "backups" / "desk-2025-02-01.db"
    assert made.stat().st_mode & 0o777 == 0o600
    with closing(open_desk(made)) as copy:
        assert (copy.verify().ok, copy.head()) == (True, desk.head())
    assert after_labels(desk, going, 7) is None
    tomorrow(clock)
    assert after_labels(desk, going, 7) is None, "nothing was labelled since"
    label(desk, "v2")
    assert after_labels(desk, going, 7) is None, "today's labels wait for the day to end"
    tomorrow(clock)
    assert after_labels(desk, going, 7) is not None
    assert names(desk) == ["desk-2025-02-01.db", "desk-2025-02-03.db"]


def test_the_newest_are_kept_and_other_files_are_left_alone(desk: Desk, clock: Clock) -> None:
    backups.folder(desk.path).mkdir()
    others = ["desk-mine.db", "desk-two-2025-01-01.db", "desk-2025-01-01.db.bak"]
    for name in others:
        (backups.folder(desk.path) / name).touch()
    for _ in range(5):
        label(desk)
        tomorrow(clock)
        after_labels(desk, going, 3)
    dated = [f"desk-2025-02-0{day}.db" for day in (3, 4, 5)]
    assert names(desk) == sorted(others + dated)


@pytest.mark.parametrize("steps", mostly_slow([1, 0, 2]))
def test_a_stopped_backup_leaves_nothing(desk: Desk, clock: Clock, steps: int) -> None:
    load(desk, numbered(3000, report_id="big"))
    label(desk)
    tomorrow(clock)
    asked = count()
    with pytest.raises(Cancelled):
        after_labels(desk, lambda _share: next(asked) < steps, 7)
    assert names(desk) == []
    assert after_labels(desk, going, 7) is not None


@pytest.mark.slow
def test_writers_go_on_while_a_backup_is_made(desk: Desk, clock: Clock) -> None:
    load(desk, numbered(3000, report_id="big"))
    label(desk)
    tomorrow(clock)
    head = desk.head()
    with closing(open_desk(desk.path, "bob")) as bob:
        bob.conn.execute("PRAGMA busy_timeout=0")
        keys = iter(bob.queue(bob.run()))

        def labels(_share: object) -> bool:
            bob.label(next(keys), Truth.FAIL)
            return True

        made = after_labels(desk, labels, 7)
    assert made is not None
    with closing(open_desk(made)) as copy:
        assert (copy.verify().ok, copy.head()) == (True, head)


def test_of_a_large_desk_what_people_made_is_copied(desk: Desk, clock: Clock) -> None:
    label(desk)
    desk.note(desk.find(desk.run(), "v2"), "a note")
    tomorrow(clock)
    with pytest.raises(Cancelled):
        after_labels(desk, lambda _share: False, 7, small=1000)
    assert names(desk) == []
    made = after_labels(desk, going, 7, small=1000)
    assert made is not None
    assert made.name == "desk-2025-02-01-labels.db"
    with closing(open_desk(made)) as copy:
        assert copy.verify().problems == ("run run: is in the log and not in the desk",)
        assert (copy.head(), copy.runs()) == (desk.head(), [])
        run = load(copy, numbered(6))
        assert copy.progress(run).labelled == 1
        copy.label(copy.find(run, "v5"), Truth.FAIL)
        assert copy.verify(desk.head()).ok


def test_opening_the_review_makes_one(desk: Desk, clock: Clock) -> None:
    label(desk)
    tomorrow(clock)
    Review(desk, desk.run(), settings=Settings(backups=0))
    assert names(desk) == []
    review = Review(desk, desk.run(), begun=False)
    review.controller.look_around()
    review.quietly("quit")
    assert BACKUP in review.runner.started
    assert BACKUP not in review.runner.waiting
    assert names(desk) == []
    Review(desk, desk.run())
    assert names(desk) == ["desk-2025-02-01.db"]


def test_the_backups_of_a_shared_desk_are_shared(desk: Desk, clock: Clock) -> None:
    desk.path.chmod(0o660)
    label(desk)
    tomorrow(clock)
    made = after_labels(desk, going, 7)
    assert made is not None
    assert made.stat().st_mode & 0o777 == 0o660
    assert made.parent.stat().st_mode & 0o777 == 0o770


def test_info_names_the_newest_backup(desk: Desk, clock: Clock) -> None:
    assert "backup" not in info(desk)
    label(desk)
    tomorrow(clock)
    made = after_labels(desk, going, 7)
    assert info(desk)["backup"] == str(made)


def test_restore_keeps_the_desk_that_it_replaces(desk: Desk, clock: Clock, tmp_path: Path) -> None:
    label(desk)
    kept, before = tmp_path / "kept.db", contents(desk)
    desk.backup(kept)
    copied = desk.head()
    label(desk, "v2")
    after = desk.head()
    desk.close()
    first, runs = restore(desk.path, kept, clock, force=False)
    assert (first is not None, runs) == (True, 1)
    with closing(open_desk(desk.path)) as now:
        assert (now.head(), contents(now)) == (copied, before)
    assert first is not None
    with closing(open_desk(first)) as aside:
        assert (aside.head(), aside.verify().ok) == (after, True)
    assert kept.exists()
    second, _ = restore(desk.path, kept, lambda: START, force=False)
    third, _ = restore(desk.path, kept, lambda: START, force=False)
    assert len({first, second, third}) == 3


def test_restore_refuses_a_desk_open_elsewhere(desk: Desk, clock: Clock, tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"
    desk.backup(kept)
    desk.close()
    before = desk.path.read_bytes()
    child = spawn(HOLD, desk.path, "bob")
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(DeskError, match="another process has it open"):
            restore(desk.path, kept, clock, force=False)
        child.communicate("\n")
    assert not is_in_use(desk.path)
    assert desk.path.read_bytes() == before
    assert restore(desk.path, kept, clock, force=False)[0] is not None


def test_restore_refuses_what_is_not_whole_unless_forced(
    desk: Desk, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad.db"
    desk.backup(bad)
    with closing(sqlite3.connect(bad, isolation_level=None)) as conn:
        conn.execute("UPDATE verdicts SET score = 0.123 WHERE id = 'v1'")
    desk.close()
    files = sorted(tmp_path.iterdir())
    with pytest.raises(DeskError, match="is damaged: run run"):
        restore(desk.path, bad, clock, force=False)
    with monkeypatch.context() as patched:
        # Root may write every file.
        patched.setattr("os.access", lambda *_, **_how: False)
        with pytest.raises(DeskError, match="is read-only"):
            restore(desk.path, bad, clock, force=True)
    assert sorted(tmp_path.iterdir()) == files
    assert restore(desk.path, bad, clock, force=True)[1] == 1
    with pytest.raises(UsageError, match="is the desk itself"):
        restore(desk.path, desk.path, clock, force=False)
    (tmp_path / "text").write_text("no desk" * 30)
    with pytest.raises(DeskError, match="not a desk file"):
        restore(desk.path, tmp_path / "text", clock, force=False)
    with closing(sqlite3.connect(bad)) as conn:
        conn.execute("PRAGMA user_version=99")
    with pytest.raises(DeskError, match=r"bad\.db: made by a newer"):
        restore(desk.path, bad, clock, force=True)


def test_restore_replaces_an_unreadable_desk(desk: Desk, clock: Clock, tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"
    desk.backup(kept)
    desk.close()
    damaged = b"\xff" * 40_000
    desk.path.write_bytes(damaged)
    found, _ = restore(desk.path, kept, clock, force=False)
    assert found is not None
    assert found.read_bytes() == damaged
    with closing(open_desk(desk.path)) as now:
        assert now.verify().ok
