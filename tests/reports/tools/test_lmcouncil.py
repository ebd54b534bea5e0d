from typing import Any

import pytest

from tests.reports.foreignkit import only, opened

FIRST_IS_BETTER = "The first response is better than the second."

NO_TEXTS = "the responses are not in this file, only who wrote them; completions.jsonl has them"


def pair(judge: str, choice: Any, **more: Any) -> dict[str, Any]:
    asked = {"user_prompt": "Say hello.", "judge_model": judge, "first_completion_by": "x/one"}
    spent = {"temperature": None, "completion_tokens": 18, "prompt_tokens": 382}
    return {**asked, "second_completion_by": "y/two", "pairwise_choice": choice, **spent, **more}


def single(judge: str, **more: Any) -> dict[str, Any]:
    return {"user_prompt": "p", "judge_model": judge, "model_being_judged": "x/one", **more}


def test_judges_of_one_pair_are_one_panel() -> None:
    rows = [
        pair("a", "A>B", total_tokens=400, explanation="kinder", seed=3),
        pair("b", "B>>A", temperature=0.2),
        pair("a", "A=B"),
    ]
    report, (body,) = opened(rows, lines=True)
    assert report.format == "lm-council"
    tokens = {"tokens_in": 382, "tokens_out": 18}
    assert body == {
        "id": "Say hello.: x/one: y/two",
        "case": {"test": "Say hello.: x/one: y/two"},
        "input": "Say hello.",
        "output": "x/one",
        "alternative": "y/two",
        "rubric": FIRST_IS_BETTER,
        "generator": {"model": "x/one"},
        "jurors": [
            {"id": "a", "model": "a", "label": "A>B", "pass": True, "reason": "kinder", **tokens},
            {"id": "a#2", "model": "a", "label": "A=B", "pass": None, **tokens},
            {"id": "b", "model": "b", "label": "B>>A", "pass": False, "temperature": 0.2, **tokens},
        ],
        "provenance": {"pointer": "line 1"},
    }
    assert report.notes[:2] == [NO_TEXTS, "columns not read: total_tokens, seed"]


def test_the_other_order_is_another_verdict() -> None:
    turned = {"first_completion_by": "y/two", "second_completion_by": "x/one"}
    _, bodies = opened([pair("a", "A>B"), pair("a", "A>B", **turned)])
    assert [(body["output"], body["alternative"]) for body in bodies] == [
        ("x/one", "y/two"),
        ("y/two", "x/one"),
    ]


def test_rows_of_one_question_stand_anywhere() -> None:
    rows = [pair(f"j{n}", "A>B", user_prompt=f"p{q}") for n, q in enumerate((0, 1, 2, 2, 0, 1))]
    _, bodies = opened(rows, lines=True)
    assert [body["input"] for body in bodies] == ["p0", "p1", "p2"]
    panels = [[one["id"] for one in body["jurors"]] for body in bodies]
    assert panels == [["j0", "j4"], ["j1", "j5"], ["j2", "j3"]]


@pytest.mark.parametrize(
    ("choice", "label", "vote"),
    [
        ("[[A>>B]]", "[[A>>B]]", True),
        ("B>A", "B>A", False),
        ("A~B", "A~B", None),
        (None, None, None),
    ],
)
def test_choices(choice: Any, label: str | None, vote: bool | None) -> None:
    found = only(pair("a", choice))["jurors"][0]
    assert (found.get("label"), found.get("pass")) == (label, vote)


def test_each_criterion_of_a_rubric_is_a_verdict() -> None:
    rows = [
        single("a", Coherence=5, Relevance=2, Overall=3.5, temperature=0.0),
        single("b", Coherence=3, Relevance=None, Overall=3.0, temperature=0.0),
    ]
    report, bodies = opened(rows, lines=True, scale=(1.0, 5.0))
    assert [body["rubric"] for body in bodies] == ["Coherence", "Relevance"]
    assert [body["id"] for body in bodies] == ["p: x/one / Coherence", "p: x/one / Relevance"]
    # On 1..5 a 5 is 1, a 3 is the middle and a 2 is one step of four.
    assert [one.get("score") for one in bodies[0]["jurors"]] == [1.0, 0.5]
    assert [one.get("score") for one in bodies[1]["jurors"]] == [0.25, None]
    assert "columns not read: Overall" in report.notes
    report, bodies = opened(rows, lines=True)
    assert [one["raw_score"] for one in bodies[0]["jurors"]] == [5, 3]
    assert any("--scale LOW..HIGH (3x, from 2 to 5)" in note for note in report.notes)


def test_an_empty_prompt_and_a_long_one_have_names() -> None:
    assert only(pair("a", "A>B", user_prompt=" "))["case"]["test"] == "x/one: y/two"
    long = only(pair("a", "A>B", user_prompt="x\n" * 5000))
    assert len(long["id"]) < 500
    assert long["input"] == "x\n" * 5000


def test_a_named_key_is_removed_from_the_texts() -> None:
    body = only([pair("a", "A>B", api_key="hunter2hunter2", explanation="as hunter2hunter2 says")])
    assert body["jurors"][0]["reason"] == "as [REDACTED] says"
