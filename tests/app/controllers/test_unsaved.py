"""What is unsaved when the app ends is kept in a file, and saved once at a later opening."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.state import PromptForm
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import edits, unsaved
from reviewdesk.domain.records import Truth, View
from reviewdesk.errors import DeskError
from tests.app.reviewkit import Review, question_of, reviewing
from tests.helpers import POSIX, locked

KINDS = ["label", "label", "note", "tags", "mark", "defer"]


def left(tmp_path: Path) -> Path:
    """End a review whose six changes another process's lock keeps off the disk; their file."""
    with reviewing(tmp_path, 6) as review:
        with locked(review.desk.path):
            review.press("label.pass", "label.fail", "note.labelled")
            review.answer("because")
            review.typed("tags", "vague")
            review.press("mark", "defer")
            found = review.controller.flush(0)
        file = review.state.kept_file
        assert file is not None
        assert found[0].startswith(f"not saved but kept in {file}: ")
        assert "and 1 more" in found[0]
        assert found[1:] == ["They are offered when the desk is opened on the screen next."]
        assert review.events() == []
    return file


def opened(tmp_path: Path, reviewer: str = "ann") -> Review:
    desk = Desk.open(tmp_path / "d.db", reviewer=reviewer)
    return Review(desk, desk.run(), view=View())


def kinds(desk: Desk) -> list[str]:
    rows = desk.conn.execute("SELECT kind FROM label_events WHERE reviewer <> '@desk' ORDER BY key")
    return [row["kind"] for row in rows]


@POSIX
def test_the_file_is_private_and_names_desk_reviewer_and_runs(tmp_path: Path) -> None:
    path = left(tmp_path)
    assert path.parent == tmp_path
    assert path.stat().st_mode & 0o777 == 0o600
    found = json.loads(path.read_text())
    with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as desk:
        assert found["reviewer"] == desk.reviewer
        assert {one["run"] for one in found["edits"]} == {desk.run().hash}
    assert [one["kind"] for one in found["edits"]] == KINDS
    assert len({one["facts"]["once"] for one in found["edits"]}) == 6


def test_yes_saves_each_with_its_time_and_no_keeps_the_file(tmp_path: Path) -> None:
    path = left(tmp_path)
    kept = [datetime.fromisoformat(one["at"]) for one in json.loads(path.read_text())["edits"]]
    times = [at.isoformat(timespec="milliseconds") for at in kept]
    review = opened(tmp_path)
    assert "6 kept changes" in question_of(review)[0]
    review.answer(False)
    review.desk.close()
    assert path.exists()

    review = opened(tmp_path)
    review.answer(True)
    assert kinds(review.desk) == KINDS
    assert "saved: 6 kept changes" in review.notice
    assert not path.exists()
    assert review.labels[:2] == [Truth.PASS, Truth.FAIL]
    rows = review.desk.conn.execute("SELECT at FROM label_events WHERE reviewer <> '@desk'")
    assert [row["at"] for row in rows] == times
    assert review.desk.verify().ok
    review.desk.close()

    review = opened(tmp_path)
    assert review.dialogs == []


@pytest.mark.parametrize("before", [1, 3, 6])
def test_a_kill_between_two_of_them_saves_none_twice(tmp_path: Path, before: int) -> None:
    path = left(tmp_path)
    with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as desk:
        # A process that is killed behind the commit of an edit has not deleted the file.
        [file] = unsaved.waiting(desk)
        for one in file.edits[:before]:
            one.edit(desk)
        assert path.exists()
        assert len(kinds(desk)) == before
    review = opened(tmp_path)
    if before < 6:
        review.answer(True)
    assert kinds(review.desk) == KINDS
    assert not path.exists()


def test_two_openings_that_both_say_yes_save_each_once(tmp_path: Path) -> None:
    left(tmp_path)
    first, second = opened(tmp_path), opened(tmp_path)
    first.answer(True)
    second.answer(True)
    assert kinds(first.desk) == KINDS


def test_what_is_undone_after_it_was_saved_does_not_come_back(tmp_path: Path) -> None:
    path = left(tmp_path)
    before = path.read_bytes()
    review = opened(tmp_path)
    review.answer(True)
    review.press(*["undo"] * 6)
    path.write_bytes(before)
    path.chmod(0o600)
    assert list(unsaved.waiting(review.desk)) == []
    assert review.labels[:2] == [None, None]


def test_another_reviewer_is_offered_nothing(tmp_path: Path) -> None:
    left(tmp_path)
    assert opened(tmp_path, "somebody else").dialogs == []


def test_flushing_again_writes_no_second_file_and_the_lock_gone_leaves_none(tmp_path: Path) -> None:
    with reviewing(tmp_path, 3) as review:
        with locked(review.desk.path):
            review.press("label.pass")
            assert review.controller.flush(0) == review.controller.flush(0)
            assert len(list(tmp_path.glob("*.unsaved-*"))) == 1
        assert review.controller.flush(1) == []
        assert list(tmp_path.glob("*.unsaved-*")) == []
        assert len(review.events()) == 1


NOTED = "item/002"


def undone(tmp_path: Path) -> Path:
    """Label two items, and end while an undo and the text of a note wait; their file."""
    with reviewing(tmp_path, 6) as review:
        review.press("label.pass", "label.fail")
        with locked(review.desk.path):
            review.press("undo", "note")
            assert isinstance(review.dialog, PromptForm)
            review.dialog.changed("half a thought")
            # A signal ends the app in the middle of the note.
            found = review.controller.flush(0)
        file = review.state.kept_file
        assert file is not None
        assert found[0].startswith(f"not saved but kept in {file}: undo, an unfinished note. ")
        assert len(found) == 2
    return file


def test_an_undo_and_the_text_of_a_note_are_kept(tmp_path: Path) -> None:
    path = undone(tmp_path)
    review = opened(tmp_path)
    assert f"undo, unfinished note {NOTED}" in question_of(review)[1]
    review.answer(True)
    assert kinds(review.desk) == ["label", "label", "undo"]
    assert review.labels[:3] == [Truth.PASS, None, None]
    assert edits.draft(review.desk, review.desk.find(review.desk.run(), NOTED)) == "half a thought"
    assert not path.exists()
    assert review.desk.verify().ok


def test_a_kept_undo_is_made_once_and_of_nothing_that_came_later(tmp_path: Path) -> None:
    path = undone(tmp_path)
    before = path.read_bytes()
    review = opened(tmp_path)
    review.answer(True)
    review.desk.close()
    for keys in ([], ["label.pass"]):
        review = opened(tmp_path)
        review.press(*keys)
        review.desk.close()
        path.write_bytes(before)
        path.chmod(0o600)
        with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as desk:
            assert list(unsaved.waiting(desk)) == []
            assert kinds(desk).count("undo") == 1


def test_an_undo_is_left_out_where_a_label_came_after_it(tmp_path: Path) -> None:
    undone(tmp_path)
    review = opened(tmp_path)
    review.answer(False)
    review.press("label.pass")
    review.desk.close()
    review = opened(tmp_path)
    review.answer(True)
    assert "1 left out, as you labelled since" in review.notice
    assert kinds(review.desk) == ["label", "label", "label"]


def test_a_kept_draft_does_not_replace_what_was_written_since(tmp_path: Path) -> None:
    path = undone(tmp_path)
    with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as desk:
        key = desk.find(desk.run(), NOTED)
        edits.NoteDraft(key, "another")(desk)
        [file] = unsaved.waiting(desk)
        assert unsaved.save(desk, [file]) == 0
        assert edits.draft(desk, key) == "another\n\nhalf a thought"
        assert not path.exists()


def with_fact(name: str, value: object, place: int = 0) -> Callable[[Any], None]:
    return lambda found: found["edits"][place]["facts"].__setitem__(name, value)


def with_part(name: str, value: object, place: int = 0) -> Callable[[Any], None]:
    return lambda found: found["edits"][place].__setitem__(name, value)


DAMAGE: dict[str, Callable[[Any], object]] = {
    "another desk": lambda found: found.__setitem__("desk", "0" * 32),
    "another reviewer": lambda found: found.__setitem__("reviewer", "eve"),
    "no edits": lambda found: found.pop("edits"),
    "edits that are none": lambda found: found.__setitem__("edits", [3]),
    "an unknown kind": with_part("kind", "rename"),
    "an undo with facts of a label": with_part("kind", "undo"),
    "a draft without its text": with_part("kind", "draft", 2),
    "a kind that is a list": with_part("kind", []),
    "an imported label": with_fact("imported", True),
    "a fact of another type": with_fact("blind", 1),
    "content that is no hash": with_fact("again", "xyz"),
    "a time that is none": with_fact("revealed_at", "soon"),
    "tags that are numbers": with_fact("tags", [1], 3),
    "a mark without a side": lambda found: found["edits"][4]["facts"].pop("on"),
    "no key": lambda found: found["edits"][0]["facts"].pop("once"),
    "a label that nobody gives": with_part("label", "disputed"),
    "a label of a note": with_part("label", "pass", 2),
    "no label": with_part("label", None),
    "a day without a zone": with_part("at", "2025-01-01"),
    "before all time": with_part("at", "0001-01-01T00:00:00+23:59"),
    "an unknown run": with_part("run", "0" * 64),
    "an unknown verdict": with_part("verdict", "\x1b[2J"),
    "another item": with_part("item", "0" * 64),
}


NO_FILES = (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": NaN}', b"null", b'"x"', b"{}")


def test_a_file_that_was_changed_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = left(tmp_path)
    whole = path.read_bytes()
    with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as desk:
        for data in NO_FILES:
            path.write_bytes(data)
            is_told(desk, path)
        for damage in DAMAGE.values():
            found = json.loads(whole)
            damage(found)
            path.write_text(json.dumps(found))
            is_told(desk, path)
    is_refused(tmp_path, path)


@POSIX
def test_no_link_is_followed_nor_a_file_read_that_others_can_write(tmp_path: Path) -> None:
    path = left(tmp_path)
    path.chmod(0o666)
    is_refused(tmp_path, path)
    target = tmp_path / "elsewhere"
    path.rename(target)
    path.symlink_to(target)
    is_refused(tmp_path, path)
    path.unlink()
    os.mkfifo(path, 0o600)
    is_refused(tmp_path, path)


@POSIX
def test_a_planted_link_is_not_written_through(tmp_path: Path) -> None:
    with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as desk:
        first = unsaved.paths(desk)[0]
    target = tmp_path / "precious"
    target.write_text("mine")
    first.symlink_to(target)
    assert left(tmp_path) != first
    assert target.read_text() == "mine"


def is_told(desk: Desk, path: Path) -> None:
    with pytest.raises(DeskError) as told:
        list(unsaved.waiting(desk))
    assert str(path) in str(told.value)
    assert "\x1b" not in str(told.value)
    assert "\n" not in str(told.value)


def is_refused(tmp_path: Path, path: Path) -> None:
    """Nothing of the file is saved; the review tells of it in one line and goes on."""
    with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as desk:
        is_told(desk, path)
    review = opened(tmp_path)
    assert str(path) in review.notice
    assert review.dialogs == []
    review.press("label.pass")
    assert kinds(review.desk)[-1] == "label"
    review.desk.close()
    assert path.exists()
