"""What the desk does for one key is the same after few labels and after many."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import reviewdesk
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.records import Truth, View
from reviewdesk.settings import Feedback, Settings, Share
from reviewdesk.store.connect import ExplainedConnection
from tests.app.appkit import staged
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review
from tests.helpers import label_row, mostly_slow

FEW, MANY, COUNT = 20, 120, 150
KEYS = (
    "label.pass", "label.fail", "undo", "undo", "redo", "label.pass", "defer", "mark",
    "tags.labelled", "next",
)  # fmt: skip


def costs(path: Path, labelled: int, *, blind: bool) -> dict[str, tuple[int, int]]:
    """Return the statements, and the steps of SQLite's machine, of keys after many labels."""
    path.mkdir()
    desk, run = open_run(path / "d.db", report([verdict(i) for i in range(COUNT)]))
    keys = desk.queue(run, "", "file")
    rows = desk.rows(keys[: labelled - 10])
    tags = ("one", "two")
    import_labels(desk, run, [label_row(row.id, "ann", Truth.PASS, tags) for row in rows])
    for key in keys[labelled - 10 : labelled]:
        desk.label(key, Truth.FAIL, blind=True, seen=True)
    review = Review(desk, run, view=View(order="file", blind=blind))
    review.press("label.pass")
    found = {f"{place} {name}": cost(review, name) for place, name in enumerate(KEYS)}
    assert desk.progress(run).labelled > labelled
    assert desk.verify().ok
    desk.close()
    return found


def cost(review: Review, name: str) -> tuple[int, int]:
    statements: list[str] = []
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    conn = review.desk.conn
    review.clock.wait(1)
    conn.set_trace_callback(statements.append)
    conn.set_progress_handler(step, 1)
    review.controller.handle(name)
    conn.set_trace_callback(None)
    conn.set_progress_handler(None, 1)
    review.after()
    while review.dialogs:
        review.answer(None)
    return len(statements), steps


def repeat_costs(path: Path, labelled: int) -> list[tuple[int, int]]:
    """Return what label keys cost, and the undo of one, in a session that repeats all it can."""
    path.mkdir()
    desk, run = open_run(path / "d.db", report([verdict(i) for i in range(COUNT)]))
    for key in desk.queue(run, "", "file")[:labelled]:
        desk.label(key, Truth.PASS, blind=True, told=False)
    settings = Settings(repeat=Share(1), feedback=Feedback.NEVER)
    review = Review(desk, run, view=View(order="file", blind=True), settings=settings)
    review.press("label.pass", "label.pass")
    found = [cost(review, name) for name in (*["label.pass"] * 6, "undo", "redo")]
    # Every second label is that of an item which came back.
    assert len(review.events("repeat")) == 4
    desk.close()
    return found


@pytest.mark.slow
def test_a_label_with_repeats_costs_the_same_after_many_labels(tmp_path: Path) -> None:
    few, many = (repeat_costs(tmp_path / str(n), n) for n in (4 * FEW, MANY))
    assert [statements for statements, _ in many] == [statements for statements, _ in few]
    for (_, steps), (_, before) in zip(many, few, strict=True):
        assert steps <= before + 60


@pytest.mark.parametrize("blind", mostly_slow([False, True]))
def test_a_key_costs_the_same_after_many_labels(tmp_path: Path, blind: bool) -> None:
    few = costs(tmp_path / "few", FEW, blind=blind)
    many = costs(tmp_path / "many", MANY, blind=blind)
    for name, (statements, steps) in many.items():
        assert statements == few[name][0], name
        # A step is one of SQLite's instructions: reading all labels would take thousands more.
        assert steps <= few[name][1] + 60, name


def test_a_move_costs_the_same_in_a_larger_run(tmp_path: Path) -> None:
    found = []
    for count in (40, 200):
        desk, run = open_run(tmp_path / f"{count}.db", report([verdict(i) for i in range(count)]))
        review = Review(desk, run, view=View(order="file"))
        review.press("next")
        found.append([cost(review, name) for name in ("next", "item.next", "label.pass", "next")])
        desk.close()
    few, many = found
    assert [statements for statements, _ in many] == [statements for statements, _ in few]
    assert all(now <= before + 60 for (_, now), (_, before) in zip(many, few, strict=True))


STATEMENTS = 20
FILES = 35
ROOT = str(Path(reviewdesk.__file__).parent)


@contextmanager
def counted(found: list[str]) -> Iterator[None]:
    """Note each call of ``execute`` and ``executemany`` on any connection, those that set a
    pragma, begin or commit among them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("execute", "executemany"):
            run = getattr(ExplainedConnection, name)

            def noted(conn: ExplainedConnection, *args: object, run: Any = run) -> object:
                found.append(str(args[0]))
                return run(conn, *args)

            patch.setattr(ExplainedConnection, name, noted)
        yield


@contextmanager
def entered(found: set[str]) -> Iterator[None]:
    """Note each file of the project in which a function is called, in any thread."""

    def note(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            found.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def key_costs(path: Path, labelled: int, *, blind: bool) -> tuple[list[str], set[str]]:
    """Return what a label key in the app takes until the next item shows and its workers end."""
    desk, run = open_run(path, report([verdict(i) for i in range(COUNT)]))
    for key in desk.queue(run, "", "mix" if blind else "draw")[:labelled]:
        desk.label(key, Truth.FAIL, blind=blind, seen=True)
    statements = list[str]()
    files = set[str]()
    async with staged(desk, run, view=View(blind=blind)) as stage:
        # The workers have their connections, and the app knows the labels.
        await stage.press("p", "p")
        with counted(statements):
            await stage.press("p")
        with entered(files):
            await stage.press("p")
        assert desk.progress(run).labelled == labelled + 4
    return statements, files


@pytest.mark.slow
@pytest.mark.parametrize("blind", [False, True])
async def test_a_label_key_and_its_workers_run_few_statements_at_any_number_of_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind: bool
) -> None:
    # No look for what others wrote falls among them.
    monkeypatch.setattr("reviewdesk.app.screens.review.POLL", 1000)
    few, many = [await key_costs(tmp_path / f"{n}.db", n, blind=blind) for n in (FEW, MANY)]
    assert few[0] == many[0]
    assert len(few[0]) <= STATEMENTS
    assert len(few[1] | many[1]) <= FILES
