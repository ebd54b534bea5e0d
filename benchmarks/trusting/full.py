"""A disk that is full at one write after another, of an ingest and of labels."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from trusting.kills import LABELLER
from trusting.power import STRACE, can_trace
from trusting.rows import FaultRow, environment, is_whole, labels, loaded, report

_CLEAN = re.compile(r"the disk (?:is full|reports an error)", re.IGNORECASE)


def rows(folder: Path, positions: int) -> Iterator[FaultRow]:
    """Let the n-th write and all after it fail, for so many n of each kind of work."""
    if not can_trace():
        yield FaultRow("a full disk", "0 acknowledged lost", "strace cannot be used here", None)
        return
    desk = loaded(folder / "full", 20)
    big = report(desk, 60)
    works: dict[str, Sequence[str]] = {
        "labels": ["-c", LABELLER, "8"],
        "an ingest": ["-m", "reviewdesk", "ingest", str(big)],
    }
    for name, work in works.items():
        refused = lost = unclear = broken = 0
        for first in range(1, positions + 1):
            here = folder / f"full-{name}-{first}"
            shutil.copytree(desk, here)
            done = _limited(here, work, first)
            acknowledged = len(done.stdout.splitlines()) if name == "labels" else 0
            refused += done.returncode != 0
            lost += acknowledged > labels(here)
            unclear += done.returncode != 0 and not _CLEAN.search(done.stderr)
            broken += not is_whole(here)
            shutil.rmtree(here)
        yield FaultRow(
            f"disk full from the n-th write on, n = 1 to {positions}, of {name}",
            "0 acknowledged lost, each told in a sentence, the desk whole",
            f"{refused} refused, {lost} lost, {unclear} not told, {broken} not whole",
            refused > 0 and not lost and not unclear and not broken,
            ("library",) if name == "labels" else ("shell", "import"),
        )


def _limited(folder: Path, work: Sequence[str], first: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [STRACE, "-f", "-o", "/dev/null", "-e", "trace=pwrite64",
         "-e", f"inject=pwrite64:error=ENOSPC:when={first}+", sys.executable, *work],
        env=environment(folder), cwd=folder, check=False, capture_output=True, text=True,
    )  # fmt: skip
