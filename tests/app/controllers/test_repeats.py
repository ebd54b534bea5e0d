"""Repeats in a blind session: an item that came back shows no sign of it and changes no figure."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.controllers.state import Place, PromptForm
from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels.rows import full_rows
from reviewdesk.desk.review import edits
from reviewdesk.desk.review.repeats import WorkLog
from reviewdesk.domain.labels.team import OTHERS
from reviewdesk.domain.records import Item, Run, Truth, View
from reviewdesk.settings import Feedback, Settings, Share
from tests.app.builders import SMALL, open_run, report, verdict
from tests.app.reviewkit import Review, dialog_events, form_of
from tests.helpers import figures_of, tag

ALL = Settings(repeat=Share(1), feedback=Feedback.NEVER)
"""Every item that can come back does, as soon as the least number of labels between allows."""


@contextmanager
def long_review(
    path: Path, count: int = 100, given: int = 45, output: str = "answer", **more: Any
) -> Iterator[Review]:
    """A blind review of many verdicts in the order of the file, of which many have a label."""
    desk, run = open_run(
        path / "d.db", report([verdict(i, output=output) for i in range(1, count + 1)])
    )
    for key in desk.queue(run, "", "file")[:given]:
        desk.label(key, Truth.PASS, blind=True, told=False)
    more = {"view": View(blind=True, order="file"), "settings": ALL, **more}
    yield Review(desk, run, **more)
    desk.close()


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with long_review(tmp_path) as made:
        yield made


def until_repeat(review: Review) -> Item:
    """Label pass until an item is in view that has a label in the desk."""
    for _ in range(OTHERS + 30):
        if review.desk.item(review.item.row.key).row.label is not None:
            return review.item
        review.press("label.pass")
    raise AssertionError("nothing came back")


def log_of(review: Review) -> WorkLog:
    found = WorkLog(review.desk, review.run)
    found.read()
    return found


def reopened(review: Review, **more: Any) -> Review:
    """The same review after a crash: nothing was closed, and another process opens the desk."""
    desk = Desk.open(review.desk.path, reviewer="ann")
    run = desk.run()
    view = desk.view(run) or View()
    return Review(desk, run, view=view, settings=more.pop("settings", ALL), **more)


@pytest.mark.slow
def test_nothing_comes_back_before_fifty_others(tmp_path: Path) -> None:
    with long_review(tmp_path, given=0) as review:
        item = until_repeat(review)
        labels = [event.verdict for event in review.events()]
        others = labels[labels.index(item.verdict.id) + 1 :]
        assert len(others) >= OTHERS
        assert item.verdict.id not in others


@pytest.mark.slow
def test_what_came_back_looks_like_an_item_without_a_label(tmp_path: Path) -> None:
    with long_review(tmp_path, given=0) as review:
        first = review.item
        key, name = first.row.key, first.verdict.id
        review.typed("note", "my reason")
        review.typed("tags", "tone")
        review.press("mark", "label.pass")
        item = until_repeat(review)
        while item.verdict.id != name:
            review.press("label.pass")
            item = until_repeat(review)
        assert item.row.key == key
        assert review.state.seen.top == Place()
        # As at its first look, field by field: the label, note, tags and mark are hidden.
        assert replace(item, run=first.run) == first
        assert review.session.hidden
        assert review.controller.review.listed([key])[0] == first.row
        review.press("history")
        assert dialog_events(review) == []
        review.answer(None)
        # It stands behind the item that was labelled last, as the next undecided one would.
        assert review.session.index is not None
        before = review.desk.rows([review.session.keys[review.session.index - 1]])[0]
        assert before.label is not None
        assert len(set(review.session.keys)) == len(review.session.keys) == 100


def test_a_repeat_is_no_label(review: Review) -> None:
    item = until_repeat(review)
    before = facts(review.desk, review.run)
    progress, mark = review.session.progress, review.session.index
    review.press("label.fail")
    assert facts(review.desk, review.run) == before
    assert review.session.progress == progress
    assert review.state.saved == f"saved ✓ fail {item.verdict.id}"
    assert review.session.index == (mark or 0) + 1
    assert [one.label for one in review.events("repeat")] == [Truth.FAIL]
    assert log_of(review).pairs() == [(Truth.PASS, Truth.FAIL)]
    # Nothing was told after the first label, and nothing was seen since.
    assert [one.detail["unseen"] for one in review.events("repeat")] == [True]
    assert review.desk.verify().ok
    review.press("back", "history")
    assert [one.kind for one in dialog_events(review)] == ["label"]


def facts(desk: Desk, run: Run) -> tuple[object, ...]:
    rows = [
        {name: value for name, value in row.items() if name != "head"}
        for row in full_rows(desk, run, None).rows
    ]
    keys = desk.queue(run, "", "draw")
    return figures_of(desk, run), desk.progress(run), desk.rows(keys), rows


@pytest.mark.slow
def test_two_repeats_never_follow_each_other_and_each_item_comes_once(tmp_path: Path) -> None:
    with long_review(tmp_path, 110) as review:
        shown: list[str] = []
        was_repeat = False
        while review.session.item is not None:
            is_repeat = review.desk.item(review.item.row.key).row.label is not None
            assert not (is_repeat and was_repeat)
            was_repeat = is_repeat
            shown += [review.item.verdict.id] if is_repeat else []
            review.press("label.pass")
        assert len(shown) == len(set(shown)) > 20
        assert shown == [one.verdict for one in review.events("repeat")]
        # After the last undecided item nothing more comes.
        assert not was_repeat
        assert review.session.progress.labelled == 110


def test_undo_and_redo_of_a_repeat(review: Review) -> None:
    name = until_repeat(review).verdict.id
    review.press("label.fail")
    following = review.current
    review.press("undo")
    assert (review.current, review.item.row.label) == (name, None)
    assert review.notice == f"undo: label fail on {name}"
    review.press("redo")
    assert review.item.row.label is Truth.FAIL
    review.press("next")
    assert review.current == following
    # Of what was done before the item came back, undo takes the newest label.
    review.press("undo", "undo")
    assert review.events()[-1].undone
    assert review.current != name
    assert review.desk.item(review.desk.find(review.run, name)).row.label is Truth.PASS


def test_a_crash_before_the_repeat_loses_nothing(review: Review) -> None:
    item = until_repeat(review)
    again = reopened(review)
    assert (again.current, again.item.row.label) == (item.verdict.id, None)
    assert again.session.index == review.session.index
    again.press("label.fail")
    assert [one.label for one in again.events("repeat")] == [Truth.FAIL]
    came = log_of(again).repeated(bytes.fromhex(item.item_hash))
    assert came is not None
    assert came.second is not None
    later = reopened(again)
    # In the next session it is what it is: the first label, and the history tells the rest.
    assert later.controller.review.listed([item.row.key])[0].label is Truth.PASS
    later.command(f"go {item.verdict.id}")
    later.press("undo")
    assert later.item.row.label is None
    later.press("redo", "history")
    kinds = [one.kind for one in dialog_events(later)]
    assert kinds == ["redo", "undo", "repeat", "label"]
    again.desk.close()
    later.desk.close()


def test_what_was_just_labelled_is_the_repeat(review: Review) -> None:
    item = until_repeat(review)
    review.press("undo")
    review.desk.note(item.row.key, "first")
    review.press("label.pass", "label.fail")
    form = prompt(review, "note.labelled")
    # The dialog is that of a new item; what it writes goes below the earlier note.
    assert (form.name, form.value) == (item.verdict.id, "")
    review.answer("second")
    assert review.desk.item(item.row.key).note == "first\n\nsecond"


def test_only_a_step_to_the_next_undecided_brings_something_back(review: Review) -> None:
    item = until_repeat(review)
    review.press("item.previous", "item.next")
    assert (review.current, review.item.row.label) == (item.verdict.id, None)
    review.press("next")
    assert review.item.verdict.id != item.verdict.id
    assert review.desk.item(review.item.row.key).row.label is None
    # What was left without a label waits in its place, as any other item does.
    assert review.controller.review.listed([item.row.key])[0].label is None


def test_a_deferred_repeat_comes_last(tmp_path: Path) -> None:
    with long_review(tmp_path, 70) as review:
        item = until_repeat(review)
        review.press("defer")
        assert review.controller.review.listed([item.row.key])[0].deferred
        for _ in range(200):
            if review.item.verdict.id == item.verdict.id:
                break
            review.press("label.pass")
        assert review.session.progress.labelled == 70
        review.press("label.pass")
        assert review.session.item is None


def test_notes_and_tags_on_what_came_back_keep_the_earlier_ones(review: Review) -> None:
    item = until_repeat(review)
    review.press("undo")
    review.desk.note(item.row.key, "first")
    tag(review.desk, item.row.key, ["tone", "late"])
    review.press("label.pass")
    assert (review.item.row.key, review.item.note, review.item.tags) == (item.row.key, None, ())
    review.typed("note", "second")
    review.typed("tags", "tone")
    assert (review.item.note, review.item.tags) == ("second", ("tone",))
    whole = review.desk.item(review.item.row.key)
    assert (whole.note, whole.tags) == ("first\n\nsecond", ("tone", "late"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "view"),
    [
        (replace(ALL, repeat=Share(0)), View(blind=True, order="file")),
        (ALL, View(order="file")),
        (ALL, View(blind=True, order="file", filter="label:none")),
        (ALL, View(blind=True, order="file", filter="score>.1")),
    ],
)
def test_where_nothing_comes_back(tmp_path: Path, settings: Settings, view: View) -> None:
    with long_review(tmp_path, settings=settings, view=view) as review:
        review.press(*["label.pass"] * 55)
        assert review.session.item is None
        assert review.session.progress.labelled == 100
        assert all("again" not in event.detail for event in review.events())


@pytest.mark.slow
def test_a_repeat_says_that_the_answer_was_told(tmp_path: Path) -> None:
    told = replace(ALL, feedback=Feedback.AFTER)
    with long_review(tmp_path, given=0, settings=told) as review:
        name = until_repeat(review).verdict.id
        review.press("label.pass")
        assert review.notice.startswith(f"{name}: the panel said")
        # History says the same of it as of any label, until the session is over.
        assert [one.detail for one in review.events("repeat")] == [
            {"blind": True, "unseen": False, "seen": True}
        ]


def test_leaving_blind_review_shows_the_item_in_its_place(review: Review) -> None:
    item = until_repeat(review)
    review.press("blind")
    assert review.item.row.label is Truth.PASS
    assert list(review.session.keys) == list(review.desk.queue(review.run, "", "file"))
    review.press("label.fail")
    assert review.events("repeat") == []
    assert review.desk.item(item.row.key).row.label is Truth.FAIL


def prompt(review: Review, action: str) -> PromptForm:
    review.press(action)
    return form_of(review)


def come_back(review: Review) -> Item:
    """Note and tag an item without saving either, and go on until it comes back."""
    item = until_repeat(review)
    review.press("undo")
    key, here = item.row.key, review.current
    review.command(f"go {item.verdict.id}")
    prompt(review, "note").changed("half a first note")
    review.leave("half a first note")
    review.press("tags")
    review.leave("half a tag")
    review.command(f"go {here}")
    review.press("label.pass")
    assert review.item.row.key == key
    return item


def test_what_was_typed_and_not_saved_does_not_come_back(review: Review) -> None:
    item = come_back(review)
    assert prompt(review, "tags").value == ""
    review.leave()
    form = prompt(review, "note")
    assert (form.value, form.note) == ("", "")
    form.changed("half a second note")
    # After a crash each is where it was written.
    again = reopened(review)
    form = prompt(again, "note")
    assert form.value == "half a second note"
    again.leave(form.value)
    again.press("label.fail")
    later = reopened(again)
    later.command(f"go {item.verdict.id}")
    assert prompt(later, "note").value == "half a first note\n\nhalf a second note"
    again.desk.close()
    later.desk.close()


def test_a_note_saved_on_a_repeat_leaves_the_earlier_draft(review: Review) -> None:
    item = come_back(review)
    review.press("note")
    review.answer("second")
    assert review.item.note == "second"
    assert edits.draft(review.desk, item.row.key) == "half a first note"


@pytest.mark.slow
def test_what_came_back_is_kept_where_it_was_left_as_any_item(tmp_path: Path) -> None:
    with long_review(tmp_path, output="line\n" * 100, size=SMALL, given=0) as review:
        while review.desk.item(review.item.row.key).row.label is None:
            review.press("label.pass", "label.pass")
        item = review.item
        review.scroll(2)
        left = review.pane.top
        review.press("item.previous", "item.next")
        assert (review.current, review.pane.top) == (item.verdict.id, left)
        # What was read of it before it came back does not count, what was read since does.
        review.press("label.fail")
        assert review.events("repeat") == []
        review.press("item.previous", "item.next", "label.fail")
        assert len(review.events("repeat")) == 1
