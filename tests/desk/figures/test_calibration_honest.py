"""The honest figures of a run, against hand counts, direct calls and the public data."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.figures.calibration import FitScope, calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.labels.coverage import RateMethod
from reviewdesk.domain.labels.weighed_rows import make_rows
from reviewdesk.domain.records import Design, Run, Truth
from reviewdesk.domain.stats.correction import rogan_gladen
from reviewdesk.domain.stats.fit import fit
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from reviewdesk.store import figures
from reviewdesk.views.json import figures as shapes
from tests.helpers import SHARED, load, numbered, open_desk, report, verdict

DATA = SHARED / "data"
TRIVIA = "triviaqa-gpt4t"


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
    assert [(one.target, one.labels) for one in page.more] == [
        ("ece", None),
        ("brier", None),
        ("pass_rate", None),
    ]
    assert all(one.reason for one in page.more)
    desk.close()


def test_the_audit_makes_it_an_estimate(tmp_path: Path) -> None:
    desk, run = eighty(tmp_path)
    label(desk, run, rest=False, wrong=10)
    label(desk, run, rest=True)
    page = calibration_page(desk, run)
    assert page.calibration.design is Design.WEIGHTED
    # The audit is 20 of 40 passes and 10 of 20 fails, all judged rightly: 3 + 40 of 80 pass.
    assert page.honest.method is RateMethod.STRATIFIED
    assert page.honest.estimate == pytest.approx(43 / 80)
    assert page.accuracy.estimate == pytest.approx(70 / 80)
    assert page.calibration.headline.accuracy == pytest.approx(70 / 80)
    # n of n at n_eff = n(N-1)/(N-n): 20 * 39 / 20 = 39 and 10 * 19 / 10 = 19. All n right have half
    # a chance of 2.5% at a rate of .05^(1/n), and half of one verdict of 40 or of 20 is added.
    off, over = 0.5 * (1 - 0.05 ** (1 / 39) + 0.5 / 40), 0.25 * (1 - 0.05 ** (1 / 19) + 0.5 / 20)
    assert page.honest.low == pytest.approx(43 / 80 - off)
    assert page.honest.high == pytest.approx(43 / 80 + over)
    assert page.accuracy.low == pytest.approx(70 / 80 - (off**2 + over**2) ** 0.5)
    # 53 of 80 are passed, and the upper end is under that: no further audit is needed.
    assert (page.honest.high or 1) < 53 / 80
    assert page.more[-1].labels == 0
    desk.close()


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
        assert page.fit is not None
        assert page.fit.n == page.calibration.headline.n
        assert page.fit.ece == page.calibration.headline.ece
        assert page.fit.null is not None
        assert f"{page.fit.null.expected:.3f}" in page.gates[0].note
    bare = calibration_page(desk, run, fits=FitScope.NONE)
    assert (bare.fit, bare.alone.fit) == (None, None)
    assert bare.honest == page.honest
    blind = calibration_page(desk, run, fits=FitScope.ALONE)
    assert (blind.fit, blind.alone.fit) == (None, page.alone.fit)
    desk.close()


def test_what_is_told_alone_rests_on_labelled_verdicts_only(tmp_path: Path) -> None:
    told = []
    # The panel's answer to c and d, which nobody labels, is one thing here and another there.
    for name, scores in (("one", (0.1, 0.2)), ("other", (0.9, 0.8))):
        desk = open_desk(tmp_path / f"{name}.db")
        bodies = [verdict("a", 0.9, 0.8), verdict("b", 0.7, 0.9, flagged=True)]
        bodies += [verdict("c", *scores), verdict("d", *scores, flagged=scores[0] > 0.5)]
        run = load(desk, report(*bodies))
        for item, truth in (("a", Truth.PASS), ("b", Truth.FAIL)):
            desk.label(desk.find(run, item), truth, blind=True)
        page = calibration_page(desk, run)
        told.append((page.alone, page.honest))
        desk.close()
    assert told[0][0] == told[1][0]
    assert told[0][0].fit is not None
    assert told[0][0].fit.n == 2
    # The run's own rates do move with them: a blind session must not be shown these.
    assert told[0][1] != told[1][1]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the shared public data are not here")
def test_every_juror_s_own_confusion_gives_the_human_rate(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "desk.db")
    run = load(desk, (DATA / f"{TRIVIA}.report.json").read_bytes(), f"{TRIVIA}.report.json")
    import_labels(desk, run, read_labels(Source.from_path(DATA / f"{TRIVIA}.truth.jsonl")))
    page = calibration_page(desk, run, jurors=False, fits=FitScope.NONE)
    assert page.calibration.design is Design.CENSUS
    line = page.calibration.headline
    assert None not in (line.tp, line.fn, line.youden_j)
    passes, cells = (line.tp or 0) + (line.fn or 0), line.n
    # Rogan and Gladen with one's own confusion is an identity: (o + spec - 1)/J is the base rate.
    assert (line.youden_j or 0) > 0
    assert line.corrected_rate == pytest.approx(passes / cells, abs=1e-9)
    assert page.honest.estimate == pytest.approx(passes / cells, abs=1e-9)
    told = shapes.jurors(jurors_page(desk, run))["jurors"]
    informed = [one for one in told if one["sensitivity"] + one["specificity"] > 1 + 1e-12]
    assert informed
    for one in informed:
        assert one["observed_votes"] == one["votes"]
        deserved = (one["tp"] + one["fn"]) / one["votes"]
        assert one["corrected_rate"] == pytest.approx(deserved, abs=1e-9)
        assert one["observed_rate"] == pytest.approx((one["tp"] + one["fp"]) / one["votes"])
    desk.close()


def test_a_juror_s_rate_is_of_the_whole_run(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "desk.db")
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
    desk.close()
