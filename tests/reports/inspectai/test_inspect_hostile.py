"""Inspect logs with wrong types, too long values and secrets: one line, or a verdict."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import ReadOptions, Source, read
from tests.helpers import verdict_problem
from tests.reports.inspectkit import call, grading, log, one, opened, panel, sample, score, scoring

QA = "model_graded_qa"
JUNK: tuple[Any, ...] = (
    *(None, True, -3, 0.5, 1e300, "", "x", "\x1b[2J" * 80, [], {}, [[]], [None], {"a": [{}]}),
    *({"value": {}}, {"model": [1]}, ["attachment://x"], float("nan")),
)


def _edited() -> Any:
    source = {"author": "ann", "timestamp": "2026-01-02T03:04:05Z", "reason": "r"}
    history = [{"value": "I", "metadata": {}}, {"value": "C", "provenance": source}]
    return score("C", history=history)


def _document() -> Any:
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


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a document with every key of it."""
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from _places(child)


def _outcome(data: bytes, *, skip_bad: bool = False) -> str | None:
    try:
        report = read(Source.from_bytes("log", data), ReadOptions(skip_bad=skip_bad))
        for body in report.verdicts():
            assert verdict_problem(body) is None
    except ReportError as error:
        return str(error)
    return None


def test_the_document_itself_is_sound() -> None:
    assert _outcome(json.dumps(_document()).encode()) is None


@pytest.mark.slow
@pytest.mark.parametrize("at", range(len(JUNK)))
def test_wrong_types_anywhere_never_escape_as_anything_else(at: int) -> None:
    count = sum(1 for _ in _places(_document()))
    chance = random.Random(at)  # noqa: S311 - a fixed sequence, not a secret
    for place in chance.sample(range(count), 60):
        document = _document()
        container, key = list(_places(document))[place]
        container[key] = copy.deepcopy(JUNK[at])
        refused = _outcome(json.dumps(document).encode())
        assert refused is None or refused.isprintable()


@pytest.mark.slow
def test_every_key_of_a_sample_may_be_missing() -> None:
    for place in range(sum(1 for _ in _places(_document()))):
        document = _document()
        container, key = list(_places(document))[place]
        del container[key]
        refused = _outcome(json.dumps(document).encode())
        # a log without its run is none, and one without samples has nothing to say
        assert refused is None or key in {"eval", "samples", "task"}


def test_bytes_that_changed_never_escape_as_anything_else() -> None:
    data = json.dumps(_document()).encode()
    chance = random.Random(3)  # noqa: S311 - a fixed sequence, not a secret
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        refused = _outcome(bytes(broken), skip_bad=bool(chance.randrange(2)))
        assert refused is None or refused.isprintable()


@pytest.mark.slow
def test_a_cut_log_is_refused_in_one_line() -> None:
    data = json.dumps(_document()).encode()
    for end in range(1, len(data), 11):
        refused = _outcome(data[:end])
        assert refused is not None
        assert refused.isprintable()


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
