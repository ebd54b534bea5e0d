"""The start: what it loads, and that the terminal is set back."""

import json
import os
import select
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.builders import open_run, report, verdict

if sys.platform != "win32":
    import fcntl
    import termios

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")

_APP = """
import asyncio, json, sys
from pathlib import Path
from reviewdesk.app.app import ReviewApp
from reviewdesk.desk import Desk
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


class Terminal:
    """A program on a pseudo terminal of 160 by 48."""

    def __init__(self, *command: str) -> None:
        self.fd, self.child = os.openpty()
        fcntl.ioctl(self.child, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 160, 0, 0))
        self.modes = termios.tcgetattr(self.child)
        environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            environ.pop(name, None)
        self.process = subprocess.Popen(
            command, stdin=self.child, stdout=self.child, stderr=self.child, env=environ
        )
        self.output = ""

    def wait(self, arrived: Callable[[str], bool]) -> None:
        """Read until the output fits; fail after 30 s."""
        while not arrived(self.output):
            ready, _, _ = select.select([self.fd], [], [], 30)
            assert ready, self.output[-2000:]
            self.output += os.read(self.fd, 1 << 16).decode("utf-8", "replace")

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self.fd, keys.encode())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    desk, _ = open_run(tmp_path / "d.db", report([verdict(n) for n in range(60)]))
    desk.close()
    return tmp_path / "d.db"


def test_the_first_screen_of_the_app_loads_no_statistics_and_no_dialogs(path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", _APP, str(path)], capture_output=True, text=True, check=True
    )
    loaded, dataclasses, strip = json.loads(made.stdout.splitlines()[-1])
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
    command = (sys.executable, "-m", "reviewdesk", "open", "--desk", str(path), "--reviewer", "ann")
    terminal = Terminal(*command)
    terminal.wait(lambda text: "1 of 60" in text)
    terminal.type("JJ")
    terminal.wait(lambda text: "3\x1b" in text or "3 of 60" in text)
    terminal.type("q")
    terminal.wait(lambda text: "saved in" in text)
    assert terminal.process.wait(30) == 0
    assert termios.tcgetattr(terminal.child) == terminal.modes
    assert "saved in " in terminal.output.rpartition("?1049l")[2]


def test_the_command_line_loads_only_the_command_that_is_asked_for() -> None:
    code = "import sys; from reviewdesk.cli.program import cli; cli.get_command(None, 'open')\n"
    code += "print([name for name in sys.modules if name.startswith('reviewdesk.cli.')])"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "reviewdesk.cli.review" in made.stdout
    assert not {"reviewdesk.cli.desk", "reviewdesk.cli.gate"} & set(made.stdout.split("'"))
