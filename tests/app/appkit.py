"""What the app's tests share: small reports, a desk that holds them, a clock, an app."""

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.content import Content
from textual.driver import Driver
from textual.keys import KEY_NAME_REPLACEMENTS, KEY_TO_UNICODE_NAME, REPLACED_KEYS
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input, TextArea
from textual.worker import WorkerCancelled

from reviewdesk.app.app import ReviewApp
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.state import Panes, Session
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.runs import Opening
from reviewdesk.domain.records import Item, Run, View
from reviewdesk.settings import Settings, load_settings
from reviewdesk.views import verdict as verdict_views
from tests.app.builders import SMALL, WIDE, Clock, juror, open_run, report, verdict

__all__ = [
    "SMALL", "WIDE", "Clock", "QuickPilot", "Stage", "juror", "jury_lines", "open_run", "report",
    "same_cells", "seeds", "showing", "staged", "verdict",
]  # fmt: skip


def seeds(count: int) -> list[Any]:
    """Return seeds of random keys to parametrize by; what they press takes long."""
    return [pytest.param(seed, marks=pytest.mark.slow) for seed in range(count)]


class QuickPilot(Pilot[None]):
    """A pilot that waits for messages to be handled and for nothing else.

    Textual's own waits until the process has been idle for 20 ms, several times a key.
    """

    def __init__(self, app: App[None], clock: Clock | None = None) -> None:
        super().__init__(app)
        self.clock = clock or Clock()

    async def press(self, *keys: str) -> None:
        """Press keys, each when the one before is handled and drawn; a text is drawn as a whole."""
        for key in keys:
            self.clock.wait(0.03)  # faster, they would be those of a paste
            typed = len(key) == 1 and isinstance(self.app.focused, Input | TextArea)
            self.app.post_message(key_event(key))
            await (drained(self.app) if typed else self.pause())

    async def pause(self, delay: float | None = None) -> None:
        """Wait until everything is handled and drawn."""
        if delay is not None:
            await super().pause(delay)
            return
        await drained(self.app)
        more = True
        while more and self.app.is_running:
            # Waits for the message that each part is at, and draws; which may ask for more.
            await super().pause(0)
            more = self.clock.run_next()
            more = await drained(self.app) or more

    async def resize_terminal(self, width: int, height: int) -> None:
        """Resize, and wait for the moment after which the app passes a new size on."""
        await super().resize_terminal(width, height)
        while self.app.is_running and self.app.screen.outer_size != (width, height):
            await super().pause(0.001)
        await self.pause()


def key_event(key: str) -> events.Key:
    """Return the event of a key, named as Textual names keys or given as its character."""
    if len(key) == 1 and not key.isalnum():
        name = unicodedata.name(key).lower().replace(" ", "_").replace("-", "_")
        return events.Key(KEY_NAME_REPLACEMENTS.get(name, name), key)
    if len(key) == 1:
        return events.Key(key, key)
    name = REPLACED_KEYS.get(key, key)
    try:
        return events.Key(key, unicodedata.lookup(KEY_TO_UNICODE_NAME.get(name, name)))
    except KeyError:
        return events.Key(key, None)


async def drained(app: App[None]) -> bool:
    """Wait until no part of the app has a message in its queue; return True if one had."""
    found, quiet = False, 0
    while quiet < 3 and app.is_running:
        await asyncio.sleep(0)
        parts = (part for screen in app.screen_stack for part in screen.walk_children())
        busy = any(part.message_queue_size for part in chain([app], app.screen_stack, parts))
        found, quiet = found or busy, 0 if busy else quiet + 1
    return found


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
        return self.controller.desk

    @property
    def controller(self) -> ReviewController:
        return self.app.controller

    @property
    def session(self) -> Session:
        return self.controller.session

    @property
    def panes(self) -> Panes:
        return self.controller.panes

    @property
    def notice(self) -> str:
        return self.controller.notice.text

    def run(self, text: str) -> None:
        """Give a command line."""
        self.app.act(lambda: self.controller.run(text))

    @property
    def item(self) -> Item:
        assert self.session.item is not None
        return self.session.item

    @property
    def current(self) -> str | None:
        return self.session.item.verdict.id if self.session.item else None

    async def press(self, *keys: str, wait: float = 0.2) -> None:
        for key in keys:
            self.clock.wait(wait)
            await self.pilot.press(key)
            await self.answered()
        await self.settle()

    async def write(self, text: str) -> None:
        """Put a text into the field that has the keys, by one paste."""
        self.app.post_message(events.Paste(text))
        await self.settle()

    async def resize(self, size: tuple[int, int]) -> None:
        await self.pilot.resize_terminal(*size)
        await self.settle()

    async def settle(self) -> None:
        """Wait until every worker has ended and everything is handled and drawn."""
        await self.pilot.pause()
        await self.answered()

    async def answered(self) -> None:
        """Wait until every worker has ended and what it brought is drawn."""
        while any(not worker.is_finished for worker in self.app.workers):
            # One that is asked for anew is cancelled.
            with suppress(WorkerCancelled):
                await self.app.workers.wait_for_complete()
            await self.pilot.pause()

    def cells(self) -> list[str]:
        """The screen as text, line by line, as it is drawn."""
        width, height = self.app.size
        rows = self.strips()[:height]
        return ["".join(segment.text for segment in row)[:width] for row in rows]

    def strips(self) -> list[Strip]:
        """The screen as it is drawn, line by line; Textual publishes it as a picture alone."""
        return self.app.screen._compositor.render_strips()

    def styled(self) -> list[list[tuple[str, str]]]:
        """The screen as it is drawn: each line's texts and their styles."""
        return [[(part.text, str(part.style)) for part in strip] for strip in self.strips()]

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
    driver: type[Driver] | None = None,
) -> AsyncIterator[Stage]:
    """Start the app; with a driver it draws on that, else nowhere."""
    clock = Clock()
    app = ReviewApp(
        Opening(desk, run, view or View(), notice or ""),
        settings or load_settings(),
        clock,
        stamp=lambda _event: clock(),
    )
    app.later = clock.after
    if driver is not None:
        app.driver_class = driver
    # With tooltips and toasts, as in a real terminal: they are children of the screen too.
    async with app.run_test(
        headless=driver is None, size=size, tooltips=True, notifications=True
    ) as pilot:
        stage = Stage(app, QuickPilot(pilot.app, clock), clock)
        await stage.settle()
        drawn: list[str] = []
        # A scroll bar follows what its pane was told a moment after the pane.
        while drawn != (drawn := stage.cells()):
            await stage.settle()
        yield stage
    desk.close()


@asynccontextmanager
async def showing(folder: Path, *verdicts: dict[str, Any], **more: Any) -> AsyncIterator[Stage]:
    """Start the app on a new desk with a run of these verdicts, or of two small ones."""
    opened = open_run(folder / "d.db", report(verdicts or (verdict(1), verdict(2))))
    async with staged(*opened, **more) as stage:
        yield stage


async def same_cells(
    twins: Iterable[tuple[Desk, Run]],
    steps: Sequence[Any],
    step: Callable[[Stage, Any], Awaitable[None]],
    **more: Any,
) -> None:
    """Do the same on two desks, each of which begins when the other has ended, and compare."""
    seen: list[list[object]] = []
    for desk, run in twins:
        seen.append([])
        async with staged(desk, run, **more) as stage:
            for one in steps:
                await step(stage, one)
                seen[-1].append(stage.styled())
    for one, first, second in zip(steps, *seen, strict=True):
        assert first == second, one


def jury_lines(item: Item, width: int, **more: Any) -> list[Content]:
    """The jury's pane as the terminal draws it."""
    return document_lines(verdict_views.jury(item, **more), width)
