"""A folder as a shared place: who may read and write in it, and what is never read."""

import os
import stat
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from reviewdesk.desk.team.sync import PlaceProblem, SharedFolder
from reviewdesk.errors import DeskError
from tests.helpers import POSIX

pytestmark = POSIX


@pytest.fixture(autouse=True)
def _private() -> Iterator[None]:
    """Write as somebody whose new files nobody else may read."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


@pytest.mark.parametrize(
    ("root", "top", "inner", "file"),
    [(0o2770, "0o2770", "0o2750", "0o640"), (0o700, "0o700", "0o700", "0o600")],
)
def test_who_may_read_the_place_may_read_its_files(
    tmp_path: Path, root: int, top: str, inner: str, file: str
) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    folder.chmod(root)
    place = SharedFolder(folder)
    place.put("chains/a/one", BytesIO(b"1"))
    place.put("chains/a/one", BytesIO(b"2"))
    place.put("runs/two", BytesIO(b"2"))
    assert {mode(folder / "chains"), mode(folder / "runs")} == {top}
    assert mode(folder / "chains" / "a") == inner
    assert {mode(folder / "chains/a/one"), mode(folder / "runs/two")} == {file}
    assert list(place.entries("chains")) == ["chains/a/one"]


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    place, kept = SharedFolder(tmp_path / "place"), tmp_path / "kept"
    kept.write_text("kept")
    kept.chmod(0o600)
    place.put("runs/one", BytesIO(b"1"))
    (tmp_path / "place/runs/two").symlink_to(kept)
    place.put("runs/two", BytesIO(b"2"))
    assert (kept.read_text(), mode(kept)) == ("kept", "0o600")
    assert not (tmp_path / "place/runs/two").is_symlink()


def test_pipes_and_links_are_not_read(tmp_path: Path) -> None:
    place = SharedFolder(tmp_path / "place")
    place.put("runs/one", BytesIO(b"1"))
    os.mkfifo(tmp_path / "place/runs/pipe")
    (tmp_path / "place/runs/link").symlink_to("one")
    for name, size in {"pipe": 9, "link": 9, "gone": 9, "one": 0}.items():
        with pytest.raises(PlaceProblem), place.copied(f"runs/{name}", size):
            pass
    with place.copied("runs/one", 1) as file:
        assert file.read() == b"1"


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place/runs").symlink_to(tmp_path)
    place = SharedFolder(tmp_path / "place")
    with pytest.raises(DeskError, match="a folder was expected"):
        list(place.entries("runs"))
    with pytest.raises(DeskError, match="a folder was expected"):
        place.put("runs/x", BytesIO(b"1"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["place"]
