"""Inspect logs with wrong types, too long values and secrets: one line, or a verdict."""

import json
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from tests.reports.inspectkit import call, grading, log, one, opened, panel, sample, score, scoring

QA = "model_graded_qa"


def _edited() -> Any:
    source = {"author": "ann", "timestamp": "2026-01-02T03:04:05Z", "reason": "r"}
    history = [{"value": "I", "metadata": {}}, {"value": "C", "provenance": source}]
    return score("C", history=history)


def document() -> Any:
    """A small log in which everything occurs that is read."""
    asked = call("v/a", "yes", role="grader", error=None, working_time=0.1)
    asked["output"] |= {"usage": {"input_tokens": 1, "output_tokens": 2}, "time": 0.1}
    asked["output"]["choices"] = [{"message": {"content": "yes"}}]
    events = [*scoring(QA, asked, call("v/b", "no")), *scoring("own"), {"event": "error"}]
    scores = {QA: panel("C", "C", "[x]"), "own": _edited(), "dict": {"value": {"a": 1, "b": "C"}}}
    whole = sample(
        "a",
        scores,
        events=events,
        input=[{"role": "user", "content": [{"type": "text", "text": "attachment://h"}]}],
        attachments={"h": "asked"},
        choices=["one"],
        metadata={"m": 1},
    )
    failed = sample("b", error={"message": "m", "traceback": "t"}, invalidation={"author": "x"})
    roles = {"model_roles": {"grader": [{"model": "v/a"}]}, "config": {"epochs": 1}}
    scorers = [grading("v/a", "v/b"), {"name": "own", "options": {"model_role": "grader"}}]
    results = {"scores": [{"name": QA, "scorer": QA, "params": {}}]}
    return log(whole, failed, scorers=scorers, spec=roles, results=results)


@pytest.mark.slow
def test_a_transcript_may_be_longer_than_what_is_held() -> None:
    # a list, an object and a text, each of over 8 MiB, around what is read
    talk = [{"role": "assistant", "content": "words " * 1000}] * 1500
    noise = [{"event": "tool", "result": "x" * 10_000}] * 450
    events = [*noise, *scoring(QA, call("v/a", "attachment://r")), *noise]
    body = one(
        log(
            sample(
                "a",
                {QA: "C"},
                events=events,
                attachments={"image": "A" * (9 << 20), "r": 'why "not"\\'},
                store={"deep": {"er": talk}},
            ),
            scorers=[grading("v/a")],
        )
    )
    assert body["jurors"][0]["model"] == "v/a"


@pytest.mark.slow
def test_an_input_too_long_to_be_held_is_left_out_and_counted() -> None:
    report = opened(log(sample("a", {"x": "C"}, input='\\ü"' * (1 << 20))))
    (body,) = report.verdicts()
    assert "input" not in body
    assert report.notes == ["an input or output too long to be held is left out (1x)"]


@pytest.mark.slow
def test_a_value_too_long_and_too_deep_is_an_error() -> None:
    deep: Any = "x" * (9 << 20)
    for _ in range(20):
        deep = [deep]
    with pytest.raises(ReportError, match=r"\$\.samples\[0\]: is over 8 MiB long"):
        opened(log(sample("a", {"x": "C"}, metadata=deep)))


def test_twice_the_same_key_is_an_error() -> None:
    text = json.dumps(log(sample("a", {"x": "C"})))
    for doubled in (
        text.replace('"epoch": 1', '"epoch": 1, "epoch": 2'),
        text.replace('"version": 2', '"version": 2, "version": 2'),
    ):
        with pytest.raises(ReportError, match="twice"):
            opened(doubled.encode())
