"""The jurors of a run over time, from reports and labels to the page."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.domain.jurors.facts import JurorFacts, JurorsPage, Windows
from reviewdesk.domain.records import Run, Truth
from reviewdesk.views.json import figures
from tests.helpers import Clock, load, open_desk, report, verdict


def opened(folder: Path, *bodies: dict[str, Any], **header: Any) -> tuple[Desk, Run]:
    desk = open_desk(folder / "desk.db")
    return desk, load(desk, report(*bodies, **header))


def say(desk: Desk, run: Run, truth: str, *names: str) -> None:
    for name in names:
        desk.label(desk.find(run, name), Truth(truth))


def by_name(page: JurorsPage) -> dict[str, JurorFacts]:
    return {one.name: one for one in page.jurors}


def unread(name: str, score: float) -> dict[str, Any]:
    """Two jurors, the second of whom sent what could not be read."""
    seats = [
        {"id": "j1", "score": score},
        {"id": "j2", "status": "parse_fail", "error": {"message": "no JSON"}},
    ]
    return verdict(name, jurors=seats, score=score, decision="pass")


def test_a_page_by_hand(tmp_path: Path) -> None:
    desk, run = opened(
        tmp_path,
        verdict("a", 0.9, 0.2, 0.7),
        verdict("b", 0.1, 0.8, 0.3),
        unread("c", 0.7),
        verdict("d", 0.9, None),
    )
    say(desk, run, "fail", "a")
    say(desk, run, "pass", "b")
    page = jurors_page(desk, run)
    assert (page.labels, page.basis.labels, page.basis.days) == (2, 2, None)
    j1, j2 = by_name(page)["j1"], by_name(page)["j2"]
    # a passes, and j2 alone is against it, rightly; b fails, and j2 again.
    assert (j1.counts.fp, j1.counts.fn, j2.counts.tn, j2.counts.tp) == (1, 1, 1, 1)
    assert (j2.labelled_dissent.k, j2.labelled_dissent.n) == (2, 2)
    assert (j1.kappa, j1.weight) == (None, None)
    # On d j2 timed out, on c it was unreadable; over all four verdicts.
    assert (j2.seats.seats, j2.seats.failed, j2.seats.parse_failed) == (4, 2, 1)
    assert j2.parse_failures.share == 0.25
    assert (j1.seats.seats, j1.seats.failed) == (4, 0)
    # j1: .9 - .45 and .1 - .55; j2: .2 - .8 and .8 - .2; c and d have no second score.
    assert j1.offset is not None
    assert j2.offset is not None
    assert (j1.offset.n, j2.offset.n) == (2, 2)
    assert j1.offset.mean == pytest.approx((0.45 - 0.45) / 2)
    assert j2.offset.mean == pytest.approx(0)
    assert by_name(page)["j3"].seats.seats == 2
    desk.close()


def test_a_run_without_labels_has_its_jurors(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, verdict("a", 0.9, 0.5))
    page = jurors_page(desk, run)
    assert [(one.name, one.counts.votes) for one in page.jurors] == [("j1", 0), ("j2", 0)]
    desk.close()


def test_a_run_without_jurors_has_a_page(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, verdict("a", jurors=[], score=0.9, decision="pass"))
    say(desk, run, "pass", "a")
    assert jurors_page(desk, run).jurors == ()
    desk.close()


def shifted(name: str, by: float) -> dict[str, Any]:
    """j1 scores ``by`` above the two others, who waver a little from case to case."""
    step = (sum(name.encode()) % 5) / 100
    return verdict(name, round(0.4 + by + step, 3), 0.4, 0.4)


def test_this_run_is_held_against_the_earlier_ones(tmp_path: Path) -> None:
    desk, first = opened(tmp_path, *(shifted(f"v{i}", 0.0) for i in range(30)), report_id="one")
    load(desk, report(*(shifted(f"w{i}", 0.0) for i in range(20)), report_id="two"))
    last = load(desk, report(*(shifted(f"x{i}", 0.3) for i in range(25)), report_id="three"))
    found = by_name(jurors_page(desk, last))["j1"].offset
    assert found is not None
    drift = found.drift
    assert drift is not None
    assert (drift.windows, drift.runs, drift.before, drift.after) == (Windows.EARLIER, 2, 50, 25)
    assert drift.change == pytest.approx(0.3, abs=0.02)
    assert drift.q is not None
    assert drift.q < 1e-6
    # Its first verdict is over the limit already: .3 is twenty of the usual deviations.
    assert drift.alarm == desk.find(last, "x0")
    shape = figures.jurors(jurors_page(desk, last))
    assert shape["jurors"][0]["drift"]["alarm"] == "x0"
    # The first run has none before it, and nothing moved within it.
    own = by_name(jurors_page(desk, first))["j1"].offset
    assert own is not None
    assert own.drift is not None
    assert (own.drift.windows, own.drift.before, own.drift.after) == (Windows.HALVES, 15, 15)
    assert own.drift.alarm is None
    desk.close()


def test_a_removed_run_is_no_past(tmp_path: Path) -> None:
    desk, first = opened(tmp_path, *(shifted(f"v{i}", 0.0) for i in range(4)), report_id="one")
    again = load(desk, report(*(shifted(f"v{i}", 0.1) for i in range(4)), report_id="two"))
    assert jurors_page(desk, again).repeated == 4
    desk.remove(first)
    page = jurors_page(desk, again)
    offset = by_name(page)["j1"].offset
    assert offset is not None
    assert offset.drift is not None
    assert offset.drift.windows is Windows.HALVES
    assert (page.repeated, page.volatile) == (0, ())
    desk.close()


def twenty(kind: str) -> list[dict[str, Any]]:
    """Ten that deserve to pass, ten that do not; j1 is right on 18, j2 on none."""
    return [
        verdict(f"{kind}{i}", *((0.9, 0.1) if (i < 10) != (i in {0, 10}) else (0.1, 0.9)))
        for i in range(20)
    ]


def test_weights_of_a_window_are_from_its_labels(tmp_path: Path) -> None:
    clock = Clock()
    desk = open_desk(tmp_path / "desk.db", clock=clock)
    run = load(desk, report(*twenty("a"), *twenty("b")))
    say(desk, run, "pass", *(f"a{i}" for i in range(10)))
    say(desk, run, "fail", *(f"a{i}" for i in range(10, 20)))
    # A fortnight later everything is judged the other way round.
    clock.time += timedelta(days=14)
    say(desk, run, "fail", *(f"b{i}" for i in range(10)))
    say(desk, run, "pass", *(f"b{i}" for i in range(10, 20)))
    every, recent = jurors_page(desk, run), jurors_page(desk, run, window=7)
    assert (every.basis.labels, recent.basis.labels, recent.basis.days) == (40, 20, 7)
    # Over all labels either juror is right on half: no kappa above 0, and alike. In the window j1
    # is right on 2 of 20 (kappa -.8, clipped) and j2 on 18 (kappa .8): mean .4, so
    # j1 20/40·.4 = .2 and j2 .4 + .2 = .6.
    assert [one.weight for one in every.jurors] == pytest.approx([0.5, 0.5])
    assert recent.basis.mean == pytest.approx(0.4)
    assert [one.weight for one in recent.jurors] == pytest.approx([0.25, 0.75])
    # The rest of the page is over all labels.
    assert [one.counts for one in recent.jurors] == [one.counts for one in every.jurors]
    desk.close()


def test_a_disputed_label_counts_for_nobody(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, verdict("a", 0.9, 0.2), verdict("b", 0.9, 0.2))
    say(desk, run, "pass", "a", "b")
    other = open_desk(tmp_path / "desk.db", reviewer="bob")
    say(other, run, "fail", "a")
    other.close()
    page = jurors_page(desk, run)
    assert page.labels == 1
    assert by_name(page)["j1"].counts.votes == 1
    desk.close()


def test_cases_that_move_between_runs(tmp_path: Path) -> None:
    desk, run = opened(
        tmp_path,
        verdict("steady", 0.8, 0.8),
        verdict("moves", 0.9, 0.9),
        verdict("once", 0.9),
        report_id="one",
    )
    load(
        desk,
        report(verdict("steady", 0.8, 0.8), verdict("moves", 0.3, 0.3), report_id="two"),
    )
    page = jurors_page(desk, run)
    assert page.repeated == 2
    moves, steady = page.volatile
    assert (moves.id, moves.turned, steady.id, steady.turned) == ("moves", True, "steady", False)
    assert moves.scores == (("one", 0.9), ("two", 0.3))
    # About .6: squares .09 + .09.
    assert moves.sd == pytest.approx(0.18**0.5)
    assert moves.swing == pytest.approx(0.6)
    assert (steady.sd, steady.swing) == (0, 0)
    desk.close()


def test_the_shape_is_plain_json(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, verdict("a", 0.9, 0.2), verdict("b", 0.8, 0.3))
    say(desk, run, "pass", "a", "b")
    shape = json.loads(json.dumps(figures.jurors(jurors_page(desk, run)), allow_nan=False))
    assert [(one["id"], one["n"], one["specificity"]) for one in shape["jurors"]] == [
        ("j1", 2, None),
        ("j2", 2, None),
    ]
    assert (shape["jurors"][0]["specificity_low"], shape["jurors"][0]["specificity_high"]) == (0, 1)
    assert shape["weights_basis"]["applied"] is False
    assert shape["volatile"] == []
    desk.close()


def drawn_in_part(folder: Path) -> tuple[Desk, Run]:
    """20 flagged and 60 others; all flagged and the audit of 30 have a label, as the queue asks.

    j1 follows the panel; j2 is against it on every flagged verdict and with it on the others. What
    is flagged was decided wrongly, and all else rightly.
    """
    bodies = [
        verdict(f"v{i}", 0.9, 0.1 if i < 20 else 0.9, 0.9, flagged=i < 20, decision="pass")
        for i in range(80)
    ]
    desk, run = opened(folder, *bodies)
    for row in desk.rows(desk.queue(run)):
        if row.audit or row.stratum.startswith("flagged"):
            flagged = row.stratum.startswith("flagged")
            desk.label(row.key, Truth.FAIL if flagged else Truth.PASS)
    return desk, run


def test_labels_of_the_queue_stand_for_the_run(tmp_path: Path) -> None:
    desk, run = drawn_in_part(tmp_path)
    shape = figures.jurors(jurors_page(desk, run))
    one, two, three = shape["jurors"]
    assert {juror["design"] for juror in shape["jurors"]} == {"weighted"}
    # Each label once j1 is right on 30 of 50; in the run on 60 of 80.
    assert one["labelled"]["accuracy"] == pytest.approx(0.6)
    assert one["accuracy"] == one["population"]["accuracy"] == pytest.approx(0.75)
    assert one["accuracy_low"] < 0.75
    assert one["such_items"]["accuracy_low"] < one["accuracy_low"]
    assert (one["tp"], one["fn"], one["tn"], one["fp"]) == (30, 0, 0, 20)
    # j2 is right throughout, and its 20 dissents, each alone, were all right: all are labelled.
    assert (two["accuracy"], two["kappa"], two["corrected_rate"]) == (1, 1, pytest.approx(0.75))
    assert (two["dissent_design"], two["dissent_precision"]) == ("census", 1)
    # They differ on the flagged alone, which are known: 20 of 80.
    assert [two["difference"][name] for name in ("to", "estimate", "low", "high")] == (
        ["panel", 0.25, 0.25, 0.25]
    )
    assert one["difference"]["estimate"] == three["difference"]["estimate"] == 0
    assert shape["contest"]["best_beats_panel"]
    assert shape["contest"]["best_beats_every_juror"]
    # j1's kappa over the labels is 0 and through the draw too: it never fails anything.
    assert [juror["weight"] for juror in shape["jurors"]] == pytest.approx(weights(50))
    desk.close()


def weights(n: int) -> list[float]:
    """Of kappas 0, 1 and 0, each shrunk to their mean of 1/3 by n/(n + 20)."""
    shrunk = [(n * kappa + 20 / 3) / (n + 20) for kappa in (0, 1, 0)]
    return [one / sum(shrunk) for one in shrunk]


def test_a_dissent_that_the_report_says_was_trimmed_counts_on_any_verdict(tmp_path: Path) -> None:
    """Two dissent; the report names one of them as trimmed, where a trim of ours would not."""
    trim = {"method": "quantile", "fraction": 0.2, "dropped_low": ["j2"], "dropped_high": ["j5"]}
    bodies = [
        verdict(f"v{i}", 0.1, 0.2, 0.7, 0.8, 0.9, decision="pass", trim=trim, strategy="quorum")
        for i in range(3)
    ]
    desk, run = opened(tmp_path, *bodies)
    say(desk, run, "fail", "v0", "v1", "v2")
    one, two = figures.jurors(jurors_page(desk, run))["jurors"][:2]
    assert (two["lone_dissents"], two["dissent_precision"], two["dissent_design"]) == (
        3,
        1,
        "census",
    )
    assert (one["lone_dissents"], one["dissent_precision"]) == (0, None)
    desk.close()
