"""Kills of the real app, and of a labeller without a screen, while they label."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from trusting.console import Console, start
from trusting.rows import FaultRow, command, environment, is_whole, labels, loaded

LABELLER = """
import sys
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
desk = Desk.open()
run = desk.run()
keys = list(desk.queue(run))
if "NORMAL" in sys.argv:
    desk.conn.execute("PRAGMA synchronous=NORMAL")
count = int(sys.argv[1])
for place in range(count):
    desk.label(keys[place % len(keys)], Truth.PASS if place % 2 else Truth.FAIL)
    sys.stdout.write(f"{place + 1}\\n")
    sys.stdout.flush()
import os
os._exit(0)
"""
"""Labels, and acknowledges each by a line; with ``NORMAL`` as the control of power losses."""


def rows(folder: Path, apps: int, labellers: int, seed: int = 1) -> Iterator[FaultRow]:
    """Kill as often as asked for, on one desk each."""
    dice = random.Random(seed)
    lost, given, whole = _of_apps(loaded(folder / "app", 400), apps, dice)
    yield FaultRow(
        f"{apps} kill -9 of the app on a terminal while labels are pressed",
        "0 labels lost that were shown as saved",
        f"{lost} lost of {given}",
        whole and not lost and given > apps,
        ("terminal",),
    )
    lost, given, whole = _of_labellers(loaded(folder / "labeller", 50), labellers, dice)
    yield FaultRow(
        f"{labellers} kill -9 of a process that labels as fast as it can",
        "0 acknowledged labels lost",
        f"{lost} lost of {given:,}",
        whole and not lost,
        ("library",),
    )
    for what, words in WRITERS.items():
        yield _of_writer(loaded(folder / f"writer-{words[1]}", 300), what, words, apps, dice)


WRITERS = {
    "a backup": ("desk", "backup", "out.db"),
    "an export of a page": ("export", "html", "-o", "out.html"),
    "an export of a report": ("export", "report", "-o", "out.json"),
}


def _of_writer(
    folder: Path, what: str, words: Sequence[str], kills: int, dice: random.Random
) -> FaultRow:
    """Kill a command at any time of its last half; its file must be whole or not be there."""
    target, began = folder / words[-1], time.monotonic()
    command(folder, *words)
    longest, whole = time.monotonic() - began, _shape(target)
    killed = broken = named = 0
    for _ in range(kills):
        target.unlink(missing_ok=True)
        with subprocess.Popen(
            [sys.executable, "-m", "reviewdesk", *words], env=environment(folder), cwd=folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            time.sleep(longest * dice.uniform(0.5, 1.05))
            process.kill()
            in_time = process.wait() != 0
        killed += in_time
        if not in_time:
            longest *= 0.8  # the first was slower than those that follow
        named += target.exists()
        broken += target.exists() and _shape(target) != whole
    return FaultRow(
        f"{kills} kill -9 of {what}",
        "a whole file under its name, or none",
        f"{killed} were killed in time, {named} had their file, {broken} of these not whole",
        killed > 0 and not broken and is_whole(folder),
        ("shell", "export"),
    )


def _shape(file: Path) -> tuple[int, bytes]:
    """Return the length and the end of a file: a page names the minute of its export."""
    data = file.read_bytes()
    return len(data), data[-100:]


def _of_apps(folder: Path, kills: int, dice: random.Random) -> tuple[int, int, bool]:
    lost = shown = 0
    for _ in range(kills):
        app, before = start(folder), labels(folder)
        end = time.monotonic() + dice.uniform(0.3, 1.5)
        # A busy machine gets the time to give two labels.
        while (now := time.monotonic()) < end or (_done(app) < before + 2 and now < end + 20):
            app.send(b"p")
            app.drain(0.17)
        app.drain(dice.uniform(0, 0.05))
        app.kill()
        shown = max(before, _done(app))
        lost += max(0, shown - labels(folder))
    return lost, labels(folder), is_whole(folder)


def _done(app: Console) -> int:
    """Return how many items the screen says are done."""
    return max(map(int, re.findall(r"(\d+) of \d+ done", app.shown())), default=0)


def _of_labellers(folder: Path, kills: int, dice: random.Random) -> tuple[int, int, bool]:
    lost = given = 0
    for _ in range(kills):
        before = labels(folder)
        with subprocess.Popen(
            [sys.executable, "-c", LABELLER, "1000000"], env=environment(folder), cwd=folder,
            stdout=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            said = cast("IO[str]", process.stdout)
            said.readline()
            time.sleep(dice.uniform(0, 0.1))
            process.kill()
            acknowledged = 1 + sum(line.endswith("\n") for line in said)
        given += acknowledged
        lost += max(0, before + acknowledged - labels(folder))
    return lost, given, is_whole(folder)
