"""Wide tables: one item a row, and a column for each judge."""

import pytest

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


def test_without_the_option_the_line_says_which_columns_to_name() -> None:
    line = refusal(WIDE)
    assert "has no column that names the judge (its columns: item, text, a, b, human)" in line
    assert line.endswith("--judge-columns a,b --strategy majority --threshold 0.5")


def test_a_name_with_a_blank_is_quoted_in_the_hint() -> None:
    assert refusal("item,by a\nx,1\n").endswith("--judge-columns 'by a'")


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
