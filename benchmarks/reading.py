"""How soon the response of an item is met, and that no label is saved before it was on screen.

Every item of every report in some folders is opened with the real controller and painter, at four
sizes of the terminal. ``before`` is the pane without folds: no order of a text depends on it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from reviewdesk.app.controllers.exposure import ItemLayout, PartLines, SeenItems
from reviewdesk.app.controllers.jobs import Job
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.state import Panes
from reviewdesk.app.keys.actions import checked
from reviewdesk.app.paint.item import painted_item
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Item, Run, View
from reviewdesk.errors import ReviewDeskError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.settings import Settings

SIZES = ((80, 24), (100, 30), (160, 48), (220, 60))
FRAME = 6
"""Lines of the terminal that stand around the item's pane."""
SAMPLES = Path(__file__).resolve().parent.parent / "sample_runs"


class NoJobs:
    """Runs no job: neither figures nor the search index are needed."""

    def start(self, job: Job) -> None:
        """Leave a job undone."""

    def cancel(self, name: str) -> None:
        """Do nothing, as nothing runs."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What an item shows at opening, and the half pages until a label counts."""

    head: bool
    end: bool
    presses: int


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[SAMPLES])
    folders = parser.parse_args().folders
    with tempfile.TemporaryDirectory() as scratch:
        desk = Desk.open(Path(scratch) / "desk.db", reviewer="benchmark")
        runs = [*loaded(desk, folders)]
        items = [desk.item(key) for run in runs for key in desk.queue(run, "", "file")]
        print(f"{len(items)} items of {len(runs)} reports")
        print("size     pane             heading    end  half pages: mean  worst")
        for size in SIZES:
            for name, fold in (("before", False), ("after", True)):
                print(line(size, name, [opening(item, size, fold=fold) for item in items]))
        early, given = 0, 0
        for run in runs:
            for size in SIZES:
                found = label_all(desk, run, size)
                early, given = early + found[0], given + found[1]
        print(f"{given} labels given by pressing one key, {early} before the response was seen")
        desk.close()
    raise SystemExit(early > 0)


def loaded(desk: Desk, folders: list[Path]) -> Iterator[Run]:
    """Load every file that is a report, and yield its run."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in {".json", ".jsonl", ".csv", ".eval"}:
                try:
                    yield desk.load(Source.from_path(path)).run
                except ReviewDeskError:
                    continue


def room(size: tuple[int, int]) -> tuple[int, int]:
    """Return columns and lines of the item's pane: side by side with two others, or alone."""
    width, height = size
    panes = Panes(width=width)
    # Two columns of a pane are its scroll bar and what is left free before it.
    return (panes.columns["item"] if panes.wide else width) - 2, height - FRAME


def layout_of(item: Item, size: tuple[int, int], *, fold: bool) -> tuple[ItemLayout, int]:
    """Return where the item's texts stand, and the height of the pane."""
    width, height = room(size)
    painted = painted_item(item, width, height if fold else None, hidden=False)
    return painted.layout, height


def opening(item: Item, size: tuple[int, int], *, fold: bool) -> Opening:
    """Open one item, and scroll half pages until its response was on screen."""
    layout, height = layout_of(item, size, fold=fold)
    seen, top, presses = SeenItems(), 0, 0
    seen.saw(layout, range(top, top + height), top, height)
    while seen.unseen(item) is not None and presses < 1000:
        presses, top = presses + 1, top + height // 2
        seen.saw(layout, range(top, top + height), top, height)
    responses = layout.responses
    head = responses[0].head < height
    end = max(part.below for part in responses) <= height
    return Opening(head, end, presses)


def line(size: tuple[int, int], name: str, found: list[Opening]) -> str:
    """Return one line of the table."""
    heads, ends = (mean(getattr(one, part) for one in found) for part in ("head", "end"))
    presses = [one.presses for one in found]
    columns, lines = room(size)
    return (
        f"{size[0]}x{size[1]:<4} {columns:>3}x{lines:<3} {name:<8}"
        f" {heads:>7.1%} {ends:>6.1%} {mean(presses):>17.2f} {max(presses):>6}"
    )


def label_all(desk: Desk, run: Run, size: tuple[int, int]) -> tuple[int, int]:
    """Press one label key until every item has a label; count labels, and those given too early.

    Whether a response was seen is counted here anew: lines on screen, in this layout alone.
    """
    now = [0.0]
    settings = Settings()
    controller = ReviewController(
        desk, run, View(order="file"), settings=settings, keys=checked(settings), runner=NoJobs(),
        clock=lambda: now[0],
    )  # fmt: skip
    controller.begin(*size)
    early = given = 0
    for index in range(len(controller.session.keys)):
        controller.safely(controller.review.show, index)
        controller.show()
        item = controller.session.item
        if item is None:
            continue
        found, presses = press_until_labelled(controller, desk, item, size, now)
        early, given = early + found, given + bool(presses)
    return early, given


def press_until_labelled(
    controller: ReviewController, desk: Desk, item: Item, size: tuple[int, int], now: list[float]
) -> tuple[bool, int]:
    """Press ``p`` until the item gets a label; return whether that was too early, and the count."""
    lines: dict[str, set[int]] = {}
    before = len(desk.item(item.row.key).history)
    for presses in range(1, 100):
        controller.take()
        top, height, layout = view_of(controller, item, size)
        controller.guard.shown_once()
        if len(desk.item(item.row.key).history) == before:
            for part in layout.responses:
                rows = range(max(part.first, top), min(part.below, top + height))
                lines.setdefault(part.name, set()).update(rows)
            controller.seen.saw(layout, range(top, top + height), top, height)
        now[0] += 1
        controller.handle("label.pass")
        if len(desk.item(item.row.key).history) > before:
            return any(not enough(part, lines, height) for part in layout.responses), presses
    raise SystemExit(f"{item.verdict.id} takes no label at {size}")


def enough(part: PartLines, lines: dict[str, set[int]], height: int) -> bool:
    """Return True if all of a response, or a screenful of its lines, was on screen."""
    return len(lines.get(part.name, ())) >= min(height, part.below - part.first)


def view_of(
    controller: ReviewController, item: Item, size: tuple[int, int]
) -> tuple[int, int, ItemLayout]:
    """Return the line at the top of the pane, its height, and the layout of what it shows."""
    state, (width, height) = controller, room(size)
    layout = painted_item(item, width, height, hidden=False, reading=state.reading).layout
    top = state.seen.top
    line = layout.line(top, height)
    furthest = max(part.below for part in layout.parts) - height
    return max(0, min(line, furthest)), height, layout


if __name__ == "__main__":
    main()
