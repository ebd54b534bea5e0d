"""Costs of processes and calls, side by side: CPU seconds, peak memory, medians and quantiles."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

ROOT = Path(__file__).resolve().parent.parent.parent
_LAUNCH = Path(__file__).resolve().parent / "launch.py"
_KILO = 1024 if sys.platform != "darwin" else 1


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. A row that could not be measured says why in ``found``."""

    what: str
    goal: str
    found: str
    beside: str
    """What it was measured against in the same run, and what that took."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one process took: CPU seconds, user and system, and its most memory in bytes."""

    cpu: float
    memory: int


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which a command touches nothing of the user's."""
    # Installed packages are compiled once, and not at each start.
    mine = {name: one for name, one in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return mine | {
        "HOME": str(folder), "REVIEWDESK_CONFIG": os.devnull, "REVIEWDESK_REVIEWER": "ann",
        "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT),
        "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1",
    }  # fmt: skip


def spent(
    command: Sequence[str | Path],
    folder: Path,
    meanwhile: Callable[[int], object] = lambda _process: None,
) -> Spent:
    """Run a command to its end; raise RuntimeError with its words if it fails.

    ``meanwhile`` is called with the id of its process once it runs.
    """
    words = [sys.executable, "-S", _LAUNCH, *command]
    with (folder / "said.txt").open("w+") as said:
        with subprocess.Popen(
            [str(word) for word in words], env=environment(folder), cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said,
        ) as launcher:  # fmt: skip
            told = launcher.stdout or said
            meanwhile(int(told.readline()))
            status, cpu, memory = told.readline().split()
        if int(status):
            said.seek(0)
            raise RuntimeError(f"{command[0]} ended with {status}: {said.read()[-300:]}")
    return Spent(float(cpu), int(memory) * _KILO)


def interleaved(works: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Return the median of each measurement, taken in turns so that noise falls on all alike."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            taken[name].append(work())
    return {name: median(one) for name, one in taken.items()}


def cpu_of(work: Callable[[], object]) -> Callable[[], float]:
    """Return a measurement: the CPU seconds that a call takes in this process."""

    def once() -> float:
        gc.collect()
        began = process_time()
        work()
        return process_time() - began

    return once


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value that a share of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def in_ms(seconds: float) -> str:
    """Format seconds as milliseconds with three digits."""
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.1 else f"{1000 * seconds:.3g} ms"


def in_mb(size: float) -> str:
    """Format bytes as megabytes."""
    return f"{size / 1e6:,.0f} MB"
