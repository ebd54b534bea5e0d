"""A desk of an older version: its runs are derived again from their bodies, the draw stands."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.backups import info
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import items
from reviewdesk.domain.labels.chain import STANDING
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.run import window
from reviewdesk.domain.verdict import Decision
from reviewdesk.store import events, schema, verification
from reviewdesk.store.events import NewEvent
from reviewdesk.store.load import rederive
from tests.helpers import (
    SAMPLES,
    contents,
    drop_label_state,
    figures_of,
    load,
    mark,
    mostly_slow,
    numbered,
    open_desk,
    report,
    set_back,
    tag,
    unload,
    unmeasure,
    verdict,
    without_counters,
)

DRAWN = ("stratum", "rank", "draw", "mix", "audit")
ALPHA = {"value": 0.9, "metric": "krippendorff_alpha"}
FILES = [
    report(
        verdict("share", 0.9, 0.2, agreement={"value": 1.0, "metric": "pairwise"}),
        verdict("lined", 0.9, 0.2, agreement=ALPHA),
        verdict("null", 0.9, 0.2, agreement={"value": None, "metric": "r_wg"}),
        verdict("word", 0.9, 0.2, band="high"),
        verdict("against", 0.9, 0.8, agreement=ALPHA, band="low"),
        verdict("ours", 0.9, 0.2),
        verdict("nobody", None, decision=None, score=None),
        *(verdict(f"v{n}", n / 20, 0.5) for n in range(12)),
    ),
    *((SAMPLES / name).read_bytes() for name in ("support-bot.jsonl", "code-review.json")),
]


def outdated(desk: Desk) -> None:
    """Take the desk back to the schema before, with what other rules might have derived."""
    desk.conn.execute(
        """UPDATE verdicts SET band = 'low', agreement = -2, flags = flags | 8, marks = 0,
             decision = 'fail', passes = 9, margin = NULL, range = 7 WHERE pos % 2 = 0"""
    )
    desk.conn.execute(
        """UPDATE runs SET passed = 0, failed = verdicts, failed_ballots = 99,
             confidence_source = 'vote_share', notes = '["a note of the reader"]'"""
    )
    desk.conn.execute("UPDATE packed SET decision = zeroblob(length(decision))")
    desk.conn.execute("UPDATE measures SET alpha = 7, names = '[]'")
    schema.drop_views(desk.conn)
    for name in ("agreement_source", "ours_band"):
        desk.conn.execute(f"ALTER TABLE verdicts DROP COLUMN {name}")
    unload(desk.conn)
    drop_label_state(desk.conn)
    set_back(desk.conn, "pair_agreement_and_band")


def rows(desk: Desk, table: str) -> list[dict[str, Any]]:
    return [dict(row) for row in desk.conn.execute(f"SELECT * FROM {table} ORDER BY rowid")]


@pytest.mark.slow
@pytest.mark.parametrize("window", [1, 4, 500])
def test_it_equals_fresh_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    # A window of one or four parts every run; the middle run does not begin at the first key.
    monkeypatch.setattr(rederive, "BATCH", window)
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        for data in FILES:
            load(desk, data)
        desk.label(desk.find(desk.run("run"), "share"), Truth.PASS)
        fresh = rows(desk, "verdicts")
        log = [row[1:] for row in contents(desk)["label_events"] if row[2] == "ann"]
        counts = rows(desk, "runs")
        kept = {name: contents(desk)[name] for name in ("packed", "measures", "strata", "bodies")}
        outdated(desk)
        # As if the draw had been made by what the older version derived.
        desk.conn.execute("UPDATE verdicts SET stratum = 5 - stratum, rank = rank + 100")
        drawn = [tuple(row[name] for name in DRAWN) for row in rows(desk, "verdicts")]
    with closing(open_desk(path)) as desk:
        found = rows(desk, "verdicts")
        assert [tuple(row[name] for name in DRAWN) for row in found] == drawn
        derived = [{k: v for k, v in row.items() if k not in DRAWN} for row in found]
        assert derived == [{k: v for k, v in row.items() if k not in DRAWN} for row in fresh]
        # A draw of an older version counts no decided verdicts by stratum: the last two columns.
        again = {name: contents(desk)[name] for name in kept}
        assert [row[:4] for row in again.pop("strata")] == [row[:4] for row in kept.pop("strata")]
        assert again == kept
        found_log = [row[1:] for row in contents(desk)["label_events"]]
        assert [row for row in found_log if row[1] == "ann"] == log
        covered = desk.conn.execute("SELECT count(*) FROM label_events WHERE kind = 'run'")
        assert covered.fetchone()[0] == len(FILES)
        notes = [json.loads(row.pop("notes")) for row in rows(desk, "runs")]
        assert all(found[0] == "a note of the reader" for found in notes)
        assert notes[0][1:] == json.loads(counts[0]["notes"])
        for row, before in zip(rows(desk, "runs"), counts, strict=True):
            # The content hash covers the draw, which differs, and was of verdicts.
            assert row.pop("content") != before.pop("content")
            assert row.pop("contents") is None
            assert before.pop("contents") is not None
            assert row | {"notes": ""} == before | {"notes": ""}
        assert verification.objects(desk.conn) == verification.layout()
        assert desk.verify().ok
        assert not desk.conn.in_transaction


def test_a_verdict_that_lost_its_decision_keeps_its_stratum_without_weight(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        run = load(desk, report(*(verdict(f"v{n}", 0.9, 0.8, 0.7) for n in range(4))))
        lost = desk.queue(run, order="file")[0]
        for key in desk.queue(run):
            desk.label(key, Truth.PASS)
        assert figures_of(desk, run).design is Design.CENSUS
        # What its body says is decided neither way by the present rules, whatever was stored.
        body = json.loads(
            desk.conn.execute("SELECT body FROM bodies WHERE verdict = ?", (lost,)).fetchone()[0]
        )
        body |= {"decision": "inconclusive"}
        text = json.dumps(body)
        desk.conn.execute("UPDATE bodies SET body = ? WHERE verdict = ?", (text, lost))
        outdated(desk)
    with closing(open_desk(path)) as desk:
        run = desk.run()
        (row,) = desk.rows([lost])
        assert (row.decision, row.stratum) == (Decision.INCONCLUSIVE, "rest/pass")
        assert desk.conn.execute("SELECT passed, failed, flagged FROM runs").fetchone()[:] == (
            3, 0, 0,
        )  # fmt: skip
        found = figures_of(desk, run)
        # Three labels stand for the four of the stratum: the fourth is a non-response.
        assert (found.design, found.no_verdict) == (Design.WEIGHTED, 1)
        assert found.population is not None
        assert (found.population.n, found.population.accuracy) == (3, 1.0)
        assert found.population.ess == pytest.approx(3)


def test_a_run_without_measures_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        load(desk, FILES[0])
        kept = {name: contents(desk)[name] for name in ("packed", "measures")}
        outdated(desk)
        desk.conn.execute("DELETE FROM measures")
        desk.conn.execute("DELETE FROM packed")
    with closing(open_desk(path)) as desk:
        assert {name: contents(desk)[name] for name in kept} == kept
        assert desk.rows(desk.queue(desk.run(), "id~share"))[0].band is None


@dataclass(frozen=True)
class Older:
    """A desk of the first three migrations: its log and the head that was shown."""

    path: Path
    log: list[tuple[Any, ...]]
    head: str


def log(desk: Desk) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in desk.conn.execute("SELECT * FROM label_events ORDER BY key")]


@pytest.fixture
def older(tmp_path: Path) -> Older:
    with closing(open_desk(tmp_path / "desk.db")) as desk:
        run = load(desk, numbered(3))
        place = desk.find(run, "v1")
        desk.label(place, Truth.PASS, note="n")
        desk.defer(desk.find(run, "v0"))
        desk.note(place, "taken back")
        desk.undo()
        # A tag as a labels file had it, before there was one spelling.
        said = NewEvent(
            "label", desk.at(), label=Truth.PASS, author="cara", detail={"tags": ["A B"]}
        )
        events.append(desk.conn, "ann", [items.about(desk, place, said)[1]])
    without_counters(desk.path)
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as conn:
        conn.row_factory = sqlite3.Row
        unmeasure(conn)
        for name in ("search", "indexed_runs", "case_tags", "seen", "filters", "kept_settings"):
            conn.execute(f"DROP TABLE {name}")
        conn.execute("PRAGMA user_version=3")
        conn.execute("DELETE FROM migrations WHERE rowid > 3")
        rows = conn.execute("SELECT * FROM label_events ORDER BY key")
        return Older(desk.path, [tuple(row) for row in rows], verification.head(conn))


def test_an_older_desk_is_whole_after_the_migration(older: Older) -> None:
    desk = open_desk(older.path)
    assert desk.verify(older.head).ok
    *same, counted, covered = log(desk)
    assert same == older.log
    assert counted[2:5] == ("@desk", 1, "counted")
    assert covered[2:5] == ("@desk", 2, "run")
    assert verification.objects(desk.conn) == verification.layout()
    assert older.path.with_name("desk.db.schema-3.backup").exists()


def test_what_stood_in_an_older_desk_stands(older: Older) -> None:
    desk = open_desk(older.path)
    found = desk.item(desk.find(desk.run(), "v1"))
    assert (found.row.label, found.note) == (Truth.PASS, "n")
    assert (found.tags, found.other_tags, found.row.marked) == ((), ("a-b",), False)
    assert desk.rows([desk.find(desk.run(), "v0")])[0].deferred


def test_an_older_desk_takes_tags_and_marks(older: Older) -> None:
    desk = open_desk(older.path)
    place = desk.find(desk.run(), "v1")
    tag(desk, place, ["new"])
    mark(desk, place, on=True)
    assert (desk.item(place).tags, desk.item(place).row.marked) == (("new",), True)
    undone = [desk.undo() for _ in range(3)]
    names = ["mark", "tags new", "label pass"]
    assert [event.detail["was"] for event in undone if event] == names
    found = desk.item(place)
    # The note that was taken back before the migration stays so.
    assert (found.note, found.tags, found.other_tags, found.row.marked) == ("n", (), (), False)
    assert desk.verify(older.head).ok


def test_the_view_holds_the_kinds_that_stand(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "desk.db")
    place = desk.find(load(desk, numbered(1)), "v0")
    kinds = (*STANDING, "reveal", "undo", "redo")
    entries = [items.about(desk, place, NewEvent(kind, desk.at()))[1] for kind in kinds]
    events.append(desk.conn, "ann", entries)
    standing = [row["kind"] for row in desk.conn.execute("SELECT kind FROM standing_events")]
    assert sorted(standing) == sorted(STANDING)


@pytest.fixture
def desk(desk: Desk) -> Desk:
    load(desk, numbered(40))
    return desk


@pytest.mark.parametrize(
    ("edit", "problem"),
    mostly_slow(
        [
            # Of 40 verdicts: the first, one of the middle, the last, and all of them.
            *(
                (f"DELETE FROM {table} WHERE {column} = {key}", "is not what was loaded; ")
                for table, column in (("verdicts", "key"), ("bodies", "verdict"))
                for key in (1, 20, 40)
            ),
            ("DELETE FROM verdicts", "is not what was loaded; "),
            ("DELETE FROM strata WHERE stratum = 0", "is not what was loaded; its header, counts"),
            ("DELETE FROM packed", "is not what was loaded; packed decision"),
            ("DELETE FROM measures", "the desk contains a value of a wrong kind"),
            ("DELETE FROM runs WHERE key = 1", "is in the log and not in the desk"),
        ]
    ),
)
def test_verify_names_a_run_of_which_rows_were_deleted(desk: Desk, edit: str, problem: str) -> None:
    load(desk, numbered(3, report_id="other"))
    desk.conn.execute("PRAGMA foreign_keys=OFF")
    assert desk.conn.execute(edit).rowcount > 0
    problems = desk.verify().problems
    assert [line for line in problems if line.startswith(f"run run: {problem}")]


def test_any_desk_has_the_content_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for size in (3, 7, 500):
        monkeypatch.setattr(window, "SIZE", size)
        with closing(open_desk(tmp_path / f"{size}.db")) as desk:
            load(desk, numbered(size, report_id="before"))
            run = load(desk, numbered(20, report_id="big"))
            query = "SELECT content FROM runs WHERE key = ?"
            found.add(desk.conn.execute(query, (run.key,)).fetchone()[0])
    assert len(found) == 1


def test_desk_info_as_text_and_json(desk: Desk) -> None:
    assert json.loads(json.dumps(info(desk)))["loading"] == []
