"""Notes, tags, marks, history, other runs, copying and reading of one item."""

import json
from pathlib import Path

import pytest

from reviewdesk.app.controllers.state import DialogPage
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import edits
from reviewdesk.domain.records import View
from reviewdesk.views.document import Document, Paragraph, plain
from tests.app.controllers.second_run import second_run
from tests.app.reviewkit import Review, beside, dialog_events, dialog_page, form_of, reviewing


def tags(review: Review) -> tuple[str, ...]:
    return review.item.tags


def test_a_note_draft_survives_the_end_of_the_app(tmp_path: Path, review: Review) -> None:
    first, key = review.current, review.item.row.key
    review.press("note")
    form_of(review).changed("dr")
    # Nothing was saved and nothing closed: what a killed app leaves behind.
    assert review.desk.view(review.run) == View(item=first)
    later = Review(Desk.open(tmp_path / "d.db", reviewer="ann"), review.run)
    assert later.item.row.key == key
    later.press("note")
    assert form_of(later).value == "dr"
    form_of(later).changed("dra")
    later.leave("dra")
    assert later.notice == f"{first}: draft kept, c continues it"
    later.press("note")
    later.answer("dra")
    assert later.state.saved == "saved ✓ note"
    assert later.item.note == "dra"
    assert edits.draft(later.desk, key) is None
    later.press("note")
    assert form_of(later).value == "dra"
    # A draft that is the note again is none.
    form_of(later).changed("dra")
    later.leave("dra")
    assert later.notice == ""
    later.press("item.next", "note")
    assert form_of(later).value == ""
    later.desk.close()


def test_a_draft_that_cannot_be_looked_at_is_one_line_and_not_lost(review: Review) -> None:
    review.press("note")
    form_of(review).changed("x")
    review.desk.conn.execute("ALTER TABLE drafts RENAME TO gone")
    review.leave("x")
    assert "no such table" in review.notice
    review.desk.conn.execute("ALTER TABLE gone RENAME TO drafts")
    review.press("note")
    assert form_of(review).value == "x"


def test_tags_are_typed_completed_and_undone(review: Review) -> None:
    review.typed("tags", "Wrong Policy, tone")
    assert tags(review) == ("wrong-policy", "tone")
    assert review.notice == "tags: wrong-policy, tone"
    review.press("item.next", "tags")
    complete = form_of(review).complete
    assert complete is not None
    assert [option.text for option in complete("wr", 2).options] == ["wrong-policy"]
    review.answer("wrong-policy")
    assert tags(review) == ("wrong-policy",)
    review.press("undo")
    assert tags(review) == ()
    assert review.notice.startswith("undo: tags wrong-policy")
    review.press("redo")
    assert tags(review) == ("wrong-policy",)
    review.press("tags")
    assert form_of(review).value == "wrong-policy, "
    review.answer("wrong-policy")
    assert review.notice == "the tags are as they were"
    review.press("tags")
    review.leave("ton")
    review.press("tags")
    assert form_of(review).value == "ton"


def test_a_mark_is_set_filtered_for_and_taken_away(review: Review) -> None:
    first = review.current
    review.press("mark")
    assert review.notice == "marked: \\ then mark shows the marked ones"
    review.typed("filter", "mark")
    assert len(review.session.keys) == 1
    assert review.current == first
    review.press("mark")
    assert not review.item.row.marked
    assert (review.notice, review.state.saved) == ("mark removed", "saved ✓ unmark")


def test_history_tells_of_the_item(review: Review) -> None:
    review.press("label.pass", "label.fail", "undo", "history")
    assert [(e.label, e.undone) for e in dialog_events(review) if e.label] == [("fail", True)]


def test_blind_history_holds_no_judgement_of_others(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=View(blind=True, order="draw")) as review:
        with beside(review) as other:
            other.note(review.item.row.key, "the panel is right")
        review.press("history")
        assert dialog_events(review) == []
        review.answer(None)
        review.press("blind", "history")
        assert [event.detail["note"] for event in dialog_events(review)] == ["the panel is right"]


def lead(page: DialogPage) -> str:
    assert isinstance(page.document, Document)
    (first,) = page.document.sections[0].blocks
    assert isinstance(first, Paragraph)
    return plain(first.text)


def test_two_runs_of_one_content_are_compared(filed: Review) -> None:
    second_run(filed.desk)
    filed.press("diff")
    page = dialog_page(filed)
    # Items 1 and 2 of 6 fail in the second run, where two of their three jurors turned.
    assert lead(page) == "with again"
    assert page.note == "1 of 1 other runs"
    filed.answer(page.answers["f"])
    assert filed.session.view.filter == "flip:again"
    assert len(filed.session.keys) == 2


@pytest.mark.parametrize("name", ["a|b", "two words", 'said "so"', "@kept", "!not"])
def test_a_run_of_any_name_leads_to_what_it_turned(review: Review, name: str) -> None:
    second_run(review.desk, name)
    review.press("diff")
    review.answer(dialog_page(review).answers["f"])
    # As above: items 1 and 2.
    assert len(review.session.keys) == 2


def test_a_blind_comparison_waits_for_the_label(blind: Review) -> None:
    second_run(blind.desk)
    blind.press("diff")
    assert "hidden until the item is labelled" in blind.notice
    blind.press("label.pass", "back", "diff")
    assert lead(dialog_page(blind)) == "with again"


def test_nothing_to_compare_with_says_so(review: Review) -> None:
    review.press("diff")
    assert review.notice == "no other loaded run judged this content"


def test_the_item_is_copied_as_json_and_told_where(
    tmp_path: Path, review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    review.press("copy.json")
    shape = json.loads(review.copied)
    assert shape["id"] == review.current
    assert len(shape["jurors"]) == 3
    path = tmp_path / "cache" / "reviewdesk" / "copied.json"
    assert json.loads(path.read_text(encoding="utf-8")) == shape
    assert path.stat().st_mode & 0o077 == 0
    assert "copied.json" in review.notice
    review.press("blind", "item.next", "copy.json")
    assert set(json.loads(review.copied)) == {
        "run", "id", "test", "item_hash", "rubric", "input", "output", "alternative",
        "reference", "checks",
    }  # fmt: skip


def test_an_answer_that_never_came_changes_nothing(review: Review) -> None:
    for action in ("note", "tags", "filter", "search", "command", "order", "history"):
        review.press(action)
        review.answer(None)
    assert review.desk.head().startswith("1:")
    assert review.session.view == View()
