"""Open deepeval files: saved test runs, and dumps of what ``evaluate`` returns.

Metrics of one test case with the same base name form one jury, and each metric is a ballot. Keys
are in camelCase or snake_case. ``verboseLogs`` may belong to an earlier attempt and is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.deepeval.cases import CASES, WRAPPED, cases, key, metric_name, texts
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.ballots import failure
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mapping.raw_scores import Scales, fitted, without_score
from reviewdesk.reports.mapping.records import Record, mapped
from reviewdesk.reports.mapping.unread import measured, understood, unread_keys
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict
from reviewdesk.reports.wording import FieldProblem, Path, must_be

_METRIC_KEYS = frozenset(
    {"name", "score", "threshold", "success", "reason", "error", "flaky"}
    | {"evaluationModel", "evaluation_model", "evaluationCost", "evaluation_cost"}
    | {"inputTokenCount", "input_tokens", "outputTokenCount", "output_tokens"}
    | {"strictMode", "strict_mode", "verboseLogs", "verbose_logs"}
)
_ANSWERS = ("score", "success")
_RUN_KEYS = frozenset(
    {*CASES, WRAPPED, "test_run_id", "identifier"}
    | {"metricsScores", "traceMetricsScores", "official", "testPassed", "testFailed"}
    | {"runDuration", "evaluationCost"}
)


class _Mapper:
    def __init__(self, options: ReadOptions, run: dict[str, Any], scales: Scales) -> None:
        self.remarks = Remarks()
        self.remarks.unmapped(foreign.beyond(run, _RUN_KEYS))
        self._names = foreign.VerdictNames()
        self._scale, self._scales = options.scale, scales
        self._models = foreign.Models(options)
        self._cases_read = 0

    def notes(self) -> list[str]:
        return [*self._models.notes(), *self.remarks.notes(foreign.LEFT_OUT)]

    def count(self, record: Record) -> int:
        return sum(1 for _ in self.items(record))

    def items(self, record: Record) -> Iterator[ReportVerdict]:
        for case in cases(record):
            self._cases_read += 1
            problem = _problem(case.value)
            if problem:
                yield case.refused(problem)
            else:
                for body in self._verdicts(case):
                    yield case.item(body)

    def _verdicts(self, case: Record) -> Iterator[dict[str, Any]]:
        value: dict[str, Any] = case.value
        juries: dict[str, list[dict[str, Any]]] = {}
        for metric in key(value, "metrics_data") or ():
            base, _ = metric_name(metric["name"], foreign.text(key(metric, "evaluation_model")))
            juries.setdefault(base, []).append(metric)
        if not juries:
            self.remarks.count("a test case without a metric is left out")
            return
        about = texts(value, self.remarks)
        name = foreign.label(value.get("name")) or f"test case {self._cases_read}"
        tags = [tag for tag in values.listed(value.get("tags")) if isinstance(tag, str)]
        for base, metrics in juries.items():
            alone = len(juries) == 1
            stated = value.get("success") if alone else None
            yield values.without_nulls(
                {
                    "id": self._names.verdict(name if alone else f"{name[:300]}/{base}"),
                    "case": values.without_nulls({"test": name, "tags": tags or None}),
                    **about,
                    "rubric": base,
                    "threshold": self._threshold(metrics, base),
                    **self._ballots_and_decision(metrics, base, stated),
                    "provenance": {"pointer": case.pointer},
                }
            )

    def _threshold(self, metrics: list[dict[str, Any]], base: str) -> float | int | None:
        """Return the threshold that all jurors share, on the scale of the verdict, or None."""
        stated = {values.number(metric.get("threshold")) for metric in metrics}
        if len(stated) > 1:
            self.remarks.count(
                "metrics of one jury with different thresholds: the verdict has none"
            )
            return None
        line = stated.pop()
        off = self._scales.off(base)
        fit = fitted(line, self._scale, lambda _: None, "", off=off)
        found = values.number(fit.get("score"))
        if line is not None and found is None:
            self.remarks.count("a threshold outside the scale of the scores is left out")
        return found

    def _ballots_and_decision(
        self, metrics: list[dict[str, Any]], base: str, stated: Any
    ) -> dict[str, Any]:
        """Return the ballots and the decision of a jury.

        ``stated`` is the test case's own result, if it has one jury. Otherwise the decision is a
        pass if every metric of the jury passed that was measured and is not marked as flaky.
        """
        seat_names = [
            metric_name(m["name"], foreign.text(key(m, "evaluation_model"))) for m in metrics
        ]
        ids = foreign.VerdictNames.jurors([juror for _, juror in seat_names])
        jurors = [self._juror(base, *seat) for seat in zip(ids, seat_names, metrics, strict=True)]
        if all("error" in juror for juror in jurors):
            return {"decision": "error", "jurors": jurors}
        if not isinstance(stated, bool):
            steady = [
                metric.get("success")
                for metric in metrics
                if metric.get("flaky") is not True
                and (metric.get("score") is not None or metric.get("error"))
            ]
            known = bool(steady) and all(isinstance(one, bool) for one in steady)
            stated = all(steady) if known else None
        return {"decision": values.decision(stated), "jurors": jurors}

    def _juror(
        self, base: str, juror_id: str, names: tuple[str, str], metric: dict[str, Any]
    ) -> dict[str, Any]:
        self.remarks.unmapped(foreign.beyond(metric, _METRIC_KEYS), "metric.")
        stated = metric.get("score")
        off = self._scales.off(base, stated)
        scores = fitted(stated, self._scale, self.remarks.count, "a score", off=off)
        body: dict[str, Any] = {
            "id": juror_id,
            "model": self._models.of(names[1], key(metric, "evaluation_model")),
            "reason": values.text(metric.get("reason")),
            "cost_usd": foreign.amount(key(metric, "evaluation_cost")),
            "tokens_in": foreign.count(values.first(metric, ("inputTokenCount", "input_tokens"))),
            "tokens_out": foreign.count(
                values.first(metric, ("outputTokenCount", "output_tokens"))
            ),
            "meta": {"flaky": True} if metric.get("flaky") is True else None,
        }
        error = metric.get("error")
        if error:
            # Deepeval writes ``success: false`` for a metric that failed with an error.
            message = "" if error is True else values.text(error) or ""
            return values.without_nulls(
                body | without_score(scores, self.remarks.count) | failure(message)
            )
        success = metric.get("success")
        if success is not None and not isinstance(success, bool):
            self.remarks.count("a success that is neither true nor false is left out")
            success = None
        about = _METRIC_KEYS - {*_ANSWERS, "reason"}
        found = values.without_nulls(body | scores | {"pass": success})
        if stated is None:
            found = measured(found, self.remarks)
            # A success beside no score is no answer that another key could hold.
            return (
                found
                if "pass" in found
                else understood(found, unread_keys(metric, _ANSWERS, about))
            )
        return understood(found, unread_keys(metric, _ANSWERS, about))


def _problem(case: Any) -> FieldProblem | None:
    if not isinstance(case, dict):
        return FieldProblem((), must_be("an object", case))
    metrics = key(case, "metrics_data")
    place = "metricsData" if "metricsData" in case else "metrics_data"
    if metrics is not None and not isinstance(metrics, list):
        return FieldProblem((place,), must_be("a list of metrics", metrics))
    for index, metric in enumerate(metrics or ()):
        where: Path = (place, index)
        if not isinstance(metric, dict):
            return FieldProblem(where, must_be("an object", metric))
        if foreign.text(metric.get("name")) is None:
            return FieldProblem(
                (*where, "name"), must_be("a text that is not empty", metric.get("name"))
            )
    return None


def _fits(look: FirstLook) -> bool:
    keys, outline = look.outline.keys, look.outline
    if WRAPPED in keys or "metricsScores" in keys:
        return True
    for name in CASES:
        if name not in keys:
            continue
        # A NaN in the first case ends the first look early, and the list seems empty.
        if keys[name] == [] or {"metricsData", "metrics_data"} & outline.first(name).keys():
            return True
    outer = {"actual_output", "actualOutput", "turns", "conversational"} & keys.keys()
    return bool(outer) and bool({"metricsData", "metrics_data"} & keys.keys())


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    keys = look.outline.keys
    run_id = foreign.text(keys.get("test_run_id"))
    producer = {"name": "deepeval", "format": "deepeval", "run_id": run_id}
    model = foreign.text(values.record(keys.get("hyperparameters")).get("model"))
    header = {
        "schema": FORMAT_NAME,
        "producer": values.without_nulls(producer),
        "title": foreign.text(keys.get("identifier")),
        "generator": {"model": model} if model else None,
    }
    scales, run = Scales(), keys if any(name in keys for name in CASES) else {}
    return mapped(
        source,
        look,
        options,
        values.without_nulls(header),
        lambda: _Mapper(options, run, scales),
        name="deepeval",
        lists=CASES,
        nothing="holds no test case with a metric",
    )


DIALECT = Dialect("deepeval", "a deepeval test run", _fits, _open, frozenset({"models", "scale"}))
