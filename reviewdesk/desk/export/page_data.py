"""Collect what ``pages`` needs to draw a run as an HTML page or a Markdown summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reviewdesk.desk.export.report import Progress
from reviewdesk.desk.figures.calibration import FitScope, calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.live.rerun_history import flips_of_run, of_item
from reviewdesk.desk.review.runs import run_details
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.records import Run
from reviewdesk.errors import Cancelled
from reviewdesk.pages import markdown, page
from reviewdesk.pages.records import ListedVerdict, RunPage
from reviewdesk.store import verdicts
from reviewdesk.store.connect import explained

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

MOST = 200
"""Verdicts that a page lists by default: the flagged ones first, then the labelled ones."""
FEW = 20
"""Escalated verdicts that a summary lists."""


def html(
    desk: Desk, run: Run, *, most: int | None = MOST, progress: Progress | None = None
) -> Iterator[str]:
    """Yield the pieces of one self-contained HTML file."""
    with explained(desk.path):
        keys = verdicts.first_keys(desk.conn, run, run.verdicts if most is None else most)
        yield from page.page(
            _run_page(desk, run, len(keys)), _listed_verdicts(desk, keys, progress)
        )


def summary(desk: Desk, run: Run, most: int = FEW) -> str:
    """Return a few lines of Markdown for a pull request."""
    with explained(desk.path):
        keys = verdicts.escalated(desk.conn, run, most)
        return markdown.summary(_run_page(desk, run, len(keys)), _listed_verdicts(desk, keys, None))


def _run_page(desk: Desk, run: Run, listed: int) -> RunPage:
    details = run_details(desk, run)
    flags = details.tally.flags
    return RunPage(
        run=run,
        file_hash=details.file_hash,
        written_at=desk.at(),
        head=details.head,
        filled=details.filled,
        decisions=details.tally.decisions,
        flags=flags,
        alphas=details.alphas,
        progress=desk.progress(run),
        calibration=calibration_page(desk, run, jurors=False, fits=FitScope.HEADLINE),
        jurors=jurors_page(desk, run),
        flips=flips_of_run(desk, run),
        escalated=flags.get(Flag.ESCALATED, 0),
        listed=listed,
    )


def _listed_verdicts(
    desk: Desk, keys: Sequence[int], progress: Progress | None
) -> Iterator[ListedVerdict]:
    for done, key in enumerate(keys, start=1):
        item = desk.item(key)
        yield ListedVerdict(item, tuple(record.rerun for record in of_item(desk, item)))
        if progress is not None and not progress(done / len(keys), done):
            raise Cancelled("the export was cancelled; nothing was kept")
