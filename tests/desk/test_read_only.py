"""A desk that may not be written can be read, and says in one sentence that nothing is saved."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

from reviewdesk.cli import run
from reviewdesk.desk import backups
from reviewdesk.desk.backups import info
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError
from tests.app.reviewkit import Review
from tests.helpers import POSIX, ROOT, load, numbered, open_desk, source

pytestmark = POSIX
NOBODY = 65534
SENTENCE = "the desk is read-only, so labels and notes cannot be saved"


@cache
def load_all() -> None:
    """Load what commands load late, from an interpreter that perhaps root alone may read."""
    for folder in ("system", "domain", "views", "store", "desk", "cli"):
        for found in walk_packages([str(ROOT / "reviewdesk" / folder)], f"reviewdesk.{folder}."):
            with suppress(ImportError):  # of an extra
                import_module(found.name)


@contextmanager
def without_rights() -> Iterator[None]:
    """Work as a user whom the modes of files bind, even where the tests are run by root."""
    if sys.platform == "win32" or os.geteuid() != 0:
        yield
        return
    load_all()
    os.seteuid(NOBODY)
    try:
        if not os.access(ROOT / "reviewdesk", os.R_OK | os.X_OK, effective_ids=True):
            pytest.skip("only root can read the project, so its modules cannot be loaded")
        yield
    finally:
        os.seteuid(0)


@pytest.fixture(params=["file", "folder", "both"])
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    """A desk with a label, whose file or folder may not be written."""
    with tempfile.TemporaryDirectory() as made:
        folder, path = Path(made), Path(made) / "desk.db"
        with closing(open_desk(path)) as writable:
            writable.label(writable.find(load(writable, numbered(6)), "v1"), Truth.PASS)
        path.chmod(0o644 if request.param == "folder" else 0o444)
        folder.chmod(0o777 if request.param == "file" else 0o555)
        with without_rights():
            before = path.read_bytes()
            with closing(open_desk(path)) as found:
                yield found
            assert path.read_bytes() == before
            assert list(folder.iterdir()) == [path]
        folder.chmod(0o755)


def test_it_can_be_read_and_nothing_can_be_saved(desk: Desk) -> None:
    assert desk.read_only
    here = desk.run()
    assert len(desk.queue(here, "label:none")) == 5
    assert desk.item(desk.find(here, "v1")).row.label is Truth.PASS
    assert desk.progress(here).labelled == 1
    assert desk.verify().ok
    assert not info(desk)["writable"]
    assert not desk.load(source(numbered(6))).new
    with closing(desk.reader()) as reader:
        assert backups.after_labels(reader, lambda _share: True, 7) is None
    key = desk.find(desk.run(), "v2")
    for change in (
        lambda: desk.label(key, Truth.FAIL),
        lambda: desk.note(key, "a note"),
        desk.undo,
        lambda: desk.remove(desk.run()),
    ):
        with pytest.raises(DeskError, match=SENTENCE):
            change()
    with pytest.raises(DeskError, match="so no report can be loaded"):
        load(desk, numbered(3, report_id="new"))


def test_the_screen_says_so_and_refuses_labels(desk: Desk) -> None:
    review = Review(desk, desk.run())
    assert "the desk is read-only: labels and notes cannot be saved" in review.state.notice.text
    assert review.state.saved == "read-only"
    events = desk.verify().events
    review.press("label.pass")
    assert "the desk is read-only: labels and notes cannot be saved" in review.state.notice.text
    review.press("defer")
    assert "the desk is read-only: labels and notes cannot be saved" in review.state.notice.text
    assert review.state.saved == "read-only"
    assert review.state.figures.calibration is not None
    review.press("quit")
    assert desk.verify().events == events


def test_commands_that_read_work_and_a_label_is_refused(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in (
        "open", "queue", "show v1", "calibrate", "whatif", "export report", "labels export",
        "desk verify", "desk info",
    ):  # fmt: skip
        code = run([*line.split(), "--desk", str(desk.path)])
        found = capsys.readouterr()
        assert (code, bool(found.out)) == (0, True), f"{line}: {found.err}"
    assert run(["label", "v2", "fail", "--desk", str(desk.path)]) == 2
    assert SENTENCE in capsys.readouterr().err


def test_what_changes_under_a_reader_is_said(desk: Desk) -> None:
    root = os.getuid() == 0
    if root:
        os.seteuid(0)
    os.utime(desk.path, (1, 1))
    if root:
        os.seteuid(NOBODY)
    with pytest.raises(DeskError, match="changed while it was read"):
        desk.runs()
