from typing import Any

import pytest

from reviewdesk.reports.deepeval import metric_name
from tests.reports.foreignkit import only, opened, refusal


def metric(name: str = "Tone", score: Any = 0.7, **more: Any) -> dict[str, Any]:
    stated = {"name": name, "score": score, "threshold": 0.5, "success": True}
    return {**stated, "evaluationModel": "gpt-4o", **more}


def case(*metrics: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "one", "input": "q", "actualOutput": "a", "metricsData": list(metrics), **more}


def run(*cases: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"testCases": list(cases), "metricsScores": [], **more}


FAILED: dict[str, Any] = {"score": None, "success": False, "error": "InternalServerError: 500"}


@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [
        ("Follows (judge-a) [GEval]", "judge-a", ("Follows", "judge-a")),
        ("Follows (judge-a) [GEval]", None, ("Follows", "judge-a")),
        ("Follows (strict reading) [GEval]", "gpt-4o", ("Follows", "strict reading")),
        ("Follows [Conversational GEval]", "gpt-4o", ("Follows", "gpt-4o")),
        ("Follows [GEval]", None, ("Follows", "Follows")),
        ("Follows - gpt-4o", "gpt-4o", ("Follows", "gpt-4o")),
        ("Follows_GPT-4o [DAG]", "gpt-4o", ("Follows", "gpt-4o")),
        ("Follows: gpt-4o", "gpt-4o", ("Follows", "gpt-4o")),
        # the model's name as the end of a longer word is no juror
        ("Megpt-4o", "gpt-4o", ("Megpt-4o", "gpt-4o")),
        ("gpt-4o", "gpt-4o", ("gpt-4o", "gpt-4o")),
        ("(only) [GEval]", None, ("(only)", "(only)")),
        ("Faithfulness (ragas)", "gpt-4o", ("Faithfulness (ragas)", "gpt-4o")),
        ("[GEval]", "m", ("[GEval]", "m")),
        ("Follows ()", "m", ("Follows ()", "m")),
    ],
)
def test_what_a_name_tells(name: str, model: str | None, expected: tuple[str, str]) -> None:
    assert metric_name(name, model) == expected


WHOLE = run(
    case(
        metric(
            "Tone (a) [GEval]", 0.25, success=False, reason="dull", evaluationCost=0.5,
            inputTokenCount=12, outputTokenCount=3, strictMode=False, verboseLogs="SENTINEL",
            flaky=False,
        ),
        metric("Tone (b) [GEval]", evaluationModel="b", **FAILED),
        success=False, expectedOutput="e", tags=["t", 1], order=0, runDuration=0.2,
        comments="mind this",
    ),
    hyperparameters={"model": "claude-4", "key": "sk-SENTINEL"},
    identifier="nightly",
    testPassed=0,
)  # fmt: skip


WHOLE_BODY: dict[str, Any] = {
    "id": "one", "case": {"test": "one", "tags": ["t"]}, "input": "q", "output": "a",
    "reference": "e", "rubric": "Tone", "threshold": 0.5, "decision": "fail",
    "jurors": [
        {
            "id": "a", "model": "gpt-4o", "score": 0.25, "pass": False, "reason": "dull",
            "cost_usd": 0.5, "tokens_in": 12, "tokens_out": 3,
        },
        {
            "id": "b", "model": "b", "status": "error",
            "error": {"message": "InternalServerError: 500"},
        },
    ],
    "provenance": {"pointer": "/testCases/0"},
}  # fmt: skip


def test_a_whole_test_run() -> None:
    report, (body,) = opened(WHOLE)
    assert report.format == "deepeval"
    assert report.header == {
        "schema": "reviewdesk.report/1", "producer": {"name": "deepeval", "format": "deepeval"},
        "title": "nightly", "generator": {"model": "claude-4"},
    }  # fmt: skip
    assert body == WHOLE_BODY
    assert report.notes == []


def snake(node: Any) -> Any:
    """The same with the keys of ``model_dump``."""
    if isinstance(node, list):
        return [snake(one) for one in node]
    if not isinstance(node, dict):
        return node
    own = {"inputTokenCount": "input_tokens", "outputTokenCount": "output_tokens"}
    return {
        own.get(key) or "".join(f"_{c.lower()}" if c.isupper() else c for c in key): snake(value)
        for key, value in node.items()
    }


def test_dumps_say_the_same() -> None:
    plain = only(WHOLE)
    (one,) = snake(WHOLE)["test_cases"]
    result = {"test_results": [one], "confident_link": None, "test_run_id": "r7"}
    report, (dumped,) = opened(result)
    assert report.header["producer"]["run_id"] == "r7"
    listed = opened([{**one, "conversational": False}])[1][0]
    (first, second) = opened([one, one], lines=True)[1]
    wrapped = only({"testRunData": WHOLE})
    places = [body.pop("provenance")["pointer"] for body in (dumped, listed, first, wrapped, plain)]
    assert places == [
        "/test_results/0",
        "/0",
        "line 1#/",
        "/testRunData/testCases/0",
        "/testCases/0",
    ]
    assert plain == dumped == listed == first == wrapped
    assert second["id"] == "one#2"


def test_each_base_name_is_a_verdict_of_its_own() -> None:
    metrics = (metric("Tone (a)"), metric(" Truth [GEval]"), metric("Tone (b)"), metric("Tone (a)"))
    _, bodies = opened(run(case(*metrics), case(metric(), name=None), case(metric())))
    assert [body["id"] for body in bodies] == ["one/Tone", "one/Truth", "test case 2", "one"]
    assert [one["id"] for one in bodies[0]["jurors"]] == ["a", "b", "a#2"]
    assert [body["rubric"] for body in bodies] == ["Tone", "Truth", "Tone", "Tone"]


@pytest.mark.parametrize(
    ("metrics", "success", "decisions"),
    [
        # one jury: what the test case says stands, whatever its metrics say
        ([metric()], False, ["fail"]),
        ([metric(), metric(success=False)], True, ["pass"]),
        # else every metric must have passed
        ([metric(), metric(success=False)], None, ["fail"]),
        ([metric(), metric()], None, ["pass"]),
        ([metric(), metric("B", success=False)], False, ["pass", "fail"]),
        ([metric("B"), metric("B", **FAILED), metric()], False, ["fail", "pass"]),
        # an errored jury is no failing one
        ([metric(**FAILED), metric(**FAILED)], False, ["error"]),
        # flaky metrics decide nothing, and one without a threshold has no success
        ([metric(success=False, flaky=True), metric()], None, ["pass"]),
        ([metric(success=False, flaky=True)], None, [None]),
        ([metric(success=None)], None, [None]),
    ],
)
def test_decisions(metrics: list[Any], success: bool | None, decisions: list[str | None]) -> None:
    _, bodies = opened(run(case(*metrics, success=success)))
    assert [body.get("decision") for body in bodies] == decisions


def test_an_errored_metric_has_no_score_and_a_threshold_is_one_that_all_share() -> None:
    report, (body,) = opened(run(case(metric(score=0.0, success=False, error="Timed out"))))
    found = body["jurors"][0]
    assert not {"score", "pass"} & found.keys()
    assert (found["status"], found["raw_score"]) == ("timeout", 0.0)
    assert "kept as raw_score" in report.notes[0]
    report, (body,) = opened(run(case(metric(), metric(threshold=0.7))))
    assert "threshold" not in body
    assert report.notes == [
        "metrics of one jury with different thresholds: the verdict has none (1x)"
    ]


def test_scores_on_another_scale_and_a_1_beside_them_that_is_no_full_mark() -> None:
    document = run(case(metric(score=4, threshold=3)))
    report, (body,) = opened(document)
    assert (body["jurors"][0]["raw_score"], "score" in body["jurors"][0]) == (4, False)
    assert "threshold" not in body
    assert len(report.notes) == 2
    body = only(document, scale=(1.0, 5.0))
    # On 1..5 a 4 is three steps of four, and the line of 3 is two.
    assert (body["jurors"][0]["score"], body["threshold"]) == (0.75, 0.5)
    assert (body["jurors"][0]["raw_score"], body["jurors"][0]["scale"]) == (4, [1, 5])
    worst = case(metric(score=1, threshold=1), metric("Other", score=1))
    _, bodies = opened(run(worst, case(metric(score=4))))
    tone, other, _ = (body["jurors"][0] for body in bodies)
    # The first case is met before the 4 that tells of the scale.
    assert (tone.get("score"), tone["raw_score"]) == (None, 1)
    assert "threshold" not in bodies[0]
    assert other["score"] == 1


def test_a_conversation_is_read_as_text() -> None:
    turns = [
        {"role": "user", "content": "hello?"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "and now?"},
        {"role": "assistant", "content": "bye"},
        {"role": "user", "content": "oh"},
        "no turn",
    ]
    said = {"turns": turns, "scenario": "a greeting", "expectedOutcome": "said goodbye"}
    conversation = {"name": "talk", "metricsData": [metric()], **said}
    document = {"testCases": [], "conversationalTestCases": [conversation], "metricsScores": []}
    body = only(document)
    assert body["input"] == (
        "scenario: a greeting\n\nuser: hello?\n\nassistant: yes\n\nuser: and now?"
    )
    assert body["output"] == "bye\n\nuser: oh"
    assert body["reference"] == "said goodbye"
    conversation["turns"] = turns[:1]
    body = only(document)
    assert (body["input"], "output" in body) == ("scenario: a greeting\n\nhello?", False)


def test_contexts_stand_beside_the_expected_answer() -> None:
    body = only(run(case(metric(), expectedOutput="e", context=["c"], retrievalContext=["r", 1])))
    assert body["reference"] == ["e", "context: c", "retrieved: r", "retrieved: 1"]
    assert only(run(case(metric(), context=["c"])))["reference"] == "context: c"


def test_a_model_that_the_file_leaves_open_is_named_by_a_person() -> None:
    document = run(case(metric("Tone (a)", evaluationModel=None)))
    assert "model" not in only(document)["jurors"][0]
    assert only(document, models={"a": "gpt-5"})["jurors"][0]["model"] == "gpt-5"


def test_judged_spans_are_verdicts_and_their_trace_repeats_the_case() -> None:
    inner = {"name": "inner", "input": "sub", "output": "in", "model": "gpt-4o"}
    spans = [{"name": "quiet", "input": "x"}, inner | {"metricsData": [metric(), metric()]}]
    trace = {"llmSpans": spans, "agentSpans": None, "toolSpans": [3], "metricsData": [metric()]}
    _, bodies = opened(run(case(metric(), trace=trace, success=False)))
    assert [body["id"] for body in bodies] == ["one", "one/inner"]
    assert [len(body["jurors"]) for body in bodies] == [1, 2]
    assert bodies[1]["input"] == "sub"
    assert bodies[1]["output"] == "in"
    assert bodies[1]["generator"] == {"model": "gpt-4o"}
    # the test case failed, and yet every metric of the span passed
    assert [body["decision"] for body in bodies] == ["fail", "pass"]
    assert bodies[1]["provenance"]["pointer"] == "/testCases/0/trace/llmSpans/1"


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ({"metricsData": {}}, "$.testCases[1].metricsData: must be a list of metrics"),
        ({"metricsData": [1]}, "$.testCases[1].metricsData[0]: must be an object"),
        ({"metricsData": [{}]}, "$.testCases[1].metricsData[0].name: must be a text"),
    ],
)
def test_what_is_no_test_case_is_named(broken: Any, text: str) -> None:
    document = run(case(metric()), case(**broken))
    assert text in refusal(document)
    assert opened(document, skip_bad=True)[0].skipped == 1


def test_without_a_metric_there_is_nothing_to_review() -> None:
    assert "has no test case with a metric" in refusal(run(case()))
    report, bodies = opened(run(case(), case(metric())))
    assert len(bodies) == 1
    assert report.notes == ["a test case without a metric is left out (1x)"]


def test_tests_with_juries_are_not_taken_for_deepeval() -> None:
    panel = [{"name": "a", "score": 1}]
    report, _ = opened({"testCases": [{"name": "t", "jury": {"jurors": panel}}]})
    assert report.format == "mcptest"
