from typing import Any

import pytest

from reviewdesk.errors import ReportError
from tests.reports.promptfoo_rows import (
    assert_set,
    broken,
    graded,
    one,
    opened,
    result,
    row,
    rubric,
    verdicts,
)

HEADER = {
    "schema": "reviewdesk.report/1",
    "title": "greetings",
    "created_at": "2026-01-31T12:00:00.000Z",
    "producer": {
        "name": "promptfoo", "format": "json v3", "version": "0.121.20", "run_id": "eval-abc",
    },
}  # fmt: skip

BODY = {
    "id": "greets", "case": {"test": "greets", "target": "llm-rubric"}, "input": "Say hello",
    "output": "hello", "rubric": "is kind", "generator": {"model": "gpt-4o", "vendor": "openai"},
    # One of the two must pass and does not; the score of the row is the check's as well.
    "decision": "fail",
    "checks": [{"name": "contains: hello", "pass": True, "reason": "found"}],
    "jurors": [
        {
            "id": "kind", "model": "claude-3-haiku", "vendor": "anthropic", "pass": True,
            "score": 0.9, "reason": "because 0.9",
        },
        {
            "id": "warm", "pass": False, "score": 0.2, "reason": "because 0.2", "weight": 2,
            "meta": {"threshold": 0.7},
        },
    ],
    "provenance": {"pointer": "/results/results/0"},
    "meta": {
        "row": {
            "id": "0000", "pass": False, "score": 0.7, "test": 0, "prompt": "Say {{what}}",
            "provider": "openai:chat:gpt-4o",
        },
        "origin": {"result": "0000"},
    },
}  # fmt: skip


def test_a_whole_row() -> None:
    graders = (
        rubric(0.9, True, metric="kind", provider="anthropic:messages:claude-3-haiku"),
        rubric(0.2, False, metric="warm", threshold=0.7, weight=2),
    )
    check = graded("contains", "hello", 1, True, reason="found")
    report, (body,) = opened(result(row(*graders, check, success=False, score=0.7)))
    assert report.header == HEADER
    assert body == BODY
    assert report.notes == []


JUDGED = (
    "llm-rubric", "not-llm-rubric", "model-graded-closedqa", "model-graded-factuality",
    "factuality", "g-eval", "answer-relevance", "context-faithfulness", "context-recall",
    "search-rubric", "select-best", "promptfoo:redteam:harmful",
)  # fmt: skip
CHECKS = ("similar", "classifier", "moderation", "javascript", "not-contains", "webhook")


@pytest.mark.parametrize("kind", JUDGED + CHECKS)
def test_what_a_model_grades_is_judged(kind: str) -> None:
    judged = kind in JUDGED
    # A second jury beside it, so that a check has a verdict to stand at.
    bodies = verdicts(graded(kind, "x", 1, True), rubric(1, True, "something else"))
    assert len(bodies) == 1 + judged
    assert all(len(body.get("checks", [])) == (not judged) for body in bodies)


def test_same_type_and_value_are_one_jury() -> None:
    bodies = verdicts(
        rubric(1, True),
        graded("g-eval", ["short", "clear"], 0.4, False),
        rubric(0, False, "is brief"),
        rubric(0.5, True),
    )
    told = [(body["id"], body["rubric"], len(body["jurors"])) for body in bodies]
    assert told == [
        ("greets/llm-rubric 1", "is kind", 2),
        ("greets/g-eval", "short\nclear", 1),
        ("greets/llm-rubric 2", "is brief", 1),
    ]


def test_a_rubric_is_filled_in_negated_or_stands_beside_a_reference() -> None:
    filled = {"renderedAssertionValue": "is about tea"}
    body = one(rubric(1, True, "is about {{what}}", metadata=filled))
    assert body["rubric"] == "is about tea"
    assert one(rubric(1, True, {"must": ["be kind"]}))["rubric"].startswith('{\n  "must"')
    body = one(graded("factuality", "The sky is blue", 1, True))
    assert (body["rubric"], body["reference"]) == ("factuality", "The sky is blue")
    assert one(graded("context-relevance", None, 1, True))["rubric"] == "context-relevance"
    body = one(graded("not-llm-rubric", "is rude", 0.9, True, threshold=0.6))
    assert (body["rubric"], "threshold" in body) == ("not: is rude", False)
    assert body["jurors"][0]["meta"] == {"threshold_before_not": 0.6}


@pytest.mark.parametrize(
    ("lines", "shared"),
    [((0.7, 0.7), 0.7), ((0.7, 0.6), None), ((0.7, None), None), ((7, 7), None)],
)
def test_a_shared_line_is_the_verdicts(lines: tuple[Any, Any], shared: float | None) -> None:
    stated = [{} if line is None else {"threshold": line} for line in lines]
    body = one(*(rubric(0.9, True, **more) for more in stated))
    assert body.get("threshold") == shared
    kept = [juror.get("meta", {}).get("threshold") for juror in body["jurors"]]
    assert kept == [None, None] if shared else list(lines)


def test_the_outcome_is_that_of_the_row_or_set_and_the_rows_bar_no_threshold() -> None:
    case = {"description": "t", "threshold": 0.4}
    body = one(rubric(0.9, True), rubric(0.1, False), testCase=case, success=True, score=0.5)
    assert "threshold" not in body
    assert body["meta"]["row"]["threshold"] == 0.4
    # The row's outcome is the jury's, though one of its jurors failed the output.
    assert (body["decision"], body["score"]) == ("pass", 0.5)
    grouped = assert_set(rubric(0.9, True), rubric(0.4, False), passed=True, score=0.65)
    body = one(grouped, graded("contains", "x", 0, False), success=False, score=0.1)
    assert (body["decision"], body["score"]) == ("pass", 0.65)


def test_children_of_a_set_are_counted_once_in_older_versions_too() -> None:
    children = (rubric(0.9, True), rubric(0.4, False), graded("contains", "x", 1, True))
    after = graded("icontains", "y", 0, False)
    grouped = assert_set(*children, passed=True, score=0.77, threshold=0.5, metric="tone")
    body = one(grouped, after, success=False)
    assert [juror["score"] for juror in body["jurors"]] == [0.9, 0.4]
    assert [check["name"] for check in body["checks"]] == ["icontains: y", "contains: x"]
    assert "threshold" not in body
    said = {"name": "tone", "pass": True, "score": 0.77, "threshold": 0.5}
    assert body["meta"]["assert_set"] == said
    # The set's bar is for the check in it as well, so it does not decide of the jury.
    assert "decision" not in body
    older = [rubric(0.9, True), rubric(0.4, False)]
    whole = {"pass": False, "score": 0.65, "reason": "", "componentResults": older}
    declared = {"type": "assert-set", "threshold": 0.8, "metric": "tone", "assert": []}
    body = one([whole, *older], testCase={"description": "t", "assert": [declared]})
    assert len(body["jurors"]) == 2
    said = {"name": "tone", "pass": False, "score": 0.65, "threshold": 0.8}
    assert body["meta"]["assert_set"] == said


def test_two_sets_with_one_rubric_are_two_verdicts() -> None:
    first = assert_set(rubric(0.9, True), passed=True, score=0.9)
    second = assert_set(rubric(0.9, True), rubric(0.1, False), passed=False, score=0.5)
    bodies = verdicts(first, second, rubric(0.3, False))
    assert sorted(len(body["jurors"]) for body in bodies) == [1, 1, 2]
    assert [body["rubric"] for body in bodies] == ["is kind"] * 3


def test_parts_of_a_scripts_result_are_no_checks_of_their_own() -> None:
    parts = [{"pass": True, "score": 1, "reason": "a"}, {"pass": False, "score": 0, "reason": "b"}]
    script = {**graded("javascript", "f()", 0.5, True), "componentResults": parts}
    copies = [{**part, "assertion": script["assertion"]} for part in parts]
    _, (body,) = opened(result(row(script, *copies, rubric(1, True))))
    assert [check["name"] for check in body["checks"]] == ["javascript"]


def test_a_broken_grader_is_a_failed_ballot_and_no_0() -> None:
    body = one(rubric(0.9, True), broken(), success=False, score=0.45)
    _, failed = body["jurors"]
    assert failed == {
        "id": "default grader#2",
        "status": "parse_fail",
        "error": {"message": "Could not extract JSON"},
    }
    # The row holds nothing else, and promptfoo states that it failed.
    assert body["decision"] == "fail"


def test_broken_graders_are_an_error_and_beside_others_leave_the_jury_open() -> None:
    check = graded("contains", "x", 1, True)
    assert "decision" not in one(rubric(0.9, True), broken(), check, success=False)
    assert one(rubric(0.1, False), broken(), check, success=False)["decision"] == "fail"
    assert one(rubric(0.9, True), rubric(0.8, True), check)["decision"] == "pass"
    assert one(broken(), broken(), success=False)["decision"] == "error"


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("API error: 500 Internal Server Error", "error"),
        ("API call error: Error: Request timed out after 300000 ms", "timeout"),
        ("No output", "empty"),
    ],
)
def test_a_provider_that_failed_is_known_by_its_words_too(reason: str, status: str) -> None:
    (juror,) = one(graded("factuality", "x", 0, False, reason=reason))["jurors"]
    assert (juror["status"], juror["error"]) == (status, {"message": reason})
    (juror,) = one(rubric(0.3, False, reason=reason))["jurors"]
    assert juror["score"] == 0.3


def test_an_answer_that_promptfoo_could_not_read_stands_as_it_counted_it() -> None:
    reason = "Model grader produced a malformed response:\nwell"
    report, (body,) = opened(
        result(row(graded("model-graded-closedqa", "x", 0, False, reason=reason)))
    )
    assert (body["jurors"][0]["score"], body["jurors"][0]["pass"]) == (0, False)
    assert report.notes[0] == (
        "an answer that promptfoo could not read is a fail, as it counted it (1x)"
    )


def test_a_persons_rating_is_a_label_and_no_ballot() -> None:
    human = {
        "pass": True,
        "score": 1,
        "reason": "Manual result (overrides all other grading results)",
        "assertion": {"type": "human"},
    }
    body = one(rubric(0.1, False), rubric(0.2, False), human, success=True, score=1)
    assert body["human"] == {"label": "pass", "note": human["reason"]}
    assert len(body["jurors"]) == 2
    # The person's rating has taken the place of the row's outcome; the graders both said no.
    assert body["decision"] == "fail"
    assert "score" not in body
    said = {**human, "comment": "fine by me", "pass": False}
    assert one(rubric(1, True), said)["human"] == {"label": "fail", "note": "fine by me"}


def test_a_rating_stands_at_each_verdict_of_its_row_with_who_and_when() -> None:
    when = "2026-01-31T12:00:00Z"
    told = {"author": "ann", "timestamp": when}
    human = {"pass": None, "score": 0, "reason": "", "assertion": {"type": "human"}, **told}
    assert one(rubric(1, True), human)["human"] == {"label": "unsure", "by": "ann", "at": when}
    human = {"pass": True, "score": 1, "reason": "ok", "assertion": {"type": "human"}}
    bodies = verdicts(rubric(1, True), rubric(1, True, "b"), human)
    assert [body["human"]["label"] for body in bodies] == ["pass", "pass"]
    alone = one(human)
    assert (alone["jurors"], alone["human"]["label"]) == ([], "pass")


def test_a_row_whose_provider_failed_is_an_error_without_ballots() -> None:
    failed = row(failureReason=2, error="API error: 503", success=False, score=0)
    failed |= {"gradingResult": None, "response": {"error": "API error: 503"}}
    (body,) = opened(result(failed))[1]
    assert (body["decision"], body["jurors"], "output" in body) == ("error", [], False)
    assert body["meta"]["row"]["error"] == "API error: 503"


def test_a_row_without_judges_is_left_out_and_counted_as_is_a_weight_of_0() -> None:
    checked = row(graded("contains", "x", 0, False), success=False, error="no x", failureReason=1)
    report, bodies = opened(result(checked, row(rubric(1, True))))
    assert len(bodies) == 1
    assert report.notes[0] == "a row without judged assertions is left out (1x)"
    with pytest.raises(ReportError, match="no model graded anything: it has no jury"):
        opened(result(checked))
    report, (body,) = opened(result(row(rubric(0.2, True, weight=0))))
    assert "weight" not in body["jurors"][0]
    assert report.notes[0] == "a weight that is not above 0 is left out (1x)"


def test_scores_beyond_1_wait_for_a_scale() -> None:
    document = result(row(rubric(8, True, threshold=5), rubric(2, False, threshold=5)))
    report, (body,) = opened(document)
    assert [(each.get("score"), each["raw_score"]) for each in body["jurors"]] == [
        (None, 8),
        (None, 2),
    ]
    told = "a score outside 0..1, or on one scale with such scores, is kept as raw_score and casts"
    how = "no vote; say what it means with --scale LOW..HIGH (2x, from 2 to 8)"
    assert f"{told} {how}" in report.notes
    (body,) = opened(document, scale=(0, 10))[1]
    assert [each["score"] for each in body["jurors"]] == [0.8, 0.2]
    assert body["jurors"][0]["scale"] == [0, 10]
    # 5 lies in the middle of 0..10.
    assert body["threshold"] == 0.5


def test_a_1_beside_scores_beyond_1_is_no_full_mark() -> None:
    document = result(
        row(rubric(8, True, threshold=1)), row(rubric(1, True, threshold=1), testIdx=1)
    )
    bodies = opened(document)[1]
    assert [body["jurors"][0].get("score") for body in bodies] == [None, None]
    assert [body["jurors"][0]["raw_score"] for body in bodies] == [8, 1]
    # The pass line is on the same scale, and so is the score of the whole row.
    assert not {"threshold", "score"} & (bodies[0].keys() | bodies[1].keys())


@pytest.mark.parametrize(
    ("output", "text"),
    [("a", "a"), ({"k": 1}, '{\n  "k": 1\n}'), (["a"], '[\n  "a"\n]'), (None, None), (0, "0")],
)
def test_outputs_of_any_shape(output: Any, text: str | None) -> None:
    assert one(rubric(1, True), response={"output": output}).get("output") == text


def test_a_component_without_its_assertion_has_that_of_the_test() -> None:
    bare = {"pass": False, "score": 0, "reason": "x", "metadata": {"graderError": True}}
    declared = [{"type": "select-best", "value": "b"}, {"type": "llm-rubric", "value": "is kind"}]
    body = one(bare, testCase={"description": "t", "assert": declared})
    assert (body["rubric"], body["decision"]) == ("is kind", "error")
    assert one(bare, rubric(1, True))["checks"] == [
        {"name": "check 1", "pass": False, "reason": "x"}
    ]


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
        f"greets/prompt 1/{first}/epoch 1", f"greets/prompt 2/{first}/epoch 1",
        "greets/prompt 1/other/epoch 1", f"greets/prompt 1/{first}/epoch 2",
    ]  # fmt: skip
    assert [body["case"]["epoch"] for body in bodies] == [1, 1, 1, 2]


def test_tests_are_numbered_without_a_description_and_counted_by_one_name() -> None:
    rows = [row(rubric(1, True), testIdx=at, testCase={"vars": {"q": at // 2}}) for at in range(4)]
    bodies = opened(result(*rows))[1]
    # Two tests, each run twice: promptfoo numbers the four runs.
    assert [body["id"] for body in bodies] == [
        "test 1/epoch 1", "test 1/epoch 2", "test 3/epoch 1", "test 3/epoch 2",
    ]  # fmt: skip
    rows = [row(rubric(1, True), testCase={"description": "t", "vars": {"q": at}}) for at in (1, 2)]
    assert [body["id"] for body in opened(result(*rows))[1]] == ["t", "t#2"]
    body = one(rubric(1, True, metric="tone"), rubric(0, False, metric="tone"))
    assert [juror["id"] for juror in body["jurors"]] == ["tone", "tone#2"]
    asked = ["openai:gpt-4o", {"id": "anthropic:claude-x", "config": {}}]
    body = one(*(rubric(1, True, metric="tone", provider=provider) for provider in asked))
    assert [juror["id"] for juror in body["jurors"]] == ["openai:gpt-4o", "anthropic:claude-x"]


def test_the_tests_own_grader_or_whom_a_person_names_is_the_juror() -> None:
    case = {"description": "t", "options": {"provider": {"id": "openai:chat:gpt-4o-mini"}}}
    (juror,) = one(rubric(1, True), testCase=case)["jurors"]
    assert (juror["id"], juror["model"]) == ("openai:chat:gpt-4o-mini", "gpt-4o-mini")
    case["options"] = {"provider": {"text": "openai:gpt-4.1", "embedding": "openai:embedding:x"}}
    assert one(rubric(1, True), testCase=case)["jurors"][0]["model"] == "gpt-4.1"
    panel = (rubric(1, True, metric="a", provider="openai:gpt-4o"), rubric(1, True, metric="b"))
    (body,) = opened(result(row(*panel)), models={"a": "claude-x", "b": "gpt-5"})[1]
    models = [(juror["model"], juror.get("vendor")) for juror in body["jurors"]]
    assert models == [("claude-x", None), ("gpt-5", None)]


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
def test_provider_is_a_model_only_where_it_says_so(provider: Any, model: Any, vendor: Any) -> None:
    (juror,) = one(rubric(1, True, provider=provider))["jurors"]
    assert (juror.get("model"), juror.get("vendor")) == (model, vendor)
    assert "abc" not in juror["id"]
    assert "u:p" not in juror["id"]
