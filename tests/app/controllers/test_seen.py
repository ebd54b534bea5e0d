"""What counts as seen, and the guard: no held key, paste or slow screen labels what nobody saw."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.exposure import ItemLayout, LabelGuard, PartLines, SeenItems
from reviewdesk.desk.labels import transfer
from reviewdesk.domain.records import Truth, View
from reviewdesk.views import queue
from reviewdesk.views.document import plain
from reviewdesk.views.json import review as shapes
from tests.app.appkit import Clock
from tests.app.builders import SMALL, WIDE, open_run, report, verdict
from tests.app.panekit import FRAME
from tests.app.reviewkit import Review

HEIGHT = SMALL[1] - FRAME


def numbered(count: int) -> str:
    return "\n".join(f"line {number}" for number in range(1, count + 1))


@contextmanager
def reviewed(path: Path, *, size: tuple[int, int] = SMALL, **fields: Any) -> Iterator[Review]:
    """A review of one verdict with these fields and of an ordinary one after it."""
    desk, run = open_run(path / "d.db", report([verdict(1, **fields), verdict(2)]))
    yield Review(desk, run, view=View(order="file"), size=size)
    desk.close()


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewed(tmp_path) as made:
        yield made


def test_the_end_of_a_short_response_is_enough(review: Review) -> None:
    review.press("label.pass")
    assert review.labels.count(Truth.PASS) == 1
    [event] = review.events()
    assert event.detail["seen"] is True
    assert ", response seen" in plain(queue.event(event))
    item = review.desk.item(review.desk.find(review.run, "item/001"))
    assert shapes.verdict(item, [])["labels"][0]["seen"] is True
    [row] = transfer.list_labels(review.desk, review.run)
    assert row["seen"] is True


def test_a_label_of_the_shell_does_not_say_what_was_seen(review: Review) -> None:
    review.desk.label(review.item.row.key, Truth.FAIL)
    [row] = transfer.list_labels(review.desk, review.run)
    assert row["seen"] is None


def test_a_key_scrolls_to_a_response_that_was_not_on_screen(tmp_path: Path) -> None:
    with reviewed(tmp_path, output="answer", input=numbered(60)) as review:
        review.press("unfold")
        fresh(review)
        review.press("label.fail")
        assert review.labels == [None, None]
        expected = "You had not seen enough of the response yet. Press f once you have read it."
        assert review.notice == expected
        review.press("label.fail", wait=0.1)
        assert review.notice == "fail ignored: too soon"
        review.press("label.fail")
        assert review.labels.count(Truth.FAIL) == 1


def test_a_key_opens_the_kinds_of_text_that_fold_here_and_then_folds_all(tmp_path: Path) -> None:
    with reviewed(tmp_path, output="answer", input=numbered(60)) as review:
        review.press("unfold")
        # Another item's long rubric still folds, and the long input of another is whole.
        assert review.state.reading.open_sections == {"input"}
        assert review.notice == "long texts are shown whole"
        review.press("unfold")
        assert review.state.reading.open_sections == set()
        assert review.notice == "long texts fold"
        # It is not said of the next item.
        review.press("item.next")
        assert review.notice == ""
        review.press("item.previous", "unfold", "unfold")
        # In an item without long texts there is nothing to open, but what is open folds again.
        review.press("unfold", "item.next", "unfold")
        assert review.state.reading.open_sections == set()
        review.press("unfold")
        assert review.notice == "no text folds here"


def test_the_start_of_a_folded_input_must_have_been_on_screen(tmp_path: Path) -> None:
    long = numbered(60)
    with reviewed(tmp_path, output=long, input=long, rubric=long) as review:
        head = review.pane.layout.parts[2].head
        assert review.pane.layout.parts[2].name == "input"
        forget(review)
        review.pane._asked = -1
        # A search has scrolled to the response at once, and a screenful of it is read.
        review.pane.go(review.pane.layout.responses[0].first)
        review.controller.seen.saw(*review.pane.drawn)
        review.controller.guard.shown()
        review.press("label.pass")
        assert review.labels == [None, None]
        assert (
            review.notice
            == "You had not seen the start of the input yet. Press p once you have read it."
        )
        assert review.pane.top <= head < review.pane.top + review.pane.height
        review.press("label.pass")
        assert review.labels.count(Truth.PASS) == 1


def fresh(review: Review) -> None:
    forget(review)
    review.controller.show()
    review.after()


def forget(review: Review) -> None:
    review.controller.seen = SeenItems()


def test_one_screenful_of_a_long_response_is_enough(tmp_path: Path) -> None:
    with reviewed(tmp_path, output=numbered(100)) as review:
        review.press("label.pass")
        head = review.pane.layout.responses[0].first
        # Title, two headings with a line each and the response's heading leave the rest to it.
        first = HEIGHT - head + 1
        notice = "You had not seen enough of the response yet. Press p once you have read it."
        assert review.notice == notice
        # The last line that was on screen stays at the top.
        assert review.pane.layout.place(review.pane.top).char == len(numbered(first - 2)) + 1
        review.press("label.pass")
        assert review.labels.count(Truth.PASS) == 1


def test_parts_add_up_over_scrolls_and_visits(tmp_path: Path) -> None:
    with reviewed(tmp_path, output=numbered(100)) as review:
        shown = HEIGHT - review.pane.layout.responses[0].first
        # One line less than a screenful, over two visits.
        review.scroll(HEIGHT - shown - 1)
        review.press("item.next", "item.previous", "label.pass")
        assert review.labels == [None, None]
    with reviewed(tmp_path / "again", output=numbered(100)) as review:
        review.scroll(HEIGHT - shown)
        review.press("item.next", "item.previous", "label.pass")
        assert review.labels.count(Truth.PASS) == 1


def test_of_a_pair_both_must_have_been_on_screen(tmp_path: Path) -> None:
    with reviewed(tmp_path, output="short", alternative=numbered(40)) as review:
        review.resize((60, SMALL[1]))
        fresh(review)
        review.press("label.pass")
        assert "not seen enough of response B yet" in review.notice
        assert review.labels == [None, None]
        review.press("label.pass")
        assert review.labels.count(Truth.PASS) == 1


@pytest.mark.parametrize("output", [None, ""])
def test_no_response_is_seen_when_its_line_was_on_screen(tmp_path: Path, output: object) -> None:
    with reviewed(tmp_path, output=output) as review:
        assert review.pane.layout.responses[0].end == 1
        review.press("label.fail")
        assert review.labels.count(Truth.FAIL) == 0
        assert review.notice == "The item has no response to judge. Press f to label it fail."
        review.press("label.fail")
        assert review.labels.count(Truth.FAIL) == 1


def test_a_digit_behind_a_refused_fail_with_reasons_gives_no_other_label(tmp_path: Path) -> None:
    with reviewed(tmp_path, output=None) as review:
        review.press("label.because")
        assert review.notice == "The item has no response to judge. Press F to label it fail."
        review.press("label.pass", wait=0.6)
        assert review.labels == [None, None]
        review.press("label.pass", wait=1.1)
        assert review.labels.count(Truth.PASS) == 1


def test_a_label_chosen_by_name_counts_as_little(tmp_path: Path) -> None:
    with reviewed(tmp_path, output=numbered(100)) as review:
        review.choose("label.pass")
        assert not review.dialogs
        assert "not seen enough" in review.notice
        review.choose("label.pass")
        review.answer(True)
        assert review.labels.count(Truth.PASS) == 1


def test_a_resize_neither_loses_nor_adds(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(2000))
    with reviewed(tmp_path, output=words) as review:
        # Twelve lines of 78 columns are fewer than eighteen of 58, and back they are twelve.
        for width in (60, SMALL[0]):
            review.resize((width, SMALL[1]))
            found = review.controller.seen.unseen(review.item)
            assert found is not None
            first = found.char
        assert review.pane.layout.responses[0].line(first) == HEIGHT
        review.press("label.pass")
        assert review.labels == [None, None]
        # What is enough once stays enough in a larger pane.
        review.resize(WIDE)
        review.press("label.pass")
        assert review.labels.count(Truth.PASS) == 1


@pytest.mark.parametrize(("shown", "missing"), [(range(1, 6), (50, 80)), (range(2, 9), (0, 10))])
def test_what_is_missing_is_a_passage(review: Review, shown: range, missing: Any) -> None:
    seen = SeenItems()
    # Eight lines of ten characters below a heading.
    part = PartLines("output", 0, 1, tuple(range(0, 80, 10)), 80)
    seen.saw(ItemLayout(review.item.item_hash, (part,)), shown, 0, 20)
    found = seen.unseen(review.item)
    assert found is not None
    assert (found.char, found.end) == missing


def shown_guard() -> tuple[LabelGuard, Clock]:
    clock = Clock()
    guard = LabelGuard(clock)
    guard.shown()
    return guard, clock


@pytest.mark.parametrize(
    "presses",
    [
        # A key counts once the item has been shown for the interval.
        [(0.149, "p", False)],
        [(0.150, "p", True)],
        # An ignored press starts the wait anew, and another key does not wait for the first.
        [(0.1, "p", False), (0.1, "p", False), (0.15, "p", True)],
        [(0.1, "p", False), (0.1, "f", True)],
    ],
)
def test_when_a_key_counts(presses: list[tuple[float, str, bool]]) -> None:
    guard, clock = shown_guard()
    for pause, key, counts in presses:
        clock.wait(pause)
        assert guard.press(key) is counts


def test_holding_a_key_labels_at_most_two_and_a_fifth_of_a_second_apart_all_count() -> None:
    guard, clock = shown_guard()
    clock.wait(1.0)
    counted = 0
    # A keyboard repeats after half a second, then every 30 ms.
    for pause in [0.0, 0.5, *[0.03] * 100]:
        clock.wait(pause)
        if guard.press("p"):
            counted += 1
            guard.shown()
    assert counted == 2
    counted = 0
    for _ in range(20):
        clock.wait(0.2)
        if guard.press("p"):
            counted += 1
            guard.shown()
    assert counted == 20


def test_late_handling_neither_drops_nor_bunches_keys() -> None:
    # Keys a fifth of a second apart, every other one handled 60 ms late: saving and drawing take
    # 20 ms. From the late one's hand-over to the next key only 120 ms pass, 40 more than the
    # 80 ms that the app may take for itself leave to spare.
    guard, clock = shown_guard()
    clock.wait(1.0)
    counted = 0
    for i in range(10):
        late = 0.06 if i % 2 else 0.0
        clock.wait(late)
        counted += guard.press("p", late)
        clock.wait(0.02)
        guard.shown()
        clock.wait(0.2 - late - 0.02)
    assert counted == 10
