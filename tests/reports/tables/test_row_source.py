"""The shapes in which people keep tables: one reader of rows for all of them."""

import io
import json
from contextlib import suppress
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from tests.reports.tablekit import lines, refusal, scores, table, verdicts

ROWS = [
    {"item": item, "judge": judge, "score": score, "reason": f"{judge} says"}
    for item, marks in (("q0", (1, 1, 0)), ("q1", (0, 0, 0)))
    for judge, score in zip(("gpt", "claude", "gemini"), marks, strict=True)
]
JURIES = ({"gpt": 1, "claude": 1, "gemini": 0}, {"gpt": 0, "claude": 0, "gemini": 0})
EXPECTED = [*zip(("q0", "q1"), JURIES, strict=True)]
COLUMNS = list(ROWS[0])


def _columns() -> dict[str, Any]:
    return {name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in COLUMNS}


SHAPES: dict[str, str] = {
    "lines": lines(*ROWS),
    "records": json.dumps(ROWS),
    "columns": json.dumps(_columns()),
    "index": json.dumps({str(n): row for n, row in enumerate(ROWS)}),
    "split": json.dumps(
        {"columns": COLUMNS, "index": [*range(6)], "data": [[*row.values()] for row in ROWS]}
    ),
    "table": json.dumps(
        {
            "schema": {"fields": [{"name": "index"}], "primaryKey": ["index"]},
            "data": [{"index": n, **row} for n, row in enumerate(ROWS)],
        }
    ),
    **{key: json.dumps({key: ROWS, "n": 6}) for key in ("rows", "results", "data", "items")},
    **{
        mark: "\n".join(mark.join(map(str, line)) for line in (COLUMNS, *map(dict.values, ROWS)))
        for mark in (",", ";", "\t", "|")
    },
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_says_the_same(shape: str) -> None:
    report, bodies = table(SHAPES[shape])
    assert report.format == "table"
    assert [(body["id"], scores(body)) for body in bodies] == EXPECTED
    assert bodies[0]["jurors"][0]["reason"] == "gpt says"


@pytest.mark.slow
def test_a_key_for_each_of_many_rows() -> None:
    rows: dict[str, Any] = {
        str(n): {"item": f"q{n}", "grader": "g", "score": 0.5} for n in range(1500)
    }
    assert len(verdicts(json.dumps(rows))) == 1500
    rows["1200"] = 5
    assert "row 1200: must be an object, found 5" in refusal(json.dumps(rows))
    rows["7"] = 5
    assert "has more than 1000 keys" in refusal(json.dumps(rows))


@pytest.mark.parametrize("kind", ["parquet", "feather", "xlsx"])
def test_binary_tables_say_the_same(kind: str) -> None:
    file = io.BytesIO()
    if kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for cells in (COLUMNS, *(row.values() for row in ROWS)):
            book.active.append([*cells])
        book.save(file)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        held = pyarrow.Table.from_pylist(ROWS)
        if kind == "parquet":
            parquet = pytest.importorskip("pyarrow.parquet")
            parquet.write_table(held, file)
        else:
            with pyarrow.ipc.new_file(file, held.schema) as writer:
                writer.write_table(held)
    report, bodies = table(file.getvalue())
    assert [(body["id"], scores(body)) for body in bodies] == EXPECTED
    assert bodies[0]["provenance"]["pointer"] == ("row 2" if kind == "xlsx" else "row 1")
    # They can be read again, and what is damaged is one line.
    assert len(list(report.verdicts())) == 2
    assert "cannot be read" in refusal(file.getvalue()[:-20]) or kind == "xlsx"
    whole = file.getvalue()
    for at in range(0, len(whole) if kind == "feather" else 0, 7):
        # Unchecked, wrong ends of texts crash the process; names need not be UTF-8.
        with suppress(ReportError):
            table(whole[:at] + b"\xff" + whole[at + 1 :])


def test_merged_cells_and_a_sheet_for_each_judge_are_read() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book, file = openpyxl.Workbook(), io.BytesIO()
    for text in ("Item Variant judge_a", "- - score why", "q1 x 1 a", "- y 0 b"):
        book.active.append([None if one == "-" else one for one in text.split()])
    for area in ("A1:A2", "B1:B2", "C1:D1", "A3:A4"):
        book.active.merge_cells(area)
    book.save(file)
    found = verdicts(file.getvalue())
    assert {one["id"]: scores(one) for one in found} == {
        "q1/x": {"judge_a": 1.0},
        "q1/y": {"judge_a": 0.0},
    }
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["Date", "2026-02-01"])
    for name in ("gpt-5", "claude"):
        sheet = book.create_sheet(name)
        for cells in (("id", "score"), ("q1", 0.5), (None, None), ("q2", 1)):
            sheet.append(cells)
    book.save(file)
    assert [scores(one) for one in verdicts(file.getvalue())] == [
        {"gpt-5": 0.5, "claude": 0.5},
        {"gpt-5": 1, "claude": 1},
    ]


@pytest.mark.parametrize(
    ("cell", "juror"),
    [
        ("85%", {"score": 0.85, "raw_score": 85, "scale": [0, 100]}),
        ("4/5", {"score": 0.8, "raw_score": 4, "scale": [0, 5]}),
        ("✓", {"pass": True}),
        ("✗", {"pass": False}),
        ("yes", {"pass": True}),
        ("No", {"pass": False}),
        ("", {}),
        ("N/A", {}),
        ("Error: 429 from the judge", {"status": "error"}),
        ("TimeoutError: too slow", {"status": "timeout"}),
        ("inf", {"status": "unknown", "raw": "inf"}),
        ("about half", {"status": "unknown", "raw": "about half"}),
    ],
)
def test_how_a_cell_is_read(cell: str, juror: dict[str, Any]) -> None:
    (body,) = verdicts(f"item,judge,score\na,x,{cell}\na,y,1\n")
    found = body["jurors"][0]
    assert {key: found.get(key) for key in juror} == juror
    assert found.get("pass") is juror.get("pass")
    assert ("score" in found) == ("score" in juror)


def test_options_of_tables_make_any_json_a_table() -> None:
    rows = [{"id": f"q{n}", "question": "Q?", "gpt-4o": 1, "claude": n} for n in (0, 1)]
    for text in (lines(*rows), json.dumps(rows), json.dumps({"evals": 1, "results": rows})):
        bodies = verdicts(text, judge_columns=("gpt-4o", "claude"))
        assert [scores(body) for body in bodies] == [
            {"gpt-4o": 1, "claude": 0},
            {"gpt-4o": 1, "claude": 1},
        ]
        assert "--judge-columns gpt-4o,claude" in refusal(text)


def test_item_and_output_columns_are_what_a_person_says() -> None:
    text = "nr,id,text,said,a\n7,x,t,s,1\n"
    (body,) = verdicts(text, judge_columns=("a",), item_column="nr", output_column="said")
    assert (body["id"], body["output"]) == ("7", "s")
    assert 'has no column "no"' in refusal(text, item_column="no")


def test_reasons_and_errors_beside_a_judge_belong_to_it() -> None:
    text = "id,gpt_score,gpt_reason,claude_score,claude_error,x.why\n1,0.9,good,,429,\n"
    (body,) = verdicts(text, judge_columns=("gpt_score", "claude_score"))
    assert body["jurors"] == [
        {"id": "gpt", "score": 0.9, "reason": "good"},
        {"id": "claude", "error": {"message": "429"}, "status": "error"},
    ]
    (body,) = verdicts("id,x,x.why\n1,1,so\n", judge_columns=("x",), reason_suffix=".why")
    assert body["jurors"] == [{"id": "x", "score": 1, "reason": "so"}]


def test_columns_that_ask_different_questions_are_verdicts_of_their_own() -> None:
    text = "id,answer,tone,length,why\n1,A,0.5,7,\n"
    first, second = verdicts(text, criteria_columns=("tone", "length"))
    assert (first["id"], first["case"]["dimension"], scores(first)) == (
        "1 / tone",
        "tone",
        {"tone": 0.5},
    )
    # Each question has its own scale: the 7 says nothing of tone.
    assert second["jurors"] == [{"id": "length", "raw_score": 7}]
    # Names of well-known questions need no option.
    assert [body["rubric"] for body in verdicts("id,answer,faithfulness\n1,A,0.5\n")] == [
        "faithfulness"
    ]
