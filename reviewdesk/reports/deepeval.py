"""Open deepeval files: saved test runs, and dumps of what ``evaluate`` returns.

Metrics of one test case with the same base name form one jury, and each metric is a ballot. Keys
are in camelCase or snake_case. ``verboseLogs`` may belong to an earlier attempt and is not read.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import chain, count
from typing import Any, BinaryIO

from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import ImportTally, failing
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.conversation import conversation
from reviewdesk.reports.mapping.secrets import named_secrets
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Dialect, FirstLook, Record, Report, ReportVerdict, records
from reviewdesk.reports.tables.ballot import PanelReader, TableSurvey
from reviewdesk.reports.wording import FieldError, JsonObject, must_be

_CASES = ("testCases", "conversationalTestCases", "test_cases", "test_results", "testResults")
"""Keys of the lists that hold test cases."""

_WRAPPED = "testRunData"
"""The key of the last test run in a file that wraps one."""

_METRICS = frozenset({"metricsData", "metrics_data"})
_RULE: JsonObject = {
    "each": "metric", "judge": "juror", "dimension": "base", "score": "score", "pass": "success",
    "reason": "reason", "error": "error", "model": "evaluation_model",
    "cost_usd": "evaluation_cost", "tokens_in": "input_token_count|input_tokens",
    "tokens_out": "output_token_count|output_tokens",
    "known": ["name", "threshold", "flaky", "strict_mode", "verbose_logs"],
}  # fmt: skip
"""The keys of a metric that hold its ballot; ``juror`` and ``base`` come from its name."""


@lru_cache(maxsize=1024)
def _snake(key: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key)


def _plain(record: JsonObject) -> JsonObject:
    """Return a record with its keys in snake case, which some versions write."""
    return {_snake(key): value for key, value in record.items() if value is not None}


def _cases(record: Record) -> Iterator[Record]:
    """Yield the test cases of a run or a single one, and the spans of its trace with metrics."""
    value = record.value
    if isinstance(value, dict):
        if isinstance(run := value.get(_WRAPPED), dict):
            yield from _cases(record.inner(run, _WRAPPED))
            return
        lists = [name for name in _CASES if isinstance(value.get(name), list)]
        for name in lists:
            for index, case in enumerate(value[name]):
                yield from _cases(record.inner(case, name, index))
        if lists:
            return
    yield record
    trace = value.get("trace") if isinstance(value, dict) else None
    for name, spans in trace.items() if isinstance(trace, dict) else ():
        for index, span in enumerate(values.listed(spans) if name.endswith(_SPANS) else ()):
            if isinstance(span, dict) and _plain(span).get("metrics_data"):
                names = [values.label(one.get("name")) for one in (value, span)]
                kept = {key: one for key, one in span.items() if _snake(key) in _KEPT_OF_SPAN}
                kept["name"] = "/".join(name[:200] for name in names if name) or None
                kept["actual_output"] = span.get("output")
                yield record.inner(kept, "trace", name, index)


_SPANS = ("Spans", "_spans")
_KEPT_OF_SPAN = (
    "input", "metrics_data", "context", "model", "expected_output", "retrieval_context",
)  # fmt: skip


def _texts(case: JsonObject) -> JsonObject:
    expected = values.text(case.get("expected_output")) or values.text(case.get("expected_outcome"))
    reference = [expected] if expected else []
    for name, key in (("context", "context"), ("retrieved", "retrieval_context")):
        texts = map(values.text, values.listed(case.get(key)))
        reference += [f"{name}: {text}" for text in texts if text is not None]
    model = values.filled(case.get("model"))
    item = {
        "generator": {"model": model} if model else None,
        "input": values.text(case.get("input")),
        "output": values.text(case.get("actual_output")),
        "reference": reference[0] if len(reference) == 1 else reference or None,
    }
    if case.get("turns"):
        said = conversation([one for one in values.listed(case["turns"]) if isinstance(one, dict)])
        scenario = values.filled(case.get("scenario"))
        before = [f"scenario: {scenario}"] if scenario else []
        before += [said.input] if said and said.input else []
        item |= {"input": "\n\n".join(before) or None, "output": said.output if said else None}
    return item


_KIND = re.compile(r"\s*\[[^\[\]]{1,40}\]\s*\Z")
_ROUND_BRACKETS = re.compile(r"\s*\(([^()]*)\)\s*\Z")
_JOINERS = " \t-–—:/|@#_,"
_NO_JURORS = frozenset({"ragas"})
"""Words that deepeval writes in round brackets after a metric's name and that name no juror."""


@lru_cache(maxsize=4096)
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


def _panel(case: Any) -> list[JsonObject]:
    """Return a test case's metrics with base names and jurors; raise FieldError at a bad one."""
    if not isinstance(case, dict):
        raise FieldError((), must_be("an object", case))
    place = "metrics_data" if case.get("metricsData") is None else "metricsData"
    metrics = case.get(place)
    if not isinstance(metrics, list | None):
        raise FieldError((place,), must_be("a list of metrics", metrics))
    panel = []
    for index, metric in enumerate(metrics or ()):
        if not isinstance(metric, dict):
            raise FieldError((place, index), must_be("an object", metric))
        if (name := values.filled(metric.get("name"))) is None:
            wanted = must_be("a text that is not empty", metric.get("name"))
            raise FieldError((place, index, "name"), wanted)
        made = _plain(metric)
        model = values.filled(made.get("evaluation_model"))
        made["base"], made["juror"] = metric_name(name.strip(), model)
        panel.append(made)
    return panel


def _verdicts(
    record: Record, panel: list[JsonObject], panels: PanelReader, at: int
) -> Iterator[JsonObject]:
    """Yield the verdicts of the test case ``at``, one for each base name of its metrics."""
    case = _plain(record.value)
    about = _texts(case)
    name = values.label(case.get("name")) or f"test case {at}"
    tags = [tag for tag in values.listed(case.get("tags")) if isinstance(tag, str)]
    juries = panels.juries(panel, record.path)
    alone = len(juries) == 1
    for base, jurors in juries.items():
        metrics = [one for one in panel if alone or one["base"] == base]
        for metric, juror in zip(metrics, jurors, strict=True):
            if metric.get("flaky") is True:
                juror["meta"] = {**juror.get("meta", {}), "flaky": True}
        yield values.without_nulls(
            {
                "id": (name if alone else f"{name[:300]}/{base}")[: foreign.ID_LENGTH],
                "case": {"test": name, "tags": tags} if tags else {"test": name},
                **about,
                "rubric": base,
                "threshold": _threshold(metrics, jurors, panels),
                "decision": _decision(metrics, jurors, case.get("success") if alone else None),
                "jurors": jurors,
                "provenance": {"pointer": record.pointer},
            }
        )


def _threshold(
    metrics: list[JsonObject], jurors: list[JsonObject], panels: PanelReader
) -> float | int | None:
    """Return the threshold that all jurors share, on the scale of the verdict, or None."""
    line, *others = {values.number(metric.get("threshold")) for metric in metrics}
    if others:
        panels.notes.count("metrics of one jury with different thresholds: the verdict has none")
        return None
    raw = any("raw_score" in one and "score" not in one for one in jurors)
    found = None if raw else panels.threshold(line)
    if line is not None and found is None:
        panels.notes.count("a threshold outside the scale of the scores is left out")
    return found


def _decision(metrics: list[JsonObject], jurors: list[JsonObject], stated: Any) -> str | None:
    """Return the decision of a jury: the test case's own result, if it is ``stated``.

    Otherwise it is a pass if every metric of the jury passed that was measured and is not marked
    as flaky.
    """
    if all("error" in juror for juror in jurors):
        return "error"
    if isinstance(stated, bool):
        return values.decision(stated)
    steady = [
        metric.get("success")
        for metric in metrics
        if metric.get("flaky") is not True
        and (metric.get("score") is not None or metric.get("error"))
    ]
    known = bool(steady) and all(isinstance(one, bool) for one in steady)
    return values.decision(all(steady)) if known else None


def _fits(look: FirstLook) -> bool:
    keys = look.outline.keys
    if _WRAPPED in keys or "metricsScores" in keys:
        return True
    for name in _CASES:
        # A NaN in the first case ends the first look early, and the list seems empty.
        first = look.outline.first(name)
        if name in keys and (keys[name] == [] or not _METRICS.isdisjoint(first)):
            return True
    outer = {"actual_output", "actualOutput", "turns", "conversational"}
    return not (outer.isdisjoint(keys) or _METRICS.isdisjoint(keys))


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    keys = look.outline.keys
    run_id = values.filled(keys.get("test_run_id"))
    model = values.filled(values.record(keys.get("hyperparameters")).get("model"))
    header = {
        "producer": values.without_nulls(
            {"name": "deepeval", "format": "deepeval", "run_id": run_id}
        ),
        "title": values.filled(keys.get("identifier")),
        "generator": {"model": model} if model else None,
    }
    survey = TableSurvey(scale_by_judge=False, scored=True)
    fail = failing(source)
    streamed = look.outline.streamed
    looked = ImportTally(lenient=True)
    panels = PanelReader(_RULE, survey, options)
    with source.open() as stream:
        found = () if streamed else records(stream, look.outline, fail, looked, _CASES)
        for case in chain.from_iterable(map(_cases, found)):
            with suppress(FieldError):
                panels.survey(_panel(case.value))

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        panels = PanelReader(_RULE, survey, options)
        numbers = count(1)
        some = False
        for record in records(stream, look.outline, fail, tally, _CASES):
            secrets = named_secrets(record.value)
            for case in _cases(record):
                at = next(numbers)
                try:
                    panel = _panel(case.value)
                except FieldError as error:
                    some = True
                    yield case.refused(error, secrets)
                    continue
                if not panel:
                    panels.notes.count("a test case without a metric is left out")
                for body in _verdicts(case, panel, panels, at) if panel else ():
                    some = True
                    yield case.item(body, secrets)
        if not some:
            raise fail("", "has no test case with a metric", "")
        tally.notes.extend([*panels.import_notes(), *panels.notes.notes(foreign.LEFT_OUT)])

    return Report(
        source,
        "deepeval",
        header,
        items,
        skip_bad=options.skip_bad,
        lenient=True,
        secrets=named_secrets(keys),
    )


DIALECT = Dialect("deepeval", "a deepeval test run", _fits, _open, frozenset({"models", "scale"}))
