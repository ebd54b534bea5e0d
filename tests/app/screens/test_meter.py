"""The strip's worker follows the labels instead of reading them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.domain.records import View
from tests.app.appkit import open_run, report, staged, verdict
from tests.domain.labels.test_strip import close, same


@pytest.mark.parametrize("blind", [False, True])
async def test_each_label_moves_the_figures_that_are_kept(tmp_path: Path, blind: bool) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 7)]))
    async with staged(desk, run, view=View(blind=blind)) as stage:
        meter = stage.review.meter
        for key in ("p", "f", "u", "p", "p"):
            await stage.press(key)
            assert meter.figures is not None
            page = calibration_page(desk, run, jurors=False)
            same(meter.figures, page.calibration)
            assert meter.pace == page.pace
            if blind:
                close(meter.alone, page.alone.metrics)
            else:
                assert meter.alone is None
        # Four labels, and the second of them was taken back.
        assert page.counts.labelled == 3
        assert meter.strip.rebuilt == 1
