"""Rows about reading: ingest against a plain program, and decoding against ``loads``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from scaling import inputs, peers
from scaling.measure import Row, Spent, in_mb, spent

_HERE = Path(__file__).resolve().parent


_TAKEN: dict[int, list[Spent]] = {}
"""What each load took, by the number of verdicts: the largest is done once for all tables."""


def ingest(folder: Path, count: int) -> Spent:
    """Load a report into a new desk, by the command that people use; the first desk is kept."""
    desk = folder / "ingested.db"
    for old in folder.glob("ingested.db*"):
        old.unlink()
    command = [sys.executable, "-m", "reviewdesk", "--desk", desk, "ingest", "--max-size", "9G"]
    took = spent([*command, inputs.report(folder, count)], folder)
    _TAKEN.setdefault(count, []).append(took)
    if not (kept := folder / f"desk-{count}.db").exists():
        desk.replace(kept)
    return took


def _plain(folder: Path, count: int, python: str | Path) -> Spent:
    for old in folder.glob("plain.db*"):
        old.unlink()
    return spent(
        [python, _HERE / "plain.py", inputs.report(folder, count), folder / "plain.db"], folder
    )


def rows(folder: Path, count: int, most: int, rounds: int, *, fetch: bool) -> Iterator[Row]:
    """Ingest a report of ``count`` verdicts, and one of ``most`` for its memory."""
    found = peers.program(folder, "orjson", fetch=fetch)
    python = found if isinstance(found, Path) else sys.executable
    loads = "orjson.loads" if isinstance(found, Path) else f"msgspec.json (orjson {found})"
    report = inputs.report(folder, count)
    size = report.stat().st_size
    taken: dict[str, list[Spent]] = {"plain": [], "ours": [], "loads": [], "decode": []}
    for _ in range(rounds):
        taken["plain"].append(_plain(folder, count, python))
        taken["ours"].append(ingest(folder, count))
        taken["loads"].append(spent([python, _HERE / "plain.py", report], folder))
        taken["decode"].append(spent([sys.executable, _HERE / "decode.py", report], folder))
    cpu = {name: median(one.cpu for one in all_) for name, all_ in taken.items()}
    memory = {name: median(one.memory for one in all_) for name, all_ in taken.items()}
    yield Row(
        f"ingest {count:,} verdicts ({in_mb(size)}), CPU", "<= 2x",
        f"{cpu['ours'] / cpu['plain']:.2f}x", f"{loads}, two executemany: {cpu['plain']:.2f} s",
    )  # fmt: skip
    large = ingest(folder, most).memory if most > count else memory["ours"]
    large_size = inputs.report(folder, most).stat().st_size
    yield Row(
        "ingest, most memory", f"<= 110 MB, <= 1.3x of it at {in_mb(large_size)}",
        f"{in_mb(memory['ours'])}, then {large / memory['ours']:.2f}x",
        f"the same program: {in_mb(memory['plain'])}",
    )  # fmt: skip
    yield Row(
        "decode and validate alone, CPU", "<= 0.7x", f"{cpu['decode'] / cpu['loads']:.2f}x",
        f"{loads} of the whole: {cpu['loads']:.2f} s",
    )  # fmt: skip


def cost_per_verdict(folder: Path, sizes: list[int]) -> Iterator[tuple[int, str]]:
    """Measure the CPU time of ingest per verdict, less that of a start which is taken in turn."""
    for size in sizes:
        rounds = range(5 if size < 100_000 else 1)
        taken = _TAKEN.get(size) or (ingest(folder, size) for _ in rounds)
        cpu = median(one.cpu - ingest(folder, 1).cpu for one in taken)
        yield size, f"{1e6 * max(0.0, cpu) / size:.0f} µs"
