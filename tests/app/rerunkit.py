"""What the tests of live re-runs share: panel files that name a local server, and key variables."""

from reviewdesk.app.controllers.jobs import RERUN
from reviewdesk.app.screens.dialogs import PageDialog
from tests.app.appkit import Stage
from tests.app.panelkit import KEY, NAMES, panel_file


def dialog(stage: Stage) -> PageDialog:
    screen = stage.app.screen
    assert isinstance(screen, PageDialog)
    return screen


async def ended(stage: Stage) -> None:
    """Wait for the re-run, by its worker's name, and for what follows it."""
    for worker in [one for one in stage.app.workers if one.name.startswith(RERUN)]:
        await worker.wait()
    await stage.settle()


__all__ = ["KEY", "NAMES", "dialog", "ended", "panel_file"]
