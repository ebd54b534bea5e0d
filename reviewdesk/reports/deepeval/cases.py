"""Find the test cases of deepeval files, and read the item that each one judges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mapping.records import Record

CASES = ("testCases", "conversationalTestCases", "test_cases", "test_results", "testResults")
"""Keys of the lists that hold test cases."""

WRAPPED = "testRunData"
"""The key of the last test run in a file that wraps one."""

_ANSWERS = ("expectedOutput", "expected_output", "retrievalContext", "retrieval_context")
_MAPPED = frozenset(
    {"name", "success", "tags", "input", "context", "turns", "scenario"}
    | {"metricsData", "metrics_data", "actualOutput", "actual_output", "order", "index"}
    | {*_ANSWERS, "expectedOutcome", "expected_outcome", "model"}
    | {"conversational", "multimodal", "flaky", "runDuration"}
)


def key(record: dict[str, Any], snake: str) -> Any:
    """Return the field that deepeval names in camelCase or snake_case, depending on version."""
    first, *others = snake.split("_")
    camel = first + "".join(part.title() for part in others)
    return values.first(record, (camel, snake))


def cases(record: Record) -> Iterator[Record]:
    """Yield the test cases of a record, each followed by the spans of its trace with metrics.

    The record is a whole run or a single test case.
    """
    value = record.value
    if isinstance(value, dict):
        if isinstance(run := value.get(WRAPPED), dict):
            yield from cases(record.inner(run, WRAPPED))
            return
        lists = [name for name in CASES if isinstance(value.get(name), list)]
        for name in lists:
            for index, case in enumerate(value[name]):
                yield from _with_spans(record.inner(case, name, index))
        if lists:
            return
    yield from _with_spans(record)


def _with_spans(case: Record) -> Iterator[Record]:
    """Yield a test case, and each span of its trace that has metrics.

    The metrics of the trace itself are left out, because they repeat those of the test case.
    """
    yield case
    trace = case.value.get("trace") if isinstance(case.value, dict) else None
    if not isinstance(trace, dict):
        return
    for name in (name for name in trace if name.endswith(("Spans", "_spans"))):
        for index, span in enumerate(values.listed(trace[name])):
            if isinstance(span, dict) and key(span, "metrics_data"):
                yield case.inner(_span(case.value, span), "trace", name, index)


def _span(case: dict[str, Any], span: dict[str, Any]) -> dict[str, Any]:
    names = [foreign.label(one.get("name")) for one in (case, span)]
    kept = ("input", "metricsData", "metrics_data", "context", "model", *_ANSWERS)
    return {
        **{name: span[name] for name in kept if name in span},
        "name": "/".join(name[:200] for name in names if name) or None,
        "actual_output": span.get("output"),
    }


def texts(case: dict[str, Any], remarks: Remarks) -> dict[str, Any]:
    """Return the input, output, generator and reference of a test case or a conversation."""
    remarks.unmapped(foreign.beyond(case, _MAPPED))
    expected = values.text(
        values.first(case, ("expectedOutput", "expected_output"))
    ) or values.text(values.first(case, ("expectedOutcome", "expected_outcome")))
    about = [("context", case.get("context")), ("retrieved", key(case, "retrieval_context"))]
    beside = [
        f"{name}: {text}"
        for name, listed in about
        for one in values.listed(listed)
        if (text := values.text(one)) is not None
    ]
    reference = [*([expected] if expected else []), *beside]
    model = foreign.text(case.get("model"))
    item = {
        "generator": {"model": model} if model else None,
        "input": values.text(case.get("input")),
        "output": values.text(key(case, "actual_output")),
        "reference": reference[0] if len(reference) == 1 else reference or None,
    }
    return item | _conversation(case) if case.get("turns") else item


def _conversation(case: dict[str, Any]) -> dict[str, Any]:
    """Return a conversation's last answer as the output, and all turns before it as the input.

    Turns after the last answer are appended to the output.
    """
    turns = [turn for turn in values.listed(case.get("turns")) if isinstance(turn, dict)]
    answers = [at for at, turn in enumerate(turns) if turn.get("role") == "assistant"]
    last = answers[-1] if answers else len(turns)
    scenario = foreign.text(case.get("scenario"))
    before = foreign.dialogue(turns[:last])
    after = foreign.dialogue(turns[last + 1 :])
    answer = values.text(turns[last].get("content")) if answers else None
    opening = [f"scenario: {scenario}"] if scenario else []
    return {
        "input": "\n".join([*opening, *before]) or None,
        "output": "\n".join([answer, *after]) if answer is not None else None,
    }


_KIND = re.compile(r"\s*\[[^\[\]]{1,40}\]\s*\Z")
_ROUND_BRACKETS = re.compile(r"\s*\(([^()]*)\)\s*\Z")
_JOINERS = " \t-–—:/|@#_,"
_NO_JURORS = frozenset({"ragas"})
"""Words in round brackets after a metric's name that deepeval writes, and that name no juror."""


def metric_name(name: str, model: str | None) -> tuple[str, str]:
    """Return the base name and the juror of a name such as ``Correctness (judge-a) [GEval]``.

    The kind of metric in square brackets is dropped. The juror follows the base name in round
    brackets, or is the evaluation model at the end of the name. With neither, the juror is the
    evaluation model or, if that is unknown, the metric's name.
    """
    bare = _KIND.sub("", name).strip() or name
    aside = _ROUND_BRACKETS.search(bare)
    if aside and aside.start() and aside[1].strip() and aside[1].lower() not in _NO_JURORS:
        return bare[: aside.start()].strip(), aside[1].strip()
    if model is None:
        return bare, bare
    if bare.casefold().endswith(model.casefold()):
        base = bare[: len(bare) - len(model)]
        if base.rstrip(_JOINERS) not in ("", base):
            return base.rstrip(_JOINERS), model
    return bare, model
