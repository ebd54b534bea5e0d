"""Collect what ``pages`` needs to draw a run as an HTML page or a Markdown summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reviewdesk.desk.export.report import Progress
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.desk.live.rerun_history import flips_of_run, of_item
from reviewdesk.desk.review.runs import run_details
from reviewdesk.domain.panel.rerun import flip_rates
from reviewdesk.domain.panel.rerun_result import RerunHistory
from reviewdesk.domain.records import Run
from reviewdesk.errors import Cancelled
from reviewdesk.pages import markdown
from reviewdesk.pages.html import ListedVerdict, RunPage
from reviewdesk.pages.html import page as html_page
from reviewdesk.store import verdicts
from reviewdesk.store.explain import explained

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
        found = _run_page(desk, run, len(keys))
        yield from html_page(found, _listed_verdicts(desk, found, keys, progress))


def summary(desk: Desk, run: Run, most: int = FEW) -> str:
    """Return a Markdown summary for a pull request."""
    with explained(desk.path):
        keys = verdicts.escalated(desk.conn, run, most)
        found = _run_page(desk, run, len(keys))
        return markdown.page(found, _listed_verdicts(desk, found, keys, None))


def _run_page(desk: Desk, run: Run, listed: int) -> RunPage:
    # Where the desk lies on this machine is nobody's business who reads the page.
    details = replace(run_details(desk, run), progress=desk.progress(run), desk="")
    return RunPage(
        details=details,
        written_at=desk.at(),
        calibration=calibration_page(desk, run),
        jurors=jurors_page(desk, run),
        what_if=what_if(desk, run),
        flips=flips_of_run(desk, run),
        listed=listed,
    )


def _listed_verdicts(
    desk: Desk, found: RunPage, keys: Sequence[int], progress: Progress | None
) -> Iterator[ListedVerdict]:
    for done, key in enumerate(keys, start=1):
        item = desk.item(key)
        reruns = tuple(record.rerun for record in of_item(desk, item))
        here = flip_rates([(item.verdict, reruns)]) if reruns else ()
        yield item, RerunHistory(reruns, here, found.flips)
        if progress is not None and not progress(done / len(keys), done):
            raise Cancelled("the export was cancelled; nothing was kept")
