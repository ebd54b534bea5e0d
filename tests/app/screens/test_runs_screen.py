"""The runs screen with the keys of a reviewer, and runs that an older version loaded."""

from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.app.screens.pages import RunsScreen
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.desk import Desk
from tests.app.appkit import Stage, open_run, report, staged, verdict
from tests.helpers import unmeasure


def details(stage: Stage) -> Pane:
    screen = stage.app.top
    assert isinstance(screen, RunsScreen)
    return screen.query_one("#details", Pane)


def older(path: Path) -> Desk:
    """A desk that an older version left."""
    desk, _ = open_run(path, report([verdict(i) for i in range(1, 13)]))
    with closing(desk):
        unmeasure(desk.conn)
    return Desk.open(path, reviewer="ann")


@pytest.mark.slow
async def test_an_older_run_is_measured_when_its_desk_is_opened(tmp_path: Path) -> None:
    desk = older(tmp_path / "d.db")
    run = desk.run()
    async with staged(desk, run) as stage:
        await stage.press("colon", *"order -agreement", "enter")
        assert "order -agreement" in stage.drawn()
        assert len(stage.session.keys) == 12
        await stage.press("f5")
        assert "alpha" in details(stage).text
        assert "older version" not in details(stage).text
