"""Several processes on one desk, one that dies in the middle of its work, and a full disk."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.desk.review.edits import hurry
from reviewdesk.domain.records import Truth
from reviewdesk.errors import BusyError, DeskError
from reviewdesk.system import locks
from tests.helpers import POSIX, contents, label_row, load, numbered, open_desk, spawn

EACH = 25

LABEL = """
import sys
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
desk = Desk.open()
run = desk.run()
keys = [desk.find(run, f"v{i}") for i in range(int(sys.argv[1]), int(sys.argv[2]))]
print("ready", flush=True)
sys.stdin.readline()
for key in keys:
    print(desk.label(key, Truth.PASS).seq, flush=True)
desk.close()
"""

CREATE = """
import sys
from reviewdesk.desk.core import Desk
from tests.helpers import numbered, source
print("ready", flush=True)
sys.stdin.readline()
desk = Desk.open()
print(desk.load(source(numbered(20))).new, flush=True)
desk.close()
"""

TURN = """
import sys
from reviewdesk.desk.core import Desk
desk = Desk.open()
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    print(desk.undo().kind, flush=True)
desk.close()
"""


def together(workers: list[subprocess.Popen[str]]) -> list[list[str]]:
    """Let all workers go once each has said that it is ready; what they printed then."""
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * len(workers), said
    return [out.splitlines() for out, _ in said]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "desk.db"
    with closing(open_desk(found)) as desk:
        load(desk, numbered(4 * EACH))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "reviewers", [("ann",) * 4, ("ann", "ben", "cara", "dan")], ids=["one chain", "four chains"]
)
def test_nothing_is_lost_between_processes(path: Path, reviewers: tuple[str, ...]) -> None:
    said = together(
        [
            spawn(LABEL, path, reviewer, str(place * EACH), str((place + 1) * EACH))
            for place, reviewer in enumerate(reviewers)
        ]
    )
    with closing(open_desk(path)) as desk:
        found = desk.verify()
        assert (found.ok, found.events) == (True, 1 + 4 * EACH)
        assert desk.progress(desk.run()).labelled == 4 * EACH
        chains = Counter(
            row["reviewer"]
            for row in desk.conn.execute(
                "SELECT reviewer FROM label_events WHERE reviewer <> '@desk'"
            )
        )
    assert chains == Counter({name: EACH * reviewers.count(name) for name in reviewers})
    # Every acknowledged place in a chain was given once.
    given = Counter(
        (reviewer, int(seq))
        for reviewer, lines in zip(reviewers, said, strict=True)
        for seq in lines
    )
    assert given == Counter((name, seq) for name in chains for seq in range(1, chains[name] + 1))


@pytest.mark.slow
def test_two_processes_undo_each_action_once(path: Path) -> None:
    with closing(open_desk(path)) as desk:
        run = desk.run()
        for place in range(20):
            desk.label(desk.find(run, f"v{place}"), Truth.FAIL)
    assert together([spawn(TURN, path, "ann", "10") for _ in range(2)]) == [["undo"] * 10] * 2
    with closing(open_desk(path)) as desk:
        assert desk.undo() is None
        assert desk.progress(desk.run()).labelled == 0
        targets = [row[0] for row in desk.conn.execute("SELECT target FROM label_events")]
        assert sorted(target for target in targets if target is not None) == list(range(1, 21))
        assert desk.verify().ok


@pytest.mark.slow
def test_processes_that_make_the_same_desk_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "desk.db"
    said = together([spawn(CREATE, path, "ann") for _ in range(4)])
    # One loads the report, the others find it there.
    assert sorted(line for lines in said for line in lines) == ["False", "False", "False", "True"]
    with closing(open_desk(path)) as desk:
        assert [run.verdicts for run in desk.runs()] == [20]
        assert desk.verify().ok


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
@pytest.mark.parametrize("after", [1, 7])
def test_a_label_that_was_acknowledged_survives_a_kill(path: Path, after: int) -> None:
    worker = spawn(LABEL, path, "ann", "0", str(4 * EACH))
    assert worker.stdin is not None
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    worker.stdin.write("go\n")
    worker.stdin.flush()
    for seq in range(1, after + 1):
        assert worker.stdout.readline() == f"{seq}\n"
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=60)
    assert worker.returncode == -signal.SIGKILL
    with closing(open_desk(path)) as desk:
        run = desk.run()
        rows = desk.rows([desk.find(run, f"v{place}") for place in range(after)])
        assert [row.label for row in rows] == [Truth.PASS] * after
        found = desk.verify()
        assert found.ok
        assert after <= found.events <= 4 * EACH


def test_a_writer_that_waits_in_vain_says_so(path: Path) -> None:
    with closing(open_desk(path)) as first, closing(open_desk(path, "ben")) as second:
        hurry(second, 0)
        key = first.find(first.run(), "v0")
        first.conn.execute("BEGIN IMMEDIATE")
        with pytest.raises(Exception, match="another process is writing"):
            second.label(key, Truth.PASS)
        first.conn.execute("ROLLBACK")
        assert second.label(key, Truth.PASS).seq == 1
        assert second.verify().events == 2


WAIT = """
import sys
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.edits import hurry
from reviewdesk.domain.records import Truth
from reviewdesk.errors import BusyError
desk = Desk.open()
hurry(desk, 0)
key = desk.find(desk.run(), "v0")
try:
    desk.label(key, Truth.PASS)
except BusyError:
    print("waits", flush=True)
sys.stdin.readline()
print(desk.label(key, Truth.PASS).seq, flush=True)
sys.stdin.readline()
"""


@POSIX
def test_a_writer_that_waits_is_served_before_those_that_come(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_RESPECT", 1e6)
    with closing(open_desk(path)) as first, closing(open_desk(path, "ben")) as second:
        hurry(second, 0)
        key = first.find(first.run(), "v0")
        first.conn.execute("BEGIN IMMEDIATE")
        with spawn(WAIT, path, "eve") as waiting:
            assert waiting.stdout is not None
            assert waiting.stdin is not None
            assert waiting.stdout.readline() == "waits\n"
            first.conn.execute("ROLLBACK")
            with pytest.raises(BusyError):
                second.label(key, Truth.FAIL)
            waiting.stdin.write("go\n")
            waiting.stdin.flush()
            assert waiting.stdout.readline() == "1\n"
            assert second.label(key, Truth.FAIL).seq == 1
            waiting.kill()


BESIDE = """
import sys
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.domain.records import Truth
desk = Desk.open()
run = desk.run()
for _ in range(3):
    reader = desk.reader()
    calibration_page(reader, run)
    reader.close()
print("ready", flush=True)
sys.stdin.readline()
print(desk.label(desk.find(run, "v0"), Truth.PASS).seq, flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
def test_a_command_beside_an_open_desk_leaves_it_its_log(tmp_path: Path) -> None:
    # The app reads its figures through connections of its own. Whatever these do, the desk stays
    # locked as in use, or the next command to end would take the log away under the app.
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        load(desk, numbered(3))
    with spawn(BESIDE, path, "ann") as app:
        assert app.stdin is not None
        assert app.stdout is not None
        assert app.stdout.readline() == "ready\n"
        done = subprocess.run(
            [sys.executable, "-m", "reviewdesk", "--desk", str(path), "label", "v1", "fail"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert path.with_name("desk.db-wal").exists()
        app.stdin.write("\n")
        app.stdin.flush()
        app.stdout.readline()
        app.send_signal(signal.SIGKILL)
        app.wait()
    with closing(open_desk(path)) as desk:
        run = desk.run()
        labels = {row.id: row.label for row in desk.rows(desk.queue(run))}
        assert labels == {"v0": Truth.PASS, "v1": Truth.FAIL, "v2": None}
        assert desk.verify().ok


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.label(desk.find(load(desk, numbered(6)), "v1"), Truth.PASS)
    return desk


def limit(desk: Desk, spare: int | None) -> None:
    """Let the file grow by so many pages and no more."""
    pages = desk.conn.execute("PRAGMA page_count").fetchone()[0]
    most = 1 << 30 if spare is None else pages + spare
    desk.conn.execute(f"PRAGMA max_page_count={most}")


def full(work: Callable[[], object]) -> bool:
    """Whether work ended because there was no room; any other error is the test's."""
    try:
        work()
    except DeskError as error:
        if "the disk is full" not in str(error):
            raise
        return True
    return False


def test_an_ingest_is_all_or_nothing_wherever_the_disk_ends(desk: Desk) -> None:
    before, big = contents(desk), numbered(200, report_id="big")
    refused = 0
    limit(desk, 0)
    while full(lambda: load(desk, big)):
        assert contents(desk) == before
        refused += 1
        limit(desk, refused)
    # 200 bodies take many pages of 16 KiB, so the end was met at as many places.
    assert refused > 5
    assert [run.verdicts for run in desk.runs()] == [6, 200]
    assert desk.verify().ok


def test_a_label_that_finds_no_room_is_not_acknowledged(desk: Desk) -> None:
    keys = list(desk.queue(desk.run()))
    limit(desk, 0)
    said = 0
    while not full(partial(desk.label, keys[said % 6], Truth.FAIL, note="n" * 500)):
        said += 1
        assert said < 1000
    found = desk.verify()
    assert (found.ok, found.events) == (True, 2 + said)
    limit(desk, None)
    assert desk.label(keys[0], Truth.PASS).seq == 2 + said
    assert desk.verify().ok


def test_labels_by_the_file_are_all_or_nothing(desk: Desk) -> None:
    run = desk.run()
    before = contents(desk)
    limit(desk, 0)
    rows = [label_row(f"v{n % 6}", f"author {n}" + "x" * 200, Truth.PASS) for n in range(400)]
    with pytest.raises(DeskError, match=r"the disk is full\. What was saved stays"):
        import_labels(desk, run, rows)
    assert contents(desk) == before
    limit(desk, None)
    assert import_labels(desk, run, rows).new == 400
