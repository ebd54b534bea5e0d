"""What can be read of a damaged desk is carried into a new one, and what was lost is listed."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from reviewdesk.desk.backups import Repaired, repair_desk
from reviewdesk.desk.core import found_damage
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.records import Truth
from reviewdesk.errors import ReviewDeskError, UsageError
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from reviewdesk.store import schema
from reviewdesk.store.connect import APPLICATION_ID
from reviewdesk.store.repair import carry
from reviewdesk.store.verification import NOT_HERE
from tests.helpers import Clock, load, mostly_slow, numbered, open_desk, source

PAGE = 16384
LABELLED = 300
EVENTS = LABELLED + 3
"""The labels, a note, and one event for each of two runs."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A desk of two runs, 300 labels of two people, a long note, and a draft."""
    path = tmp_path_factory.mktemp("whole") / "desk.db"
    with closing(open_desk(path)) as ann, closing(open_desk(path, "bob")) as bob:
        run = load(ann, numbered(400))
        load(ann, numbered(50, report_id="second"))
        for number in range(LABELLED):
            desk = bob if number % 10 == 0 else ann
            desk.label(desk.find(run, f"v{number}"), Truth.PASS, note="n" * (number * 10 % 900))
        ann.note(ann.find(run, "v1"), "x" * 3 * PAGE)
    return path.read_bytes()


def hashes(path: Path, which: str = "1") -> list[str]:
    query = f"SELECT hash FROM label_events WHERE {which} ORDER BY key"
    with closing(sqlite3.connect(path)) as conn:
        return [row[0] for row in conn.execute(query)]


def leaves(data: bytes, wanted: bytes) -> list[int]:
    pages = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
    return [n for n, page in enumerate(pages, start=1) if page[:1] == b"\x0d" and wanted in page]


def without(data: bytes, *pages: int) -> bytes:
    for page in pages:
        data = data[: (page - 1) * PAGE] + b"\xff" * PAGE + data[page * PAGE :]
    return data


def repaired(folder: Path, data: bytes) -> Repaired:
    """Repair a file of these bytes, which stays as it is, and hold the new desk to its hashes."""
    damaged, new = folder / "desk.db", folder / "new.db"
    damaged.write_bytes(data)
    found = repair_desk(damaged, new, Clock(), lambda *_: None, replaced=True)
    assert damaged.read_bytes() == data
    with closing(open_desk(new)) as desk:
        checked = desk.verify()
        bad = [problem for problem in checked.problems if not problem.endswith(NOT_HERE)]
        assert (bad, checked.events) == ([], found.events)
        assert desk.head() == found.head
    return found


@pytest.mark.slow
def test_a_sound_desk_is_carried_whole(tmp_path: Path, whole: bytes) -> None:
    found = repaired(tmp_path, whole)
    assert (found.lost, found.runs, found.events) == ((), ("run", "second"), EVENTS)
    assert hashes(tmp_path / "new.db") == hashes(tmp_path / "desk.db")
    with closing(open_desk(tmp_path / "new.db")) as desk:
        # 30 of the labels are bob's; the label of an item counts whoever gave it.
        assert desk.progress(desk.run("run")).labelled == LABELLED
        assert not desk.load(source(numbered(400))).new
    assert not list(tmp_path.glob(".reviewdesk-*"))


@pytest.mark.parametrize(
    "head", mostly_slow([bytes(100), b"\xff" * 100, b"SQLite format 3\0" + bytes(84)])
)
def test_a_lost_header_costs_nothing(tmp_path: Path, whole: bytes, head: bytes) -> None:
    found = repaired(tmp_path, head + whole[100:])
    assert (found.lost, found.events, len(found.runs)) == ((), EVENTS, 2)


def test_without_the_first_page_the_log_is_there(tmp_path: Path, whole: bytes) -> None:
    found = repaired(tmp_path, without(whole, 1))
    assert (found.runs, found.events) == ((), EVENTS)
    assert "runs: not all could be read; load their reports again" in found.lost
    again = "could not be read; load its report again, and its labels are there"
    assert {f"run run: {again}", f"run second: {again}"} < {*found.lost}
    with closing(open_desk(tmp_path / "new.db")) as desk:
        # Labels belong to items, so they are back with the report.
        assert desk.progress(load(desk, numbered(400))).labelled == LABELLED


def test_a_lost_root_of_the_log_costs_no_event(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "desk.db").write_bytes(whole)
    with closing(sqlite3.connect(tmp_path / "desk.db")) as conn:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'label_events'"
        (root,) = conn.execute(query).fetchone()
    found = repaired(tmp_path, without(whole, root))
    assert (found.lost, found.events) == ((), EVENTS)


def test_labels_behind_a_lost_page_go_into_a_labels_file(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "desk.db").write_bytes(whole)
    with closing(open_desk(tmp_path / "desk.db")) as desk:
        event = desk.conn.execute("SELECT hash FROM label_events WHERE key = 150").fetchone()[0]
    found = repaired(tmp_path, without(whole, leaves(whole, event.encode())[0]))
    (ann,) = (line for line in found.lost if line.startswith("events of ann: the chain ends early"))
    (bob,) = (line for line in found.lost if line.startswith("events of bob: the chain ends early"))
    assert "of 271" in ann
    assert "of 30" in bob
    labels = tmp_path / "new-labels.jsonl"
    rows = read_labels(Source.from_path(labels))
    assert any(f"{labels}: {len(rows)} labels" in line for line in found.lost)
    with closing(open_desk(tmp_path / "new.db")) as desk:
        kept = desk.progress(desk.run("run")).labelled
        import_labels(desk, desk.run("run"), rows)
        assert desk.progress(desk.run("run")).labelled == kept + len(rows)
        # Only what was on the lost page itself is gone: fewer than a hundred labels.
        assert LABELLED - 100 < kept + len(rows) < LABELLED


@pytest.mark.parametrize("changed", [False, True])
def test_the_readable_verdicts_of_a_run_that_is_not_whole_go_into_a_report(
    tmp_path: Path, whole: bytes, changed: bool
) -> None:
    data = without(whole, leaves(whole, b'"answer v200"')[0])
    if changed:
        data = whole.replace(b'"answer v77"', b'"answer w77"')
    found = repaired(tmp_path, data)
    assert found.runs == ("second",)
    (line,) = found.lost
    kept = tmp_path / "new-run-1.json"
    assert line.startswith(f"run run: is incomplete; load its report again; {kept} has the ")
    with closing(open_desk(tmp_path / "new.db")) as desk:
        left = load(desk, kept.read_bytes())
        # A body has more than 300 bytes, so a page of 16,384 has fewer than 55 of them.
        assert left.name == "run (repaired)"
        assert 400 - 55 < left.verdicts <= 400
        assert desk.progress(left).labelled > LABELLED - 55
        assert load(desk, numbered(400)).name == "run"
    # A second repair would not write over what the first one saved.
    (tmp_path / "new.db").unlink()
    with pytest.raises(UsageError, match=r"new-run-1\.json: already exists"):
        repair_desk(tmp_path / "desk.db", tmp_path / "new.db", Clock(), lambda *_: None)


def test_a_row_that_is_refused_costs_no_other(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "desk.db").write_bytes(whole)
    with closing(sqlite3.connect(tmp_path / "desk.db", isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode=DELETE")
        for number in range(3):
            conn.execute("INSERT INTO filters VALUES ('ann', ?, 'esc')", (f"f{number}",))
    with (
        closing(sqlite3.connect(":memory:")) as source,
        closing(open_desk(tmp_path / "target.db")) as desk,
    ):
        sqlite3.connect(tmp_path / "desk.db").backup(source)
        desk.conn.execute(
            """CREATE TRIGGER refuse BEFORE INSERT ON filters WHEN NEW.name = 'f1'
               BEGIN SELECT RAISE(ABORT, 'no'); END"""
        )
        found = carry(source, desk.conn, ["filters"], lambda *_: None)
        names = [row[0] for row in desk.conn.execute("SELECT name FROM filters ORDER BY name")]
    assert (found, names) == (["filters"], ["f0", "f2"])


@pytest.mark.parametrize(
    ("change", "lost"),
    mostly_slow(
        [
            ("UPDATE meta SET value = 'ffff' WHERE key = 'desk_id'", ""),
            ("UPDATE runs SET name = 'other' WHERE name = 'run'", "run other: is incomplete"),
            ("UPDATE verdicts SET pos = 7 WHERE pos = 3 AND run = 1", "run run: is incomplete"),
            (
                "INSERT INTO reruns VALUES (1, 1, '2025-01-31', 0, '{}')",
                "re-run 1: is not as it was",
            ),
            (
                "UPDATE sqlite_master SET sql = 'x' WHERE name = 'drafts'",
                "drafts: not all rows could",
            ),
        ]
    ),
)
def test_what_belies_the_log_is_out(tmp_path: Path, whole: bytes, change: str, lost: str) -> None:
    (tmp_path / "desk.db").write_bytes(whole)
    with closing(sqlite3.connect(tmp_path / "desk.db", isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode=DELETE")
        conn.execute("PRAGMA writable_schema=ON")
        conn.execute(change)
    found = repaired(tmp_path, (tmp_path / "desk.db").read_bytes())
    assert found.events == EVENTS
    assert [line[: len(lost)] for line in found.lost] == [lost] * bool(lost)
    assert "second" in found.runs


@pytest.mark.parametrize("left", [0.97, 0.8, 0.5, 0.1])
def test_a_cut_file_gives_what_is_before_the_cut(tmp_path: Path, whole: bytes, left: float) -> None:
    found = repaired(tmp_path, whole[: int(len(whole) * left)])
    assert found.lost
    assert found.events < EVENTS


def test_a_log_that_is_gone_costs_what_it_held(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "live.db"
    path.write_bytes(whole)
    with closing(open_desk(path)) as desk:
        desk.label(desk.find(desk.run("run"), "v350"), Truth.FAIL)
        # While it is open the label is in the write-ahead log alone.
        data, log = path.read_bytes(), path.with_name("live.db-wal").read_bytes()
    assert repaired(tmp_path, data).events == EVENTS
    (tmp_path / "desk.db-wal").write_bytes(log)
    assert repaired(tmp_path, data).events == EVENTS + 1


def test_an_older_desk_is_repaired_and_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    conn = sqlite3.connect(path, isolation_level=None)
    for pragma in ("page_size=16384", f"application_id={APPLICATION_ID}"):
        conn.execute(f"PRAGMA {pragma}")
    schema.lay_out(conn)
    conn.execute("DROP TABLE kept_settings")
    conn.execute("ALTER TABLE verdicts DROP COLUMN ours_band")
    conn.execute("PRAGMA user_version=8")
    conn.execute("INSERT INTO drafts VALUES (x'00', 'ann', 'half a note')")
    conn.close()
    found = repaired(tmp_path, bytes(16) + path.read_bytes()[16:])
    assert found.lost == ()
    with closing(sqlite3.connect(found.path)) as new:
        assert new.execute("SELECT text FROM drafts").fetchone() == ("half a note",)
        assert new.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)


@pytest.mark.parametrize("spoil", [lambda _: b"", lambda data: data[:50], lambda _: b"text" * 9])
def test_a_file_that_was_no_desk_gives_an_empty_one_or_a_sentence(
    tmp_path: Path, whole: bytes, spoil: Callable[[bytes], bytes]
) -> None:
    with suppress(ReviewDeskError):
        assert repaired(tmp_path, spoil(whole)).events == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_damaged_no_event_is_invented(tmp_path: Path, whole: bytes, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - dice, not secrets
    patches = [
        (dice.randrange(10**9), dice.randbytes(dice.randint(1, 600)))
        for _ in range(dice.randint(1, 12))
    ]
    cut, cuts = dice.random(), seed % 2
    data = bytearray(whole)
    for place, patch in patches:
        at = place % (len(data) - len(patch))
        data[at : at + len(patch)] = patch
    (tmp_path / "sound.db").write_bytes(whole)
    known = set(hashes(tmp_path / "sound.db"))
    with suppress(ReviewDeskError):
        found = repaired(tmp_path, bytes(data[: int(len(data) * cut)] if cuts else data))
        # The desk itself adds that it loaded what could be read of a run.
        assert set(hashes(found.path, "reviewer <> '@desk'")) <= known


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
