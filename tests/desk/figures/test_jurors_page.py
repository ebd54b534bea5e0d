"""The jurors of a run over time, from reports and labels to the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.domain.jurors.facts import JurorFacts, JurorsPage, Windows
from reviewdesk.domain.records import Run, Truth
from reviewdesk.views.json import figures
from tests.helpers import load, open_desk, report, verdict


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
    assert (page.labels, page.basis.labels) == (2, 2)
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
