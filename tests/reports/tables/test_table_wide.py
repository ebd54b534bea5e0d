"""Wide tables: one item a row, and a column for each judge."""

import json

import pytest

from tests.reports.tablekit import lines, refusal, scores, table, verdicts

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
    assert line.endswith("reviewdesk open t.csv --judge-columns a,b")


def test_a_name_with_a_blank_is_quoted_in_the_hint() -> None:
    assert refusal("item,by a\nx,1\n").endswith("--judge-columns 'by a'")


def test_columns_that_say_judge_need_no_option() -> None:
    (body,) = verdicts("item,judge 1,judge 2\nx,1,0\n")
    assert scores(body) == {"judge 1": 1, "judge 2": 0}


def test_json_rows_may_be_wide() -> None:
    rows = [{"item": "x", "a": 0.5, "b": None}, {"item": "y", "a": 1, "c": 3}]
    for text in (lines(*rows), json.dumps(rows)):
        assert [scores(body) for body in verdicts(text, judge_columns=("a", "b"))] == [
            {"a": 0.5, "b": None},
            {"a": 1, "b": None},
        ]
        assert "--judge-columns a" in refusal(text)


def test_columns_beside_a_judge_hold_its_reasons() -> None:
    text = "item,a,a_reason,b,b comment\nx,1,because,0,so\n"
    report, (body,) = table(text, judge_columns=("a", "b"))
    assert body["jurors"] == [
        {"id": "a", "score": 1, "reason": "because"},
        {"id": "b", "score": 0, "reason": "so"},
    ]
    assert report.notes == []


@pytest.mark.parametrize("judges", [("a", "b"), ()])
def test_a_column_without_a_name_means_nothing(judges: tuple[str, ...]) -> None:
    # Data frames write their index so.
    text = ",item,a,b\n0,x,1,0\n1,y,0,1\n" if judges else ",item,judge,score\n0,x,a,1\n1,x,b,0\n"
    bodies = verdicts(text, judge_columns=judges)
    assert scores(bodies[0]) == {"a": 1, "b": 0}
    assert not {"reason", "rubric"} & {*bodies[0], *bodies[0]["jurors"][0]}


def test_a_model_beside_several_judges_wrote_the_output() -> None:
    (body,) = verdicts("item,model,a\nx,gen,1\n", judge_columns=("a",))
    assert body["generator"] == {"model": "gen"}
    assert body["jurors"] == [{"id": "a", "score": 1}]


def test_a_judge_column_may_bear_any_name() -> None:
    (body,) = verdicts("item,judge,score\nx,1,0\n", judge_columns=("judge", "score"))
    assert scores(body) == {"judge": 1, "score": 0}


def test_words_of_judges_are_votes() -> None:
    (body,) = verdicts("item,a,b\nx,PASS,nope\n", judge_columns=("a", "b"), fail_labels=("nope",))
    assert body["jurors"] == [
        {"id": "a", "pass": True},
        {"id": "b", "pass": False, "label": "nope"},
    ]


def test_repeated_items_are_told_apart_by_a_column_or_are_items_of_their_own() -> None:
    text = "item,repeat,a\nx,1,0.1\nx,2,0.2\n"
    (body,) = verdicts(text, judge_columns=("a",))
    assert scores(body) == {"a": 0.1, "a#2": 0.2}
    found = verdicts(text.replace("repeat", "batch"), judge_columns=("a",))
    assert {one["id"]: scores(one) for one in found} == {"x": {"a": 0.1}, "x#2": {"a": 0.2}}


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
