"""Write a run as a canonical report: the content of its file, with the re-runs of this desk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.figures.people import with_question_and_people
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.desk.live.rerun_history import flips_of_run, of_item
from reviewdesk.desk.review.runs import run_details
from reviewdesk.domain.panel.rerun import RerunHistory, flip_rates
from reviewdesk.domain.records import Run
from reviewdesk.domain.verdict import Policy
from reviewdesk.errors import Cancelled
from reviewdesk.pages import markdown
from reviewdesk.pages.html import ListedVerdict, RunPage
from reviewdesk.pages.html import page as html_page
from reviewdesk.reports.canonical.writer import FORMAT_NAME, fitting, is_lines, report_pieces
from reviewdesk.store import runs, verdicts
from reviewdesk.store.explain import explained

if TYPE_CHECKING:
    from sqlite3 import Connection

    from reviewdesk.desk.core import Desk

Progress = Callable[[float, int], bool]
"""Takes the share and the number of verdicts so far; returning ``False`` cancels."""
_PROGRESS_STEP = 100
_POLICY = frozenset({"threshold", "quorum", "strategy"})


def report(
    desk: Desk,
    run: Run,
    path: Path | None = None,
    *,
    as_lines: bool = False,
    progress: Progress | None = None,
) -> Iterator[str]:
    """Yield the pieces of the report, verdict by verdict. Loading the report gives the same run.

    It is JSON Lines with ``as_lines``, or if the file that it is for has such a name.
    """
    as_lines = as_lines or (path is not None and is_lines(path))
    with explained(desk.path):
        header = header_of(desk.conn, run)
        yield from report_pieces(header, _lines(desk, run, progress), as_lines=as_lines)


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


def _lines(desk: Desk, run: Run, progress: Progress | None) -> Iterator[str]:
    for done, found in enumerate(verdicts.bodies(desk.conn, run), start=1):
        yield _line(found)
        is_due = progress is not None and (done % _PROGRESS_STEP == 0 or done == run.verdicts)
        if is_due and progress is not None and not progress(done / run.verdicts, done):
            raise Cancelled("the export was cancelled; nothing was kept")


def _line(found: verdicts.Body) -> str:
    """Return the verdict with its re-runs as one line; the desk keeps it as the file wrote it."""
    body = json.loads(found.text)
    if not found.reruns:
        return fitting(body)
    made = [json.loads(text) for text in found.reruns]
    return fitting({**body, "reruns": [*(body.get("reruns") or []), *made]})


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
        calibration=with_question_and_people(desk, run, calibration_page(desk, run)),
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
