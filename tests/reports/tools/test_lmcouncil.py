from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import Source
from reviewdesk.reports.bytes.strict_json import failing
from reviewdesk.reports.council import FIRST_IS_BETTER, OpenQuestions, RatedPair, Rating, question
from tests.reports.foreignkit import only, opened, refusal

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
        "id": "Say hello.: x/one or y/two",
        "case": {"test": "Say hello.", "name": "x/one or y/two"},
        "input": "Say hello.",
        "output": "x/one",
        "alternative": "y/two",
        "rubric": FIRST_IS_BETTER,
        "generator": {"model": "x/one"},
        "jurors": [
            {"id": "a", "model": "a", "label": "A>B", "pass": True, "reason": "kinder", **tokens},
            {"id": "b", "model": "b", "label": "B>>A", "pass": False, "temperature": 0.2, **tokens},
            {"id": "a#2", "model": "a", "label": "A=B", "pass": None, **tokens},
        ],
        "provenance": {"pointer": "line 3#/"},
    }
    assert report.notes == [NO_TEXTS, "keys left out: seed"]


def test_the_other_order_is_another_verdict() -> None:
    turned = {"first_completion_by": "y/two", "second_completion_by": "x/one"}
    _, bodies = opened([pair("a", "A>B"), pair("a", "A>B", **turned)])
    assert [(body["output"], body["alternative"]) for body in bodies] == [
        ("x/one", "y/two"),
        ("y/two", "x/one"),
    ]


def test_rows_of_one_question_stand_anywhere() -> None:
    # question 0 is whole with row 4, question 1 with row 5, question 2 with row 3
    rows = [pair(f"j{n}", "A>B", user_prompt=f"p{q}") for n, q in enumerate((0, 1, 2, 2, 0, 1))]
    _, bodies = opened(rows, lines=True)
    assert [body["input"] for body in bodies] == ["p2", "p0", "p1"]
    panels = [[one["id"] for one in body["jurors"]] for body in bodies]
    assert panels == [["j2", "j3"], ["j0", "j4"], ["j1", "j5"]]


@pytest.mark.parametrize(
    ("choice", "label", "vote"),
    [
        ("[[A>>B]]", "A>>B", True),
        ("B>A", "B>A", False),
        ("A~B", "A~B", None),
        (None, None, None),
    ],
)
def test_choices(choice: Any, label: str | None, vote: bool | None) -> None:
    found = only(pair("a", choice))["jurors"][0]
    assert (found.get("label"), found["pass"]) == (label, vote)


def test_a_choice_that_is_no_word_is_unknown_and_so_is_a_row_without_a_rating() -> None:
    (first,) = opened([pair("a", 3), pair("b", "[[A>B]]")], lines=True)[1]
    assert [one.get("status") for one in first["jurors"]] == ["unknown", None]
    rows = [single("a", quality="good"), single("b", Coherence=5)]
    rated = {body["rubric"]: body["jurors"] for body in opened(rows, lines=True)[1]}
    assert rated["Overall"][0]["meta"] == {"unread": ["quality"]}
    assert "status" not in rated["Coherence"][0]


def test_a_choice_in_other_words_is_said() -> None:
    notes = opened(pair("a", "A~B"))[0].notes
    assert "a choice in unknown words is kept as its label, without a vote (1x)" in notes


def test_each_criterion_of_a_rubric_is_a_verdict() -> None:
    rows = [
        single("a", Coherence=5, Relevance=2, Overall=3.5, temperature=0.0),
        single("b", Coherence=3, Relevance=None, Overall=3.0, temperature=0.0),
    ]
    report, bodies = opened(rows, lines=True, scale=(1.0, 5.0))
    assert [body["rubric"] for body in bodies] == ["Coherence", "Relevance"]
    assert [body["id"] for body in bodies] == ["p: x/one/Coherence", "p: x/one/Relevance"]
    # On 1..5 a 5 is 1, a 3 is the middle and a 2 is one step of four.
    assert [one.get("score") for one in bodies[0]["jurors"]] == [1.0, 0.5]
    assert [one.get("score") for one in bodies[1]["jurors"]] == [0.25, None]
    assert "Overall, the mean of a judge's ratings, is left out (2x)" in report.notes
    report, bodies = opened(rows, lines=True)
    assert [one["raw_score"] for one in bodies[0]["jurors"]] == [5, 3]
    assert any("--scale LOW..HIGH says how to read it (3x)" in note for note in report.notes)


def test_an_overall_rating_alone_is_the_verdict() -> None:
    assert only(single("a", Overall=0.5))["rubric"] == "Overall"


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (pair("", "A>B"), '$.judge_model: must be the name of a model, found ""'),
        (pair("a", "A>B", first_completion_by=1), "$.first_completion_by: must be the name"),
        (pair("a", "A>B", user_prompt=None), "$.user_prompt: must be a text, found null"),
        (single("a", model_being_judged=None), "$.model_being_judged: must be the name of"),
        (7, "$: must be an object, found 7"),
    ],
)
def test_a_bad_row_is_named_and_can_be_left_out(row: Any, text: str) -> None:
    rows = [pair("a", "A>B"), row, pair("b", "A>B")]
    assert f"line 2: {text}" in refusal(rows, lines=True)
    report, (body,) = opened(rows, lines=True, skip_bad=True)
    assert (len(body["jurors"]), report.skipped) == (2, 1)


def test_an_empty_prompt_and_a_long_one_have_names() -> None:
    assert only(pair("a", "A>B", user_prompt=" "))["case"]["test"] == "empty prompt"
    long = only(pair("a", "A>B", user_prompt="x\n" * 5000))
    assert len(long["id"]) < 500
    assert long["input"] == "x\n" * 5000


def test_waiting_ratings_have_a_bound() -> None:
    rated = RatedPair("p", "m", None, "r")
    rating = Rating(rated, "a", {"model": "a", "reason": "x" * 1000})
    fail = failing(Source.from_bytes("run.json", b""))
    # Two ratings of 1,000 characters at four bytes each are over 5,000 bytes, one is not.
    expected = Counter({question(rated): 3})
    gathering = OpenQuestions(expected, fail, most=5000)
    assert gathering.add(rating) == []
    with pytest.raises(ReportError, match="more ratings of unfinished questions"):
        gathering.add(rating)
    roomy = OpenQuestions(Counter({question(rated): 2}), fail, most=5000)
    assert [len(roomy.add(rating)) for _ in range(6)] == [0, 2] * 3


def test_a_named_key_is_removed_from_the_texts() -> None:
    body = only([pair("a", "A>B", api_key="hunter2hunter2", explanation="as hunter2hunter2 says")])
    assert body["jurors"][0]["reason"] == "as [REDACTED] says"
