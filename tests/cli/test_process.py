"""The program as a person starts it."""

import json
import signal
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

from reviewdesk import __version__
from reviewdesk.cli import main
from tests.cli.terminalkit import on_terminal
from tests.helpers import POSIX, ROOT, environment, mostly_slow, numbered, program, report, verdict


def start(desk: Path, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    done = program(desk, *arguments, input=stdin)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    return tmp_path / "desk.db"


@pytest.mark.slow
def test_a_whole_sitting(desk: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(numbered(5))
    code, out, err = start(desk, "open", str(path))
    assert (code, len(out.splitlines()), err) == (0, 6, "")
    assert start(desk, "label", "v1", "pass")[0] == 0
    code, out, _ = start(desk, "undo", "--json")
    assert (code, json.loads(out)["was"]) == (0, "label pass")
    assert start(desk, "desk", "verify")[0] == 0
    assert start(desk, "--version") == (0, f"reviewdesk, version {__version__}\n", "")
    assert start(desk, "frobnicate")[0] == 2
    # Folded on the way out, so that a plain copy of the one file is whole.
    assert [found.name for found in tmp_path.glob("desk.db*")] == ["desk.db"]


@pytest.mark.slow
def test_a_report_from_a_pipe(desk: Path) -> None:
    code, out, _ = start(desk, "open", "-", stdin=numbered(5))
    assert (code, len(out.splitlines())) == (0, 6)
    code, out, _ = start(desk, "ingest", "-", "--json", stdin=numbered(5))
    assert (code, json.loads(out)[0]["new"]) == (0, False)
    code, out, err = start(desk, "ingest", "-")
    assert (code, out, len(err.splitlines())) == (2, "", 1)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_a_terminal_that_cannot_show_everything(desk: Path, encoding: str) -> None:
    start(desk, "ingest", "-", stdin=report(verdict("返却", case={"test": "⏎ ligne é"})))
    done = program(desk, "queue", env={**environment(desk), "PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    assert b"\\u8fd4\\u5374" in done.stdout


@pytest.mark.slow
def test_a_reader_that_goes_away(desk: Path) -> None:
    start(desk, "ingest", "-", stdin=numbered(3000))
    with subprocess.Popen(
        [sys.executable, "-m", "reviewdesk", "queue"],
        env=environment(desk),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        err = running.stderr.read().decode()
        assert (running.wait(), err) == (0, "run: run\n")


@pytest.mark.slow
def test_a_traceback_only_where_it_is_asked_for(desk: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(b"{}")
    code, _, err = start(desk, "ingest", str(tmp_path / "none.json"))
    assert (code, len(err.splitlines())) == (2, 1)
    code, _, told = start(desk, "--debug", "open", str(bad))
    assert (code, "Traceback" in told) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_an_output_that_cannot_be_written(desk: Path) -> None:
    start(desk, "ingest", "-", stdin=numbered(3))
    with Path("/dev/full").open("wb") as full:
        how = {"capture_output": False, "stdout": full, "stderr": subprocess.PIPE}
        done = program(desk, "queue", **how)
    said = done.stderr.decode().splitlines()
    assert (done.returncode, said[0], len(said)) == (2, "run: run", 2)
    assert said[1].startswith("the output cannot be written: ")


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize(
    ("closed", "words", "code"),
    [("2>&-", "ingest r.json", 0), ("<&-", "ingest -", 2), (">&-", "ingest r.json", 0)],
)
def test_a_stream_that_the_caller_has_closed_is_no_fault(
    desk: Path, tmp_path: Path, closed: str, words: str, code: int
) -> None:
    (tmp_path / "r.json").write_bytes(numbered(3))
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m reviewdesk {words} {closed}', sys.executable],
        env=environment(desk),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (code, code // 2)


@POSIX
@pytest.mark.parametrize(("name", "code"), mostly_slow([("SIGTERM", 143), ("SIGHUP", 129)]))
def test_a_command_that_is_asked_to_end_says_so(desk: Path, name: str, code: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "reviewdesk", "ingest", "-"],
        env=environment(desk),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        # More than a pipe holds: once it is written, the command is reading it.
        running.stdin.write(b"[" + b" " * 1_000_000)
        running.stdin.flush()
        running.send_signal(signal.Signals[name])
        running.stdin.close()
        said = running.stderr.read().decode()
    assert (running.returncode, said) == (code, f"ended by {name}; what is saved stays saved\n")


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_closes_app_and_frees_the_terminal(desk: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(numbered(2))
    with on_terminal(desk, "open", path) as app:
        app.until(b"pass")
        app.running.send_signal(signal.Signals[name])
        code, after = app.end()
    assert code == 128 + signal.Signals[name]
    # The alternate screen and the reports of the mouse are switched off, and the last line follows.
    assert b"saved in" in after
    assert f"ended by {name}".encode() in after
    shown = app.shown
    assert shown.rindex(b"\x1b[?1000l") > shown.rindex(b"\x1b[?1000h")


def test_a_fault_of_ours_is_not_called_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_arguments: list[str]) -> int:
        raise ZeroDivisionError("unforeseen")

    monkeypatch.setattr("reviewdesk.cli.program.run", fail)
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr().err
    assert left.value.code == 70
    assert "a fault in reviewdesk, not in your input: ZeroDivisionError: unforeseen" in said
    urls = dict(url.split(", ") for url in metadata("reviewdesk").get_all("Project-URL", []))
    assert f"report it at {urls['Issues']} with what you did" in said
