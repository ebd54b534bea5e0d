"""Labels files: JSON Lines, YAML, and tables with the columns that people and tools give them."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reviewdesk.domain.gates.join import LabelRow
from reviewdesk.domain.records import Truth
from reviewdesk.errors import LabelsFileError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.labels.reader import MAX_YAML, read_labels, read_scores
from reviewdesk.reports.labels.writer import as_jsonl, as_yaml


def _source(*rows: Any) -> Source:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return Source.from_bytes("labels.jsonl", "\n".join(lines).encode())


PAIR = {"confidence": 0.9, "correct": True}
FULL = {
    **PAIR, "id": "v", "run": "r", "item_hash": "h", "decision": "pass", "truth": "pass",
    "stratum": "rest/pass", "pi": 0.1, "weight": 10.0, "selection": "audit", "blind": True,
    "reviewer": "ann", "time": "2025-01-01T00:00:00Z", "note": None, "tags": ["x"],
    "confidence_source": "support", "head": "12:abc",
}  # fmt: skip


def test_rows_of_two_keys_and_full_ones_with_the_source_that_all_of_them_name() -> None:
    found = read_scores(_source(PAIR, {"confidence": 1, "correct": False}))
    assert found.rows == (LabelRow(1, 0.9, True), LabelRow(2, 1.0, False))
    assert found.source is None
    unsure = {**FULL, "correct": None, "confidence": None, "truth": "unsure"}
    found = read_scores(_source(FULL, unsure, FULL))
    assert found.rows == (ROW, replace(ROW, line=3))
    assert found.source == "support"
    assert found.unanswered == ()
    assert read_scores(_source(FULL, PAIR)).source is None


ROW = LabelRow(
    1, 0.9, True, 10.0, "support", Truth.PASS, "v", "r", None, "h", "pass", "rest/pass", 0.1,
    "audit", None, "ann", "2025-01-01T00:00:00Z", ("x",), None, True,
)  # fmt: skip
"""What ``FULL`` is read as."""


def test_an_item_without_an_answer_is_held_once() -> None:
    def row(item: str, truth: str, **more: object) -> dict[str, object]:
        return {**FULL, "item_hash": item, "truth": truth, "selection": "draw", **more}

    lacking = {"correct": None, "confidence": 0.7}
    rows = (
        row("answered", "pass"), row("answered", "fail", **lacking),
        row("unsure", "unsure", **lacking), row("unsure", "unsure", **lacking),
        row("disputed", "pass", **lacking), row("disputed", "fail", **lacking),
        # Without a confidence of this kind, which is no lack of an answer.
        row("bare", "pass", correct=None, confidence=None),
        row("ad hoc", "unsure", **{**lacking, "selection": "ad hoc"}),
    )  # fmt: skip
    found = read_scores(_source(*rows))
    assert len(found.rows) == 1
    assert sorted(str(one.item_hash) for one in found.unanswered) == [
        "ad hoc",
        "disputed",
        "unsure",
    ]


def test_what_a_reader_does_not_need_may_be_anything() -> None:
    odd = {"id": 7, "note": 3, "tags": "x", "pi": "half", "stratum": None}
    assert read_scores(_source(PAIR | odd)).rows == (LabelRow(1, 0.9, True),)
    people = {"id": "a", "truth": "pass", "confidence": "high", "weight": "heavy", "decision": 1}
    assert read_labels(_source(people)) == [LabelRow(1, id="a", truth=Truth.PASS)]


def test_an_empty_file_is_an_empty_set_and_an_array_counts_lines() -> None:
    assert read_scores(_source()).rows == ()
    assert read_scores(_source("[]")).rows == ()
    found = read_scores(_source("[", json.dumps(PAIR) + ",", json.dumps(PAIR), "]"))
    assert [row.line for row in found.rows] == [2, 3]
    indented = json.dumps(PAIR, indent=1)
    assert [row.line for row in read_scores(_source(indented, indented)).rows] == [1, 5]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (
            {"confidence": True, "correct": True},
            "confidence must be a number from 0 to 1, found true",
        ),
        (
            {"confidence": 1.1, "correct": True},
            "confidence must be a number from 0 to 1, found 1.1",
        ),
        ({"confidence": "0.5", "correct": True}, 'from 0 to 1, found "0.5"'),
        ({"confidence": 0.5, "correct": 1}, "correct must be true or false, found 1"),
        (
            {"confidence": "sk-abcdefgh12345678", "correct": True},
            "found a value that may hold an API key (not shown)",
        ),
        ({"confidence": 0.5, "correct": None}, 'has no "correct"'),
        ({"confidence": 0.5}, 'has no "correct"'),
        ({"correct": True}, 'has no "confidence"'),
        ({**PAIR, "colour": 1}, 'has the key "colour"'),
        ({**FULL, "weight": -1}, "weight must be 0, or a number from 1e-15 to 1e+15, found -1"),
        ({**FULL, "weight": 1e308}, "weight must be 0, or a number from 1e-15 to 1e+15"),
        ({**FULL, "weight": 1e-320}, "weight must be 0, or a number from 1e-15 to 1e+15"),
        ({**FULL, "confidence_source": "score"}, 'confidence_source is "score"'),
        ('{"confidence": NaN, "correct": true}', "has NaN"),
        ('{"confidence": 1e999, "correct": true}', "too large"),
        ('{"confidence": 0.5, "correct": true', "is not JSON"),
        ('{"correct": true, "correct": true}', "twice"),
        ("[1]", "must be an object, found [1]"),
    ],
)
def test_a_wrong_score_row_is_named_with_its_line(row: Any, text: str) -> None:
    with pytest.raises(LabelsFileError) as caught:
        read_scores(_source(FULL, row))
    assert str(caught.value).startswith("labels.jsonl: line 2")
    assert text in str(caught.value)


def test_labels_need_little_keep_the_rest_and_two_key_rows_are_calibrates() -> None:
    short, full = read_labels(_source({"id": "a", "truth": "fail"}, FULL))
    assert (short, full) == (LabelRow(1, id="a", truth=Truth.FAIL), replace(ROW, line=2))
    (hashed,) = read_labels(_source({"item_hash": "h", "truth": "unsure", "tentative": True}))
    assert hashed.item_hash == "h"
    with pytest.raises(LabelsFileError, match=r"reviewdesk calibrate labels\.jsonl"):
        read_labels(_source(PAIR))


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"id": "a"}, 'has no "truth"'),
        ({"truth": "pass"}, "names no verdict"),
        ({"id": "a", "truth": "meh"}, 'truth must be "pass", "fail" or "unsure", found "meh"'),
        ({"id": 1, "truth": "pass"}, "id must be a text, found 1"),
        ({"id": "a", "truth": "pass", "tags": "x"}, "tags must be a list of texts"),
        ({"id": "a", "truth": "pass", "blind": "no"}, "blind must be true or false"),
        ({"id": "a", "truth": "pass", "time": "today"}, "time must be a time"),
    ],
)
def test_a_wrong_label_row_is_named_with_its_line(row: Any, text: str) -> None:
    with pytest.raises(LabelsFileError) as caught:
        read_labels(_source({"id": "z", "truth": "pass"}, row))
    assert str(caught.value).startswith("labels.jsonl: line 2")
    assert text in str(caught.value)


def test_damage_is_a_labels_error() -> None:
    with pytest.raises(LabelsFileError, match="gzip"):
        read_scores(Source.from_bytes("a", b"\x1f\x8b\x08"))
    with pytest.raises(LabelsFileError, match=r"line 1: is not UTF-8 text \(byte 0\)"):
        read_scores(Source.from_bytes("a", b"\xff"))


def _yaml(text: str | bytes) -> Source:
    return Source.from_bytes("labels.yaml", text.encode() if isinstance(text, str) else text)


ONE, TWO = "{confidence: 0.9, correct: true}", "{confidence: 1, correct: false}"
STRICT = '[{"confidence": 0.9, "correct": true}, {"confidence": 1, "correct": false}]'


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("- confidence: .9\n  correct: true\n- confidence: 1\n  correct: false\n", [1, 3]),
        (f"# of week 36\n\n---\n- {ONE}\n- {TWO}", [4, 5]),
        ("-\n  confidence: 9e-1\n  correct: True\n-\n  correct: false\n  confidence: 1", [2, 5]),
        (f"[{ONE},\n {TWO}]", [1, 2]),
        (f"[ # a list\n {ONE}, {TWO}]", [2, 2]),
        (f"# JSON below a comment\n{STRICT}", [2, 2]),
        (f"%YAML 1.2\n---\n- {ONE}\n- {TWO}\n", [3, 4]),
        (f"\ufeff- {ONE}\r\n\r\n- {TWO}\r\n", [1, 3]),
    ],
)
def test_a_yaml_list_is_read_with_its_lines(text: str, lines: list[int]) -> None:
    found = read_scores(_yaml(text)).rows
    assert [(row.confidence, row.correct) for row in found] == [(0.9, True), (1.0, False)]
    assert [row.line for row in found] == lines


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans())))
def test_the_same_rows_read_the_same_in_every_form(pairs: list[tuple[float, bool]]) -> None:
    rows = [{"confidence": confidence, "correct": correct} for confidence, correct in pairs]
    block = "".join(
        f"- confidence: {json.dumps(one)}\n  correct: {json.dumps(other)}\n" for one, other in pairs
    )
    forms = (as_jsonl(rows), as_yaml(rows, {"run": "a\nb\x85\u2028"}), json.dumps(rows), block)
    for text in forms:
        found = read_scores(_yaml(text)).rows
        assert [(row.confidence, row.correct) for row in found] == pairs


def test_full_rows_may_be_yaml() -> None:
    unsure = {**FULL, "correct": None, "confidence": None, "truth": "unsure"}
    text = as_yaml([FULL, unsure], {})
    assert read_scores(_yaml(text)).rows == (ROW,)
    assert read_scores(_yaml(text)).source == "support"
    lines = _source(FULL, unsure)
    assert read_labels(_yaml(text)) == read_labels(lines)


@pytest.mark.parametrize("text", ["[]", "# none\n[]\n", "--- []\n", "[ ]\n"])
def test_an_empty_list_is_an_empty_set(text: str) -> None:
    assert read_scores(_yaml(text)).rows == ()


BOMB = "- &a [x,x]\n- &b [*a,*a]\n- [*b,*b]\n"
FIRST = "- {confidence: 0.5, correct: true}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "line 1: has the anchor &a. Write the value out: a labels file has no anchors"),
        (FIRST + "- {confidence: .nan, correct: true}\n", "line 2: contains .nan, which is not"),
        (FIRST + "- {confidence: nan, correct: true}\n", 'from 0 to 1, found "nan"'),
        (FIRST + "- {confidence: true, correct: true}\n", "from 0 to 1, found true"),
        (FIRST + "- {confidence: 0.5, correct: yes}\n", 'true or false, found "yes"'),
        (FIRST + "- 0.5\n", "line 2: must be an object, found 0.5"),
        ("---\nlabels: []\n", "line 2: must be a list of rows, found {"),
        ("# nothing\n", "labels.yaml: is empty. Write [] for an empty list."),
        (b"- \xff\n", "line 1: is not UTF-8"),
        ("#" + " " * MAX_YAML + "\n" + FIRST, "is over 512 KiB of YAML. Write it as JSON Lines"),
    ],
)
def test_wrong_yaml_is_named_with_its_line(text: str | bytes, said: str) -> None:
    with pytest.raises(LabelsFileError) as caught:
        read_scores(_yaml(text))
    assert str(caught.value).startswith("labels.yaml: ")
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def source(text: str) -> Source:
    return Source.from_bytes("labels.csv", text.encode())


def read(text: str) -> list[LabelRow]:
    return read_labels(source(text))


def told(text: str) -> list[tuple[Any, ...]]:
    return [(row.line, row.id, row.truth, row.reviewer, row.note) for row in read(text)]


def test_a_table_has_a_label_a_row_or_names_the_line_or_the_columns() -> None:
    text = 'id,truth,note,reviewer\nt1,pass,"ok, mostly",ana\nt1,fail,,bo\nt2,,later,ana\n'
    # A row without an answer is no label.
    assert told(text) == [(2, "t1", "pass", "ana", "ok, mostly"), (3, "t1", "fail", "bo", None)]
    with pytest.raises(LabelsFileError, match=r"line 3: truth must be .* found \"maybe\""):
        read("id,label\na,pass\nb,maybe\n")
    with pytest.raises(LabelsFileError, match="has no column of labels; it has id, response"):
        read("id,response\na,yes\n")


@pytest.mark.parametrize(
    ("word", "truth"),
    [
        ("PASS", "pass"), ("passed", "pass"), ("Yes", "pass"), ("1", "pass"), ("1.0", "pass"),
        ("true", "pass"), ("correct", "pass"), ("✓", "pass"), ("ja", "pass"),
        ("fail", "fail"), ("no", "fail"), ("0", "fail"), ("Incorrect", "fail"), ("✗", "fail"),
        ("nicht bestanden", "fail"), ("unsure", "unsure"), ("can't tell", "unsure"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_words_of_people_in_any_delimiter(word: str, truth: str, delimiter: str) -> None:
    (row,) = read(f"\ufeffcase_id{delimiter}Label\r\nc 1{delimiter}{word}\r\n")
    assert (row.line, row.id, row.truth) == (2, "c 1", truth)


def test_a_column_for_each_person() -> None:
    text = (
        "id,input,ana.comment,ana.correct,ana.correct.reason,bo.correct,bo.correct.reason\n"
        "t1,Pool?,good,1,fits,0,too short\n"
        "t2,Dogs?,odd,0,,,\n"
    )
    assert told(text) == [
        (2, "t1", "pass", "ana", "fits"),
        (2, "t1", "fail", "bo", "too short"),
        (3, "t2", "fail", "ana", "odd"),
    ]


def test_an_export_is_read_alike_in_csv_json_and_as_a_list() -> None:
    text = (
        "confidence,correct,confidence_source,id,run,truth,adjudicated,pi,weight,seen,tags,time\n"
        "0.86,false,support,a,r,fail,true,0.5,2.0,true,one two,2026-11-27T13:05:24+00:00\n"
    )
    (row,) = read(text)
    assert (row.tags, row.seen, row.adjudicated) == (("one", "two"), True, True)
    assert (row.pi, row.weight) == (0.5, 2.0)
    (score,) = read_scores(source(text)).rows
    assert (score.confidence, score.correct, score.weight) == (0.86, False, 2.0)
    text = '[{"id": "a", "label": "pass", "at": "2026-11-27T13:05:24+00:00", "reviewer": "ann"}]'
    (row,) = read(text)
    assert (row.truth, row.time, row.reviewer) == ("pass", "2026-11-27T13:05:24+00:00", "ann")


def test_a_workbook_in_which_labels_were_edited() -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for cells in (["id", "truth", "reviewer", "pi"], [7.0, True, "ann", 0.5], ["b", "fail", "", 1]):
        book.active.append(cells)
    stream = io.BytesIO()
    book.save(stream)
    rows = read_labels(Source.from_bytes("labels.xlsx", stream.getvalue()))
    assert [(row.line, row.id, row.truth, row.reviewer) for row in rows] == [
        (2, "7", "pass", "ann"),
        (3, "b", "fail", None),
    ]
