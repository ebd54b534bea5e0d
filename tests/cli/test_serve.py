import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pyte
import pytest

from tests.cli.conftest import Cli
from tests.helpers import POSIX, ROOT, environment, events_of, load, numbered, open_desk, program


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--run", "run", "--read-only", "run"], "--read-only names its run already"),
        (["--public-url", "desk"], "'desk' is not an address"),
        (["--host", "0.0.0.0"], "none of them is named"),  # noqa: S104
        (["--host", "no.such.host.invalid"], "cannot listen there"),
        (["--run", "none"], "no run 'none'"),
        (["--port", "70000"], "70000"),
        (["--trust-header", "X-User"], "one is missing"),
    ],
)
def test_what_cannot_be_served_is_said(options: Any, said: str, cli: Cli, desk_path: Path) -> None:
    pytest.importorskip("textual_serve")
    with closing(open_desk(desk_path)) as desk:
        load(desk, numbered(2))
    done = cli("serve", *options)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


@pytest.mark.slow
def test_without_the_extra_one_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    missing = tmp_path / "textual_serve"
    missing.mkdir()
    (missing / "__init__.py").write_text("raise ModuleNotFoundError(name='textual_serve')")
    given = environment(tmp_path / "desk.db")
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    done = program(tmp_path / "desk.db", "serve", env=given | {"PYTHONPATH": path})
    assert done.returncode == 2
    missing_extra = "serve needs textual_serve, which is not installed"
    assert done.stderr.decode() == f"{missing_extra}. Install it: pip install 'reviewdesk[web]'.\n"


class Console:
    """A console at the pipes by which a server speaks to it."""

    def __init__(self, desk: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reviewdesk", "console", *options],
            env=environment(desk) | {
                "TEXTUAL_DRIVER": "reviewdesk.app.terminal.browser:BrowserDriver",
                "COLUMNS": "100", "ROWS": "30",
            },
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.screen = pyte.Screen(100, 30)
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        stream, stdout = pyte.ByteStream(self.screen), self.process.stdout
        assert stdout is not None
        stdout.readline()
        while head := stdout.read(5):
            data = stdout.read(int.from_bytes(head[1:]))
            with self._changed:
                if head[:1] == b"D":
                    stream.feed(data)
                self._changed.notify_all()

    def wait_for(self, words: str) -> None:
        """Wait until the screen holds these words."""
        assert self.shows(words, 60), self.text

    def shows(self, words: str, seconds: float) -> bool:
        """Return whether the screen holds these words within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: words in self.text, seconds)

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    def send(self, data: bytes, kind: bytes = b"D") -> None:
        """Send a packet, as the server does."""
        assert self.process.stdin is not None
        self.process.stdin.write(kind + len(data).to_bytes(4) + data)
        self.process.stdin.flush()

    def label(self) -> None:
        """Label the first item, which must have been on screen for a moment before that counts."""
        while "0 of 4 done" in self.text:
            self.send(b"p")
            self.shows("1 of 4 done", 1)

    def end(self) -> tuple[int, str]:
        """Wait for the console's end: its exit code, and what it said."""
        assert self.process.stderr is not None
        said = self.process.stderr.read().decode()
        self.process.wait(60)  # leaving the block below would wait without end
        with self.process:
            return self.process.returncode, said


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize("end", ["pipe", "pipe after nonsense", "SIGHUP", "SIGTERM"])
def test_a_console_whose_page_has_gone_saves_and_ends(end: str, tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        run = load(desk, numbered(4))
    console = Console(path)
    console.wait_for("opens the desk")
    console.send(b"bea")
    console.wait_for(" bea ")
    console.send(b"\r")
    console.wait_for("0 of 4 done")
    console.wait_for("? help")
    console.label()
    console.send(json.dumps({"type": "resize", "width": 90, "height": 30}).encode(), b"M")
    assert console.process.stdin is not None
    if end.startswith("SIG"):
        console.process.send_signal(getattr(signal, end))
    else:
        if end == "pipe after nonsense":
            console.send(b"{", b"M")
        console.process.stdin.close()
    code, said = console.end()
    assert (code, said) == (0, "")
    with closing(open_desk(path, "bea")) as desk:
        given = [event.verdict for event in events_of(desk, run)]
        assert given
        view = desk.view(run)
        assert view is not None
        assert view.item not in {None, *given}


@POSIX
@pytest.mark.slow
def test_whoever_signed_on_is_the_reviewer_without_being_asked(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    with closing(open_desk(path, "owner")) as desk:
        run = load(desk, numbered(4))
    console = Console(path, "--signed-on")  # the environment names ann
    console.wait_for("0 of 4 done")
    console.label()
    assert console.process.stdin is not None
    console.process.stdin.close()
    assert console.end() == (0, "")
    with closing(open_desk(path, "ann")) as desk:
        assert {event.reviewer for event in events_of(desk, run)} == {"ann"}
    path.unlink()
    gone = program(path, "console", "--signed-on")
    assert (gone.returncode, b"there is no desk" in gone.stderr) == (2, True)
    assert not path.exists()
