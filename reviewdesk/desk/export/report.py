"""Write a run as a canonical report: the content of its file, with the re-runs of this desk."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.desk.review import queue
from reviewdesk.desk.review.items import flips_of_run, of_item
from reviewdesk.desk.review.runs import run_details
from reviewdesk.domain.panel.rerun import RerunHistory, flip_rates
from reviewdesk.domain.records import Run
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.verdict import Policy
from reviewdesk.errors import Cancelled, UsageError
from reviewdesk.pages import markdown
from reviewdesk.pages.html import MOST_LISTED, ListedVerdict, diagram_svg, parts
from reviewdesk.pages.html import page as html_page
from reviewdesk.reports.canonical.writer import FORMAT_NAME, fitting, is_lines, report_pieces
from reviewdesk.store import measures, reviewers, runs, verdicts
from reviewdesk.views.overview import RunOverview

Progress = Callable[[float, int], bool]
"""Takes the share and the number of verdicts so far; returning ``False`` cancels."""
_POLICY = frozenset({"threshold", "quorum", "strategy"})


def report(
    desk: Desk, run: Run, path: Path | None = None, *, progress: Progress | None = None
) -> Iterator[str]:
    """Yield the pieces of a report that loads as the same run; JSON Lines by its file's name."""
    as_lines = path is not None and is_lines(path)

    def lines() -> Iterator[str]:
        for done, (text, made) in enumerate(verdicts.bodies(desk.conn, run), start=1):
            # The desk keeps it as the file wrote it.
            body = json.loads(text)
            if made:
                body["reruns"] = [*(body.get("reruns") or []), *map(json.loads, made)]
            yield fitting(body)
            is_due = done % 100 == 0 or done == run.verdicts
            if is_due and progress is not None and not progress(done / run.verdicts, done):
                raise Cancelled("the export was cancelled; nothing was kept")

    yield from report_pieces(header_of(desk.conn, run), lines(), as_lines=as_lines)


def header_of(conn: Connection, run: Run) -> dict[str, Any]:
    """Return the stored header; it names the policy that the user filled in as ``set_by_you``."""
    header = {"schema": FORMAT_NAME, **run.header}
    filled = runs.options(conn, run.key)
    mine = {name: value for name, value in filled.items() if name in _POLICY}
    policy = Policy.from_body(mine).beyond(Policy.from_body(header.get("defaults")))
    meta = header.get("meta") or {}
    own = meta.get("reviewdesk", {})
    if not policy or not isinstance(own, dict):
        return header
    set_by_you = {name: mine[name] for name in policy}
    return {**header, "meta": {**meta, "reviewdesk": {**own, "set_by_you": set_by_you}}}


def html(
    desk: Desk, run: Run, *, full: bool = False, progress: Progress | None = None
) -> Iterator[str]:
    """Yield the pieces of one self-contained HTML file; ``full`` adds all that is not flagged."""
    found = run_overview(desk, run)
    named = [row.key for row in found.named]
    most = MOST_LISTED if full else min(200, run.flagged)
    others = [key for key in verdicts.first_keys(desk.conn, run, most) if key not in {*named}]
    keys = [*named, *others]
    flips = flips_of_run(desk, run)

    def listed() -> Iterator[ListedVerdict]:
        for done, key in enumerate(keys, start=1):
            item = desk.item(key)
            reruns = of_item(desk, item)
            here = flip_rates([(item.verdict, reruns)]) if reruns else ()
            yield item, RerunHistory(reruns, here, flips)
            if progress is not None and not progress(done / len(keys), done):
                raise Cancelled("the export was cancelled; nothing was kept")

    appendix = parts(found, jurors_page(desk, run), what_if(desk, run)) if full else ()
    yield from html_page(found, len(others), listed(), appendix)


def summary(desk: Desk, run: Run) -> str:
    return markdown.page(run_overview(desk, run))


def diagram(desk: Desk, run: Run) -> str:
    return diagram_of(run.name, calibration_page(desk, run, jurors=False))


def diagram_of(name: str, page: CalibrationPage) -> str:
    if not page.fit.bins:
        raise UsageError(
            f"{name}: no verdict has a pass or fail label, so there is nothing to draw",
            "Label some: reviewdesk open.",
        )
    return diagram_svg(page.fit, page.calibration.headline.n)


def run_overview(desk: Desk, run: Run) -> RunOverview:
    # A reader of the page must not learn where the desk is on this machine.
    details = replace(run_details(desk, run), progress=desk.progress(run), desk="")
    page = calibration_page(desk, run)
    wrong: list[int] = []
    first: Sequence[int] = ()
    if page.calibration.labelled.n:
        # A page is about the whole run, its holdout included.
        sides = "wrong:pass", "wrong:fail"
        passes, fails = (queue.keys(desk, run, one, "score", whole=True) for one in sides)
        wrong = [*reversed(passes), *fails]
    else:
        first = desk.queue(run)
    return RunOverview(
        details=details,
        calibration=page,
        jurors=measures.names(desk.conn, run.key),
        labellers=tuple(reviewers.labellers(desk.conn, run.key)),
        wrong=tuple(map(desk.item, wrong[:15])),
        first=tuple(desk.rows(first[:10])),
        written_at=desk.at(),
    )
