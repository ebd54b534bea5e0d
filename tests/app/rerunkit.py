"""What the tests of live re-runs share: panel files that name a local server, and key variables."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from reviewdesk.app.controllers.jobs import RERUN
from reviewdesk.app.screens.dialogs import PageDialog
from reviewdesk.settings import Settings
from tests.app.appkit import Stage, showing
from tests.app.panelkit import KEY, NAMES, panel_file
from tests.live.server import Server


def dialog(stage: Stage) -> PageDialog:
    screen = stage.app.screen
    assert isinstance(screen, PageDialog)
    return screen


@asynccontextmanager
async def asking(
    folder: Path, server: Server, *verdicts: dict[str, Any], **more: Any
) -> AsyncIterator[Stage]:
    """Start the app on a desk whose panel is asked at this server."""
    async with server:
        settings = Settings(panel=panel_file(folder / "p.yaml", server.url))
        async with showing(folder, *verdicts, settings=settings, **more) as stage:
            yield stage


async def ended(stage: Stage) -> None:
    """Wait for the re-run, by its worker's name, and for what follows it."""
    for worker in [one for one in stage.app.workers if one.name.startswith(RERUN)]:
        await worker.wait()
    await stage.settle()


__all__ = ["KEY", "NAMES", "asking", "dialog", "ended", "panel_file"]
