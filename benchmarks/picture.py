"""Draw the pictures of README and docs: a session that plays, and two screens that stand still.

Each is the app itself on the sample run.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.pilot import Pilot

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # as a script it finds its folder alone

from benchmarks.svg import Frame, film, still  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
SAMPLE = ROOT / "sample_runs" / "support-bot.jsonl"
WRONG = {
    "delete-account-now", "deposit-release-date", "invoice-as-json", "lock-the-bike-short",
    "outage-at-night", "pause-first-month", "refund-after-30-days", "storm-closure-long",
}  # fmt: skip
"""Where the panel erred: it passed what should fail, or did not pass what should."""
WIDE, NARROW = (160, 46), (100, 28)
START, PACE = datetime(2025, 1, 6, 9, tzinfo=UTC), timedelta(seconds=40)
"""When the desk is opened, and how long it is between two looks at its clock."""
PAINTED = 0.4
"""Seconds before a key: a label counts only when its item has been on screen for a moment."""


@dataclass(frozen=True, slots=True)
class Step:
    """A key of the moving picture, what is said of the screen after it, and for how long."""

    key: str
    caption: str
    seconds: float


LEFT = ("winter-tyres", "card-number-request", "refund-after-30-days")
"""The items that the moving picture labels; all others have a label when it begins."""
STEPS = (
    Step("", "Read. The line above says what the panel decided, and why it asks you.", 4),
    Step("enter", "The jury: two pass it and two fail it; the rule left out one of each.", 4.5),
    Step("f", "You say fail. It is saved, and the next item is open.", 2.5),
    Step("p", "Pass. The figures at the foot move with every label.", 2.5),
    Step("f", "Fail: the last one. This run is decided.", 3),
    Step("f4", "May this judge gate? The answer first, then the figures behind it.", 4.5),
)


async def moving(folder: Path) -> str:
    """The session of ``STEPS``."""
    frames = []
    async with session(folder, NARROW, left=LEFT) as pilot:
        for step in STEPS:
            shot = await press(pilot, step.key)
            frames.append(Frame(shot, step.key, step.caption, step.seconds))
    return film(frames, NARROW)


async def desk(folder: Path) -> str:
    """The three panes side by side, after twelve labels."""
    async with session(folder, WIDE, labels=12) as pilot:
        return still(await press(pilot), WIDE)


async def calibration(folder: Path) -> str:
    """The calibration screen, after twelve labels."""
    async with session(folder, WIDE, labels=12) as pilot:
        return still(await press(pilot, "f4"), WIDE)


PICTURES = {
    "session.svg": moving,
    "desk.svg": desk,
    "calibration.svg": calibration,
}


@asynccontextmanager
async def session(
    folder: Path, size: tuple[int, int], *, labels: int | None = None, left: Collection[str] = ()
) -> AsyncIterator[Pilot[None]]:
    """Open a desk in a folder of its own, label the first items of the draw, start the app."""
    from reviewdesk.app.app import ReviewApp
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Truth, View
    from reviewdesk.reports.bytes.source import Source

    times = (START + look * PACE for look in count())
    opened = Desk.open(folder / "desk.db", reviewer="ada", clock=lambda: next(times))
    run = opened.load(Source.from_path(SAMPLE)).run
    for row in opened.rows(opened.queue(run)[:labels]):
        if row.id not in left:
            passes = (row.decision == "pass") is not (row.id in WRONG)
            opened.label(row.key, Truth.PASS if passes else Truth.FAIL, blind=False)
    app = ReviewApp(opened, run, view=View(), notice=None)
    app.theme = "desk"
    async with app.run_test(size=size) as pilot:
        yield pilot
    opened.close()


async def press(pilot: Pilot[None], *keys: str) -> str:
    """Press keys, and return the screen once it shows what they did."""
    shot = await settled(pilot)
    for key in filter(None, keys):
        await asyncio.sleep(PAINTED)
        await pilot.press(key)
        shot = await settled(pilot)
    return shot


async def settled(pilot: Pilot[None]) -> str:
    """Return the screen once it stays as it is."""
    shot = ""
    while shot != (shot := pilot.app.export_screenshot()):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause(PAINTED / 4)
    return shot


def main() -> None:
    """Write every picture."""
    os.environ.pop("NO_COLOR", None)
    for name, take in PICTURES.items():
        with tempfile.TemporaryDirectory() as folder:
            picture = asyncio.run(take(Path(folder)))
        (FOLDER / name).write_text(picture, encoding="utf-8")
        print(f"{(FOLDER / name).relative_to(ROOT)}: {len(picture) // 1000} kB")


if __name__ == "__main__":
    main()
