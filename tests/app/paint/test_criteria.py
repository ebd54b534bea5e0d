"""The item's pane: its criteria, tools and texts, and the lines of history."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.state import TOOLS, Criterion, ReadingOptions
from reviewdesk.app.paint.document import words_line
from reviewdesk.app.paint.frame import criteria_lines
from reviewdesk.app.paint.item import painted_item
from reviewdesk.app.widgets.queue_list import queue_line
from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.records import Item, QueueRow, Truth
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.mapping.conversation import conversation
from reviewdesk.views.queue import event as event_words
from reviewdesk.views.queue import given
from tests.app.builders import item_of, report, verdict
from tests.app.panekit import item_lines


def criteria(*names: str, label: Truth | None = None) -> tuple[Criterion, ...]:
    """Criteria of which the first has a label and the second is in view."""
    row = QueueRow(1, "id", "test", None, None, None, None, 0, "", False, None, False)  # type: ignore[arg-type]
    given = QueueRow(1, "id", "test", None, None, None, None, 0, "", False, label, False)  # type: ignore[arg-type]
    return tuple(Criterion(name, row if at else given, at == 1) for at, name in enumerate(names))


@pytest.mark.parametrize(
    ("width", "asks", "expected"),
    [
        (60, "tone", [" CRITERIA  clarity p  ▶tone ·  safety ·"]),
        (60, "", [" CRITERIA  clarity p  ▶tone ·  safety ·"]),
        (70, "Is it kind to me?", [" CRITERIA  clarity p  ▶tone ·  safety ·   Is it kind to me?"]),
        (64, "Is it kind? And is it ever rude?", [
            " CRITERIA  clarity p  ▶tone ·  safety ·   Is it kind? And is …"]),
        # Twenty cells are the least for a rubric: 59 - 2 - 38 - 3 are sixteen.
        (59, "Is it kind? And is it ever rude?", [" CRITERIA  clarity p  ▶tone ·  safety ·"]),
        (30, "", [" CRITERIA  clarity p  ▶tone ·", " safety ·"]),
    ],
)  # fmt: skip
def test_the_line_names_each_criterion_with_its_label(width: int, asks: str, expected: Any) -> None:
    lines = criteria_lines(criteria("clarity", "tone", "safety", label=Truth.PASS), asks, width)
    assert [one.plain for one in lines] == expected


def test_names_from_a_report_are_safe_and_cut() -> None:
    (row,) = criteria_lines(criteria("a\x1b[2Jb\n", "x" * 50), "", 80)
    assert "\x1b" not in row.plain
    assert f"▶{'x' * 29}…" in row.plain
    assert criteria_lines((), "asks", 80) == []


def spoken(rows: int = 30, arguments: int = 2, said: str = "And on Saturday?") -> list[Any]:
    """A conversation with one call of a tool and its result, and a long last answer."""
    given = json.dumps({"to": "Rome", "names": [f"name {n}" for n in range(arguments)]})
    return [
        {"role": "user", "content": "A flight to Rome?"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "find", "arguments": given}}]},
        {"role": "tool", "content": "\n".join(f"row {n}" for n in range(1, rows + 1))},
        {"role": "user", "content": said},
        {"role": "assistant", "content": "\n".join(f"flight {n}" for n in range(99))},
    ]


def talk(path: Path, messages: list[Any]) -> Item:
    found = conversation(messages)
    assert found is not None
    return item_of(path, input=found.input, output=found.output)


def drawn(item: Item, height: int | None, *opened: str, find: tuple[str, ...] = ()) -> list[str]:
    reading = ReadingOptions(open_sections=frozenset(opened), find=find)
    made = painted_item(item, 80, height, hidden=True, reading=reading, key=";")
    part = made.layout.part("input")
    assert part is not None
    return [one.plain for one in made.lines[part.first : part.below]]


def test_calls_and_results_fold_between_whole_turns(tmp_path: Path) -> None:
    item = talk(tmp_path, spoken(arguments=99))
    rows = drawn(item, 60)
    assert rows[:3] == ["user: A flight to Rome?", "", rows[2]]
    assert rows[2].startswith('assistant: calls find({"to": "Rome", "names": ["name 0"')
    whole = drawn(item, None)
    call = whole.index("tool: row 1") - 3
    # Of the call all but its first and last line; of the result rows 2 to 29.
    assert rows[3] == f"… {call - 2} lines …  ; shows them"
    assert rows[4:] == [
        whole[call + 1], "", "tool: row 1", "… 28 lines …  ; shows them", "row 30", "",
        "user: And on Saturday?",
    ]  # fmt: skip
    assert drawn(item, 60, "input", TOOLS) == whole
    assert drawn(item, 60, find=("row 17",)).count("row 17") == 1


def test_a_pane_without_the_room_folds_the_rest_and_counts_all_lines(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": f"turn {n}"} for n in range(20)]
    item = talk(tmp_path, [*turns, *spoken()])
    whole = drawn(item, None)
    rows = drawn(item, 18)
    at = next(at for at, row in enumerate(rows) if row.startswith("…"))
    assert rows[at] == f"… {len(whole) - len(rows) + 1} lines …  ; shows them"
    # One press of the key shows the turns, and the next one the tools.
    part = painted_item(item, 80, 18, hidden=True).layout.part("input")
    assert part is not None
    assert part.folded == "input"
    assert "… 28 lines …  ; shows them" in drawn(item, 18, "input")
    assert drawn(item, 18, "input", TOOLS) == whole


@pytest.mark.parametrize(("rows", "folds"), [(9, False), (10, True)])
def test_a_fold_hides_eight_lines_or_more(tmp_path: Path, rows: int, folds: bool) -> None:
    # One line stands for the hidden ones, between the first and the last: 10 - 2 are eight.
    shown = drawn(talk(tmp_path, spoken(rows=rows)), 60)
    assert any(row.startswith("…") for row in shown) is folds


def test_nothing_folds_where_all_fits_and_a_result_ends_at_the_next_turn_of_any_role(
    tmp_path: Path,
) -> None:
    item = talk(tmp_path, spoken())
    assert drawn(item, 400) == drawn(item, None)
    text = "user: go\n\ntool: " + "\n".join(f"row {n}" for n in range(30))
    text += "\n\ndata analyst: I see.\n\nplanner: Good."
    item = item_of(tmp_path, input=text, output="\n".join(f"line {n}" for n in range(99)))
    assert drawn(item, 100)[-3:] == ["data analyst: I see.", "", "planner: Good."]


@pytest.mark.parametrize(
    "text",
    [
        "Notes on a shop.\n\ntool: " + "\n".join(f"row {n}" for n in range(30)),
        "user: hello\n\nuser: calls me (often)\n" + "\n".join(f"row {n}" for n in range(30)),
        "user: look\ntool: " + "\n".join(f"row {n}" for n in range(30)),
    ],
    ids=["prose", "said", "inside a turn"],
)
def test_other_texts_do_not_fold_as_tools_do(tmp_path: Path, text: str) -> None:
    item = item_of(tmp_path, input=text, output="\n".join(f"line {n}" for n in range(99)))
    assert drawn(item, 100) == drawn(item, None)


HUMAN = {"label": "fail", "by": "dr \x1b[2Jsmith", "at": "2024-02-03T04:05:06Z"}


def text(item: Item, width: int = 79, *, hidden: bool = False) -> str:
    return "\n".join(line.plain for line in item_lines(item, width, hidden=hidden))


def labelled(path: Path, *, taken: bool) -> tuple[Desk, int]:
    """A verdict that a person labelled in the file; the desk is ann's."""
    desk = Desk.open(path, reviewer="ann", clock=lambda: datetime(2025, 1, 31, 12, tzinfo=UTC))
    source = Source.from_bytes("run.json", json.dumps(report([verdict(1, human=HUMAN)])).encode())
    return desk, desk.find(desk.load(source, LoadOptions(import_labels=taken)).run, "item/001")


def test_an_imported_label_is_told_by_its_author_and_its_time(tmp_path: Path) -> None:
    desk, key = labelled(tmp_path / "d.db", taken=True)
    said = "2024-02-03 04:05  label fail, imported  "
    shown = " ".join(text(desk.item(key)).split("\n"))
    assert f"{said}dr ␛[2Jsmith" in shown
    assert "  ann" not in shown
    [event] = [event for event in desk.item(key).history if event.label]
    when, who = given(event)
    told = ("  ", *event_words(event), "  item/001  ", who)
    assert words_line((when, *told)).plain == f"{said}item/001  dr ␛[2Jsmith"


def test_a_label_of_the_reviewer_is_told_by_the_reviewer(tmp_path: Path) -> None:
    desk, key = labelled(tmp_path / "d.db", taken=False)
    desk.label(key, Truth.PASS)
    shown = text(desk.item(key))
    assert "2025-01-31 12:00  label pass  ann" in shown
    assert "imported" not in shown
    assert "in file: fail by dr ␛[2Jsmith" in shown
    assert "in file" not in text(desk.item(key), hidden=True)


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
    assert ("¶" in queue_line(item.row, 60, current=False, blind=hidden).plain) is bool(sign)
