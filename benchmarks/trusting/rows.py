"""The rows of the table of faults, what they share, and their place in the docs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from scaling import table
from scaling.measure import ROOT

from reviewdesk.desk.core import Desk
from reviewdesk.errors import ReviewDeskError
from tests.helpers import numbered

ENTRANCES = ("terminal", "browser", "shell", "library", "import", "sync", "re-run", "export")
"""The ways in which texts, keys and files come in or leave; a promise lists those it was tried."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One line of the table: a fault, how often it was tried, and whether all held."""

    fault: str
    goal: str
    found: str
    holds: bool | None
    """``None`` where it could not be tried; ``found`` says why."""
    entrances: tuple[str, ...] = ()
    """Which of ``ENTRANCES`` it was tried at; none for a control, which a test must see."""


def environment(folder: Path, reviewer: str = "ann") -> dict[str, str]:
    """Return an environment in which a process works on the desk of a folder alone."""
    return os.environ | {
        "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(ROOT),
        "REVIEWDESK_DESK": str(folder / "desk.db"), "REVIEWDESK_CONFIG": os.devnull,
        "REVIEWDESK_REVIEWER": reviewer, "TERM": "xterm-256color", "COLORTERM": "truecolor",
    }  # fmt: skip


def report(folder: Path, count: int) -> Path:
    """Write a report of so many verdicts with responses of one line."""
    path = folder / "report.json"
    path.write_bytes(numbered(count))
    return path


def command(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run reviewdesk on the desk of a folder."""
    return subprocess.run(
        [sys.executable, "-m", "reviewdesk", *map(str, words)], env=environment(folder),
        cwd=folder, check=False, capture_output=True, text=True,
    )  # fmt: skip


def loaded(folder: Path, count: int) -> Path:
    """Make a folder whose desk holds a run of so many verdicts."""
    folder.mkdir(parents=True)
    done = command(folder, "ingest", report(folder, count))
    if done.returncode:
        raise RuntimeError(done.stderr)
    return folder


def labels(folder: Path) -> int:
    """Return the number of labels in the log."""
    with closing(sqlite3.connect(folder / "desk.db")) as conn:
        found: int = conn.execute(
            "SELECT count(*) FROM label_events WHERE kind = 'label'"
        ).fetchone()[0]
        return found


def is_whole(folder: Path) -> bool:
    """Return True if the desk opens and ``verify`` finds nothing."""
    try:
        with closing(Desk.open(folder / "desk.db", reviewer="ann")) as desk:
            return desk.verify().ok
    except ReviewDeskError:
        return False


def markdown(rows: Sequence[FaultRow], share: float) -> str:
    """Return the table with the machine, the day and the share of tries.

    Controls that a test saw are only counted.
    """
    marks = {True: "yes", False: "**no**", None: "not tried"}
    made = f"{table.machine()}, {datetime.now(UTC):%d %B %Y}"
    controls = [one for one in rows if not one.entrances]
    seen = [one for one in controls if one.holds]
    rows = [one for one in rows if one not in seen]
    tested = f"{len(seen)} of {len(controls)} controls were seen by the test that they name"
    return "\n".join([
        f"{made}; {share:.1%} of the full number of tries; {tested}.",
        "",
        "| fault | goal | found | tried at | holds |", "|---|---|---|---|---|",
        *(
            f"| {one.fault} | {one.goal} | {one.found} | {_tried_at(one)} | {marks[one.holds]} |"
            for one in rows
        ),
    ])  # fmt: skip


def _tried_at(row: FaultRow) -> str:
    named = [entrance for entrance in ENTRANCES if entrance in row.entrances]
    return f"{len(named)} of {len(ENTRANCES)}: {', '.join(named)}" if named else "a test"
