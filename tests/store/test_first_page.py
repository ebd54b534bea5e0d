"""The first page, read with SQLite alone, says the same as the rows that the app reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewdesk.app.paint.row import row_pieces
from reviewdesk.desk import Desk
from reviewdesk.desk.review import edits
from reviewdesk.domain.records import Truth, View
from reviewdesk.store import first_page
from reviewdesk.store.first_page import SCHEMA, FirstPage, read
from reviewdesk.store.schema import MIGRATIONS
from tests.app.builders import open_run, report, verdict

COUNT = 40


def page_of(path: Path, **options: object) -> FirstPage:
    found = read(str(path), "ann", None, {}, options, 30)
    assert found is not None
    return found


def reviewed(path: Path) -> Desk:
    """A desk on which two reviewers labelled, noted, marked and deferred."""
    desk, run = open_run(path, report([verdict(n) for n in range(COUNT)]))
    keys = desk.queue(run)
    desk.label(keys[0], Truth.PASS)
    desk.label(keys[1], Truth.FAIL, tentative=True, note="why")
    desk.defer(keys[2])
    edits.mark(keys[4], True)(desk)
    desk.note(keys[5], "mine")
    desk.note(keys[6], "gone")
    desk.note(keys[6], "")
    desk.label(keys[7], Truth.UNSURE)
    desk.undo()
    other = Desk.open(path, reviewer="bob")
    other.label(keys[1], Truth.PASS)
    other.note(keys[8], "theirs")
    other.defer(keys[9])
    other.close()
    return desk


def test_it_reads_the_schema_of_today() -> None:
    assert len(MIGRATIONS) == SCHEMA


@pytest.mark.parametrize("blind", [False, True])
def test_its_lines_are_those_of_the_app(tmp_path: Path, blind: bool) -> None:
    desk = reviewed(tmp_path / "d.db")
    run = desk.run()
    keys = desk.queue(run, "", "mix" if blind else "draw")
    page = page_of(tmp_path / "d.db", blind=blind)
    assert [row.key for row in page.rows] == list(keys[:30])
    for width in (30, 46, 60, 90):
        for row, full in zip(page.rows, desk.rows(keys[:30]), strict=True):
            assert row_pieces(row, width, current=False, blind=blind) == row_pieces(
                full, width, current=False, blind=blind
            )
    # The draw's first two are labelled and the third is deferred.
    if not blind:
        assert (page.current, page.place) == (3, 4)
    assert page.done == 2
    desk.close()


def test_it_goes_on_where_the_reviewer_left_the_run(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(n) for n in range(COUNT)]))
    keys = desk.queue(run)
    desk.save_view(run, View(item=desk.item(keys[35]).verdict.id))
    page = page_of(tmp_path / "d.db")
    assert (page.place, page.current) == (36, 29)
    assert [row.key for row in page.rows] == list(keys[6:36])
    # On a lower screen more rows stand before those that are read.
    low = read(str(tmp_path / "d.db"), "ann", None, {}, {}, 5)
    assert low is not None
    assert (low.place, low.current) == (36, 4)
    assert [row.key for row in low.rows] == list(keys[31:36])
    desk.close()


def test_what_it_cannot_tell_at_once_it_leaves_out(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    desk.save_view(run, View(filter="esc"))
    page = page_of(tmp_path / "d.db")
    assert (page.rows, page.current, page.verdicts) == ([], None, 1)
    assert read(str(tmp_path / "d.db"), "ann", "other", {}, {}, 30) is None
    desk.close()


def test_no_file_and_no_desk_are_no_first_page(tmp_path: Path) -> None:
    other = tmp_path / "x.db"
    other.write_text("not a desk")
    assert read(str(other), "ann", None, {}, {}, 30) is None
    assert read(str(tmp_path / "none.db"), "ann", None, {}, {}, 30) is None
    assert not (tmp_path / "none.db").exists()


def test_it_takes_as_long_of_a_larger_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    def clock() -> float:
        looks.append(0)
        return 0

    monkeypatch.setattr(first_page, "monotonic", clock)
    monkeypatch.setattr(first_page, "_STEPS", 1)
    taken = []
    for count in (100, 1_000):
        path = tmp_path / f"{count}.db"
        desk, _ = open_run(path, report([verdict(n) for n in range(count)]))
        desk.close()
        looks.clear()
        assert len(page_of(path).rows) == 30
        taken.append(len(looks))
    assert taken[1] == pytest.approx(taken[0], rel=0.1)
