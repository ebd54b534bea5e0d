"""The test cases of deepeval files: where they stand, and what they say about the item judged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.records import Record
from reviewdesk.reports.mapping.remarks import Remarks

CASES = ("testCases", "conversationalTestCases", "test_cases", "test_results", "testResults")
"""The lists of a file that hold test cases."""

WRAPPED = "testRunData"
"""The key of a file that holds the test run that was made last."""

_ANSWERS = ("expectedOutput", "expected_output", "retrievalContext", "retrieval_context")
_MAPPED = frozenset(
    {"name", "success", "tags", "input", "context", "turns", "scenario"}
    | {"metricsData", "metrics_data", "actualOutput", "actual_output", "order", "index"}
    | {*_ANSWERS, "expectedOutcome", "expected_outcome", "model"}
    | {"conversational", "multimodal", "flaky", "runDuration"}
)


def key(record: dict[str, Any], snake: str) -> Any:
    """A value whose key is in camel or in snake case."""
    first, *others = snake.split("_")
    camel = first + "".join(part.title() for part in others)
    return values.first(record, (camel, snake))


def cases(record: Record) -> Iterator[Record]:
    """The test cases of a record, each before the judged spans of its trace.

    They are those of a whole run, or the record itself.
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
    """A test case, and the spans that metrics of their own were held to.

    The metrics of the trace as a whole repeat those of the test case.
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
    """A span as a test case of its own."""
    names = [foreign.label(one.get("name")) for one in (case, span)]
    kept = ("input", "metricsData", "metrics_data", "context", "model", *_ANSWERS)
    return {
        **{name: span[name] for name in kept if name in span},
        "name": "/".join(name[:200] for name in names if name) or None,
        "actual_output": span.get("output"),
    }


def texts(case: dict[str, Any], remarks: Remarks) -> dict[str, Any]:
    """Input, output, who wrote it and reference of a test case, or of a conversation."""
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
    told = {
        "generator": {"model": model} if model else None,
        "input": values.text(case.get("input")),
        "output": values.text(key(case, "actual_output")),
        "reference": reference[0] if len(reference) == 1 else reference or None,
    }
    return told | _conversation(case) if case.get("turns") else told


def _conversation(case: dict[str, Any]) -> dict[str, Any]:
    """The last answer as the output, and all that came before it as the input."""
    turns = [turn for turn in values.listed(case.get("turns")) if isinstance(turn, dict)]
    answers = [at for at, turn in enumerate(turns) if turn.get("role") == "assistant"]
    last = answers[-1] if answers else len(turns)
    scenario = foreign.text(case.get("scenario"))
    before = foreign.dialogue(turns[:last])
    after = foreign.dialogue(turns[last + 1 :])
    answer = values.text(turns[last].get("content")) if answers else None
    said = [f"scenario: {scenario}"] if scenario else []
    return {
        "input": "\n".join([*said, *before]) or None,
        "output": "\n".join([answer, *after]) if answer is not None else None,
    }


_KIND = re.compile(r"\s*\[[^\[\]]{1,40}\]\s*\Z")
_ASIDE = re.compile(r"\s*\(([^()]*)\)\s*\Z")
_JOINTS = " \t-–—:/|@#_,"
_NO_JURORS = frozenset({"ragas"})
"""What deepeval itself writes behind a metric's name, in brackets, without meaning a juror."""


def metric_name(name: str, model: str | None) -> tuple[str, str]:
    """The base name and the juror of ``Correctness (judge-a) [GEval]``.

    The kind of metric in square brackets is dropped. A juror stands behind the base name in round
    brackets, or is the evaluation model written there in any way; without either the model is it.
    """
    bare = _KIND.sub("", name).strip() or name
    aside = _ASIDE.search(bare)
    if aside and aside.start() and aside[1].strip() and aside[1].lower() not in _NO_JURORS:
        return bare[: aside.start()].strip(), aside[1].strip()
    if model is None:
        return bare, bare
    if bare.casefold().endswith(model.casefold()):
        base = bare[: len(bare) - len(model)]
        if base.rstrip(_JOINTS) not in ("", base):
            return base.rstrip(_JOINTS), model
    return bare, model
