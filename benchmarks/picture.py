"""Draw the pictures of the README: the desk on the sample run, as it looks after a few labels."""

from __future__ import annotations

import asyncio
import os
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks"
SAMPLE = ROOT / "sample_runs" / "support-bot.jsonl"
LABELLED = 12
"""The items labelled before the picture: the first of the draw."""
WRONG = {"refund-after-30-days", "deposit-release-date", "storm-closure-long"}
"""Where the panel erred among them."""
WIDE = (160, 46)
START, PACE = datetime(2025, 1, 6, 9, tzinfo=UTC), timedelta(seconds=40)
"""When the desk is opened, and how long it is between two looks at its clock."""


async def desk(folder: Path) -> str:
    """The three panes side by side."""
    return await draw(folder, "desk", WIDE)


async def calibration(folder: Path) -> str:
    """The calibration screen."""
    return await draw(folder, "desk", WIDE, "f4")


PICTURES = {
    "desk.svg": desk,
    "calibration.svg": calibration,
}


async def draw(folder: Path, theme: str, size: tuple[int, int], *keys: str) -> str:
    """Open a desk in a folder of its own, label a few items, press the keys, take the picture."""
    from reviewdesk.app.app import ReviewApp
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Truth, View
    from reviewdesk.reports.bytes.source import Source

    times = (START + look * PACE for look in count())
    opened = Desk.open(folder / "desk.db", reviewer="ada", clock=lambda: next(times))
    run = opened.load(Source.from_path(SAMPLE)).run
    for row in opened.rows(opened.queue(run)[:LABELLED]):
        passes = (row.decision == "pass") is not (row.id in WRONG)
        opened.label(row.key, Truth.PASS if passes else Truth.FAIL, blind=False)
    app = ReviewApp(opened, run, view=View(), notice=None)
    app.theme = theme
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        picture = app.export_screenshot(title="reviewdesk")
    opened.close()
    return picture


def main() -> None:
    """Write every picture."""
    os.environ.pop("NO_COLOR", None)
    for name, take in PICTURES.items():
        with tempfile.TemporaryDirectory() as folder:
            picture = asyncio.run(take(Path(folder)))
        (FOLDER / name).write_text(picture, encoding="utf-8")
        print(f"{FOLDER.name}/{name}")


if __name__ == "__main__":
    main()
