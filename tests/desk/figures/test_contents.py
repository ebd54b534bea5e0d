"""Contents are what is drawn, weighed and counted: verdicts on one content share one label."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.figures.strip import LiveStrip
from reviewdesk.desk.figures.two_panels import panel_comparison
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.desk.labels.rows import full_rows, score_rows, suite_rows
from reviewdesk.domain.records import Design, Run, Truth
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.stratified import part_interval
from reviewdesk.store.load import ingest
from tests.desk.figures.test_strip import agree
from tests.helpers import load, open_desk, report, verdict

SEED = "7"


def repeated(times: dict[str, int], **more: Any) -> bytes:
    """A report with ``times`` verdicts on each content; every content is of a test of its own."""
    bodies = [
        verdict(f"{name}#{i}", **{**_content(name), **more})
        for name, count in times.items()
        for i in range(count)
    ]
    return report(*bodies)


def _content(name: str) -> dict[str, Any]:
    return {"input": f"q {name}", "output": f"a {name}", "case": {"test": name}}


def loaded(tmp_path: Path, data: bytes) -> tuple[Desk, Run]:
    desk = open_desk(tmp_path / "desk.db")
    return desk, load(desk, data, seed=SEED)


def test_fifty_verdicts_on_one_content_are_one_label(tmp_path: Path) -> None:
    desk, run = loaded(tmp_path, repeated({f"c{i}": 50 for i in range(8)}))
    with closing(desk):
        for i in range(8):
            desk.label(desk.find(run, f"c{i}#0"), Truth.PASS)
        page = calibration_page(desk, run)
        found = page.calibration
        assert (found.design, found.headline.n, found.headline.ess) == (Design.CENSUS, 8, 8.0)
        assert (found.headline.tp, found.rowless) == (8, 0)
        assert [(one.size, one.labelled, one.weight) for one in page.strata] == [(8, 8, 1.0)]
        # Eight labels without an error: n/(n + t²) of Wilson's interval, t = 2.3646 at 7 degrees.
        assert page.such is not None
        assert page.such.accuracy.low == pytest.approx(8 / (8 + 2.3646**2), abs=1e-4)
        assert (page.such.counted, page.such.tests) == (8, 8)
        # The bin holds eight labels and not 400.
        assert page.fit is not None
        assert [(one.n, one.ess) for one in page.fit.bins] == [(8, 8.0)]
        juror = jurors_page(desk, run).jurors[0]
        assert juror.drawn.such.accuracy.low == page.such.accuracy.low
        assert juror.drawn.kappa is None
        assert what_if(desk, run).rows[0].n_labelled == 8
        progress = desk.progress(run)
        assert (progress.labelled, progress.verdicts, progress.left) == (8, 8, 0)


def test_a_content_is_drawn_in_the_stratum_of_its_first_flagged_verdict(tmp_path: Path) -> None:
    bodies = [
        verdict("a0", **_content("a")),
        verdict("a1", 0.1, 0.2, 0.3, flagged=True, **_content("a")),
        verdict("b0", 0.1, 0.2, 0.3, **_content("b")),
        verdict("b1", **_content("b")),
        verdict("c0", **_content("c")),
        verdict("c1", flagged=True, **_content("c")),
    ]
    desk, run = loaded(tmp_path, report(*bodies))
    with closing(desk):
        rows = desk.rows(desk.queue(run, order="file"))
        strata = ["flagged/fail"] * 2 + ["rest/fail"] * 2 + ["flagged/pass"] * 2
        assert [row.stratum for row in rows] == strata
        assert (run.flagged, run.contents, run.verdicts) == (2, 3, 6)
        # The verdicts on a content follow each other, and the flagged one leads.
        order = [row.id for row in desk.rows(desk.queue(run))]
        assert [order[at : at + 2] for at in (0, 2, 4)] in (
            [["a1", "a0"], ["b0", "b1"], ["c1", "c0"]],
            [["c1", "c0"], ["b0", "b1"], ["a1", "a0"]],
            [["a1", "a0"], ["c1", "c0"], ["b0", "b1"]],
            [["c1", "c0"], ["a1", "a0"], ["b0", "b1"]],
        )
        # One label of b gives a row to a fail and to a pass of the panel.
        desk.label(desk.find(run, "b1"), Truth.PASS)
        line = desk.calibration(run).labelled
        assert (line.n, line.tp, line.fn, line.accuracy) == (1, 0.5, 0.5, 0.5)


def test_contents_are_ranked_by_seed_and_item_hash(tmp_path: Path) -> None:
    desk, _ = loaded(tmp_path, repeated({"a": 3, "b": 1, "c": 2, "d": 1}))
    with closing(desk):
        rows = desk.conn.execute("SELECT item, stratum, rank, audit FROM verdicts").fetchall()
        places = {row["item"].hex(): row["rank"] for row in rows}
        order = sorted(places, key=lambda item: hashlib.sha256((SEED + item).encode()).digest())
        assert [places[item] for item in order] == [0, 1, 2, 3]
        # One verdict stands for each content.
        assert sum(row["audit"] < 2 for row in rows) == 4


def test_rates_are_ratios_over_contents(tmp_path: Path) -> None:
    desk, run = loaded(tmp_path, repeated({f"c{i}": i + 1 for i in range(40)}))
    with closing(desk):
        strip, given = LiveStrip(), list[tuple[int, bool]]()
        leads = desk.conn.execute(
            "SELECT key, item, id FROM verdicts WHERE audit < 2 ORDER BY rank LIMIT 10"
        ).fetchall()
        for at, row in enumerate(leads):
            desk.label(row["key"], Truth.FAIL if at % 3 == 0 else Truth.PASS)
            given.append((int(row["id"].partition("#")[0][1:]) + 1, at % 3 != 0))
            # The strip follows each label as it counts anew.
            agree(strip, desk, run)
        found = desk.calibration(run)
        assert (found.design, found.headline.n) == (Design.WEIGHTED, 10)
        # Each of ten contents stands for four of forty, so that the weights cancel.
        right = sum(n for n, is_right in given if is_right)
        assert found.headline.accuracy == pytest.approx(right / sum(n for n, _ in given))
        page = calibration_page(desk, run)
        assert page.intervals is not None
        assert page.intervals.accuracy.estimate == pytest.approx(found.headline.accuracy)
        mass = [n for n, _ in given]
        worth = sum(mass) ** 2 / sum(n * n for n in mass)
        assert found.headline.ess == pytest.approx(worth)
        # The interval is no narrower than that of so many contents of one size.
        p, ends = right / sum(mass), page.intervals.accuracy
        low, high = part_interval(Part(40 * worth / 10, worth, p * worth))
        assert ends.low <= low + 1e-9
        assert ends.high >= high - 1e-9


def test_exports_name_the_content_and_say_what_they_cannot(tmp_path: Path) -> None:
    desk, run = loaded(tmp_path, repeated({f"c{i}": 5 for i in range(8)}))
    with closing(desk):
        for i in range(8):
            desk.label(desk.find(run, f"c{i}#0"), Truth.PASS)
        full = full_rows(desk, run, None).rows
        assert (len(full), len({row["item_hash"] for row in full})) == (40, 8)
        assert {(row["weight"], row["pi"], row["test"][0]) for row in full} == {(1.0, 1.0, "c")}
        assert any(
            "40 rows rest on 8 labels" in one for one in score_rows(desk, run, None).warnings
        )
        suite = suite_rows(desk, run, None)
        assert (suite.cells.tp, len(suite.rows)) == (8, 40)


def test_two_panels_on_repeated_contents_are_compared_by_label(tmp_path: Path) -> None:
    times = {f"c{i}": 20 for i in range(4)}
    desk, run = loaded(tmp_path, repeated(times))
    with closing(desk):
        wrong = [
            verdict(f"{name}#{i}", 0.1, 0.2, 0.3, **_content(name))
            for name in times
            for i in range(20)
        ]
        other = load(desk, report(*wrong, report_id="other"), seed=SEED)
        for name in times:
            desk.label(desk.find(run, f"{name}#0"), Truth.PASS)
        found = panel_comparison(desk, run, other)
        assert (found.items, found.difference.labelled) == (80, 4)
        # Four labels on one side: 2 · (1/2)^4 / 2.
        assert found.p == pytest.approx(2 * 0.5**4 / 2)


def test_a_draw_of_verdicts_stays_and_weighs_by_the_chance_of_its_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = repeated({"a": 4, "b": 1, "c": 1, "d": 2, "e": 1, "f": 1})
    with monkeypatch.context() as then:
        # As an older version loaded it.
        made = ingest.NewRun

        def older(**facts: Any) -> ingest.NewRun:
            return made(**{**facts, "by_verdict": True})

        then.setattr("reviewdesk.desk.loading.NewRun", older)
        desk, run = loaded(tmp_path, data)
    with closing(desk):
        rows = desk.conn.execute("SELECT id, item, rank FROM verdicts ORDER BY rank").fetchall()
        assert [row["rank"] for row in rows] == list(range(10))
        strip, labelled = LiveStrip(), set[bytes]()
        for row in rows[:3]:
            if row["item"] not in labelled:
                labelled.add(row["item"])
                desk.label(desk.find(run, row["id"]), Truth.PASS)
                agree(strip, desk, run)
        k = next(row["rank"] for row in rows if row["item"] not in labelled)
        times = {row["item"]: sum(one["item"] == row["item"] for one in rows) for row in rows}
        for row in full_rows(desk, run, None).rows:
            n, missed = times[bytes.fromhex(row["item_hash"])], 1.0
            # 1 - C(10 - n, k)/C(10, k): the chance that one of its n verdicts is in the prefix.
            for i in range(n):
                missed *= (10 - k - i) / (10 - i)
            assert row["pi"] == pytest.approx(1 - missed)
            assert row["weight"] == pytest.approx(1 / (1 - missed))
        assert desk.progress(run).verdicts == 10
        assert desk.verify().ok
