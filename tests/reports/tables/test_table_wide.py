"""Wide tables, scales, comparisons of two responses, and real tables against a plain recount."""

import csv
import io
import json
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import ReadOptions, Source, read
from tests.reports.inspectkit import archive, bodies, log, members, panel, sample, score
from tests.reports.tablekit import TABLES, lines, needs_files, refusal, table, verdicts

WIDE = "item,text,a,b,human\nx,out,0.5,,True\ny,,1,0,\n"


def test_each_named_column_is_a_judge() -> None:
    assert verdicts(WIDE, judge_columns=("a", "b")) == [
        {
            "id": "x", "case": {"test": "x"}, "output": "out",
            "jurors": [{"id": "a", "score": 0.5}, {"id": "b"}], "human": {"label": "pass"},
            "provenance": {"pointer": "line 2"},
        },
        {
            "id": "y",
            "case": {"test": "y"},
            "jurors": [{"id": "a", "score": 1}, {"id": "b", "score": 0}],
            "provenance": {"pointer": "line 3"},
        },
    ]  # fmt: skip


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
        (
            WIDE,
            ("a", "c"),
            'has no column "c" and no judge of that name (its judges: a, b; columns: item, ',
        ),
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


@pytest.mark.parametrize("packed", [False, True])
def test_a_1_of_a_scorer_with_scores_beyond_1_is_no_full_mark(packed: bool) -> None:
    samples = [
        sample("a", {"own": score(1), "parts": score({"x": 1, "y": 1}), "panel": panel(1, 1, 0)}),
        sample("b", {"own": score(4), "parts": score({"x": "5", "y": 0}), "panel": panel(3, 2, 3)}),
    ]
    document = log(*samples)
    # the panel is a verdict of its own, before that of the other two
    found = bodies(archive(members(document)) if packed else document)[:2]
    jurors = [juror for body in found for juror in body["jurors"]]
    told = {one["id"]: (one.get("score"), one.get("raw_score")) for one in jurors}
    assert told["own"] == (None, 1)
    assert told["parts.x"] == (None, 1)
    assert told["parts.y"] == (1, None)
    assert [told[name] for name in told if name.startswith("panel")] == [(None, 1), (None, 0)]
    # (1 - 1) / 4: with the scale given nothing is left open.
    given = {one["id"]: one.get("score") for one in bodies(document, scale=(1.0, 5.0))[1]["jurors"]}
    assert given["own"] == 0


JUDGES = ("GPT-4", "ChatGPT", "ChatGPT-0301", "LLaMA2", "PaLM2", "Falcon")
VOTES = {"True": True, "False": False, "": None}


def opened(name: str, **options: Any) -> list[Any]:
    report = read(Source.from_path(TABLES / name), ReadOptions(**options))
    bodies = list(report.verdicts())
    assert report.format == "table"
    return bodies


def ballots(bodies: list[Any]) -> list[tuple[Any, ...]]:
    """Every ballot with its item, in the order of the file."""
    return [
        (body["id"], juror["id"], juror["score"], juror["pass"], juror["reason"])
        for body in bodies
        for juror in body["jurors"]
    ]


def rows(name: str) -> list[Any]:
    return list(csv.DictReader(io.StringIO((TABLES / name).read_bytes().decode(), newline="")))


@needs_files
def test_long_csv() -> None:
    found = ballots(opened("long.csv"))
    counted = [
        (row["item"], row["judge"], float(row["score"]), VOTES[row["pass"]], row["reason"])
        for row in rows("long.csv")
    ]
    assert found == counted
    # Twelve items before six judges each.
    assert (len(found), len({item for item, *_ in found})) == (72, 12)


@needs_files
def test_long_jsonl_says_what_the_csv_says() -> None:
    assert ballots(opened("long.jsonl")) == ballots(opened("long.csv"))


@needs_files
def test_wide_csv() -> None:
    found = opened("wide.csv", judge_columns=JUDGES)
    counted = rows("wide.csv")
    assert [
        (body["id"], body["output"], [juror["score"] for juror in body["jurors"]]) for body in found
    ] == [(row["item"], row["text"], [float(row[judge]) for judge in JUDGES]) for row in counted]
    assert [body["human"] for body in found] == [
        {"label": "pass" if row["human"] == "True" else "fail"} for row in counted
    ]
    assert {tuple(juror["id"] for juror in body["jurors"]) for body in found} == {JUDGES}


def talk(answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "q"}, {"role": "assistant", "content": answer}]


def bench(winner: str, **more: Any) -> str:
    row = {
        "question_id": 81, "model_a": "alpaca", "model_b": "vicuna", "winner": winner,
        "judge": "author_2", "conversation_a": talk("one"), "conversation_b": talk("two"),
        "turn": 1,
    }  # fmt: skip
    return lines({**row, **more})


@pytest.mark.parametrize(
    ("winner", "label"), [("model_a", "pass"), ("model_b", "fail"), ("tie", "unsure")]
)
def test_mt_bench_has_the_winner_as_the_label(winner: str, label: str) -> None:
    report, (body,) = table(bench(winner))
    assert report.format == "mt-bench"
    assert (body["input"], body["output"], body["alternative"]) == ("q", "one", "two")
    assert body["human"] == {"label": label, "by": "author_2"}
    assert body["jurors"] == []


def test_a_model_that_compares_is_a_juror() -> None:
    _, (body,) = table(bench("model_b", judge="gpt4_pair"))
    (juror,) = body["jurors"]
    assert (juror["id"], juror["label"], juror["pass"]) == ("gpt4_pair", "model_b", False)
    assert "human" not in body


ARENA = """id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie
1,gpt,koala,q,one,two,1,0,0
2,gpt,koala,q,one,three,0,1,0
3,gpt,koala,q,one,four,0,0,1
"""


def test_the_arena_has_a_column_for_each_outcome() -> None:
    report, bodies = table(ARENA)
    assert report.format == "arena"
    labels = [body["human"]["label"] for body in bodies]
    assert labels == ["pass", "fail", "unsure"]
    assert (bodies[1]["output"], bodies[1]["alternative"]) == ("one", "three")


def said(body: Any) -> list[Any]:
    return [one.get("status", one.get("pass")) for one in body["jurors"]]


def test_the_second_judgment_of_judgebench_is_of_the_other_order() -> None:
    def pair(name: str, truth: str, *decisions: str | None) -> dict[str, Any]:
        judged = {"judge_model": "o1-mini", "prompt": "p", "response": "r"}
        return {
            "pair_id": name, "original_id": 1, "source": "law", "question": "q",
            "response_model": "gpt-4o", "response_A": "one", "response_B": "two", "label": truth,
            "judge_name": "arena_hard",
            "judgments": [one and {"judgment": judged, "decision": one} for one in decisions],
        }  # fmt: skip

    rows = (
        pair("a", "A>B", "A>B", "B>A"),
        pair("b", "B>A", "A>B", "A>B"),
        pair("c", "A>B", "A=B", None),
    )
    report, bodies = table(lines(*rows))
    assert report.format == "judgebench"
    assert [said(body) for body in bodies] == [[True, True], [True, False], [None, "error"]]
    assert [body["human"]["label"] for body in bodies] == ["pass", "fail", "pass"]
    assert (bodies[0]["output"], bodies[0]["alternative"]) == ("one", "two")


def test_the_second_game_of_arena_hard_is_of_the_other_order() -> None:
    def judged(name: str, *scores: str | None) -> dict[str, Any]:
        games = [{"user_prompt": "p", "judgment": "j", "score": one} for one in scores]
        return {"question_id": name, "model": "m", "judge": "gpt-4", "games": games}

    rows = judged("x", "A>B", "B>>A"), judged("y", "B>A", "A>B"), judged("z", "A=B", None)
    report, bodies = table(lines(*rows))
    assert report.format == "arena-hard"
    assert [said(body) for body in bodies] == [[False, False], [True, True], [None, "error"]]
    assert (bodies[0]["input"], bodies[0]["jurors"][0]["reason"]) == ("p", "j")
