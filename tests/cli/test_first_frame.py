"""The first page on a real terminal: what is loaded for it, and what becomes of keys and modes."""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reviewdesk.desk.first_page import homes, login_name
from tests.app.builders import open_run, report, verdict

if sys.platform != "win32":
    import fcntl
    import termios

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")

_LOADED = """
import json, sys
from reviewdesk.cli import first_frame
first_frame.show(["open", "--desk", sys.argv[1], "--reviewer", "ann"])
loaded = sorted(sys.modules)
shown = first_frame.hand_over()
first_frame.close()
print("LOADED" + json.dumps([shown, loaded]) + "END")
"""
_APP = """
import asyncio, json, sys
from pathlib import Path
from reviewdesk.app.app import ReviewApp
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Truth, View

async def main():
    desk = Desk.open(Path(sys.argv[1]), reviewer="ann")
    desk.label(desk.queue(desk.run())[0], Truth.PASS)
    app, found = ReviewApp(desk, desk.run(), view=View()), []
    app.started = lambda: found.extend([sorted(sys.modules), compiled()])
    async with app.run_test(size=(160, 48)) as pilot:
        while app.controller.core.figures.calibration is None:
            await pilot.pause(0.01)
        found.append([app.controller.core.figures.calibration.labelled.n, "numpy" in sys.modules])
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


def test_the_first_page_loads_next_to_nothing(path: Path) -> None:
    terminal = Terminal(sys.executable, "-c", _LOADED, str(path))
    terminal.wait(lambda text: "END" in text)
    shown, loaded = json.loads(terminal.output.partition("LOADED")[2].partition("END")[0])
    assert shown
    assert "item/0" in terminal.output
    heavy = {"textual", "rich", "numpy", "pydantic", "click", "dataclasses", "asyncio", "pathlib"}
    assert not heavy & set(loaded)
    assert sum(name.startswith("reviewdesk") for name in loaded) <= 24
    assert terminal.process.wait(30) == 0


def test_the_first_screen_of_the_app_loads_no_statistics_and_no_dialogs(path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", _APP, str(path)], capture_output=True, text=True, check=True
    )
    loaded, dataclasses, strip = json.loads(made.stdout.splitlines()[-1])
    loaded, dataclasses = set(loaded), set(dataclasses)
    # The strip's figures count the label without numpy.
    assert strip == [1, False]
    assert not {"numpy", "pydantic", "httpx", "jinja2", "sqlite_utils"} & loaded
    screens = {name for name in loaded if name.startswith("reviewdesk.app.screens.")}
    assert screens == {
        f"reviewdesk.app.screens.{name}" for name in ("base", "bindings", "review", "texts")
    }
    assert sum(name.startswith("reviewdesk.") for name in loaded) <= 237
    # A dataclass is compiled anew at each start, 0.7 ms each; a record (reviewdesk.frozen) is not.
    assert len(dataclasses) <= 10, dataclasses


@pytest.mark.slow
def test_keys_typed_at_the_first_page_arrive_and_the_terminal_is_set_back(path: Path) -> None:
    command = (sys.executable, "-m", "reviewdesk", "open", "--desk", str(path), "--reviewer", "ann")
    terminal = Terminal(*command)
    terminal.wait(lambda text: "1 of 60" in text)
    # The app is not loaded yet: the label key comes too early, the steps do not.
    terminal.type("pjj")
    terminal.wait(lambda text: "3\x1b" in text.rpartition("?1049h")[2] or "3 of 60" in text)
    assert terminal.output.count("\x1b[?1049h") == 1
    terminal.type("q")
    terminal.wait(lambda text: "log head" in text)
    assert terminal.process.wait(30) == 0
    assert termios.tcgetattr(terminal.child) == terminal.modes
    assert "log head 1:" in terminal.output.rpartition("?1049l")[2]


def test_ctrl_c_at_the_first_page_ends_and_sets_the_terminal_back(path: Path) -> None:
    late = "from reviewdesk.cli import first_frame, main; import sys; real = first_frame.show\n"
    late += "first_frame.show = lambda words: (real(words), sys.stdin.read())\nmain()"
    command = (sys.executable, "-c", late, "open", "--desk", str(path), "--reviewer", "ann")
    terminal = Terminal(*command)
    terminal.wait(lambda text: "1 of 60" in text)
    terminal.process.send_signal(2)
    terminal.wait(lambda text: "\x1b[?1049l" in text)
    assert terminal.process.wait(30) == 130
    assert termios.tcgetattr(terminal.child) == terminal.modes


def test_places_are_those_of_the_program() -> None:
    from platformdirs import user_config_dir, user_data_dir

    name = "reviewdesk"
    expected = user_data_dir(name, appauthor=False), user_config_dir(name, appauthor=False)
    assert homes() == expected == homes("other")


def test_the_login_name_is_that_of_the_desk() -> None:
    from reviewdesk.desk.core import default_reviewer

    if not os.environ.get("REVIEWDESK_REVIEWER"):
        assert login_name() == default_reviewer()


def test_the_command_line_loads_only_the_command_that_is_asked_for() -> None:
    code = "import sys; from reviewdesk.cli.program import cli; cli.commands['open']\n"
    code += "print([name for name in sys.modules if name.startswith('reviewdesk.cli.')])"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "reviewdesk.cli.review" in made.stdout
    assert not {"reviewdesk.cli.desk", "reviewdesk.cli.gate"} & set(made.stdout.split("'"))
