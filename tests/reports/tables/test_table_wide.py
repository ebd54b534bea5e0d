"""Wide tables: a column for each judge, and the command that reads what is refused."""

import json

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import ReadOptions, Source, read
from tests.reports.tablekit import refusal, verdicts

WIDE = "item,text,a,b,human\nx,out,0.5,,True\ny,,1,0,\n"


def test_each_named_column_is_a_judge() -> None:
    assert verdicts(WIDE, judge_columns=("a", "b")) == [
        {
            "id": "x",
            "case": {"test": "x"},
            "output": "out",
            "jurors": [{"id": "a", "score": 0.5}, {"id": "b"}],
            "human": {"label": "pass"},
            "provenance": {"pointer": "line 2"},
        },
        {
            "id": "y",
            "case": {"test": "y"},
            "jurors": [{"id": "a", "score": 1}, {"id": "b", "score": 0}],
            "provenance": {"pointer": "line 3"},
        },
    ]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (WIDE, "a,b --strategy majority --threshold 0.5"),
        ("item,by a\nx,1\n", "'by a'"),
        ("i,ann\na,Strong\nb,Weak\nc,Weak\n", "ann --pass-label Strong --fail-label Weak"),
        # A word between pass and fail is neither.
        ("i,ann\na,Agree\nb,Neutral\nc,Disagree\nd,Agree\n",
         "ann --pass-label Agree --fail-label Disagree"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_columns_and_ends_in_the_whole_command(text: str, command: str) -> None:
    assert refusal(text).endswith(f"open t.csv --judge-columns {command}")


@pytest.mark.parametrize(
    ("text", "columns", "told"),
    [
        (WIDE, ("a", "c"), 'has no column "c" (its columns: item, text, a, b, human)'),
        ("item,judge,a\nx,j,1\n", ("a",), 'has a column "judge" with a judge in each row'),
        ("item,a,a\nx,1,2\n", ("a",), 'has the column "a" twice'),
    ],
)
def test_what_is_refused(text: str, columns: tuple[str, ...], told: str) -> None:
    assert told in refusal(text, judge_columns=columns)


def test_a_list_of_ratings_under_an_unknown_name_opens_as_a_table() -> None:
    rating = {"id": "a", "judge": "ann", "score": 0.9}
    data = json.dumps({"made": "today", "evaluations": [rating]})
    assert refusal(data).endswith("Open it as one: reviewdesk open t.csv --format table")
    source = Source.from_bytes("t.csv", data.encode())
    (body,) = read(source, ReadOptions(format="table")).verdicts()
    assert (body["id"], body["jurors"][0]["score"]) == ("a", 0.9)


def test_a_file_that_is_no_table_is_not_read_as_one() -> None:
    for text in ('{"a": 1, "b": 2}', '{"name": "n", "dependencies": {"x": "1"}}'):
        with pytest.raises(ReportError, match="is JSON, but not a report"):
            read(Source.from_bytes("t", text.encode()))
