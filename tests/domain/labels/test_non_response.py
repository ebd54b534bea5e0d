"""Items of the draw without an answer widen the ends that gates use: closing them gains nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.figures.calibration import FitScope, calibration_page, labelled
from reviewdesk.domain.gates.such_items import pass_rate, such_items
from reviewdesk.domain.labels.summary import both_lines
from reviewdesk.domain.labels.weighed_rows import make_rows
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.stats.figures import Ranged, Target
from reviewdesk.domain.stats.fit import fit
from reviewdesk.domain.stats.panel_intervals import panel_intervals
from reviewdesk.store import figures
from tests.helpers import load, open_desk, report, verdict

RATES = ("accuracy", "sensitivity", "specificity", "honest_rate")
HARD = 3
"""How many of the items are hard: nobody can say whether the panel is right."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with closing(open_desk(tmp_path / "d.db")) as opened:
        yield opened


def labelled_run(desk: Desk) -> tuple[Run, list[int]]:
    """Sixty verdicts, half passed, of which the first forty of each stratum get a label but for
    the hard ones; return the run and these."""
    bodies = [verdict(f"v{at:02d}", *((0.9,) * 3 if at % 2 else (0.1,) * 3)) for at in range(60)]
    run = load(desk, report(*bodies))
    keys = [*desk.queue(run, "", "draw")][:40]
    rows = desk.rows(keys)
    hard = [rows[2].key, rows[9].key, rows[17].key][:HARD]
    for at, row in enumerate(rows):
        if row.key not in hard:
            right = at % 7 != 0
            passed = row.decision is not None and row.decision.value == "pass"
            desk.label(row.key, Truth.PASS if passed is right else Truth.FAIL)
    return run, hard


def ends(desk: Desk, run: Run) -> dict[str, Ranged]:
    """The figures with the ends that a suite's entry about the run checks."""
    made = make_rows(labelled(desk, run), figures.run_figures(desk.conn, run.key))
    line = both_lines(made).headline
    through = panel_intervals(made, Target.ITEMS)
    found = such_items(made.headline, line, fit(made.headline), through)
    return {**found, "honest_rate": pass_rate(made)}


def test_no_answer_to_a_closed_item_lies_outside_its_ends(desk: Desk) -> None:
    run, hard = labelled_run(desk)
    for key in hard:
        desk.defer(key)
        desk.defer(key)
        desk.close_item(key)
    closed = ends(desk, run)
    for _ in hard:
        desk.undo()
    for answers in product((Truth.PASS, Truth.FAIL), repeat=HARD):
        for key, answer in zip(hard, answers, strict=True):
            desk.label(key, answer)
        for name, one in ends(desk, run).items():
            # All that agree with the panel and all that contradict it are among the answers, and
            # the ends are theirs. Kappa, Brier and gap may pass them by a little in between.
            slack = 1e-9 if name in RATES else 0.02
            low, high = (closed[name].low, one.low), (one.high, closed[name].high)
            for least, most in (low, high):
                assert least is not None, name
                assert most is not None, name
                assert least <= most + slack, (name, answers)


def test_closing_what_the_panel_gets_wrong_does_not_raise_a_lower_end(desk: Desk) -> None:
    run, hard = labelled_run(desk)
    for key in hard:
        (row,) = desk.rows([key])
        wrong = row.decision is not None and row.decision.value == "fail"
        desk.label(key, Truth.PASS if wrong else Truth.FAIL)
    honest = ends(desk, run)
    for key in hard:
        desk.label(key, Truth.UNSURE)
    evaded = ends(desk, run)
    for name in ("accuracy", "sensitivity", "specificity", "kappa"):
        low, before = evaded[name].low, honest[name].low
        assert low is not None
        assert before is not None
        assert low <= before + 1e-9, name
    for name in ("brier", "gap"):
        high, before = evaded[name].high, honest[name].high
        assert high is not None
        assert before is not None
        assert high >= before - 1e-9, name


def test_what_is_shown_of_this_run_and_of_such_items(desk: Desk) -> None:
    run, hard = labelled_run(desk)
    for key in hard:
        desk.label(key, Truth.UNSURE)
    page = calibration_page(desk, run, jurors=False, fits=FitScope.HEADLINE)
    assert page.such is not None
    assert page.such.accuracy.low == pytest.approx(ends(desk, run)["accuracy"].low)
