"""The honest figures of a run, against hand counts, direct calls and the public data."""

import hashlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.cli.plain import document_text
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page, skipped
from reviewdesk.desk.figures.jurors import jurors_page, panel_comparison
from reviewdesk.desk.figures.strip import LiveStrip
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.desk.labels.rows import full_rows, score_rows, suite_rows
from reviewdesk.desk.review import edits
from reviewdesk.domain.labels.label_columns import make_rows
from reviewdesk.domain.records import Blocker, Design, Run, Truth
from reviewdesk.domain.stats.correction import rogan_gladen
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.rates import part_interval
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.errors import UsageError
from reviewdesk.store import figures
from reviewdesk.store.load import ingest
from reviewdesk.views.calibration import calibration
from reviewdesk.views.json import figures as shapes
from tests.desk.figures.test_strip import agree
from tests.helpers import figures_of, load, numbered, open_desk, report, verdict


def eighty(folder: Path) -> tuple[Desk, Run]:
    """20 flagged (13 pass, 7 fail) and 60 of the rest (40 pass, 20 fail), 30 of them to audit."""
    desk = open_desk(folder / "desk.db")
    return desk, load(desk, numbered(80))


def label(desk: Desk, run: Run, *, rest: bool, wrong: int = 0) -> None:
    """Label the flagged, or the audit, as the panel decided but for the first few passes."""
    for row in desk.rows(desk.queue(run)):
        if row.stratum.startswith("rest") is not rest or (rest and not row.audit):
            continue
        assert row.decision is not None
        said = Truth(row.decision.value)
        if said is Truth.PASS and wrong:
            said, wrong = Truth.FAIL, wrong - 1
        desk.label(row.key, said)


def test_escalated_labels_alone_bound_the_run_and_no_more(tmp_path: Path) -> None:
    desk, run = eighty(tmp_path)
    label(desk, run, rest=False, wrong=10)
    page = calibration_page(desk, run)
    assert page.calibration.design is Design.ESCALATED_ONLY
    assert page.calibration.population is None
    # Of the 20 flagged, 13 passes less 10 wrong ones deserve a pass; the 60 others may or may not.
    assert page.honest.estimate is None
    assert (page.honest.low, page.honest.high) == pytest.approx((3 / 80, 63 / 80))
    assert page.honest.reason == "describes escalated verdicts only"
    assert page.accuracy.estimate is None
    assert (page.accuracy.low, page.accuracy.high) == pytest.approx((10 / 80, 70 / 80))


def test_the_audit_makes_it_an_estimate(tmp_path: Path) -> None:
    desk, run = eighty(tmp_path)
    label(desk, run, rest=False, wrong=10)
    label(desk, run, rest=True)
    page = calibration_page(desk, run)
    assert page.calibration.design is Design.WEIGHTED
    # The audit is 20 of 40 passes and 10 of 20 fails, all judged rightly: 3 + 40 of 80 pass.
    assert page.honest.estimate == pytest.approx(43 / 80)
    assert page.accuracy.estimate == pytest.approx(70 / 80)
    assert page.calibration.headline.accuracy == pytest.approx(70 / 80)
    # n of n at n_eff = n(N-1)/(N-n): 20 * 39 / 20 = 39 and 10 * 19 / 10 = 19. All n right have half
    # a chance of 2.5% at a rate of .05^(1/n), and half of one verdict of 40 or of 20 is added.
    off, over = 0.5 * (1 - 0.05 ** (1 / 39) + 0.5 / 40), 0.25 * (1 - 0.05 ** (1 / 19) + 0.5 / 20)
    assert page.honest.low == pytest.approx(43 / 80 - off)
    assert page.honest.high == pytest.approx(43 / 80 + over)
    assert page.accuracy.low == pytest.approx(70 / 80 - (off**2 + over**2) ** 0.5)


def test_the_fit_is_that_of_the_rows_behind_the_headline(tmp_path: Path) -> None:
    desk, run = eighty(tmp_path)
    label(desk, run, rest=False, wrong=4)
    for rest in (False, True):
        if rest:
            label(desk, run, rest=True, wrong=3)
        page = calibration_page(desk, run)
        made = make_rows(
            figures.labelled(desk.conn, run.key), figures.run_figures(desk.conn, run.key)
        )
        assert page.fit == fit(made.rows.weighted(made.weights) if rest else made.rows)
        assert page.fit.n == page.calibration.headline.n
        assert page.fit.ece == page.calibration.headline.ece
        assert page.fit.null is not None
        assert f"{page.fit.null.expected:.3f}" in page.gates[0].note


def test_a_juror_s_rate_is_of_the_whole_run(desk: Desk) -> None:
    pairs = [(0.9, 0.8), (0.9, 0.2), (0.1, 0.8), (0.1, 0.3), (0.9, None), (0.9, 0.9)]
    # A seed that draws v0 before v4 and v5.
    data = report(*(verdict(f"v{i}", *pair) for i, pair in enumerate(pairs)))
    run = load(desk, data, seed="2")
    for at, truth in enumerate(("pass", "pass", "pass", "fail")):
        desk.label(desk.find(run, f"v{at}"), Truth(truth))
    first, second = shapes.jurors(jurors_page(desk, run))["jurors"]
    # The panel passes v0 v4 v5, of which v0 alone has a label, so it stands for three; it fails v1
    # v2 v3, all labelled. j1 passes v0 v1 v4 v5 of six: sensitivity (3 + 1)/(3 + 2), specificity 1.
    assert (first["observed_rate"], first["observed_votes"]) == (pytest.approx(4 / 6), 6)
    assert first["sensitivity"] == pytest.approx(4 / 5)
    assert first["corrected_rate"] == pytest.approx(rogan_gladen(4 / 6, 4 / 5, 1.0)[0])
    assert first["corrected_status"] == "ok"
    # j2 did not vote on v4, so v0 stands for two: passes v0 v2 v5 of five, sensitivity 3/4: 0.8.
    assert (second["observed_rate"], second["observed_votes"]) == (pytest.approx(3 / 5), 5)
    assert second["corrected_rate"] == pytest.approx(0.8)


def run_of(desk: Desk, count: int = 30) -> Run:
    """A run of verdicts that all pass and that nothing flags: one stratum, in one order."""
    return load(desk, report(*(verdict(f"v{at:02d}", 0.9, 0.8, 0.9) for at in range(count))))


def page_of(desk: Desk, run: Run) -> tuple[Blocker, ...]:
    return calibration_page(desk, run, jurors=False).blockers


def test_the_item_and_the_number_of_labels_behind_it_are_named(desk: Desk) -> None:
    run, strip = run_of(desk), LiveStrip()
    keys = [*desk.queue(run, "", "draw")]
    ids = [row.id for row in desk.rows(keys)]
    for key in keys[:3]:
        desk.label(key, Truth.PASS)
    assert page_of(desk, run) == strip.read(desk, run).blockers == ()
    # The fourth is left out; the sixth as well.
    for key in (keys[4], *keys[6:10]):
        desk.label(key, Truth.PASS)
        assert strip.read(desk, run).blockers == page_of(desk, run)
    assert page_of(desk, run) == (Blocker(keys[3], ids[3], 5),)
    desk.label(keys[3], Truth.FAIL)
    # Now the fifth counts, and four wait for the sixth.
    assert page_of(desk, run) == (Blocker(keys[5], ids[5], 4),)
    assert strip.read(desk, run).blockers == page_of(desk, run)
    text = document_text(calibration(calibration_page(desk, run), full=True))
    assert f"Decide {ids[5]}: until then, 4 labels do not count." in text
    desk.label(keys[5], Truth.UNSURE)
    assert page_of(desk, run) == strip.read(desk, run).blockers == ()
    desk.undo()
    assert page_of(desk, run) == strip.read(desk, run).blockers != ()


def test_a_label_that_nobody_saw_stops_the_draw_like_none(desk: Desk) -> None:
    run = run_of(desk)
    keys = [*desk.queue(run, "", "draw")]
    edits.Edit("label", keys[0], {"seen": False}, Truth.PASS)(desk)
    desk.label(keys[1], Truth.PASS)
    assert [(one.key, one.waiting) for one in page_of(desk, run)] == [(keys[0], 1)]
    assert [(one.key, one.waiting) for one in skipped(desk, run)] == [(keys[0], 1)]


def test_a_blind_session_names_the_same_item_whatever_the_panel_said(tmp_path: Path) -> None:
    found = []
    for name, low in (("one", 0.9), ("two", 0.1)):
        with closing(open_desk(tmp_path / f"{name}.db")) as desk:
            bodies = [
                verdict(f"v{at:02d}", *((low,) * 3 if at % 3 else (0.9,) * 3)) for at in range(30)
            ]
            run = load(desk, report(*bodies))
            keys = [*desk.queue(run, "", "mix")]
            assert skipped(desk, run) == ()
            for key in (*keys[:4], *keys[5:12]):
                desk.label(key, Truth.PASS)
            (one,) = skipped(desk, run)
            assert (one.key, one.waiting, one.before) == (keys[4], 7, True)
            found.append(one)
    assert found[0] == found[1]


def test_closing_needs_two_deferrals_of_the_same_reviewer(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    with closing(open_desk(path)) as desk, closing(Desk.open(path, reviewer="ben")) as ben:
        key = desk.queue(run_of(desk), "", "draw")[0]
        for _ in range(2):
            with pytest.raises(UsageError, match="you have not deferred it twice"):
                desk.close_item(key)
            desk.defer(key)
            ben.defer(key)
        desk.undo()
        with pytest.raises(UsageError, match="you have not deferred it twice"):
            desk.close_item(key)
        desk.redo()
        made = desk.close_item(key)
        assert (made.label, made.detail["closed"]) == (Truth.UNSURE, True)
        assert desk.rows([key])[0].label is Truth.UNSURE
        desk.undo()
        assert desk.rows([key])[0].label is None
        assert desk.verify().ok


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


def test_fifty_verdicts_on_one_content_are_one_label(desk: Desk) -> None:
    run = load(desk, repeated({f"c{i}": 50 for i in range(8)}), seed=SEED)
    for i in range(8):
        desk.label(desk.find(run, f"c{i}#0"), Truth.PASS)
    page = calibration_page(desk, run)
    found = page.calibration
    assert (found.design, found.headline.n, found.headline.ess) == (Design.CENSUS, 8, 8.0)
    assert found.headline.tp == 8
    assert [(one.size, one.labelled, one.weight) for one in page.strata] == [(8, 8, 1.0)]
    # Eight labels without an error: n/(n + t²) of Wilson's interval, t = 2.3646 at 7 degrees.
    assert page.such.accuracy.low == pytest.approx(8 / (8 + 2.3646**2), abs=1e-4)
    assert (page.such.counted, page.such.tests) == (8, 8)
    # The bin holds eight labels and not 400.
    assert [(one.n, one.ess) for one in page.fit.bins] == [(8, 8.0)]
    juror = jurors_page(desk, run).jurors[0]
    assert juror.drawn.such.accuracy.low == page.such.accuracy.low
    assert juror.drawn.kappa is None
    assert what_if(desk, run).rows[0].n_labelled == 8
    progress = desk.progress(run)
    assert (progress.labelled, progress.verdicts, progress.left) == (8, 8, 0)


def test_a_content_is_drawn_in_the_stratum_of_its_first_flagged_verdict(desk: Desk) -> None:
    bodies = [
        verdict("a0", **_content("a")),
        verdict("a1", 0.1, 0.2, 0.3, flagged=True, **_content("a")),
        verdict("b0", 0.1, 0.2, 0.3, **_content("b")),
        verdict("b1", **_content("b")),
        verdict("c0", **_content("c")),
        verdict("c1", flagged=True, **_content("c")),
    ]
    run = load(desk, report(*bodies), seed=SEED)
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
    line = figures_of(desk, run).labelled
    assert (line.n, line.tp, line.fn, line.accuracy) == (1, 0.5, 0.5, 0.5)


def test_contents_are_ranked_by_seed_and_item_hash(desk: Desk) -> None:
    load(desk, repeated({"a": 3, "b": 1, "c": 2, "d": 1}), seed=SEED)
    rows = desk.conn.execute("SELECT item, stratum, rank, audit FROM verdicts").fetchall()
    places = {row["item"].hex(): row["rank"] for row in rows}
    order = sorted(places, key=lambda item: hashlib.sha256((SEED + item).encode()).digest())
    assert [places[item] for item in order] == [0, 1, 2, 3]
    # One verdict stands for each content.
    assert sum(row["audit"] < 2 for row in rows) == 4


@pytest.mark.slow
def test_rates_are_ratios_over_contents(desk: Desk) -> None:
    run = load(desk, repeated({f"c{i}": i + 1 for i in range(40)}), seed=SEED)
    strip, given = LiveStrip(), list[tuple[int, bool]]()
    leads = desk.conn.execute(
        "SELECT key, item, id FROM verdicts WHERE audit < 2 ORDER BY rank LIMIT 10"
    ).fetchall()
    for at, row in enumerate(leads):
        desk.label(row["key"], Truth.FAIL if at % 3 == 0 else Truth.PASS)
        given.append((int(row["id"].partition("#")[0][1:]) + 1, at % 3 != 0))
        # The strip follows each label as it counts anew.
        agree(strip, desk, run)
    found = figures_of(desk, run)
    assert (found.design, found.headline.n) == (Design.WEIGHTED, 10)
    # Each of ten contents stands for four of forty, so that the weights cancel.
    right = sum(n for n, is_right in given if is_right)
    assert found.headline.accuracy == pytest.approx(right / sum(n for n, _ in given))
    page = calibration_page(desk, run)
    assert page.intervals.accuracy.estimate == pytest.approx(found.headline.accuracy)
    mass = [n for n, _ in given]
    worth = sum(mass) ** 2 / sum(n * n for n in mass)
    assert found.headline.ess == pytest.approx(worth)
    # The interval is no narrower than that of so many contents of one size.
    p, ends = right / sum(mass), page.intervals.accuracy
    low, high = part_interval(Part(40 * worth / 10, worth, p * worth))
    assert ends.low <= low + 1e-9
    assert ends.high >= high - 1e-9


def test_exports_name_the_content_and_say_what_they_cannot(desk: Desk) -> None:
    run = load(desk, repeated({f"c{i}": 5 for i in range(8)}), seed=SEED)
    for i in range(8):
        desk.label(desk.find(run, f"c{i}#0"), Truth.PASS)
    full = full_rows(desk, run, None).rows
    assert (len(full), len({row["item_hash"] for row in full})) == (40, 8)
    assert {(row["weight"], row["pi"], row["test"][0]) for row in full} == {(1.0, 1.0, "c")}
    assert any("40 rows rest on 8 labels" in one for one in score_rows(desk, run, None).warnings)
    suite = suite_rows(desk, run, None)
    assert (suite.cells.tp, len(suite.rows)) == (8, 40)


def test_two_panels_on_repeated_contents_are_compared_by_label(desk: Desk) -> None:
    times = {f"c{i}": 20 for i in range(4)}
    run = load(desk, repeated(times), seed=SEED)
    wrong = [
        verdict(f"{name}#{i}", 0.1, 0.2, 0.3, **_content(name)) for name in times for i in range(20)
    ]
    other = load(desk, report(*wrong, report_id="other"), seed=SEED)
    for name in times:
        desk.label(desk.find(run, f"{name}#0"), Truth.PASS)
    found = panel_comparison(desk, run, other)
    assert (found.items, found.difference.labelled) == (80, 4)
    # Four labels on one side: 2 · (1/2)^4 / 2.
    assert found.p == pytest.approx(2 * 0.5**4 / 2)


def test_a_draw_of_verdicts_stays_and_weighs_by_the_chance_of_its_contents(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = repeated({"a": 4, "b": 1, "c": 1, "d": 2, "e": 1, "f": 1})
    with monkeypatch.context() as then:
        # As an older version loaded it.
        made = ingest.NewRun

        def older(**facts: Any) -> ingest.NewRun:
            return made(**{**facts, "by_verdict": True})

        then.setattr("reviewdesk.desk.loading.NewRun", older)
        run = load(desk, data, seed=SEED)
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
