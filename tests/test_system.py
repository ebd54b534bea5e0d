"""Where systems differ: in one place each, and tried by injection where this one is another."""

import ast
import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewdesk.errors import Ended, ExitCode
from reviewdesk.system import locks
from reviewdesk.system.locks import WriterPlace, sync, sync_folder
from reviewdesk.system.signals import ENDING, held_back
from reviewdesk.system.terminal import edited
from tests.helpers import POSIX, ROOT

PACKAGE = ROOT / "reviewdesk"
POSIX_ALONE = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
WINDOWS_ALONE = {"_winapi", "msvcrt", "nt", "winreg", "winsound"}
PLACES = {
    "desk/backups.py",  # groups of users
    "file_output.py",  # names and modes of files
    "desk/review/unsaved.py",  # the owner of a kept file
    "desk/team/sync.py",  # modes of a shared folder
    "system/locks.py",
    "system/signals.py",
    "system/terminal.py",
}
"""The modules that ask which system this is."""


def imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    return {(node.module or "").split(".")[0]} if isinstance(node, ast.ImportFrom) else set()


def asks_which_system(tree: ast.AST) -> bool:
    """Tell whether a module takes a path of its own on some systems."""
    return any(
        imported(node) & {*POSIX_ALONE, *WINDOWS_ALONE, "platform"}
        or (isinstance(node, ast.Attribute) and ast.unparse(node) in {"sys.platform", "os.name"})
        for node in ast.walk(tree)
    )


def loaded(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is imported, without what a check of the system guards."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "sys.platform" in ast.unparse(node.test):
            continue
        yield node
        yield from loaded(node)


def read(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_each_difference_is_in_its_place() -> None:
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    assert {name for name, path in files.items() if asks_which_system(read(path))} == PLACES


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["reviewdesk", "tests"])
def test_no_import_of_a_module_breaks_on_another_system(folder: str) -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / folder).rglob("*.py")
        for node in loaded(read(path))
        for name in imported(node) & (POSIX_ALONE | WINDOWS_ALONE)
    }
    # Loaded by tests that a POSIX terminal runs, inside themselves.
    assert found - {("tests/package/screenkit.py", name) for name in POSIX_ALONE} == set()


@pytest.mark.parametrize(
    ("code", "breaks"),
    [
        ("import fcntl", True),
        ("class A:\n    from termios import TCSAFLUSH", True),
        ("try:\n    import msvcrt\nfinally:\n    pass", True),
        ("def f():\n    import fcntl", False),
        ("if sys.platform == 'win32':\n    import msvcrt\nelse:\n    import tty", False),
    ],
)
def test_the_search_knows_what_is_loaded(code: str, breaks: bool) -> None:
    tree = ast.parse(code)
    assert asks_which_system(tree)
    assert any(imported(node) & (POSIX_ALONE | WINDOWS_ALONE) for node in loaded(tree)) is breaks


# Disks


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(opened, b"x")
    yield opened
    os.close(opened)


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.EINVAL, errno.EIO, errno.ENOSPC])
def test_a_flush_is_tried_again_only_if_the_disk_has_no_such_call(
    descriptor: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[OSError | None] = [OSError(number, os.strerror(number)), None]

    def flush(_given: int) -> None:
        if (answer := answers.pop(0)) is not None:
            raise answer

    monkeypatch.setattr(os, "fsync", flush)
    if number in {errno.ENOTSUP, errno.EINVAL}:
        sync(descriptor)
        assert not answers
    else:
        with pytest.raises(OSError, match=os.strerror(number)):
            sync(descriptor)
        assert answers == [None]


def test_the_names_in_a_folder_are_flushed(tmp_path: Path) -> None:
    sync_folder(tmp_path)
    if sys.platform != "win32":
        with pytest.raises(FileNotFoundError):
            sync_folder(tmp_path / "none")


# Locks

_JOIN = """
import sys
from pathlib import Path
from reviewdesk.system.locks import WriterPlace
place = WriterPlace(Path(sys.argv[1]))
print(place.is_first(), flush=True)
sys.stdin.readline()
"""


@POSIX
@pytest.mark.parametrize("respect", [1e6, 0])
def test_who_came_first_goes_first_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, respect: float
) -> None:
    path = tmp_path / "file"
    path.touch()
    monkeypatch.setattr(locks, "_RESPECT", respect)
    with subprocess.Popen(
        [sys.executable, "-c", _JOIN, path],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        mine = WriterPlace(path)
        assert mine.is_first() is (respect == 0)
        # The system forgets who was killed.
        other.kill()
        other.wait()
        assert mine.is_first()
    mine.leave()
    assert path.read_bytes() == b""


def test_without_a_file_everybody_is_first(tmp_path: Path) -> None:
    place = WriterPlace(tmp_path / "none")
    assert place.is_first()
    place.leave()


# Signals


def test_each_system_ends_a_program_by_signals_of_its_own() -> None:
    assert signal.SIGTERM in ENDING
    for number in ENDING:
        terminated = number == signal.SIGTERM
        code = ExitCode.TERMINATED if terminated else ExitCode.HUNG_UP
        assert Ended(number).exit_code == code


@POSIX
def test_there_is_a_keyboard_behind_any_stdin(tmp_path: Path) -> None:
    # Without a terminal there is none, which a command says in one line.
    code = "from reviewdesk.system.terminal import open_keyboard; open_keyboard()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert "OSError" in done.stderr.splitlines()[-1]
    assert "/dev/tty" in done.stderr
    assert list(tmp_path.iterdir()) == []


_ASKS = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"


@POSIX
def test_ctrl_c_waits_for_a_block_and_spares_what_it_begins(request: pytest.FixtureRequest) -> None:
    # A shell ignores ctrl+c for what it starts in the background.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, former))
    asked = [sys.executable, "-c", _ASKS]
    done: list[bytes] = []
    thread = threading.Thread(target=lambda: done.append(subprocess.check_output(asked)))

    def interrupted() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            thread.start()
            thread.join()

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [*done, subprocess.check_output(asked)] == [b"True\n", b"False\n"]


@pytest.mark.parametrize(
    ("does", "found"),
    [
        ("p.write_text(p.read_text() + 'more')", "textmore"),
        ("p.write_text(p.read_text())", "text"),
        ("pass", None),
        ("p.write_text('half'); raise SystemExit(1)", None),
        ("p.write_bytes(b'\\xff')", None),
    ],
    ids=["edited", "saved as it was", "closed", "failed", "no text"],
)
def test_a_text_is_edited_in_the_editor_of_the_environment(
    does: str, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "editor.py"
    script.write_text(
        f"import os, pathlib, sys\np = pathlib.Path(sys.argv[1])\nos.utime(p, ns=(1, 1))\n{does}\n"
        if does != "pass"
        else "",
        encoding="utf-8",
    )
    monkeypatch.setenv("VISUAL", f'"{sys.executable}" "{script}"')
    assert edited("text", ".yaml") == found
    monkeypatch.setenv("VISUAL", "there-is-no-such-editor")
    assert edited("text", ".yaml") is None
