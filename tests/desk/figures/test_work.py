"""The page of pace: what the last hundred labels moved, and when the figures are known."""

from __future__ import annotations

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.figures.work import work_page
from reviewdesk.domain.records import Run, Truth
from tests.helpers import load, open_desk, report, verdict


@pytest.fixture
def opened(tmp_path: object) -> object:
    desk = open_desk(tmp_path / "d.db")  # type: ignore[operator]
    bodies = (
        verdict(f"v{n:03d}", *((0.9, 0.9, 0.8) if n % 2 else (0.2, 0.3, 0.9)), flagged=n % 4 == 0,
                input=f"q{n}")
        for n in range(130)
    )  # fmt: skip
    yield desk, load(desk, report(*bodies))
    desk.close()


def label(desk: Desk, run: Run, text: str, count: int) -> None:
    for key in desk.queue(run, text)[:count]:
        desk.label(key, Truth.PASS, blind=True)


def test_what_the_last_hundred_labels_moved(opened: tuple[Desk, Run]) -> None:
    desk, run = opened
    label(desk, run, "", 20)
    first = work_page(desk, run)
    # Fewer than a hundred are all of the last hundred: before them there was nothing.
    assert [one.before.value for one in first.moved] == [None] * len(first.moved)
    twenty = {one.name: one.after for one in first.moved}
    for key in desk.queue(run, "label:none")[:100]:
        desk.label(key, Truth.FAIL, blind=True)
    second = work_page(desk, run)
    assert second.labels == 120
    assert {one.name: one.before for one in second.moved} == twenty


def test_a_figure_is_known_only_by_labels_that_stand_for_the_run(
    opened: tuple[Desk, Run],
) -> None:
    desk, run = opened
    label(desk, run, "esc", 130)
    # All escalated verdicts alone say nothing of the rest, however many they are.
    assert work_page(desk, run).stop == ()
    assert work_page(desk, run, blind=True).stop == ()
    label(desk, run, "label:none", 130)
    for blind in (False, True):
        assert any(
            "accuracy is known" in reason for reason in work_page(desk, run, blind=blind).stop
        ) is (not blind)
