"""Power losses: the writes of a labeller are recorded, and those not yet synced are dropped.

``strace`` records every write, truncation and sync of the desk's files with the lines by which
labels were acknowledged between them. A loss at some point keeps what was synced before it, and of
the rest a random part of the sectors. SQLite then opens what is left.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trusting.kills import LABELLER
from trusting.rows import FaultRow, environment, is_whole, labels, loaded

SECTOR = 512
STRACE = shutil.which("strace") or ""
_CALL = re.compile(r"^\d+ +(\w+)\((\d+)<([^>]*)>(?:, (.*))?\) += (-?\d+)")
_WRITTEN = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(?:\.\.\.)?, (\d+)(?:, (\d+))?')


@dataclass(frozen=True, slots=True)
class Step:
    """A call in the order in which the labeller made them; ``ack`` is a label's line."""

    kind: str
    name: str
    at: int = 0
    data: bytes = b""


def rows(folder: Path, losses: int, count: int = 60, seed: int = 1) -> Iterator[FaultRow]:
    """Lose power as often as asked for, with syncs and without."""
    goal = "0 acknowledged labels lost, 0 desks corrupt; with `synchronous=NORMAL` some lost"
    what = f"{losses} power losses at random points of {count} labels, unsynced sectors dropped"
    if not can_trace():
        yield FaultRow(what, goal, "strace cannot be used here", None)
        return
    found = {}
    for mode in ("FULL", "NORMAL"):
        here = loaded(folder / mode, 20)
        base, steps = recorded(here, count, mode)
        found[mode] = losses_of(folder / f"{mode}-lost", base, steps, losses, random.Random(seed))
    (lost, corrupt), (control, _) = found["FULL"], found["NORMAL"]
    yield FaultRow(
        what, goal, f"{lost} lost, {corrupt} corrupt; `NORMAL` lost some in {control}",
        not lost and not corrupt and control > 0, ("library",),
    )  # fmt: skip


def can_trace() -> bool:
    """Return True if strace is there and may trace; containers can forbid it."""
    return (
        bool(STRACE)
        and not subprocess.run(
            [STRACE, "-o", os.devnull, sys.executable, "-c", ""],
            check=False,
            stderr=subprocess.DEVNULL,
        ).returncode
    )


def recorded(folder: Path, count: int, mode: str) -> tuple[dict[str, bytes], list[Step]]:
    """Return the desk's files before the labels, and the calls that gave these."""
    base = {path.name: path.read_bytes() for path in folder.glob("desk.db*")}
    log = folder / "calls.txt"
    subprocess.run(
        [STRACE, "-f", "-y", "-xx", "-s", "200000", "-o", log,
         "-e", "trace=pwrite64,write,ftruncate,fdatasync,fsync",
         sys.executable, "-c", LABELLER, str(count), mode],
        env=environment(folder), cwd=folder, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    with log.open(encoding="ascii") as lines:
        return base, [step for line in lines if (step := _step(line))]


def _step(line: str) -> Step | None:
    found = _CALL.match(line)
    if not found:
        return None
    call, number, path, rest, result = found.groups()
    if "\\x" in path:
        path = bytes.fromhex(path.replace("\\x", "")).decode()
    name = Path(path).name
    if call == "write":
        return Step("ack", "") if number == "1" else None
    if not name.startswith("desk.db") or name.endswith("-shm") or int(result) < 0:
        return None
    if call in {"fsync", "fdatasync"}:
        return Step("sync", name)
    if call == "ftruncate":
        return Step("truncate", name, int(rest))
    written = _WRITTEN.match(rest)
    if written is None:
        raise ValueError(line[:200])
    return Step("write", name, int(written[3]), bytes.fromhex(written[1].replace("\\x", "")))


def left(base: dict[str, bytes], steps: list[Step], dice: random.Random) -> dict[str, bytes]:
    """Return the files after a loss of power behind the last of these steps."""
    files = {name: bytearray(data) for name, data in base.items()}
    unsynced: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        if step.kind == "sync":
            for one in unsynced.pop(step.name, ()):
                _apply(files.setdefault(step.name, bytearray()), one)
        elif step.kind != "ack":
            unsynced[step.name].append(step)
    kept = dice.choice([0.0, 0.1, 0.5, 0.9])
    for name, waiting in unsynced.items():
        file = files.setdefault(name, bytearray())
        for step in waiting:
            for part in _sectors(step):
                if dice.random() < kept:
                    _apply(file, part)
    return {name: bytes(data) for name, data in files.items()}


def _sectors(step: Step) -> Iterator[Step]:
    if step.kind == "truncate":
        yield step
    for first in range(0, len(step.data), SECTOR):
        yield Step("write", step.name, step.at + first, step.data[first : first + SECTOR])


def _apply(file: bytearray, step: Step) -> None:
    if step.kind == "truncate":
        del file[step.at :]
        return
    file.extend(bytes(max(0, step.at - len(file))))
    file[step.at : step.at + len(step.data)] = step.data


def losses_of(
    folder: Path, base: dict[str, bytes], steps: list[Step], losses: int, dice: random.Random
) -> tuple[int, int]:
    """Return how many losses cost an acknowledged label, and how many a whole desk."""
    lost = corrupt = 0
    for _ in range(losses):
        point = dice.randrange(1, len(steps) + 1)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, data in left(base, steps[:point], dice).items():
            (folder / name).write_bytes(data)
        acknowledged = sum(step.kind == "ack" for step in steps[:point])
        lost += acknowledged > labels(folder)
        corrupt += not is_whole(folder)
    return lost, corrupt
