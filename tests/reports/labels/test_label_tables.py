"""Labels in CSV and TSV, with the columns that people and tools give them."""

import io
from typing import Any

import pytest

from reviewdesk.errors import LabelsFileError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.labels.reader import LabelRow, read_labels, read_scores


def source(text: str) -> Source:
    return Source.from_bytes("labels.csv", text.encode())


def read(text: str) -> list[LabelRow]:
    return read_labels(source(text))


def told(text: str) -> list[tuple[Any, ...]]:
    return [(row.line, row.id, row.truth, row.reviewer, row.note) for row in read(text)]


def test_a_label_a_row() -> None:
    text = 'id,truth,note,reviewer\nt1,pass,"ok, mostly",ana\nt1,fail,,bo\nt2,,later,ana\n'
    # A row without an answer is no label.
    assert told(text) == [(2, "t1", "pass", "ana", "ok, mostly"), (3, "t1", "fail", "bo", None)]


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


def test_what_is_no_table_of_labels_names_the_line_or_the_columns() -> None:
    with pytest.raises(LabelsFileError, match=r"line 3: truth must be .* found \"maybe\""):
        read("id,label\na,pass\nb,maybe\n")
    with pytest.raises(LabelsFileError, match="has no column of labels; it has id, response"):
        read("id,response\na,yes\n")


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


def test_an_export_in_csv_is_read_as_in_json() -> None:
    text = (
        "confidence,correct,confidence_source,id,run,truth,adjudicated,pi,weight,seen,tags,time\n"
        "0.86,false,support,a,r,fail,true,0.5,2.0,true,one two,2026-11-27T13:05:24+00:00\n"
    )
    (row,) = read(text)
    assert (row.tags, row.seen, row.adjudicated) == (("one", "two"), True, True)
    assert row.kept == {"pi": 0.5, "weight": 2.0}
    (score,) = read_scores(source(text)).rows
    assert (score.confidence, score.correct, score.weight) == (0.86, False, 2.0)


def test_the_list_of_labels_in_json_is_read_too() -> None:
    text = '[{"id": "a", "label": "pass", "at": "2026-11-27T13:05:24+00:00", "reviewer": "ann"}]'
    (row,) = read(text)
    assert (row.truth, row.time, row.reviewer) == ("pass", "2026-11-27T13:05:24+00:00", "ann")


def test_a_workbook_in_which_labels_were_edited() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for cells in (["id", "truth", "reviewer", "pi"], [7.0, True, "ann", 0.5], ["b", "fail", "", 1]):
        book.active.append(cells)
    stream = io.BytesIO()
    book.save(stream)
    rows = read_labels(Source.from_bytes("labels.xlsx", stream.getvalue()))
    assert [(row.line, row.id, row.truth, row.reviewer) for row in rows] == [
        (2, "7", "pass", "ann"),
        (3, "b", "fail", None),
    ]
