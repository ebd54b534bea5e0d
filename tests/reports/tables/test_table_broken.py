"""Tables that are broken: one line each, and never half a verdict."""

from pathlib import Path
from types import ModuleType

import pytest

from reviewdesk.reports import ReadOptions, Source, read
from tests.reports.tablekit import BROKEN, check_damage, long, needs_files, refusal, scores, table
from tests.reports.tables import test_braintrust, test_langfuse, test_langsmith, test_phoenix

HEAD = b"item,judge,score\n"
BIG = b"x" * (8 << 20)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (HEAD, "is a table without rows"),
        (HEAD + b"\n\n", "is a table without rows"),
        (HEAD + b'a,"j,0.5\nb,j,1\n', "line 2: opens a quote that does not end"),
        (HEAD + b'a,"j"x,0.5\n', "line 2: is not CSV: ',' expected after '\"'"),
        (HEAD + b"a,j,1\n\rb,j,1\n", "line 3: contains a carriage return outside quotes"),
        (HEAD + b"a,j\0,1\n", "line 2: contains a NUL byte (byte 20)"),
        (HEAD + b"a,\xff,1\n", "line 2: is not UTF-8 text (byte 19)"),
        (HEAD + b"a,j,1\n" * 12_000 + b"b,\0,1\n", "line 12002: contains a NUL byte"),
        (HEAD + b"a,j,1\n" * 12_000 + b"b,\xff,1\n", "line 12002: is not UTF-8 text (byte 72019)"),
        (HEAD + b"a,j," + BIG + b"\n", "line 2: is part of a record of over 8 MiB"),
        (HEAD + b'a,"' + BIG[:-99] + b"\n" + BIG, "line 3: is part of a record of over 8 MiB"),
        (HEAD + b"a,j\n", "line 2: has 2 cells where the header has 3"),
        (HEAD + b"a,j,1,2\n", "line 2: has 4 cells where the header has 3"),
        (HEAD + b"a,j,-Inf\n", 'line 2, column "score": must be a finite number or empty'),
        (HEAD + b"a,j,1e999\n", 'line 2, column "score": must be a finite number or empty'),
        (HEAD + b'a,j,"0,5,"\n', 'line 2, column "score": must be a number or empty, found "0,5,"'),
        (HEAD + b"a,j,6/5\n", 'line 2, column "score": must be from 0 to 5, found "6/5"'),
        (HEAD + "a,j,\u0661\n".encode(), 'line 2, column "score": must be a number or empty'),
        (b"judge,score\nj,1\n", "has no column that names the items"),
        (b"item,judge\na,j\n", "has no column with what the judges said"),
        (
            b"Test case,Expected,Actual,Reviewer,Status,Notes\ny,Ann,Pass,\nz,x,y,Ben,Fail,wrong\n",
            "has no column that names the judge",
        ),
        (b"item,judge,score,score\na,j,1,2\n", 'has the column "score" twice'),
        (b"item,judge,score," + b"c," * 40_000 + b"\n", "line 1: is a header of over 64 KiB"),
        (b'[{"item": "a", "judge": "j", "score": 1}, 5]', "$[1]: must be an object, found 5"),
        (b'[{"item": "a", "judge": "j", "score": "x"}]', "$[0].score: must be a number or empty"),
        (b'[{"item": "a", "judge": "j", "score": 1}] x', "continues after the end"),
        (b'[{"item": "a", "judge": "j", "score": 1}] {}', "continues after the end"),
        (b'{"item": "a", "judge": "j", "score": 1}\n5\n', "line 2: must be an object, found 5"),
        (
            b'{"item": "a", "judge": "j", "score": 1}\n{"item": x\n',
            "line 2, column 10: is not JSON",
        ),
    ],
)
def test_one_line_for_each(data: bytes, told: str) -> None:
    assert told in refusal(data)


def test_bad_rows_take_out_their_verdict_and_no_other() -> None:
    rows = long(["a", "j", 1], ["a", "j", 1], ["b", "j", 1], ["c"])
    report, bodies = table(rows, skip_bad=True)
    assert [body["id"] for body in bodies] == ["b"]
    assert report.skipped == 2
    assert report.notes[-1] == (
        'left out 2 of 3 verdicts: line 3: "j" rates "a" a second time, first at line 2; '
        "number such rows in a column named repeat, or name the question in a column named"
        " dimension; line 5: has 1 cells where the header has 3"
    )


def test_a_row_without_a_name_is_no_lost_item() -> None:
    report, bodies = table(long(["", "j", 1], ["a", "", 0]))
    assert [(body["id"], scores(body)) for body in bodies] == [
        ("row 1", {"j": 1}),
        ("a", {"unnamed": 0}),
    ]
    assert "a row without an id is named by its number (1x)" in report.notes
    assert table('{"item": 1.5, "judge": "j", "score": 1}\n')[1][0]["id"] == "1.5"


def test_a_bad_cell_is_one_ballot_and_never_a_lost_item() -> None:
    rows = long(
        ["a", "j", 1], ["a", "k", "7?"], ["b", "j", "NaN"], ["b", "k", "inf"], ["c", "j", 9]
    )
    report, bodies = table(rows, scale=(0, 1))
    assert [[one.get("status") for one in body["jurors"]] for body in bodies] == [
        [None, "unknown"], [None, "unknown"], ["unknown"],
    ]  # fmt: skip
    assert "score" not in bodies[1]["jurors"][0]
    assert report.notes[0] == (
        "a score that cannot be read is a ballot that is not understood, without a vote (3x); "
        'line 3, column "score": must be a number or empty, found "7?"'
    )
    assert "a score that is empty or NaN is not measured, and casts no vote (1x)" in report.notes


@pytest.mark.parametrize("word", ["NaN", "nan", "N/A", "n/a", "NA", "<NA>", "None", "null", ""])
def test_words_for_a_missing_number_are_no_value(word: str) -> None:
    _, (body,) = table(long(["a", "j", word], ["a", "k", 0.5]))
    assert [one.get("score") for one in body["jurors"]] == [None, 0.5]
    assert not any(one.get("status") for one in body["jurors"])


def test_a_pass_beside_an_empty_score_is_no_vote_of_a_judge_that_scores() -> None:
    rows = long(
        ["a", "j", 0.9, "pass"], ["b", "j", "", "fail"], ["a", "k", "", "pass"],
        ["b", "k", "", "fail"], columns="item,judge,score,pass",
    )  # fmt: skip
    report, bodies = table(rows)
    votes = {body["id"]: [one.get("pass") for one in body["jurors"]] for body in bodies}
    # k never scores: its pass is what it says.
    assert votes == {"a": [True, True], "b": [None, False]}
    note = "a pass or fail beside an empty score is not measured, and casts no vote (1x)"
    assert note in report.notes


def test_a_bare_nan_in_json_is_null_and_counted() -> None:
    for text in (
        '[{"item":"a","judge":"j","score":NaN},{"item":"a","judge":"k","score":1}]',
        '{"item":"a","judge":"j","score":NaN}\n{"item":"a","judge":"k","score":1}\n',
    ):
        report, (body,) = table(text)
        assert [one.get("score") for one in body["jurors"]] == [None, 1]
        assert report.notes[-1] == "replaced 1 number NaN or Infinity by null"


def test_without_the_option_the_error_counts_what_it_would_leave_out() -> None:
    twice = (["a", "j", 1], ["a", "j", 1], ["b", "j", 1], ["b", "j", 1])
    assert refusal(long(*twice, ["c", "j", 1])).endswith("(leaves out 2 of 3).")


FIXTURES = {
    "long": long(["a", "j", 0.5, 'w "x"\ny', 1], ["a", "k", "", "r", ""], ["b", "j", 3, "é", "x"],
                 columns="item,judge,score,reason,human"),
    "wide": "item;text;p;q\n1;one;0.25;1\n2;\"two\nlines\";;0\n",
    "lines": '{"item": "a", "judge": "j", "score": 0.5, "pass": null, "tags": ["x"]}\n'
    '{"item": "a", "judge": "k", "score": 1, "reason": "r\\u2028"}\n',
    "list": '[{"item": 1, "judge": "j", "score": 0.5, "input": {"a": [1]}},\n {"item": 2, "judge":'
    ' "j", "score": true}]',
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FIXTURES)
@pytest.mark.parametrize("skip_bad", [False, True])
def test_damage_is_a_report_or_one_line(name: str, *, skip_bad: bool) -> None:
    judges = ("p", "q") if name == "wide" else ()
    options = ReadOptions(skip_bad=skip_bad, judge_columns=judges, format="table")
    check_damage(FIXTURES[name].encode(), 100, options)
    check_damage(FIXTURES[name].encode(), 100, ReadOptions(skip_bad=skip_bad))


@pytest.mark.slow
@pytest.mark.parametrize("tool", [test_braintrust, test_langfuse, test_langsmith, test_phoenix])
def test_damage_to_the_files_of_tools_is_a_report_or_one_line(tool: ModuleType) -> None:
    for text in tool.WHOLE:
        check_damage(text.encode(), 60, ReadOptions(skip_bad=True))
        check_damage(text.encode(), 40, ReadOptions(format=tool.__name__.rpartition("_")[2]))


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("path", sorted(BROKEN.glob("*.csv")), ids=lambda path: str(path.name))
def test_damage_to_the_broken_files(path: Path) -> None:
    check_damage(path.read_bytes(), 100, ReadOptions())


def test_a_report_can_be_read_twice() -> None:
    report = read(Source.from_bytes("t.csv", long(["a", "j", 4], ["a", "k", 1]).encode()))
    first = list(report.verdicts())
    notes = list(report.notes)
    assert (list(report.verdicts()), report.notes) == (first, notes)
