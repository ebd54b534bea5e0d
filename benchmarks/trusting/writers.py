"""Several writers on one desk, one that holds the lock, and a clock that goes backwards."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, cast

from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
from trusting.console import start
from trusting.rows import FaultRow, environment, is_whole, labels, loaded

WRITERS = 8
ANSWER = 0.05
"""Seconds in which the screen must answer a key."""

WRITER = """
import sys, time
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
desk = Desk.open()
keys = list(desk.queue(desk.run()))
print("ready", flush=True)
sys.stdin.readline()
longest = 0.0
for place in range(int(sys.argv[1])):
    began = time.monotonic()
    desk.label(keys[place % len(keys)], Truth.PASS)
    longest = max(longest, time.monotonic() - began)
print(longest)
desk.close()
"""


def rows(folder: Path, each: int, locks: tuple[int, ...]) -> Iterator[FaultRow]:
    """Write from eight processes, against locks, and with a clock that is set back."""
    longest, given, whole = _together(loaded(folder / "writers", 50), each)
    wanted = WRITERS * each
    yield FaultRow(
        f"{WRITERS} processes x {each} labels on one desk",
        f"{wanted:,} of {wanted:,}, none waits over 1 s",
        f"{given:,} of {wanted:,}, the longest wait {longest:.2f} s",
        whole and given == wanted and longest < 1,
        ("library",),
    )
    for seconds in locks:
        yield _locked(loaded(folder / f"lock-{seconds}", 50), seconds)
    yield _clock(loaded(folder / "clock", 50))


def _together(folder: Path, each: int) -> tuple[float, int, bool]:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(each)], env=environment(folder, f"ann{place}"),
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for place in range(WRITERS)
    ]  # fmt: skip
    for worker in workers:
        cast("IO[str]", worker.stdout).readline()
    for worker in workers:
        cast("IO[str]", worker.stdin).write("go\n")
        cast("IO[str]", worker.stdin).flush()
    said = [worker.communicate()[0] for worker in workers]
    longest = max((float(text) for text in said if text.strip()), default=float("inf"))
    return longest, labels(folder), is_whole(folder)


def _locked(folder: Path, seconds: int) -> FaultRow:
    """Press label keys while another process holds the lock; each changes the screen."""
    app, wanted = start(folder), min(20, 3 * seconds)
    app.drain(0.5)
    waits: list[float] = []
    with closing(sqlite3.connect(folder / "desk.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        end = time.monotonic() + seconds
        for _ in range(wanted):
            before, began = len(app.output), time.monotonic()
            app.send(b"p")
            while len(app.output) == before and time.monotonic() < end:
                app.drain(0.002)
            waits.append(time.monotonic() - began)
            app.drain(0.25)
        app.drain(max(0.0, end - time.monotonic()))
        other.execute("ROLLBACK")
    until = time.monotonic() + 10
    while labels(folder) < wanted and time.monotonic() < until:
        app.drain(0.2)
    app.kill()
    given = labels(folder)
    return FaultRow(
        f"the lock held for {seconds} s while {wanted} label keys are pressed",
        f"every key answered in {1000 * ANSWER:.0f} ms, no label lost",
        f"slowest answer {1000 * max(waits):,.0f} ms, {given} of {wanted} saved",
        given == wanted and max(waits) <= ANSWER,
        ("terminal",),
    )


def _clock(folder: Path) -> FaultRow:
    """Label under a clock that goes back an hour with each label."""
    now = [datetime(2025, 1, 1, tzinfo=UTC)]

    def clock() -> datetime:
        now[0] -= timedelta(hours=1)
        return now[0]

    with closing(Desk.open(folder / "desk.db", reviewer="ann", clock=clock)) as desk:
        key = next(iter(desk.queue(desk.run())))
        for place in range(20):
            desk.label(key, Truth.PASS if place % 2 else Truth.FAIL)
        (row,) = desk.rows([key])
        last = row.label is Truth.PASS
    return FaultRow(
        "a clock that goes back an hour with each of 20 labels of one item",
        "the label given last counts, the log is whole",
        f"the last one {'counts' if last else 'does not count'}",
        last and is_whole(folder),
        ("library",),
    )
