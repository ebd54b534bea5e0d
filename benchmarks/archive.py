"""`archive` over workers of this machine beside `ingest` of the same verdicts in one file.

Printed are whether the figures and what is asked for are equal, what a verdict costs in CPU, what a
second worker saves, and the memory of the largest process at two sizes of parts. All processes of a
command count.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.scaling.measure import Spent

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, "-m", "reviewdesk")
LARGER = 4
"""How many times as large the larger parts are."""
OWN = ("hash", "file", "loaded_at", "notes", "held")
"""What tells an archive's entry in ``runs --json`` from that of a plain load."""
MOST = "1000G"
"""The bound on the size of the one file: all parts together are over the usual one."""
ORDERS = ("draw", "mix")
ASKED = "SELECT id, stratum, rank, audit, flags FROM verdicts WHERE stratum < 3 OR audit ORDER BY "
"""The flagged verdicts and the audit of the rest, in one of the orders that the draw gives."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a command took, in seconds of the clock and by its processes."""

    seconds: float
    spent: Spent


def timed(folder: Path, *words: str | Path, kill_after: float | None = None) -> Done:
    """Run a command of reviewdesk to its end, and kill a worker of it after so many seconds."""
    from benchmarks.scaling.measure import spent
    from tests.scale.workerkit import worker_processes

    def kill(process: int) -> None:
        if kill_after is not None:
            sleep(kill_after)
            os.kill(worker_processes(process)[0], signal.SIGKILL)

    began = perf_counter()
    used = spent([*COMMAND, *words], folder, kill)
    return Done(perf_counter() - began, used)


def write_parts(folder: Path, count: int, size: int) -> Path:
    """Write so many verdicts as parts of ``size`` each, and return their folder."""
    from benchmarks.scaling import inputs

    head = {
        "schema": "reviewdesk.report/1",
        "report_id": "scale",
        "defaults": {"threshold": inputs.THRESHOLD, "quorum": 0.5},
    }
    folder.mkdir()
    verdicts = inputs.verdicts(count)
    for number in range(-(-count // size)):
        with (folder / f"part-{number:05d}.jsonl").open("w", encoding="utf-8") as file:
            file.write(f"{json.dumps(head)}\n")
            file.writelines(f"{line}\n" for line in islice(verdicts, size))
    return folder


def archived(folder: Path, parts: Path, workers: int, kill_after: float | None = None) -> Done:
    """Put parts together into a new desk, ``archive.db``."""
    return timed(
        folder, "archive", parts / "*.jsonl", "--seed", "s", "--workers", str(workers), "--force",
        "-o", folder / "archive.db", kill_after=kill_after,
    )  # fmt: skip


def figures(folder: Path, desk: str) -> list[Any]:
    """Return what a desk says of its run."""
    from benchmarks.scaling.measure import environment

    found = []
    for command in ("runs", "calibrate", "whatif"):
        done = subprocess.run(
            [*COMMAND, command, "--json", "--desk", folder / desk],
            env=environment(folder), cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
            check=True,
        )  # fmt: skip
        found.append(json.loads(done.stdout))
    for name in OWN:
        found[0][0].pop(name, None)
    return found


def asked_for(folder: Path, desk: str) -> tuple[list[str], int]:
    """Return a hash of what a desk asks for in each order of its draw, and how many they are."""
    hashes, count = list[str](), 0
    with closing(sqlite3.connect(folder / desk)) as conn:
        for order in ORDERS:
            rows = conn.execute(ASKED + order).fetchall()
            hashes.append(hashlib.sha256(repr(rows).encode()).hexdigest())
            count = len(rows)
    return hashes, count


def equal(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal but for the last digits, as of sums of sums."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def measured(folder: Path, parts: int, size: int, kill_after: float | None) -> None:
    """Make the parts, and print a line for each question."""
    from benchmarks.scaling.measure import in_mb

    count = parts * size
    (whole,) = write_parts(folder / "whole", count, count).iterdir()
    small = write_parts(folder / "small", count, size)
    large = write_parts(folder / "large", count, LARGER * size)
    plain = timed(
        folder, "ingest", whole, "--seed", "s", "--max-size", MOST, "--desk", folder / "plain.db"
    )
    two = archived(folder, small, 2, kill_after)
    same = equal(figures(folder, "plain.db"), figures(folder, "archive.db"))
    drawn, asked = asked_for(folder, "plain.db")
    same_draw = asked_for(folder, "archive.db") == (drawn, asked)
    words = {True: "equal", False: "DIFFER"}
    killed = "" if kill_after is None else f", one worker killed after {kill_after:g} s"
    print(f"{parts} parts of {size:,} verdicts{killed}; figures {words[same]}")
    print(f"flagged and audited: {asked:,} of {count:,}, flags and draw {words[same_draw]}")
    larger = archived(folder, large, 2)
    at = f"{size:,} and {LARGER * size:,} verdicts"
    print(
        f"largest process at parts of {at}: "
        f"{in_mb(two.spent.memory)} and {in_mb(larger.spent.memory)}",
        flush=True,
    )
    one = archived(folder, small, 1)
    for what, done in {"ingest": plain, "1 worker": one, f"2 workers{killed}": two}.items():
        ratio = done.spent.cpu / plain.spent.cpu
        each = 1e6 * done.spent.cpu / count
        print(
            f"{what}: {done.seconds:.1f} s, {each:,.0f} us of CPU a verdict ({ratio:.2f}), "
            f"largest process {in_mb(done.spent.memory)}"
        )
    print(f"1 to 2 workers{killed}: {one.seconds / two.seconds:.2f} times as fast")
    if not (same and same_draw):
        raise SystemExit(1)


def main() -> None:
    """Run it in a temporary folder."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--parts", type=int, default=64)
    asked.add_argument("--size", type=int, default=2000, help="verdicts of a part")
    asked.add_argument("--kill", type=float, metavar="SECONDS", help="kill one of two workers then")
    given = asked.parse_args()
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        measured(Path(folder), given.parts, given.size, given.kill)


if __name__ == "__main__":
    main()
