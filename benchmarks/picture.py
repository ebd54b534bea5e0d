"""Draw the README's picture: the desk on the sample run, as it looks after a few labels."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "benchmarks" / "desk.svg"
SAMPLE = ROOT / "sample_runs" / "support-bot.jsonl"
LABELLED = 12
"""The items labelled before the picture: the first of the draw."""
WRONG = {"refund-after-30-days", "deposit-release-date", "lock-the-bike-short"}
"""Where the panel erred among them."""


async def draw(folder: Path) -> str:
    """Open a desk in a folder of its own, label a few items, and take the picture."""
    from reviewdesk.app.app import ReviewApp
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Truth, View
    from reviewdesk.reports.source import Source

    desk = Desk.open(folder / "desk.db", reviewer="ada")
    run = desk.load(Source.from_path(SAMPLE)).run
    for row in desk.rows(desk.queue(run)[:LABELLED]):
        passes = (row.decision == "pass") is not (row.id in WRONG)
        desk.label(row.key, Truth.PASS if passes else Truth.FAIL, blind=False)
    app = ReviewApp(desk, run, view=View(), notice=None)
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        picture = app.export_screenshot(title="reviewdesk")
    desk.close()
    return picture


def main() -> None:
    """Write the picture."""
    os.environ.pop("NO_COLOR", None)
    os.environ["REVIEWDESK_THEME"] = "desk"
    with tempfile.TemporaryDirectory() as folder:
        picture = asyncio.run(draw(Path(folder)))
    PICTURE.write_text(picture, encoding="utf-8")
    print(PICTURE.relative_to(ROOT))  # noqa: T201


if __name__ == "__main__":
    main()
