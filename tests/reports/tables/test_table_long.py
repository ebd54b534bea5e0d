"""Long tables: one ballot a row; and the source of the rows, whatever the file is."""

import io
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.errors import ReportError
from reviewdesk.reports.tables.cells import USUAL
from reviewdesk.reports.tables.nested import _PERSON, SUMS
from tests.reports.tablekit import lines, long, refusal, scores, table, verdicts

LEFT_OUT = (
    "a human label in other words than pass, fail and unsure is left out; say what it means with"
    " --pass-label or --fail-label"
)
ROW = {"item": "a", "judge": "j", "score": 0.5}


def test_a_whole_row() -> None:
    columns = (
        "item,judge,judge_model,vendor,score,pass,reason,confidence,weight,latency_ms,input,output,"
        "expected,rubric,test,suite,subject,tags,threshold,model,human,at"
    )
    row = ["a", "j", "m", "v", "0.8", "yes", "good", "0,9", 2, 12.5, "in", "out", "ref", "is right"]
    row += ["t", "s", "v2", "x; y", "0.6", "gen", "FALSE", "2025-01-31T12:00:00Z"]
    (body,) = verdicts(long(row, columns=columns))
    assert body == {
        "id": "a",
        "case": {"test": "t", "suite": "s", "subject": "v2", "tags": ["x", "y"]},
        "input": "in", "output": "out", "reference": "ref", "rubric": "is right",
        "generator": {"model": "gen"}, "threshold": 0.6,
        "jurors": [
            {
                "id": "j", "model": "m", "vendor": "v", "score": 0.8, "pass": True,
                "reason": "good", "confidence": 0.9, "weight": 2, "latency_ms": 12.5,
                "at": "2025-01-31T12:00:00Z",
            }
        ],
        "human": {"label": "fail"},
        "provenance": {"pointer": "line 2"},
    }  # fmt: skip


def test_nothing_is_invented() -> None:
    (body,) = verdicts(long(["a", "gpt-4", 0.5]))
    assert body == {
        "id": "a", "case": {"test": "a"}, "jurors": [{"id": "gpt-4", "score": 0.5}],
        "provenance": {"pointer": "line 2"},
    }  # fmt: skip


@pytest.mark.parametrize("item", ["item_id", "Example ID", "question-id", "case", "id", "test"])
@pytest.mark.parametrize("judge", ["juror", "critic", "rater", "Annotator", "evaluator"])
def test_what_the_columns_are_called(item: str, judge: str) -> None:
    (body,) = verdicts(long(["a", "j", 0.5], columns=f"{item},{judge},rating"))
    assert (body["id"], scores(body)) == ("a", {"j": 0.5})


@pytest.mark.parametrize(
    ("row", "columns", "seat"),
    [
        # A column of judge models names judge and model.
        (["m", 0.5], "item,judge_model,score", {"id": "m", "model": "m", "score": 0.5}),
        (["m", 0.5], "item,model_judge,score", {"id": "m", "model": "m", "score": 0.5}),
        # An empty cell is no answer, and a 0 is one.
        (["j", " "], "item,judge,score", {"id": "j"}),
        (["k", 0], "item,judge,score", {"id": "k", "score": 0}),
        # A word in the place of a score may be a vote.
        (["j", "PASS"], "item,judge,score", {"id": "j", "pass": True}),
        (["k", "good"], "item,judge,score", {"id": "k", "pass": True, "label": "good"}),
        # Words for a failure are failed ballots.
        (
            ["j", 0.3, "PARSE_FAIL"],
            "item,judge,score,verdict",
            {"id": "j", "raw_score": 0.3, "label": "PARSE_FAIL", "status": "parse_fail"},
        ),
    ],
)
def test_a_row_as_a_ballot(row: list[Any], columns: str, seat: dict[str, Any]) -> None:
    (body,) = verdicts(long(["a", *row], columns=columns), pass_labels=("good",))
    assert body["jurors"] == [seat]


@pytest.mark.parametrize("mark", [";", "\t", ","])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n"])
def test_how_csv_is_written(mark: str, end: str, start: str) -> None:
    rows = ["item,judge,score,reason", 'a,j,0.5,"one""two"', "", "b,k,1,plain"]
    text = start + end.join(rows).replace(",", mark).replace("one", f"one{mark}{end}")
    first, second = verdicts(text)
    assert first["jurors"] == [{"id": "j", "score": 0.5, "reason": f'one{mark}{end}"two'}]
    assert second["provenance"] == {"pointer": f"line {5 + start.count(chr(10))}"}


def test_json_lines_a_list_and_a_single_row_say_the_same() -> None:
    rows = [{**ROW, "pass": None, "tags": ["x"]}, {**ROW, "judge": "k", "input": {"q": 1}}]
    (first,) = verdicts(lines(*rows))
    (second,) = verdicts(json.dumps(rows, indent=1))
    assert [first.pop("provenance"), second.pop("provenance")] == [
        {"pointer": "line 1"},
        {"pointer": "$[0]"},
    ]
    assert first == second
    assert first["jurors"] == [{"id": "j", "score": 0.5, "pass": None}, {"id": "k", "score": 0.5}]
    assert (first["input"], first["case"]["tags"]) == ('{\n  "q": 1\n}', ["x"])
    assert scores(verdicts(json.dumps(ROW, indent=1))[0]) == {"j": 0.5}


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("PASS", {"pass": True}),
        ("False", {"pass": False}),
        ("1", {"pass": True}),
        ("Keep", {"pass": True, "label": "Keep"}),
        ("rejected", {"pass": False, "label": "rejected"}),
        ("meh", {"pass": None, "label": "meh"}),
        ("", {"pass": None}),
    ],
)
@pytest.mark.parametrize("column", ["pass", "verdict", "decision", "label"])
def test_words_that_decide(column: str, word: str, found: dict[str, Any]) -> None:
    report, (body,) = table(long(["a", "j", 0.5, word], columns=f"item,judge,score,{column}"))
    expected = {"label": word, **found} if column == "label" and word else found
    assert body["jurors"] == [{"id": "j", "score": 0.5, **expected}]
    said = "--pass-label or --fail-label (1x): meh" in "".join(report.notes)
    assert said == (word == "meh")


def test_words_a_person_gave_come_first() -> None:
    rows = long(["a", "j", "meh"], ["a", "k", "KEEP"], columns="item,judge,verdict")
    (body,) = verdicts(rows, pass_labels=("Meh",), fail_labels=("keep",))
    assert [juror["pass"] for juror in body["jurors"]] == [True, False]


@pytest.mark.parametrize(
    ("error", "failed"),
    [
        ("timed out", {"error": {"message": "timed out"}, "status": "timeout"}),
        ("no quota", {"error": {"message": "no quota"}, "status": "error"}),
        ("True", {"error": {"message": "True"}, "status": "error"}),
        ("false", None),
        ("", None),
    ],
)
def test_an_error_takes_the_score_out(error: str, failed: dict[str, Any] | None) -> None:
    (body,) = verdicts(long(["a", "j", 0.3, error], columns="item,judge,score,error"))
    expected = {"score": 0.3} if failed is None else {"raw_score": 0.3, **failed}
    assert body["jurors"] == [{"id": "j", **expected}]


def test_scores_on_another_scale_wait_for_the_option() -> None:
    rows = long(["a", "j", 4], ["a", "k", 1], ["b", "j", 5])
    report, bodies = table(rows)
    assert [juror for body in bodies for juror in body["jurors"]] == [
        {"id": "j", "raw_score": 4},
        # A 1 beside 4 and 5 is no full mark.
        {"id": "k", "raw_score": 1},
        {"id": "j", "raw_score": 5},
    ]
    assert "--scale LOW..HIGH (3x, from 1 to 5)" in report.notes[0]
    (first, second) = verdicts(rows, scale=(1, 5))
    # (4 - 1) / 4 = 0.75, (1 - 1) / 4 = 0, (5 - 1) / 4 = 1
    assert [*scores(first).values(), *scores(second).values()] == [0.75, 0.0, 1.0]
    assert second["jurors"] == [{"id": "j", "score": 1.0, "raw_score": 5, "scale": [1, 5]}]


def test_the_threshold_is_on_the_scale_of_the_scores() -> None:
    rows = long(["a", "j", 4, 3], columns="item,judge,score,threshold")
    assert "threshold" not in verdicts(rows)[0]
    # (3 - 1) / 4 = 0.5
    assert verdicts(rows, scale=(1, 5))[0]["threshold"] == 0.5


def test_models_are_given_by_name_and_never_guessed() -> None:
    rows = long(["a", "j", 0.5, ""], ["a", "k", 0.5, "own"], columns="item,judge,score,judge_model")
    report, (body,) = table(rows, models={"j": "m", "k": "other", "gone": "x"})
    assert [juror.get("model") for juror in body["jurors"]] == ["m", "own"]
    assert report.notes == [
        "--models: no juror is called gone",
        "--models: the file's own model is used for k",
    ]


def test_several_rubrics_make_several_verdicts() -> None:
    columns = "item,judge,rubric,score"
    rows = (["a", "j", "short", 1], ["a", "j", "polite", 0], ["b", "j", "short", 1])
    bodies = verdicts(long(*rows, columns=columns))
    assert [(body["id"], body["rubric"], body["case"]["test"]) for body in bodies] == [
        ("a / short", "short", "a"),
        ("a / polite", "polite", "a"),
        ("b", "short", "b"),
    ]


def test_repeats_are_numbered_in_their_order() -> None:
    rows = (["a", "j", 0.3, 2], ["a", "k", 0.5, 1], ["a", "j", 0.1, 1], ["a", "j", 0.9, 10])
    (body,) = verdicts(long(*rows, columns="item,judge,score,trial"))
    assert scores(body) == {"j": 0.1, "j#2": 0.3, "j#3": 0.9, "k": 0.5}
    assert "rates" in refusal(long(*rows, rows[0], columns="item,judge,score,trial"))


def test_rows_that_stand_apart_keep_the_order_of_the_items() -> None:
    rows = [[item, judge, 0.5] for judge in "jk" for item in "cab"]
    report, bodies = table(long(*rows))
    assert [body["id"] for body in bodies] == list("cab")
    assert [list(scores(body)) for body in bodies] == [["j", "k"]] * 3
    assert report.notes == ["rows of one item that were apart were joined (3x)"]
    assert table(long(*sorted(rows)))[0].notes == []


def test_the_first_row_that_says_something_counts() -> None:
    rows = (["a", "j", 1, "", "yes"], ["a", "k", 1, "in", "no"], ["a", "l", 1, "other", "perhaps"])
    report, (body,) = table(long(*rows, columns="item,judge,score,input,human"))
    assert (body["input"], body["human"]) == ("in", {"label": "pass"})
    assert report.notes == [
        "human labels of one item differ; the first one is kept (1x)",
        "rows of one item differ in their input; the first one is kept (1x)",
        f"{LEFT_OUT} (1x)",
    ]


def test_a_row_of_a_label_alone_needs_no_judge() -> None:
    columns = "item,judge,score,human,human_by"
    (body,) = verdicts(long(["a", "j", 1, "", ""], ["a", "", "", "unsure", "bo"], columns=columns))
    assert (scores(body), body["human"]) == ({"j": 1}, {"label": "unsure", "by": "bo"})


def test_only_listed_columns_leave_the_file() -> None:
    columns = "item,judge,score,api_key,batch"
    report, bodies = table(long(["a", "j", 1, "sk-secret", "n"], columns=columns))
    kept_out = "did not copy 1 API key that the file shows in clear; change it"
    assert report.notes == ["columns not read: api_key, batch", kept_out]
    assert "sk-secret" not in json.dumps([bodies, report.header])


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "@SUM(A1)", "\x1b[2J", "<script>", "[red]x[/]"])
def test_what_looks_like_a_command_is_a_text(text: str) -> None:
    (body,) = verdicts(long([text, text, 0.5, text], columns="item,judge,score,reason"))
    assert (body["id"], body["jurors"]) == (text, [{"id": text, "score": 0.5, "reason": text}])


def test_long_names_are_cut_and_told_apart() -> None:
    bodies = verdicts(long(["x" * 600 + "a", "y" * 300 + "a", 1], ["x" * 600 + "b", "y", 1]))
    assert [body["id"] for body in bodies] == ["x" * 480, "x" * 480 + "#2"]
    assert bodies[0]["jurors"][0]["id"] == "y" * 190


names = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1).filter(
    lambda name: name == name.strip() and "#" not in name and len(name) < 150
)
# A row that is named after a sum, or after an answer, may be the last one of a sheet that sums up.
names = names.filter(lambda name: not SUMS.search(name) and USUAL.vote(name) is None)


def is_plain(text: str) -> bool:
    return not _PERSON.match(text) and "\\N" not in text


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
grids = st.dictionaries(
    st.tuples(names.filter(is_plain), names.filter(is_plain)),
    st.tuples(st.none() | st.floats(0, 1), texts.filter(is_plain)),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@given(grids, st.randoms(use_true_random=False))
def test_any_grid_comes_back_whatever_the_order_of_its_rows(grid: Any, chance: Any) -> None:
    rows = [
        [item, judge, "" if score is None else repr(score), reason]
        for (item, judge), (score, reason) in grid.items()
    ]
    chance.shuffle(rows)
    bodies = verdicts(long(*rows, columns="item,judge,score,reason"))
    found = {
        (body["id"], juror["id"]): (juror.get("score"), juror.get("reason", ""))
        for body in bodies
        for juror in body["jurors"]
    }
    assert found == {
        key: (score, reason if reason.strip() else "") for key, (score, reason) in grid.items()
    }
    assert [body["id"] for body in bodies] == list(dict.fromkeys(row[0] for row in rows))


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
        book = pytest.importorskip("openpyxl").Workbook()
        for cells in (COLUMNS, *(row.values() for row in ROWS)):
            book.active.append([*cells])
        book.save(file)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        held = pyarrow.Table.from_pylist(ROWS)
        if kind == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(held, file)
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
        ("✓", {"pass": True}), ("✗", {"pass": False}), ("yes", {"pass": True}),
        ("No", {"pass": False}), ("", {}), ("N/A", {}),
        ("Error: 429 from the judge", {"status": "error"}),
        ("TimeoutError: too slow", {"status": "timeout"}),
        ("inf", {"status": "unknown", "raw": "inf"}),
        ("about half", {"status": "unknown", "raw": "about half"}),
    ],
)  # fmt: skip
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


def test_columns_of_questions_may_stand_beside_a_column_of_judges() -> None:
    text = "id,judge,tone,length\na,ann,1,0\na,ben,1,1\nb,ann,0,1\nb,ben,1,0\n"
    found = verdicts(text, criteria_columns=("tone", "length"))
    assert [(one["id"], [juror["score"] for juror in one["jurors"]]) for one in found] == [
        ("a / tone", [1, 1]), ("a / length", [0, 1]), ("b / tone", [0, 1]), ("b / length", [1, 0]),
    ]  # fmt: skip


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
