"""Labels that wait behind an undecided item of the draw: the item is named everywhere."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.cli.plain import document_text
from reviewdesk.desk import Desk
from reviewdesk.desk.figures.calibration import FitScope, blockers, calibration_page, skipped
from reviewdesk.desk.figures.strip import LiveStrip
from reviewdesk.desk.review import edits
from reviewdesk.domain.records import Blocker, Run, Truth
from reviewdesk.errors import UsageError
from reviewdesk.views.calibration import calibration
from tests.helpers import load, open_desk, report, verdict


def run_of(desk: Desk, count: int = 30) -> Run:
    """A run of verdicts that all pass and that nothing flags: one stratum, in one order."""
    return load(desk, report(*(verdict(f"v{at:02d}", 0.9, 0.8, 0.9) for at in range(count))))


def page_of(desk: Desk, run: Run) -> tuple[Blocker, ...]:
    return calibration_page(desk, run, jurors=False, fits=FitScope.NONE).blockers


def test_the_item_and_the_number_of_labels_behind_it_are_named(tmp_path: Path) -> None:
    with closing(open_desk(tmp_path / "d.db")) as desk:
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
        text = document_text(calibration(calibration_page(desk, run)))
        assert f"Decide {ids[5]}: 4 labels wait behind it." in text
        desk.label(keys[5], Truth.UNSURE)
        assert page_of(desk, run) == strip.read(desk, run).blockers == ()
        desk.undo()
        assert page_of(desk, run) == strip.read(desk, run).blockers != ()


def test_a_label_that_nobody_saw_stops_the_draw_like_none(tmp_path: Path) -> None:
    with closing(open_desk(tmp_path / "d.db")) as desk:
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
        run = run_of(desk)
        key = desk.queue(run, "", "draw")[0]
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


def test_a_place_without_a_verdict_names_nothing(tmp_path: Path) -> None:
    with closing(open_desk(tmp_path / "d.db")) as desk:
        run = run_of(desk, 3)
        assert blockers(desk, run, ()) == ()
