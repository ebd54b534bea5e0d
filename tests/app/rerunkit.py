"""What the tests of live re-runs share: panel files that name a local server, and key variables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reviewdesk.app.screens.rerun import RerunDialog
from reviewdesk.app.workers.rerun import RERUN
from tests.app.appkit import Stage
from tests.live.builders import KEY

NAMES = ("judge-0", "judge-1", "judge-2")


def panel_file(path: Path, url: str, names: Sequence[str] = NAMES, more: str = "") -> str:
    """A panel of jurors at ``url``, asked with the sentinel key; its path."""
    jurors = "\n".join(
        f"  - {{name: {name}, model: model-{name}, vendor: custom, base_url: '{url}', "
        f"api_key_env: TEST_KEY, timeout: 20}}"
        for name in names
    )
    rule = f"name: local\nthreshold: 0.7\nquorum: 0.5\n{more}jurors:\n{jurors}\n"
    path.write_text(rule, encoding="utf-8")
    return str(path)


def dialog(stage: Stage) -> RerunDialog:
    screen = stage.app.screen
    assert isinstance(screen, RerunDialog)
    return screen


async def ended(stage: Stage) -> None:
    """Wait for the re-run, by its worker's name, and for what follows it."""
    for worker in [one for one in stage.app.workers if one.name == RERUN]:
        await worker.wait()
    await stage.settle()


__all__ = ["KEY", "NAMES", "dialog", "ended", "panel_file"]
