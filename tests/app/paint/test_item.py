"""The item's pane and the lines of history: who said what and when, and texts as they stand."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reviewdesk.app.paint.document import words_line
from reviewdesk.app.widgets.queue_list import queue_line
from reviewdesk.desk import Desk, LoadOptions
from reviewdesk.domain.records import Item, Truth
from reviewdesk.reports.bytes.source import Source
from reviewdesk.views.queue import event as event_words
from reviewdesk.views.queue import given
from tests.app.appkit import jury_lines
from tests.app.builders import item_of, report, verdict
from tests.app.panekit import item_lines

HUMAN = {"label": "fail", "by": "dr \x1b[2Jsmith", "at": "2024-02-03T04:05:06Z"}


def text(item: Item, width: int = 79, *, hidden: bool = False) -> str:
    return "\n".join(line.plain for line in item_lines(item, width, hidden=hidden))


def labelled(path: Path, *, taken: bool) -> tuple[Desk, int]:
    """A verdict that a person labelled in the file; the desk is ann's."""
    desk = Desk.open(path, reviewer="ann", clock=lambda: datetime(2025, 1, 31, 12, tzinfo=UTC))
    source = Source.from_bytes("run.json", json.dumps(report([verdict(1, human=HUMAN)])).encode())
    run = desk.load(source, LoadOptions(import_labels=taken)).run
    return desk, desk.find(run, "item/001")


def test_an_imported_label_is_told_by_its_author_and_its_time(tmp_path: Path) -> None:
    desk, key = labelled(tmp_path / "d.db", taken=True)
    said = "2024-02-03 04:05  label fail, imported  "
    shown = " ".join(text(desk.item(key)).split("\n"))
    assert f"{said}dr ␛[2Jsmith" in shown
    assert "  ann" not in shown
    [event] = [event for event in desk.item(key).history if event.label]
    when, who = given(event)
    told = ("  ", *event_words(event, None), "  item/001  ", who)
    assert words_line((when, *told)).plain == f"{said}item/001  dr ␛[2Jsmith"


def test_a_label_of_the_reviewer_is_told_by_the_reviewer(tmp_path: Path) -> None:
    desk, key = labelled(tmp_path / "d.db", taken=False)
    desk.label(key, Truth.PASS)
    shown = text(desk.item(key))
    assert "2025-01-31 12:00  label pass  ann" in shown
    assert "imported" not in shown
    assert "in file: fail by dr ␛[2Jsmith" in shown
    assert "in file" not in text(desk.item(key), hidden=True)


def test_json_is_indented(tmp_path: Path) -> None:
    written = '{"a":[1,1.50],"a":"b"}'
    item = item_of(tmp_path, output=written)
    # Nothing is lost: the key that stands twice and the number as it was written.
    assert text(item).count('"a":') == 2
    assert "1.50" in text(item)
    assert written not in text(item)


def test_rules_that_disagree_are_named(tmp_path: Path) -> None:
    # Two of four pass at .7 and meet a quorum of .5; mean, trimmed mean and median are .4 and fail.
    lines = jury_lines(item_of(tmp_path, scores=(0.8, 0.8, 0.0, 0.0)), 79)
    shown = " ".join(" ".join(line.plain for line in lines).split())
    told = shown[shown.index("rules disagree quorum: pass; trimmed mean") :]
    assert told.index("quorum: pass") < told.index(": fail")


@pytest.mark.parametrize(
    ("author", "hidden", "sign"),
    [
        ("ann", False, "¶ note"),
        ("ann", True, "¶ note"),
        ("ben", False, "¶ note of others"),
        ("ben", True, ""),
    ],
)
def test_a_note_shows_by_a_sign_unless_it_is_of_others_and_hidden(
    tmp_path: Path, author: str, hidden: bool, sign: str
) -> None:
    desk, key = labelled(tmp_path / "d.db", taken=False)
    writer = Desk.open(tmp_path / "d.db", reviewer=author)
    writer.note(key, "as I see it")
    writer.close()
    item = desk.item(key)
    shown = text(item, hidden=hidden)
    assert sign in shown
    assert ("¶" in shown) is bool(sign)
    assert ("of others" in shown) is ("of others" in sign)
    row = queue_line(item.row, 60, current=False, blind=hidden).plain
    assert ("¶" in row) is bool(sign)
