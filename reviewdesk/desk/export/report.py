"""A run back as a canonical report: what the file said, and the re-runs of this desk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.records import Run
from reviewdesk.domain.verdict import Policy
from reviewdesk.errors import Cancelled
from reviewdesk.reports.bytes.strict_json import MAX_ITEM
from reviewdesk.reports.canonical.models import FORMAT_NAME
from reviewdesk.reports.canonical.writer import fitting, harmless, report_pieces
from reviewdesk.store import bodies, runs
from reviewdesk.store.connect import explained

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

Progress = Callable[[float, int], bool]
"""Told the share and the number of verdicts so far; ``False`` cancels."""
_TELL = 100
_POLICY = frozenset({"threshold", "quorum", "strategy"})


def report(
    desk: Desk, run: Run, *, as_lines: bool, progress: Progress | None = None
) -> Iterator[str]:
    """The pieces of the report, one verdict at a time; reading it in again is the identity."""
    with explained(desk.path):
        header = _header(desk, run)
        yield from report_pieces(header, _lines(desk, run, progress), as_lines=as_lines)


def _header(desk: Desk, run: Run) -> dict[str, Any]:
    """The header as stored; a policy that a person filled in is said to be theirs."""
    header = {"schema": FORMAT_NAME, **run.header}
    filled = runs.options(desk.conn, run.key)
    mine = {name: value for name, value in filled.items() if name in _POLICY}
    policy = Policy.from_body(mine).beyond(Policy.from_body(header.get("defaults")))
    meta = header.get("meta") or {}
    own = meta.get("reviewdesk", {})
    if not policy or not isinstance(own, dict):
        return header
    said = {name: mine[name] for name in policy}
    return {**header, "meta": {**meta, "reviewdesk": {**own, "set_by_you": said}}}


def _lines(desk: Desk, run: Run, progress: Progress | None) -> Iterator[str]:
    for done, found in enumerate(bodies.bodies(desk.conn, run), start=1):
        yield _line(found)
        told = progress is not None and (done % _TELL == 0 or done == run.verdicts)
        if told and progress is not None and not progress(done / run.verdicts, done):
            raise Cancelled("the export was cancelled; nothing was kept")


def _line(found: bodies.Body) -> str:
    """The verdict as stored, without being read where nothing is added to it."""
    if not found.reruns:
        line = harmless(found.text)
        return line if len(line) * 4 <= MAX_ITEM else fitting(json.loads(line))
    body = json.loads(found.text)
    made = [json.loads(text) for text in found.reruns]
    return fitting({**body, "reruns": [*(body.get("reruns") or []), *made]})
