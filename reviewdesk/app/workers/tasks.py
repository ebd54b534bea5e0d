"""The work of background jobs: each function runs in a thread with a desk of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.domain.records import Loaded, Run

if TYPE_CHECKING:
    from reviewdesk.desk import Desk, LoadOptions

Report = Callable[[object], bool]


def index(desk: Desk, report: Report, *, run: Run) -> bool:
    """Index a run's texts, which takes one query if that is done."""
    from reviewdesk.desk.review import search

    return search.index(desk, run, lambda share, _count: report(share))


def load(desk: Desk, report: Report, *, path: str, options: LoadOptions) -> Loaded:
    """Load a report."""
    from reviewdesk.desk.files import open_file

    return open_file(desk, path, options, lambda share, _count: report(share))


def export(desk: Desk, report: Report, *, run: Run, path: Path) -> Path:
    """Write a run to a file."""
    from reviewdesk.desk.files import write_run

    write_run(desk, run, path, lambda share, _count: report(share))
    return path
