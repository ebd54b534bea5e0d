"""Write a run as a canonical report: the content of its file, with the re-runs of this desk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.records import Run
from reviewdesk.domain.verdict import Policy
from reviewdesk.errors import Cancelled
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
