"""What the desk does for one key is the same after few labels and after many."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.records import Truth, View
from reviewdesk.settings import Feedback, Settings, Share
from reviewdesk.store.connect import ExplainedConnection
from tests.app.appkit import staged
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review
from tests.helpers import label_row

FEW, MANY, COUNT = 60, 600, 700
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
        desk.label(key, Truth.FAIL, blind=True, more={"seen": True})
    review = Review(desk, run, view=View(order="file", blind=blind))
    review.press("label.pass")
    found = {f"{place} {name}": cost(review, name) for place, name in enumerate(KEYS)}
    assert desk.progress(run).labelled > labelled
    assert desk.verify().ok
    desk.close()
    return found


def cost(review: Review, name: str) -> tuple[int, int]:
    """Return the statements, and the steps of SQLite's machine, of one key."""
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
        desk.label(key, Truth.PASS, blind=True, more={"told": False})
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
    few, many = (repeat_costs(tmp_path / str(n), n) for n in (2 * FEW, MANY))
    assert [statements for statements, _ in many] == [statements for statements, _ in few]
    for (_, steps), (_, before) in zip(many, few, strict=True):
        assert steps <= before + 60


@pytest.mark.parametrize("blind", [False, True])
def test_a_key_costs_the_same_after_many_labels(tmp_path: Path, blind: bool) -> None:
    few = costs(tmp_path / "few", FEW, blind=blind)
    many = costs(tmp_path / "many", MANY, blind=blind)
    for name, (statements, steps) in many.items():
        assert statements == few[name][0], name
        # A step is one of SQLite's instructions: reading all labels would take thousands more.
        assert steps <= few[name][1] + 60, name


def test_a_move_costs_the_same_in_a_larger_run(tmp_path: Path) -> None:
    found = []
    for count in (40, 400):
        desk, run = open_run(tmp_path / f"{count}.db", report([verdict(i) for i in range(count)]))
        review = Review(desk, run, view=View(order="file"))
        review.press("next")
        found.append([cost(review, name) for name in ("next", "item.next", "label.pass", "next")])
        desk.close()
    few, many = found
    assert [statements for statements, _ in many] == [statements for statements, _ in few]
    assert all(now <= before + 60 for (_, now), (_, before) in zip(many, few, strict=True))


async def key_statements(path: Path, labelled: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements of a label key in the app, those of its workers included."""
    desk, run = open_run(path, report([verdict(i) for i in range(COUNT)]))
    for key in desk.queue(run)[:labelled]:
        desk.label(key, Truth.FAIL, more={"seen": True})
    seen: list[str] = []
    execute = ExplainedConnection.execute

    def counted(conn: ExplainedConnection, query: str, *values: object) -> sqlite3.Cursor:
        seen.append(query)
        return execute(conn, query, *values)

    async with staged(desk, run) as stage:
        # The workers have their connections, and the app knows the labels.
        await stage.press("p", "p")
        monkeypatch.setattr(ExplainedConnection, "execute", counted)
        await stage.press("p")
        monkeypatch.setattr(ExplainedConnection, "execute", execute)
        assert desk.progress(run).labelled == labelled + 3
    return seen


@pytest.mark.slow
async def test_a_label_key_and_its_workers_run_few_statements_at_any_number_of_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = [await key_statements(tmp_path / f"{n}.db", n, monkeypatch) for n in (FEW, MANY)]
    # A look for what others wrote, once a second, may fall among them.
    assert max(len(few), len(many)) <= 70
