"""Draw the pictures of README and docs: a session that plays, and screens that stand still.

Each is the app itself on a sample run. The page of screens shows each subject once, at one of four
sizes and in one of two themes.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from textual.worker import WorkerCancelled

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
    Step("f4", "May this judge decide alone? The answer first, then the figures behind it.", 4.5),
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


LIBRARY = ROOT / "sample_runs" / "library-desk.jsonl"
LIGHT = "desk-light"


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen that stands still: its size, theme and keys, and the labels given before them."""

    size: tuple[int, int]
    theme: str
    keys: tuple[str, ...] = ()
    labels: int = 0
    sample: Path = SAMPLE
    copies: int = 1
    """How often the verdicts of the sample stand in the run, each time for another guest."""
    team: bool = False
    """Whether a second person has labelled, and differs on some items."""


SCREENS = {
    "queue": Screen((80, 24), "desk", ("f2",), 12),
    "item": Screen((100, 30), LIGHT),
    "jury": Screen((160, 48), "desk", ("tab",)),
    "blind": Screen((220, 60), LIGHT, ("b",)),
    "calibration-0": Screen((80, 24), LIGHT, ("f4",), 0, LIBRARY),
    "calibration-1": Screen((100, 30), "desk", ("f4",), 1, LIBRARY),
    "calibration-25": Screen((160, 48), LIGHT, ("f4", "enter"), 25, LIBRARY),
    "calibration-200": Screen((220, 60), "desk", ("f4", "enter"), 200, LIBRARY, 6),
    "rerun": Screen((100, 30), "desk", ("enter", "G"), 0, LIBRARY),
    "compare": Screen((160, 48), LIGHT, ("f5", "j", "d"), 25),
    "team": Screen((80, 24), "desk", (), 20, LIBRARY, team=True),
}


def copied(sample: Path, copies: int) -> Iterator[str]:
    """Yield the lines of a sample, its verdicts as often as asked, the first asked again once."""
    head, *lines = sample.read_text(encoding="utf-8").splitlines()
    yield head
    for copy in range(copies):
        for line in lines:
            body = json.loads(line)
            if copy:
                body["id"] += f"-{copy + 1}"
                body["input"] += f" (Guest {copy + 1} asks.)"
            if body["id"] == "guest":
                again = {name: body[name] for name in ("id", "case", "input", "output", "rubric")}
                jurors = [one | {"score": 0.2, "pass": False} for one in body["jurors"][:1]]
                jurors += body["jurors"][1:]
                again |= {"decision": "fail", "score": 0.45, "jurors": jurors}
                body["reruns"] = [again]
            yield json.dumps(body)


async def screen(folder: Path, *, name: str) -> str:
    """One of ``SCREENS``."""
    asked = SCREENS[name]
    path = asked.sample
    if asked.sample == LIBRARY:
        path = folder / LIBRARY.name
        path.write_text("\n".join(copied(LIBRARY, asked.copies)), encoding="utf-8")
    keys = asked.keys
    async with session(
        folder, asked.size, labels=asked.labels, sample=path, theme=asked.theme, team=asked.team,
        first="guest" if name == "rerun" else "",
    ) as pilot:  # fmt: skip
        if asked.team:
            app = pilot.app
            app.act(lambda: app.controller.run("team"))  # type: ignore[attr-defined]
        shot = await press(pilot, *keys)
        return still(shot, asked.size, pilot.app.current_theme.background or "")


PRINTED = {
    "first-report": ("reviewdesk open answers.csv",),
    "gate": (
        "reviewdesk ingest library-desk.jsonl",
        "reviewdesk labels import library-desk-truth.jsonl",
        "reviewdesk labels export --format suite -o judge",
        "reviewdesk gate judge/suite.yml --report library-desk.jsonl",
    ),
    "improve": (
        "reviewdesk ingest library-desk.jsonl",
        "reviewdesk labels import library-desk-truth.jsonl",
        "reviewdesk panel new panel.yaml --from library-desk.jsonl",
        "reviewdesk improve split --open",
        "reviewdesk improve --panel panel.yaml",
    ),
}
"""Commands of pages whose output is a picture: of the last command alone."""


async def asking(folder: Path) -> str:
    """The review while a question is open, after the labels that its draw asked for."""
    truths = sample_truths()
    async with session(folder, NARROW, labels=0, sample=LIBRARY) as pilot:
        core: Any = pilot.app.controller  # type: ignore[attr-defined]
        pilot.app.act(partial(core.run, "ask accuracy >= 0.8"))  # type: ignore[attr-defined]
        await settled(pilot)
        for _ in range(18):
            shot = await press(pilot, "p" if truths[core.session.item.row.id] else "f")
        return still(shot, NARROW, pilot.app.current_theme.background or "")


async def improving(folder: Path) -> str:
    """The console's page of what the museum's panel gets wrong, once its labels are split."""
    judge = await asyncio.create_subprocess_exec(
        sys.executable, LIBRARY.with_name("scripted_judge.py"), "0", stdout=asyncio.subprocess.PIPE
    )
    lines: Any = judge.stdout
    try:
        address = (await lines.readline()).decode().split()[-1]
        panel = LIBRARY.with_name("panel-museum.yaml").read_text(encoding="utf-8")
        panel = panel.replace("http://127.0.0.1:8737/v1", address)
        (folder / "museum.yaml").write_text(panel, encoding="utf-8")
        for one in LIBRARY.parent.glob("museum-*"):
            shutil.copy(one, folder)
        os.chdir(folder)
        for line in MUSEUM:
            await told(line)
        museum = folder / "museum.jsonl"
        async with session(folder, NARROW, labels=0, sample=museum, theme=LIGHT) as pilot:
            core: Any = pilot.app.controller  # type: ignore[attr-defined]
            await press(pilot, "f4")
            pilot.app.act(partial(core.run, "improve museum.yaml"))  # type: ignore[attr-defined]
            return still(await press(pilot), NARROW, pilot.app.current_theme.background or "")
    finally:
        judge.terminate()
        await judge.wait()


MUSEUM = (
    "reviewdesk judge museum-cases.jsonl --panel museum.yaml -o museum.jsonl --yes",
    "reviewdesk ingest museum.jsonl",
    "reviewdesk labels import museum-truth.jsonl",
    "reviewdesk improve split",
)
"""The commands of the tutorial on better panels before its page is open."""


async def told(line: str) -> str:
    """Carry out a command on the desk of the folder, and return what it prints."""
    done = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *line.split(),
        env={**os.environ, "PYTHONPATH": str(ROOT), "REVIEWDESK_DESK": "desk.db"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await done.communicate()
    return said.decode()


async def printed(folder: Path, *, name: str) -> str:
    """The last of some commands with what it prints, in a terminal of 100 columns."""
    page = (ROOT / "docs" / "first-report.md").read_text(encoding="utf-8")
    table = page.split("```text\n")[1].split("```")[0]
    (folder / "answers.csv").write_text(table, encoding="utf-8")
    for one in LIBRARY.parent.glob("library-desk*"):
        shutil.copy(one, folder)
    os.chdir(folder)
    for line in PRINTED[name]:
        said = await told(line)
    screen = Console(record=True, width=100, file=StringIO())
    screen.print(f"$ {line}\n{said}", markup=False, highlight=False, end="")
    height = len(screen.export_text(clear=False).splitlines())
    return still(screen.export_svg(), (100, height))


PICTURES = {
    "session.svg": moving,
    "desk.svg": desk,
    "ask.svg": asking,
    "tutorial-improve.svg": improving,
    **{f"screen-{name}.svg": partial(screen, name=name) for name in SCREENS},
    **{f"{name}.svg": partial(printed, name=name) for name in PRINTED},
}


@asynccontextmanager
async def session(
    folder: Path, size: tuple[int, int], *, labels: int | None = None, left: Collection[str] = (),
    sample: Path = SAMPLE, theme: str = "desk", team: bool = False, first: str = "",
) -> AsyncIterator[Pilot[None]]:  # fmt: skip
    """Open a desk in a folder of its own, label the first items of the draw, start the app."""
    from reviewdesk.app.app import ReviewApp
    from reviewdesk.desk.core import Desk
    from reviewdesk.desk.review.runs import Opening
    from reviewdesk.domain.records import Truth, View
    from reviewdesk.reports.bytes.source import Source

    times = (START + look * PACE for look in count())
    opened = Desk.open(folder / "desk.db", reviewer="ada", clock=lambda: next(times))
    if sample == SAMPLE and theme == LIGHT:
        os.chdir(SAMPLE.parent)
        opened.load(Source.from_path(Path("support-bot-second-panel.jsonl")))
    os.chdir(sample.parent)  # no picture shows a path of this machine
    run = opened.load(Source.from_path(Path(sample.name))).run
    truths = sample_truths()
    rows = opened.rows(opened.queue(run)[:labels])
    for at, row in enumerate(rows):
        if row.id not in left:
            name = row.id.rpartition("-")[0] if row.id[-1].isdecimal() else row.id
            passes = truths.get(name, (row.decision == "pass") is not (row.id in WRONG))
            opened.label(row.key, Truth.PASS if passes else Truth.FAIL, blind=at % 2 == 0)
    if team:
        with closing(
            Desk.open(folder / "desk.db", reviewer="ben", clock=lambda: next(times))
        ) as ben:
            for at, row in enumerate(rows):
                passes = truths[row.id] is not (at % 7 == 3)
                ben.label(row.key, Truth.PASS if passes else Truth.FAIL, blind=True)
    keys = [row.key for row in opened.rows(opened.queue(run)) if row.id == first]
    view = View(item=first) if keys else View()
    app = ReviewApp(Opening(opened, run, view))
    app.theme = theme
    async with app.run_test(size=size) as pilot:
        yield pilot
    opened.close()


def sample_truths() -> dict[str, bool]:
    """Return which verdicts of the library's run should pass."""
    text = LIBRARY.with_name("library-desk-truth.jsonl").read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines())
    return {row["id"]: row["truth"] == "pass" for row in rows}


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
        with suppress(WorkerCancelled):  # a question stops what was read for the old queue
            await pilot.app.workers.wait_for_complete()
        await pilot.pause(PAINTED / 4)
    return shot


def main() -> None:
    """Write every picture."""
    os.environ.pop("NO_COLOR", None)
    wanted = sys.argv[1:] or [*PICTURES]
    for name in wanted:
        take = PICTURES[name]
        with tempfile.TemporaryDirectory() as folder:
            picture = asyncio.run(take(Path(folder)))
        (FOLDER / name).write_text(picture, encoding="utf-8")
        print(f"{(FOLDER / name).relative_to(ROOT)}: {len(picture) // 1000} kB")


if __name__ == "__main__":
    main()
