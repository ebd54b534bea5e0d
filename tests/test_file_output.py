"""A whole file has its name only once it is complete, and nothing else is ever touched."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewdesk import file_output
from reviewdesk.file_output import whole_file, whole_path
from tests.helpers import mostly_slow, open_desk

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")


@pytest.fixture(params=["unnamed", "named"], autouse=True)
def _kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test runs with files that have no name at first, and as on systems without them."""
    if request.param == "named":
        monkeypatch.setattr(file_output, "_UNNAMED", 0)
    mask = os.umask(0o022)
    yield
    os.umask(mask)


def put(path: Path, text: bytes = b"new", *, replace: bool = False, private: bool = False) -> None:
    with whole_file(path, replace=replace, private=private) as out:
        out.write(text)


def _race(path: Path) -> None:
    with whole_file(path) as out:
        out.write(b"new")
        path.write_bytes(b"theirs")


def _fail(path: Path, *, replace: bool) -> None:
    with whole_file(path, replace=replace) as out:
        out.write(b"half")
        raise ZeroDivisionError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return path.lstat().st_mode & 0o777


def test_a_new_file_is_whole_and_alone(tmp_path: Path) -> None:
    put(tmp_path / "a")
    put(tmp_path / "b", private=True)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (mode(tmp_path / "a"), mode(tmp_path / "b")) == (0o644, 0o600)
    assert names(tmp_path) == ["a", "b"]


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        put(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_a_file_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(FileExistsError):
        _race(path)
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a"]


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o666)
    put(path, replace=True)
    assert (path.read_bytes(), mode(path)) == (b"new", 0o666)
    put(path, replace=True, private=True)
    assert mode(path) == 0o600


@pytest.mark.parametrize("there", [True, False], ids=["file", "dangling"])
def test_a_planted_link_leads_nowhere(tmp_path: Path, there: bool) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    folder.mkdir()
    if there:
        outside.write_bytes(b"old")
    (folder / "a").symlink_to(outside)
    with pytest.raises(FileExistsError):
        put(folder / "a")
    put(folder / "a", replace=True)
    assert not (folder / "a").is_symlink()
    assert outside.exists() is there
    assert not there or outside.read_bytes() == b"old"


def test_planted_name_of_part_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_output, "_part_of", lambda folder: folder / "part")
    (tmp_path / "part").symlink_to(tmp_path / "outside")
    with pytest.raises(FileExistsError), whole_path(tmp_path / "a"):
        raise AssertionError
    assert names(tmp_path) == ["part"]


@pytest.mark.parametrize("replace", [True, False])
def test_an_error_leaves_what_was_there(tmp_path: Path, replace: bool) -> None:
    path = tmp_path / "a"
    if replace:
        path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError):
        _fail(path, replace=replace)
    assert names(tmp_path) == (["a"] if replace else [])
    assert not replace or path.read_bytes() == b"old"


def test_a_pipe_is_written_straight(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    put(pipe)
    assert reader.communicate()[0] == b"new"
    assert names(tmp_path) == ["pipe"]


@pytest.mark.parametrize("end", ["", "-wal", "-journal"])
def test_a_desk_and_what_is_beside_it_are_replaced_by_no_file(tmp_path: Path, end: str) -> None:
    desk = tmp_path / "desk.db"
    open_desk(desk).close()
    target = Path(f"{desk}{end}")
    target.touch()
    before = target.read_bytes()
    with pytest.raises(OSError, match="is a desk, or a file of one"):
        put(target, replace=True)
    assert target.read_bytes() == before


def test_a_pipe_is_not_replaced_by_what_is_opened_by_name(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="is a pipe or device"), whole_path(pipe, replace=True):
        pass
    assert pipe.is_fifo()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        put(tmp_path, replace=True)


def test_a_file_made_by_name_is_private_and_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with whole_path(path) as part:
        assert mode(part) == 0o600
        part.write_bytes(b"new")
    assert names(tmp_path) == ["a"]
    with pytest.raises(FileExistsError), whole_path(path):
        raise AssertionError
    with pytest.raises(ZeroDivisionError), whole_path(path, replace=True) as part:
        part.write_bytes(bytes(1 // 0))
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from reviewdesk import file_output
if {named}: file_output._UNNAMED = 0
with file_output.whole_file(Path(sys.argv[1]), replace={replace}) as out:
    out.write(b"half"); out.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("replace", mostly_slow([True, False]))
def test_a_kill_leaves_nothing_under_the_name(tmp_path: Path, replace: bool) -> None:
    path = tmp_path / "a"
    if replace:
        path.write_bytes(b"old")
    script = _KILLED.format(named=not file_output._UNNAMED, replace=replace)
    done = subprocess.run([sys.executable, "-c", script, path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not path.exists() if not replace else path.read_bytes() == b"old"
    if file_output._UNNAMED:
        assert names(tmp_path) == (["a"] if replace else [])


def test_the_next_copy_sweeps_what_a_kill_left_but_nothing_else(tmp_path: Path) -> None:
    part = f".reviewdesk-{'0' * 16}.part"
    kept = [f".reviewdesk-{'1' * 16}.part", f"{part}.mine", ".reviewdesk-notes.part"]
    for name in (part, f"{part}-journal", *kept):
        (tmp_path / name).write_bytes(b"half")
        if name != kept[0]:
            os.utime(tmp_path / name, (1, 1))
    working = tmp_path / ".reviewdesk-ab_12345.part"
    working.mkdir()
    (working / "desk.db").write_bytes(b"half")
    os.utime(working, (1, 1))
    with whole_path(tmp_path / "a") as new:
        new.write_bytes(b"whole")
    assert names(tmp_path) == sorted([*kept, "a"])
