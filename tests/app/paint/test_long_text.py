"""Long texts in the item pane: folded and laid out without loss, the same facts at every width."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len, split_graphemes
from textual.content import Content

from reviewdesk.app.controllers.state import ReadingOptions
from reviewdesk.app.paint.item import painted_item, text_lines
from reviewdesk.app.paint.styled import cuts, fitting, fitting_end, hang_of, heading, laid_out
from reviewdesk.domain.records import Event, Item, Truth
from tests.app.builders import item_of
from tests.app.paint.test_styled import HOSTILE, WIDTHS, check
from tests.app.panekit import item_lines

MD = "- one two three four five six\n\n    indented code that is long\nplain prose that is folded"
READINGS = [
    ReadingOptions(),
    ReadingOptions(find=("red", "日")),
]


def plain(lines: Sequence[Content]) -> list[str]:
    return [content.plain for content in lines]


def shown(item: Item, width: int = 80, **more: Any) -> list[str]:
    return plain(item_lines(item, width, hidden=False, reading=ReadingOptions(**more)))


def section(title: str, text: str, width: int) -> list[Content]:
    return [heading(title, width), *(row for row, *_ in text_lines(text, width)[0])]


def texts(lines: list[str], title: str, until: str | None = None) -> list[str]:
    start = next(at for at, text in enumerate(lines) if text.startswith(title)) + 1
    end = lines.index("", start) if until is None else len(lines)
    return lines[start:end]


HARD = [
    HOSTILE * 3,
    json.dumps({"k": [HOSTILE, {"deep": [[[[[["日本" * 30]]]]]]}]}),
    "--- a\n+++ b\n@@ -1 +1 @@\n-" + "日本" * 40 + "\n+" + "x" * 200,
    "def f():\n" + " " * 70 + "return " + "'日本' " * 20 + "\n\nclass A:\n  pass",
    "```py\n" + "x = 1 " * 40 + "\n",
    "<a>" + "b " * 60 + "</a>",
]


@pytest.mark.slow
@pytest.mark.parametrize("reading", READINGS, ids=["usual", "second"])
def test_every_text_fits_every_width(tmp_path: Path, reading: ReadingOptions) -> None:
    for number, text in enumerate(HARD):
        clean = text.replace("\ud800", "")
        item = item_of(tmp_path / str(number), output=clean, alternative=clean[::-1], rubric=clean)
        for width in WIDTHS[:: 3 if number else 1]:
            check(item_lines(item, width, hidden=False, reading=reading), width)


def test_lines_fold_by_words_under_their_own_indentation_of_a_third_at_most(tmp_path: Path) -> None:
    item = item_of(tmp_path, output=MD)
    for width in (15, 20, 40, 80):
        lines = texts(shown(item, width), "RESPONSE", until="end")
        assert " ".join(" ".join(lines).split()) == " ".join(MD.split())
    output = "1. one two three\n    four five six seven"
    lines = texts(shown(item_of(tmp_path, output=output), 12), "RESPONSE", until="end")
    assert lines == ["1. one two", "   three", "    four", "    five six", "    seven"]
    output = " " * 20 + "one two three"
    lines = texts(shown(item_of(tmp_path, output=output), 15), "RESPONSE", until="end")
    # Twenty columns of fifteen: the line starts at the fifth instead.
    assert lines == ["     one two", "     three"]


def test_json_that_was_laid_out_stays_so_and_no_text_is_shown_as_json(tmp_path: Path) -> None:
    output = '{\n      "a":   1,\n"b": 2}'
    lines = shown(item_of(tmp_path, output=output))
    assert texts(lines, "RESPONSE", until="end") == output.split("\n")
    # What is indented here says so, and what was indented already says nothing.
    assert "RESPONSE  JSON, indented here" in "\n".join(shown(item_of(tmp_path, output='{"a":1}')))
    assert "JSON" not in "\n".join(lines)
    item = item_of(tmp_path, reference=["first", "second"])
    assert texts(shown(item), "REFERENCE", until="end") == ["- first", "- second"]


def test_a_pair_below_each_other(tmp_path: Path) -> None:
    lines = shown(item_of(tmp_path, output="first", alternative="second"), 59)
    assert lines.index("first") < lines.index("second")
    assert any("RUBRIC  does it hold for response A?" in line for line in lines)


@given(st.text(max_size=300), st.integers(1, 60))
def test_any_text_is_drawn(text: str, width: int) -> None:
    assert all(line.cell_length <= width for line in section("T", text, width))


def tagged(tmp_path: Path) -> Item:
    item = item_of(tmp_path)
    body: dict[str, Any] = dict.fromkeys(
        ("run", "verdict", "item_hash", "label", "target"), None
    ) | {"key": 1, "seq": 1, "at": "2026-01-02T03:04:05Z", "action": 1, "author": "bob"}
    events = (
        Event(**body | {"kind": "label", "reviewer": "bob", "label": Truth.FAIL, "detail": {}}),
        Event(**body | {"kind": "tags", "reviewer": "bob", "detail": {"tags": ["x\x1by"]}}),
        Event(**body | {"kind": "mark", "reviewer": "ann", "detail": {"on": True}}),
        Event(**body | {"kind": "mark", "reviewer": "ann", "detail": {"on": False}}),
        Event(**body | {"kind": "tags", "reviewer": "ann", "detail": {"tags": []}}),
    )
    row = replace(item.row, marked=True)
    return replace(
        item, row=row, tags=("wrong-policy", "tone"), other_tags=("x\x1by",), history=events
    )


def test_tags_and_marks(tmp_path: Path) -> None:
    text = "\n".join(plain(item_lines(tagged(tmp_path), 100, hidden=False)))
    assert "* marked  tags: wrong-policy, tone  tags of others: x␛y" in text
    log = [line for line in text.split("\n") if line.startswith("2026")]
    assert [line[18:] for line in log] == [
        "label fail  bob", "tags x␛y  bob", "mark  ann", "unmark  ann", "tags cleared  ann",
    ]  # fmt: skip


def test_a_blind_session_does_not_tell_what_others_thought(tmp_path: Path) -> None:
    item = tagged(tmp_path)
    twin = replace(item, other_tags=(), history=item.history[2:4])
    lines = plain(item_lines(item, 100, hidden=True))
    assert lines == plain(item_lines(twin, 100, hidden=True))
    assert "* marked  tags: wrong-policy, tone" in "\n".join(lines)


def test_a_line_of_names_and_signs_is_drawn_only_where_it_says_something(tmp_path: Path) -> None:
    item = item_of(tmp_path)
    text = "\n".join(shown(item))
    assert "marked" not in text
    assert "tags" not in text
    same = replace(item, verdict=replace(item.verdict, test=item.verdict.id))
    for named in (False, True):
        drawn = plain(painted_item(same, 60, 24, hidden=True, named=named).lines)
        assert drawn[0].startswith("#smoke" if named else item.verdict.id)


def test_prose_keeps_a_measure_and_tables_take_the_width() -> None:
    prose, row = "word " * 40, "| x = " + "y + " * 38 + "y"
    drawn = plain(section("RESPONSE", f"{prose}\n{row}\n    {row}", 180))[1:]
    # 40 words of 5 cells are 200: 21 of them fill 104 of 105 cells, the other 19 are 95.
    assert [cell_len(one) for one in drawn if one.startswith("word")] == [104, 95]
    assert sum(row in one for one in drawn) == 2


def inputs(tmp_path: Path, lines: int, response: int, height: int) -> list[str]:
    """Return the lines of an item in a pane of some height, with an input of so many lines."""
    asked, given = ("\n".join(f"l{at}" for at in range(count)) for count in (lines, response))
    item = item_of(tmp_path / f"{lines}-{response}", input=asked, output=given)
    return plain(painted_item(item, 60, height, hidden=True).lines)


@pytest.mark.slow
def test_a_fold_never_hides_fewer_than_eight_lines(tmp_path: Path) -> None:
    # A pane of 24 lines keeps half for the response, long or short; below that each fold counts.
    for response in (12, 40):
        counts = []
        for lines in range(3, 20):
            drawn = inputs(tmp_path, lines, response, 24)
            counts += [int(text.split()[1]) for text in drawn if "lines …" in text]
        assert min(counts) == 8
        assert counts == [*range(8, 8 + len(counts))]


ATOMS = ["a", "b", " ", "  ", ".", "(", "日", "本", "。", "「", "한", "글", "e\u0301"]
ATOMS += ["👍", "e\u0301\u0302"]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=60).map("".join)


@given(TEXTS, st.integers(2, 30), st.integers(2, 30))
def test_pieces_fit_and_only_spaces_are_left_out(text: str, first: int, rest: int) -> None:
    found = cuts(text, first, rest)
    borders = {0, *(end for _, end, _ in split_graphemes(text)[0])}
    at = 0
    for number, (start, end) in enumerate(found):
        assert text[at:start].strip(" ") == ""
        room = rest if number else first
        assert cell_len(text[start:end]) <= room
        assert {start, end} <= borders
        at = end
    assert text[at:].strip(" ") == ""


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one   two", 5, ["one", "two"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("    deep", 6, ["    de", "ep"]),
        # Four ideographs are eight cells; the space after "a" leaves the line all but empty.
        ("a 日本日本日本", 8, ["a 日本日", "本日本"]),
        # Hangul has spaces between words.
        ("한글 한글", 6, ["한글", "한글"]),
        ("日本", 1, ["日", "本"]),
        ("      ", 3, [""]),
        ("", 3, [""]),
    ],
)
def test_folds(text: str, width: int, expected: list[str]) -> None:
    assert [text[start:end] for start, end in cuts(text, width, width)] == expected


@given(TEXTS, st.integers(0, 20))
def test_what_fits_is_whole_and_as_much_as_possible(text: str, width: int) -> None:
    kept = fitting(text, width)
    assert cell_len(text[:kept]) <= width
    more = next((end for start, end, _ in split_graphemes(text)[0] if start == kept), None)
    assert more is None or cell_len(text[:more]) > width
    end = fitting_end(text, width)
    assert cell_len(text[len(text) - end :]) <= width


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30
)
_WHITE = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')


def bare(text: str) -> str:
    """JSON without the white space between its tokens."""
    return _WHITE.sub(lambda match: match[1] or "", text)


@given(VALUES, st.booleans())
def test_indenting_json_keeps_every_token(value: object, spaced: bool) -> None:
    text = json.dumps([value], separators=(", ", ": ") if spaced else (",", ":"))
    found = laid_out(text)
    assert bare(found) == bare(text)
    # Laid out once, it stays so.
    assert "\n" not in found or laid_out(found) == found


def test_json_is_indented_token_by_token_and_what_is_long_or_none_stays() -> None:
    long = "x" * 40
    text = f'{{"a":1.50e+01,"a":"\\u00e9\\"","{long}":{{}},"n":[{{"{long}":null}}]}}'
    assert laid_out(text).split("\n") == [
        "{",
        '  "a": 1.50e+01,',
        '  "a": "\\u00e9\\"",',
        f'  "{long}": {{}},',
        '  "n": [',
        "    {",
        f'      "{long}": null',
        "    }",
        "  ]",
        "}",
    ]
    long = json.dumps(["x" * 50] * 4000)
    assert len(long) > 200_000
    deep = "[" * 25 + "]" * 25
    odd = '{"a": 1} and more', "{not json}", '["\ud800"]', "]", "[" * 100_000 + "]" * 100_000
    for text in (long, deep, "no {json}", '{\n"a": 1}', "", *odd):
        assert laid_out(text) == text


def test_a_line_continues_behind_its_marks() -> None:
    rows = "# Title", "plain", "  two", "- item", "2. two", "> said", "> - both"
    assert [hang_of(row) for row in rows] == [0, 0, 2, 2, 3, 2, 4]
