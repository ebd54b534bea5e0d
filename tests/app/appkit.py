"""What the app's tests share: small reports, a desk that holds them, a clock, an app."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from reviewdesk.app.app import ReviewApp
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.desk import Desk
from reviewdesk.desk.core import now
from reviewdesk.domain.records import Run, View
from reviewdesk.reports.source import Source
from reviewdesk.settings import Settings, load_settings

WIDE, SMALL = (160, 48), (80, 24)


class Clock:
    """A monotonic clock that a test moves by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def juror(name: str, score: float | None, **more: Any) -> dict[str, Any]:
    return {"id": name, "model": name, "score": score, "reason": f"{name} thinks so", **more}


def verdict(number: int, scores: Sequence[float] = (0.9, 0.8, 0.3), **more: Any) -> dict[str, Any]:
    return {
        "id": f"item/{number:03d}",
        "case": {"test": f"test {number}", "tags": ["smoke"]},
        "input": f"question {number}",
        "output": f"answer {number}",
        "rubric": "the answer is right",
        "jurors": [juror(f"judge-{i}", score) for i, score in enumerate(scores)],
        "escalate_for_review": number % 2 == 0,
        **more,
    }


def report(verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    policy = {"threshold": 0.7, "quorum": 0.5, "strategy": "quorum"}
    return {"schema": "reviewdesk.report/1", "defaults": policy, "verdicts": list(verdicts)}


def open_run(
    path: Path,
    body: dict[str, Any],
    seed: str | None = None,
    clock: Callable[[], datetime] = now,
) -> tuple[Desk, Run]:
    from reviewdesk.desk import LoadOptions

    desk = Desk.open(path, reviewer="ann", clock=clock)
    source = Source.from_bytes("run.json", json.dumps(body).encode())
    return desk, desk.load(source, LoadOptions(seed=seed)).run


class Stage:
    """A running app with what a test pokes at."""

    def __init__(self, app: ReviewApp, pilot: Pilot[None], clock: Clock) -> None:
        self.app, self.pilot, self.clock = app, pilot, clock

    @property
    def review(self) -> ReviewScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, ReviewScreen)
        return screen

    @property
    def desk(self) -> Desk:
        return self.app.sitting.desk

    @property
    def current(self) -> str | None:
        item = self.app.sitting.session.item
        return item.verdict.id if item else None

    async def press(self, *keys: str, wait: float = 0.2) -> None:
        for key in keys:
            self.clock.wait(wait)
            await self.pilot.press(key)
        await self.settle()

    async def settle(self) -> None:
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    def cells(self) -> list[str]:
        """The screen as text, line by line, as it is drawn."""
        width, height = self.app.size
        rows = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in row)[:width] for row in rows[:height]]

    def drawn(self) -> str:
        return "\n".join(self.cells())


@asynccontextmanager
async def staged(
    desk: Desk,
    run: Run,
    *,
    size: tuple[int, int] = WIDE,
    view: View | None = None,
    notice: str | None = None,
    settings: Settings | None = None,
) -> AsyncIterator[Stage]:
    clock = Clock()
    app = ReviewApp(
        desk,
        run,
        view=view or View(),
        settings=settings or load_settings(),
        clock=clock,
        stamp=lambda _event: clock(),
        notice=notice,
    )
    # With tooltips and toasts, as in a real terminal: they are children of the screen too.
    async with app.run_test(size=size, tooltips=True, notifications=True) as pilot:
        stage = Stage(app, pilot, clock)
        await stage.settle()
        yield stage
    desk.close()
