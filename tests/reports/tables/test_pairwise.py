"""Comparisons of two responses: both are read, and the winner is the label."""

from typing import Any

import pytest

from tests.reports.tablekit import lines, table


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
