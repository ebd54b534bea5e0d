"""The start: what it loads, and that the terminal is set back."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.app.builders import open_run, report, verdict
from tests.cli.terminalkit import on_terminal
from tests.helpers import printed

if sys.platform != "win32":
    import termios

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")

_APP = """
import asyncio, json, sys
from pathlib import Path
from reviewdesk.app.app import ReviewApp
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.runs import Opening
from reviewdesk.domain.records import Truth, View

async def main():
    desk = Desk.open(Path(sys.argv[1]), reviewer="ann")
    desk.label(desk.queue(desk.run())[0], Truth.PASS)
    app, found = ReviewApp(Opening(desk, desk.run(), View())), []
    app.started = lambda: found.extend([sorted(sys.modules), compiled()])
    async with app.run_test(size=(160, 48)) as pilot:
        while app.controller.figures.calibration is None:
            await pilot.pause(0.01)
        found.append(app.controller.figures.calibration.labelled.n)
    print(json.dumps(found))

def compiled():
    ours = [module for name, module in sys.modules.items() if name.startswith("reviewdesk.")]
    every = {value for module in ours for value in vars(module).values() if isinstance(value, type)}
    made = (one for one in every if "__dataclass_params__" in vars(one))
    return [one.__name__ for one in made if one.__module__.startswith("reviewdesk.")]

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    desk, _ = open_run(tmp_path / "d.db", report([verdict(n) for n in range(60)]))
    desk.close()
    return tmp_path / "d.db"


@pytest.mark.slow
def test_the_first_screen_of_the_app_loads_no_statistics_and_no_dialogs(path: Path) -> None:
    loaded, dataclasses, strip = json.loads(printed(_APP, str(path)).splitlines()[-1])
    loaded, dataclasses = set(loaded), set(dataclasses)
    assert strip == 1
    # Numpy is loaded: the item in front is assessed by the columns that whole runs are.
    assert not {"pydantic", "httpx", "jinja2", "sqlite_utils"} & loaded
    screens = {name for name in loaded if name.startswith("reviewdesk.app.screens.")}
    assert screens == {"reviewdesk.app.screens.review"}
    assert sum(name.startswith("reviewdesk.") for name in loaded) <= 245
    # A dataclass is compiled anew at each start, 0.7 ms each; a Struct is not.
    assert len(dataclasses) <= 15, dataclasses


@pytest.mark.slow
def test_keys_act_after_the_start_and_the_terminal_is_set_back(path: Path) -> None:
    new = os.openpty()
    modes = termios.tcgetattr(new[0])
    with on_terminal(path, "open") as app:
        app.until(b"1 of 60")
        app.shown = b""
        os.write(app.screen, b"JJ")
        app.until(b"3\x1b")  # only the cells that differ are sent
        os.write(app.screen, b"q")
        code, after = app.end()
        assert (code, b"saved in " in after) == (0, True)
        assert termios.tcgetattr(app.screen) == modes


def test_the_command_line_loads_only_the_command_that_is_asked_for() -> None:
    code = "import sys; from reviewdesk.cli.program import cli; cli.get_command(None, 'open')\n"
    code += "print([name for name in sys.modules if name.startswith('reviewdesk.cli.')])"
    made = printed(code).split("'")
    assert "reviewdesk.cli.review" in made
    assert not {"reviewdesk.cli.desk", "reviewdesk.cli.gate"} & set(made)
