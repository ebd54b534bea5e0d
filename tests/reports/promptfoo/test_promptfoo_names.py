from typing import Any

import pytest

from tests.reports.promptfoo_rows import one, opened, result, row, rubric


def test_repeats_prompts_and_providers_make_composite_ids() -> None:
    second = {"id": "openai:gpt-4.1", "label": "other"}
    rows = [
        row(rubric(1, True), testIdx=0),
        row(rubric(1, True), testIdx=0, promptIdx=1, promptId="q"),
        row(rubric(1, True), testIdx=0, promptIdx=2, provider=second),
        row(rubric(1, True), testIdx=1),
    ]
    bodies = opened(result(*rows))[1]
    first = "openai:chat:gpt-4o"
    assert [body["id"] for body in bodies] == [
        f"greets/prompt 1/{first}/epoch 1",
        f"greets/prompt 2/{first}/epoch 1",
        "greets/prompt 1/other/epoch 1",
        f"greets/prompt 1/{first}/epoch 2",
    ]
    assert [body["case"]["epoch"] for body in bodies] == [1, 1, 1, 2]


def test_tests_without_a_description_are_numbered() -> None:
    rows = [row(rubric(1, True), testIdx=at, testCase={"vars": {"q": at // 2}}) for at in range(4)]
    bodies = opened(result(*rows))[1]
    # Two tests, each run twice: promptfoo numbers the four runs.
    assert [body["id"] for body in bodies] == [
        "test 1/epoch 1",
        "test 1/epoch 2",
        "test 3/epoch 1",
        "test 3/epoch 2",
    ]


def test_other_tests_of_one_name_get_a_counter() -> None:
    rows = [row(rubric(1, True), testCase={"description": "t", "vars": {"q": at}}) for at in (1, 2)]
    assert [body["id"] for body in opened(result(*rows))[1]] == ["t", "t#2"]


def test_critics_of_one_name_are_two_ballots() -> None:
    body = one(rubric(1, True, metric="tone"), rubric(0, False, metric="tone"))
    assert [juror["id"] for juror in body["jurors"]] == ["tone", "tone#2"]
    asked = ["openai:gpt-4o", {"id": "anthropic:claude-x", "config": {}}]
    body = one(*(rubric(1, True, metric="tone", provider=provider) for provider in asked))
    assert [juror["id"] for juror in body["jurors"]] == ["openai:gpt-4o", "anthropic:claude-x"]


def test_the_tests_own_grader_is_the_juror_where_an_assertion_names_none() -> None:
    case = {"description": "t", "options": {"provider": {"id": "openai:chat:gpt-4o-mini"}}}
    (juror,) = one(rubric(1, True), testCase=case)["jurors"]
    assert (juror["id"], juror["model"]) == ("openai:chat:gpt-4o-mini", "gpt-4o-mini")
    case["options"] = {"provider": {"text": "openai:gpt-4.1", "embedding": "openai:embedding:x"}}
    assert one(rubric(1, True), testCase=case)["jurors"][0]["model"] == "gpt-4.1"


@pytest.mark.parametrize(
    ("provider", "model", "vendor"),
    [
        ("openai:chat:gpt-4o", "gpt-4o", "openai"),
        ("openai:gpt-4o", "gpt-4o", "openai"),
        ("openai:chat", None, "openai"),
        ("anthropic:messages:claude-3-5-sonnet", "claude-3-5-sonnet", "anthropic"),
        ("ollama:chat:llama3.2:8b", "llama3.2:8b", None),
        ("openrouter:anthropic/claude-3.5", "anthropic/claude-3.5", None),
        ("bedrock:us.anthropic.claude-3-haiku:0", "us.anthropic.claude-3-haiku:0", None),
        ({"id": "openai:chat:x", "config": {"apiBaseUrl": "http://here"}}, "x", None),
        ({"id": "my-model", "label": "mine"}, "my-model", None),
        ("file://claude.py", None, None),
        ("python:gpt.py", None, None),
        ("https://u:p@host/x?key=abc", None, None),
        (7, None, None),
        ({"id": 7}, None, None),
        (None, None, None),
    ],
)
def test_a_provider_is_a_model_only_where_it_says_so(
    provider: Any, model: str | None, vendor: str | None
) -> None:
    (juror,) = one(rubric(1, True, provider=provider))["jurors"]
    assert (juror.get("model"), juror.get("vendor")) == (model, vendor)
    assert "abc" not in juror["id"]
    assert "u:p" not in juror["id"]


def test_a_person_may_name_the_models() -> None:
    panel = (rubric(1, True, metric="a", provider="openai:gpt-4o"), rubric(1, True, metric="b"))
    (body,) = opened(result(row(*panel)), models={"a": "claude-x", "b": "gpt-5"})[1]
    models = [(juror["model"], juror.get("vendor")) for juror in body["jurors"]]
    assert models == [("claude-x", None), ("gpt-5", None)]
