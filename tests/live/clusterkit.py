"""A vendor with limits, workers that hold its key, and the command that judges by them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from asyncio.subprocess import Process
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers import ROOT, environment
from tests.judgekit import Room, of_whom
from tests.live.server import Seen, Server, answer, envelope, verdict
from tests.scale.workerkit import worker_processes

KEY = "sk-sentinel-of-the-workers-7f3a9c"
NAME = "KEY_OF_THE_WORKERS"


@dataclass
class LimitedVendor:
    """Admits so many requests at once, and of each model in any minute; others meet a 429.

    It answers with the key that came, as an endpoint may do. ``paid`` counts its answers.
    """

    most_open: int
    per_minute: int | None = None
    latency: float = 0.05
    open: int = 0
    refused: int = 0
    paid: Counter[tuple[str, str]] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)
    admitted: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    async def __call__(self, seen: Seen, out: asyncio.StreamWriter) -> None:
        self.keys.add(seen.key)
        who, now = of_whom(seen.payload), asyncio.get_running_loop().time()
        lane = self.admitted[who[1]]
        while lane and lane[0] <= now - 60:
            lane.popleft()
        full = self.per_minute is not None and len(lane) >= self.per_minute
        if full or self.open >= self.most_open:
            self.refused += 1
            told = {"retry-after-ms": "500"}
            out.write(answer(429, {"error": {"message": f"slow down, {seen.key}"}}, told))
            return
        lane.append(now)
        self.open += 1
        await asyncio.sleep(self.latency)
        self.open -= 1
        self.paid[who] += 1
        out.write(answer(200, envelope(seen, verdict(seen, reason=f"The key is {seen.key}."))))


@dataclass(frozen=True)
class ClusterRun:
    """What a run over workers left behind."""

    code: int
    told: dict[str, Any]
    stderr: str
    lost: Counter[tuple[str, str]]
    """The calls whose worker was gone, by case and model, as the journal has them."""


async def judge_over_workers(
    room: Room, server: Server, kill_after: int | None, *options: str, workers: int = 2
) -> ClusterRun:
    """Judge the cases of a room over workers of a scheduler, and kill one of them meanwhile."""
    from distributed import LocalCluster

    async with LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None,
        env={NAME: KEY, "PYTHONPATH": str(ROOT)}, silence_logs=logging.CRITICAL,
        asynchronous=True,
    ) as cluster:  # fmt: skip
        process = await start(room, {}, "--scheduler", cluster.scheduler_address, *options)
        if kill_after is not None:
            await server.reached(kill_after)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        return await ended(room, process)


async def judge_by_own_workers(
    room: Room, server: Server, kill_after: int, *options: str
) -> ClusterRun:
    """Judge the cases of a room over two workers of the command, and kill one of them meanwhile."""
    process = await start(room, {NAME: KEY}, "--workers", "2", *options)
    await server.reached(kill_after)
    os.kill(worker_processes(process.pid)[0], signal.SIGKILL)
    return await ended(room, process)


async def start(room: Room, keys: dict[str, str], *options: str) -> Process:
    """Start the command in a session of its own, as a terminal does."""
    return await asyncio.create_subprocess_exec(
        *command(room), "--json", *options, env=environment(room.folder / "desk.db") | keys,
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


async def ended(room: Room, process: Process) -> ClusterRun:
    """Wait until the command, and all that hold its output, have ended."""
    out, err = await process.communicate()
    assert process.returncode is not None
    told = json.loads(out) if out else {}
    return ClusterRun(process.returncode, told, err.decode(), lost_calls(room))


def command(room: Room) -> list[str]:
    order = room.order()
    return [
        sys.executable, "-m", "reviewdesk", "judge", order.cases, "--panel", order.panel,
        "-o", order.report, "--yes",
    ]  # fmt: skip


def lost_calls(room: Room) -> Counter[tuple[str, str]]:
    """The calls of a journal that a worker took with it."""
    if not room.replies.exists():
        return Counter()
    return Counter(
        (line["case"], f"m{line['seat']}")
        for line in room.stored()
        if (line["problem"] or "").startswith("worker_lost")
    )


def holds_key(folder: Path) -> list[Path]:
    """The files below a folder that hold the key."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if KEY.encode() in path.read_bytes()]
