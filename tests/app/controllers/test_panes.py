"""The widths of the panes: the default split, keys, drags, bounds, the place of a hidden jury."""

from pathlib import Path

import pytest

from reviewdesk.app.controllers.item import drag
from reviewdesk.app.controllers.state import LEAST, WIDE, Panes
from tests.app.builders import SMALL
from tests.app.reviewkit import Review, reviewing


def widths(review: Review) -> dict[str, int]:
    return review.state.panes.columns


@pytest.mark.parametrize("width", range(WIDE, 401, 4))
def test_the_default_split_gives_the_item_the_most(width: int) -> None:
    columns = Panes(width=width).columns
    assert columns["item"] > columns["jury"] > columns["queue"] - 20
    # Two rules stand between three panes.
    assert sum(columns.values()) + 2 == width
    assert all(columns[name] >= least for name, least in LEAST.items())


def test_the_default_split_in_columns() -> None:
    assert Panes(width=160).columns == {"queue": 48, "item": 64, "jury": 46}
    assert Panes(width=220).columns == {"queue": 60, "item": 95, "jury": 63}


def test_blind_gives_the_place_of_the_jury_to_the_item(blind: Review) -> None:
    # 160 columns without the queue's 48 and one rule.
    assert widths(blind) == {"queue": 48, "item": 111}
    assert blind.state.panes.names == ("queue", "item")
    blind.press("deeper", "deeper")
    assert blind.state.panes.current == "item"
    assert "hidden until you label" in blind.notice
    assert not blind.hint("deeper")
    blind.press("pane.next")
    assert blind.state.panes.current == "queue"
    blind.press("reveal")
    assert widths(blind) == {"queue": 48, "item": 64, "jury": 46}
    blind.press("next")
    assert widths(blind) == {"queue": 48, "item": 111}
    blind.press("label.pass", wait=1)
    blind.press("back")
    assert blind.item.row.label is not None
    assert "jury" in widths(blind)


def test_the_keys_of_a_jury_that_is_hidden_are_the_items(small: Review) -> None:
    small.press("deeper")
    assert small.state.panes.current == "jury"
    small.press("blind", "next")
    assert small.session.hidden
    assert small.state.panes.current == "item"
    small.press("label.pass", wait=1)
    assert len(small.events()) == 1


def test_a_finished_queue_has_no_jury(tmp_path: Path) -> None:
    with reviewing(tmp_path, 1) as review:
        review.press("label.pass", wait=1)
        assert review.session.item is None
        assert review.state.panes.names == ("queue", "item")
        # From the list, enter opens the row that is chosen there.
        review.press("screen.queue", "deeper")
        assert (review.state.panes.current, review.current) == ("item", "item/001")


def test_keys_widen_and_narrow_the_pane_in_focus_and_set_all_back(review: Review) -> None:
    review.press("screen.queue", "pane.wider")
    assert widths(review) == {"queue": 52, "item": 60, "jury": 46}
    review.press("pane.next", "pane.narrower")
    assert widths(review) == {"queue": 52, "item": 64, "jury": 42}
    review.press("pane.next", "pane.wider")
    assert widths(review) == {"queue": 52, "item": 68, "jury": 38}
    review.press("pane.default")
    assert widths(review) == Panes(width=160).columns


def test_no_pane_gets_too_narrow_by_keys_and_one_press_leads_back(review: Review) -> None:
    for pane in ("queue", "item", "jury"):
        review.press("pane.default")
        while review.state.panes.current != pane:
            review.press("pane.next")
        for action, back in (("wider", "narrower"), ("narrower", "wider")):
            review.press(*[f"pane.{action}"] * 40)
            columns = widths(review)
            assert sum(columns.values()) == 158
            assert all(columns[name] >= least for name, least in LEAST.items())
            review.press(f"pane.{back}")
            assert abs(widths(review)[pane] - columns[pane]) == 4


def test_a_dragged_rule_stands_where_the_mouse_is(review: Review) -> None:
    drag(review.controller, "item", 50)
    assert widths(review) == {"queue": 50, "item": 62, "jury": 46}
    drag(review.controller, "jury", 100)
    # The rule has column 100, and 59 are right of it.
    assert widths(review) == {"queue": 50, "item": 49, "jury": 59}
    for name, column in (("item", 0), ("item", 159), ("jury", 0), ("jury", 159)):
        drag(review.controller, name, column)
        columns = widths(review)
        assert sum(columns.values()) == 158
        assert all(columns[name] >= least for name, least in LEAST.items())


def test_widths_follow_the_terminal_and_come_back(review: Review) -> None:
    drag(review.controller, "item", 48)
    drag(review.controller, "jury", 119)
    before = widths(review)
    assert before == {"queue": 48, "item": 70, "jury": 40}
    review.resize((320, 48))
    # Twice the columns: 30% and 25% of them.
    assert widths(review) == {"queue": 96, "item": 142, "jury": 80}
    review.resize(SMALL)
    review.resize((160, 48))
    assert widths(review) == before


def test_a_pane_that_stands_alone_has_no_width(small: Review) -> None:
    before = small.state.panes
    small.press("pane.wider")
    assert "under 140 columns" in small.notice
    drag(small.controller, "item", 20)
    assert small.state.panes == before
    small.resize((160, 48))
    small.press("zoom", "pane.wider")
    assert "is zoomed" in small.notice
    assert small.state.panes.columns == Panes(width=160).columns


def test_a_click_on_a_row_shows_the_item_and_one_on_the_same_row_opens_it(small: Review) -> None:
    small.press("shallower")
    for _ in range(2):
        assert small.state.panes.current == "queue"
        small.controller.choose_row(3)
        assert small.session.index == 3
    assert small.state.panes.current == "item"
    assert small.events() == []
