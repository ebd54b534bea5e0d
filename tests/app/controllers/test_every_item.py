"""Over all items of the shared data: no label is saved before its response was on screen."""

from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.domain.records import View
from reviewdesk.reports.bytes.source import Source
from reviewdesk.settings import Settings
from tests.app.builders import SMALL
from tests.app.reviewkit import Review
from tests.helpers import ROOT

DATA = ROOT.parent / "shared" / "data"
REPORTS = sorted(DATA.glob("*.report.json"))


def shown_rows(review: Review) -> dict[str, set[int]]:
    """Which lines of each response the pane shows, counted from its layout alone."""
    pane = review.pane
    view = range(pane.top, pane.top + pane.height)
    return {
        part.name: {line for line in range(part.first, part.below) if line in view}
        for part in pane.layout.responses
    }


@pytest.mark.slow
@pytest.mark.parametrize("report", REPORTS or [None], ids=lambda path: path and path.name)
def test_no_label_is_saved_before_its_response_was_on_screen(
    tmp_path: Path, report: Path | None
) -> None:
    if report is None:
        pytest.skip("the shared data is not here")
    desk = Desk.open(tmp_path / "d.db", reviewer="ann")
    run = desk.load(Source.from_path(report)).run
    # The page after a hundred labels would take the next key.
    settings = Settings()
    review = Review(desk, run, view=View(order="file"), size=SMALL, settings=settings)
    total = len(review.session.keys)
    for _ in range(total):
        item, presses = review.item, 0
        rows: dict[str, set[int]] = {}
        while review.session.item is item:
            for name, shown in shown_rows(review).items():
                rows.setdefault(name, set()).update(shown)
            responses, height = review.pane.layout.responses, review.pane.height
            review.clock.wait(1)
            review.controller.handle("label.pass")
            review.after()
            presses += 1
            assert presses < 10, item.verdict.id
        for part in responses:
            assert len(rows[part.name]) >= min(height, len(part.starts)), item.verdict.id
