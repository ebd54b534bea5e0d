"""Notes and tags of the item that was labelled last, and dialogs that name their item."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewdesk.app.controllers.state import PromptForm, ReasonsLine
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import edits, filters
from reviewdesk.desk.team.sync import merge
from reviewdesk.domain.records import Item, Truth, View
from reviewdesk.domain.tags import USUAL
from reviewdesk.reports.bytes.source import Source
from reviewdesk.settings import Settings
from tests.app.builders import open_run, report, verdict
from tests.app.controllers.second_run import second_run
from tests.app.reviewkit import Review, beside, form_of, reviewing

FILE = View(order="file")


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path, view=FILE) as made:
        yield made


ASKS = Settings(tags_after_fail=True)


def line_of(review: Review) -> ReasonsLine:
    assert review.state.reasons is not None
    return review.state.reasons


def stored(review: Review, name: str) -> Item:
    return review.desk.item(review.desk.find(review.run, name))


def test_digits_tag_the_item_just_labelled_and_not_the_one_on_screen(review: Review) -> None:
    review.press("label.fail", "tags.labelled")
    assert (line_of(review).name, review.current) == ("item/001", "item/002")
    assert line_of(review).offered == USUAL
    review.digit(1)
    review.digit(6)
    review.digit(1)
    assert stored(review, "item/001").tags == (USUAL[5],)
    assert review.item.tags == ()
    assert review.state.saved == "saved ✓ tags item/001"
    review.reason("escape")
    # The line's tick says it, and leaves the notice of the label in view.
    assert review.notice == ""
    assert len(review.events()) == 1
    # Each digit is an event of its own, and so an undo, which shows the item.
    review.press("undo")
    assert review.current == "item/001"
    assert set(review.item.tags) == {USUAL[0], USUAL[5]}


def test_fail_because_opens_the_reasons_and_the_next_label_closes_them(review: Review) -> None:
    review.press("label.because")
    assert (line_of(review).name, review.current) == ("item/001", "item/002")
    review.digit(1)
    # Other keys act as ever, and the line stays.
    review.press("mark", "item.next", "item.previous")
    review.digit(2)
    assert stored(review, "item/001").tags == USUAL[:2]
    assert (review.item.verdict.id, review.item.row.marked, review.item.tags) == (
        "item/002", True, (),
    )  # fmt: skip
    review.press("label.pass")
    assert review.state.reasons is None
    review.press("label.because")
    assert line_of(review).name == "item/003"
    assert [event.label for event in review.events()] == ["fail", "pass", "fail"]
    for key in ("escape", "enter"):
        review.press("tags.labelled")
        review.reason(key)
        assert review.state.reasons is None
        assert review.current == "item/004"
    review.digit(1)
    assert stored(review, "item/003").tags == ()


def test_a_tag_by_name_keeps_the_line_and_takes_the_next_digit(review: Review) -> None:
    review.press("label.because")
    review.reason("t")
    review.answer("my-own")
    assert line_of(review).tags == ("my-own",)
    assert line_of(review).offered == (*USUAL, "my-own")
    review.digit(1)
    assert stored(review, "item/001").tags == ("my-own", USUAL[0])


def test_undo_closes_the_line_so_that_no_digit_brings_back_what_it_took(review: Review) -> None:
    review.press("label.because")
    review.digit(1)
    review.press("undo")
    assert review.state.reasons is None
    assert stored(review, "item/001").tags == ()


def test_a_digit_behind_a_fail_that_came_too_soon_labels_nothing(review: Review) -> None:
    review.press("label.because", wait=0.01)
    assert "too soon" in review.notice
    review.press("label.pass", wait=0.14)
    assert review.events() == []


def test_fail_because_by_name_asks_first(review: Review) -> None:
    review.choose("label.because")
    assert review.state.reasons is None
    review.answer(True)
    assert line_of(review).name == "item/001"
    assert stored(review, "item/001").row.label is Truth.FAIL


def test_a_held_digit_tags_once(review: Review) -> None:
    review.press("label.fail", "tags.labelled")
    for _ in range(5):
        review.digit(2, wait=0.03)
    assert stored(review, "item/001").tags == (USUAL[1],)
    assert len(review.events("tags")) == 1
    review.digit(3, wait=0.01)
    assert stored(review, "item/001").tags == USUAL[1:3]


def test_the_line_opens_after_every_fail_if_the_settings_say_so(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, settings=ASKS) as review:
        review.press("label.pass")
        assert review.state.reasons is None
        review.press("label.fail")
        assert (line_of(review).name, review.current) == ("item/002", "item/003")
    with reviewing(tmp_path / "x", view=FILE) as review:
        review.press("label.fail")
        assert review.state.reasons is None


def test_the_last_fail_of_a_queue_is_tagged_over_the_page_that_says_done(tmp_path: Path) -> None:
    with reviewing(tmp_path, 1, view=FILE, settings=ASKS) as review:
        review.press("label.fail")
        assert review.current is None
        review.digit(1)
        assert stored(review, "item/001").tags == USUAL[:1]


def test_digits_go_to_configured_tags_then_to_the_own_ones(tmp_path: Path) -> None:
    settings = Settings(tags=("Wrong Policy", "tone"))
    with reviewing(tmp_path, view=FILE, settings=settings) as review:
        keys = review.desk.queue(review.run, "", "file")
        with beside(review) as bob:
            for key in keys:
                edits.tags(key, ["of-bob"])(bob)
        edits.tags(keys[3], ["rare", "often"])(review.desk)
        edits.tags(keys[4], ["often", "tone"])(review.desk)
        review.press("label.fail", "tags.labelled")
        assert line_of(review).offered == ("wrong-policy", "tone", "often", "rare")


def test_digits_never_change_their_tags_on_a_desk(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    with reviewing(tmp_path, view=FILE) as review:
        review.press("label.fail", "tags.labelled")
        review.digit(3)
        review.reason("escape")
        review.typed("tags", "my-own")
        review.press("label.fail", "tags.labelled")
        # The new tag takes the next free digit.
        assert line_of(review).offered == (*USUAL, "my-own")
        review.reason("escape")
        review.press("quit")
    # At the next start, for another reviewer with tags and settings of her own, in another run.
    other = Desk.open(path, reviewer="ben")
    body = json.dumps(report([verdict(7), verdict(8)])).encode()
    run = other.load(Source.from_bytes("other.json", body)).run
    later = Review(other, run, view=FILE, settings=Settings(tags=("configured", "my-own")))
    edits.tags(later.item.row.key, ["of-ben"])(other)
    later.press("label.fail", "tags.labelled")
    assert line_of(later).offered == (*USUAL, "my-own", "configured", "of-ben")


def test_digits_keep_their_tags_through_a_merge(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE) as review:
        review.press("label.fail", "tags.labelled")
        review.reason("escape")
        review.typed("tags", "of-ann")
        review.press("label.fail", "tags.labelled")
        review.reason("escape")
    (tmp_path / "two").mkdir()
    settings = Settings(tags=("first", "second"))
    with reviewing(tmp_path / "two", view=FILE, settings=settings) as review:
        review.press("label.fail", "tags.labelled")
        assert line_of(review).offered == ("first", "second")
        review.reason("escape")
        merge(review.desk, tmp_path / "d.db")
        review.press("tags.labelled")
        # Those of the other desk follow; nine have a digit.
        assert line_of(review).offered == ("first", "second", *USUAL, "of-ann")
    # A desk without digits of its own takes those of the other.
    empty = Desk.open(tmp_path / "empty.db", reviewer="cleo")
    merge(empty, tmp_path / "d.db")
    assert filters.tag_digits(empty, ("x",), ()) == (*USUAL, "of-ann", "x")
    empty.close()


def test_digits_that_an_earlier_version_kept_stay(review: Review) -> None:
    edits.keep(review.desk, {"tag_digits": ["b", "a"]})
    review.press("label.fail", "tags.labelled")
    assert line_of(review).offered == ("b", "a")
    ben = Desk.open(review.desk.path, reviewer="ben")
    assert filters.tag_digits(ben, (), ("c",)) == ("b", "a", "c")
    ben.close()


def test_from_the_line_the_tags_of_the_same_item_are_typed(review: Review) -> None:
    review.press("label.fail", "tags.labelled")
    review.digit(1)
    review.reason("t")
    form = form_of(review)
    assert (form.title, form.name, form.value) == ("Tags of", "item/001", f"{USUAL[0]}, ")
    review.answer(f"{USUAL[0]}, other")
    assert stored(review, "item/001").tags == (USUAL[0], "other")
    assert review.item.tags == ()


def test_before_a_label_and_after_its_undo_one_line_says_so(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, settings=ASKS) as review:
        for action in ("tags.labelled", "note.labelled"):
            review.press(action)
            assert review.notice == "You have no label in this run yet."
        review.press("label.pass", "label.pass", "undo")
        for action in ("tags.labelled", "note.labelled"):
            review.press(action)
            assert review.notice == "You have no label in this run yet."
        assert not review.dialogs
        review.press("redo", "tags.labelled")
        assert line_of(review).name == "item/002"


def test_the_item_just_labelled_is_the_reviewers_own_by_hand(review: Review) -> None:
    review.press("label.pass")
    with beside(review) as bob:
        bob.label(bob.queue(review.run, "", "file")[4], Truth.FAIL)
    review.press("item.next", "note.labelled")
    assert isinstance(review.dialog, PromptForm)
    assert review.dialog.name == "item/001"
    review.leave()
    other = second_run(review.desk)
    review.command(f"run {other.name}")
    review.press("note.labelled")
    assert review.notice == "You have no label in this run yet."


def test_after_a_restart_it_is_the_newest_label_of_the_run(tmp_path: Path, review: Review) -> None:
    review.press("label.pass", "label.fail", "mark")
    later = Review(Desk.open(tmp_path / "d.db", reviewer="ann"), review.run, view=FILE)
    later.press("tags.labelled")
    assert line_of(later).name == "item/002"
    later.desk.close()


def test_a_run_that_was_removed_meanwhile_is_one_line(review: Review) -> None:
    review.press("label.fail")
    review.desk.remove(review.run)
    review.press("tags.labelled")
    assert review.notice.startswith("no run ")
    assert not review.dialogs


def test_note_on_the_item_just_labelled_names_it_and_says_what_became_of_it(review: Review) -> None:
    review.press("label.fail", "note.labelled")
    form = form_of(review)
    assert (form.name, form.note) == ("item/001", "")
    assert form.changed("rude") == "draft kept, not saved as a note yet"
    review.leave("rude")
    assert review.notice == "item/001: draft kept, C continues it"
    review.press("note.labelled")
    form = form_of(review)
    assert (form.value, form.note) == ("rude", "draft kept, not saved as a note yet")
    review.answer("rude")
    assert stored(review, "item/001").note == "rude"
    assert review.item.note is None
    assert review.notice == "item/001: note saved"
    assert review.state.saved == "saved ✓ note item/001"
    review.press("note.labelled")
    assert isinstance(review.dialog, PromptForm)
    assert review.dialog.note == "as saved"


def test_a_draft_that_cannot_be_kept_says_so_in_the_dialog(review: Review) -> None:
    review.press("note")
    form = form_of(review)
    review.desk.conn.execute("ALTER TABLE drafts RENAME TO gone")
    assert form.changed("x").startswith("draft not kept: ")
    review.desk.conn.execute("ALTER TABLE gone RENAME TO drafts")
    assert form.changed("xy") == "draft kept, not saved as a note yet"
    assert edits.draft(review.desk, review.item.row.key) == "xy"


def test_the_queue_shows_whose_notes_there_are(review: Review) -> None:
    keys = review.desk.queue(review.run, "", "file")
    with beside(review) as bob:
        bob.note(keys[1], "mine")
        bob.label(keys[2], Truth.FAIL, note="with the label")
    review.typed("note", "as I see it")
    review.press("item.next", "item.next", "item.next")
    review.typed("note", "soon gone")
    review.typed("note", "")
    rows = review.desk.rows(keys)
    assert [row.noted for row in rows] == [True, False, False, False, False, False]
    # What came with a label of another is told after a label of one's own.
    assert [row.noted_by_others for row in rows] == [False, True, False, False, False, False]
    review.press("undo")
    assert review.desk.rows(keys)[3].noted
    review.desk.label(keys[2], Truth.PASS)
    assert review.desk.rows(keys)[2].noted_by_others


def test_an_id_with_a_run_of_the_same_id_is_that_of_the_run(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 4)]))
    second_run(desk)
    review = Review(desk, run, view=FILE)
    review.press("label.fail", "tags.labelled")
    review.digit(1)
    assert stored(review, "item/001").tags == USUAL[:1]


@pytest.mark.parametrize("action", ["note", "tags", "mark", "defer", "adjudicate"])
def test_a_read_only_desk_opens_no_field_and_takes_nothing(review: Review, action: str) -> None:
    review.desk.read_only = True
    shown = review.current
    review.press(action)
    assert review.notice == "the desk is read-only: labels and notes cannot be saved"
    assert (review.dialogs, review.current) == ([], shown)
    assert [review.events(kind) for kind in ("note", "tags", "mark", "defer")] == [[]] * 4
