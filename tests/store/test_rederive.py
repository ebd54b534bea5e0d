"""A desk of an older version: its runs are derived again from their bodies, the draw stands."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import Desk
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.store import audit, schema
from reviewdesk.store.load import rederive
from tests.helpers import (
    SAMPLES,
    contents,
    drop_label_state,
    hide_public_views,
    load,
    open_desk,
    report,
    unload,
    verdict,
)

DRAWN = ("stratum", "rank", "draw", "mix", "audit")
ALPHA = {"value": 0.9, "metric": "krippendorff_alpha"}
SHARE = {"value": 1.0, "metric": "pairwise"}
FILES = [
    report(
        verdict("share", 0.9, 0.2, agreement=SHARE),
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
    hide_public_views(desk.conn)
    for name in ("agreement_source", "ours_band"):
        desk.conn.execute(f"ALTER TABLE verdicts DROP COLUMN {name}")
    place = schema.MIGRATIONS.index(schema.pair_agreement_and_band)
    unload(desk.conn)
    drop_label_state(desk.conn)
    desk.conn.execute(f"PRAGMA user_version={place}")
    for later in schema.MIGRATIONS[place:]:
        desk.conn.execute("DELETE FROM migrations WHERE name = ?", (later.__name__,))


def rows(desk: Desk, table: str) -> list[dict[str, Any]]:
    return [dict(row) for row in desk.conn.execute(f"SELECT * FROM {table} ORDER BY rowid")]


@pytest.mark.slow
@pytest.mark.parametrize("window", [1, 4, 500])
def test_it_equals_a_fresh_load_but_for_the_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
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
        assert audit.objects(desk.conn) == audit.made_objects()[-1]
        assert desk.verify().ok
        assert not desk.conn.in_transaction


def test_a_verdict_that_lost_its_decision_keeps_its_stratum_and_weighs_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        run = load(desk, report(*(verdict(f"v{n}", 0.9, 0.8, 0.7) for n in range(4))))
        lost = desk.queue(run, order="file")[0]
        for key in desk.queue(run):
            desk.label(key, Truth.PASS)
        assert desk.calibration(run).design is Design.CENSUS
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
        found = desk.calibration(run)
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
