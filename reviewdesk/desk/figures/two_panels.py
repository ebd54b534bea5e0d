"""Compare the panels of two runs on the items that both judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reviewdesk.desk.figures.calibration import labelled
from reviewdesk.domain.jurors.panels import PanelComparison
from reviewdesk.domain.records import Run
from reviewdesk.errors import UsageError
from reviewdesk.store import verdicts
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.jurors.panels import CommonItems
    from reviewdesk.store.verdicts import Counterpart


def panel_comparison(desk: Desk, first: Run, second: Run) -> PanelComparison:
    """Compare the panels of two runs by the labels; raise UsageError if it is one run."""
    from reviewdesk.domain.jurors.panels import compare_panels

    if first.hash == second.hash:
        raise UsageError(f"{first.name} is one run, and two are compared", "Name another one.")
    with reading(desk.conn, desk.path):
        here, there = (
            verdicts.counterparts(desk.conn, one.key, two.key)
            for one, two in ((first, second), (second, first))
        )
        sides = _common_items(desk, first, here), _common_items(desk, second, there)
        waiting = desk.apart.waiting(first)
    cells, labels = (
        Counter((row.here, row.there, None if row.key in waiting else row.truth) for row in rows)
        for rows in (here, {row.item: row for row in reversed(here)}.values())
    )
    return compare_panels(*sides, cells, labels)


def _common_items(desk: Desk, run: Run, found: Sequence[Counterpart]) -> CommonItems:
    """Return both panels' decisions on a run's verdicts, with the run's labels."""
    from reviewdesk.domain.jurors.panels import CommonItems
    from reviewdesk.domain.jurors.strata import Labels
    from reviewdesk.store import jurors

    strata = jurors.strata(desk.conn, run.key)
    first = verdicts.first_key(desk.conn, run.key)
    rows = labelled(desk, run)
    labels = Labels.of(
        range(first, first + len(strata)),
        strata,
        {one.key: one.place for one in rows},
        {one.key: one.test for one in rows},
    )
    decisions = {row.key - first: (row.here, row.there) for row in found}
    return CommonItems.of(run.name, run.hash, labels, decisions)
