import copy
import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from reviewdesk.domain.report_model import HeaderModel
from reviewdesk.reports.canonical.rules import header_problem
from tests.helpers import SHARED, verdict_problem
from tests.reports.canonical.schema import ReportModel, report_schema

PUBLISHED = SHARED / "spec" / "report-1.schema.json"

FULL: dict[str, Any] = {
    "schema": "reviewdesk.report/1", "report_id": "r", "title": None,
    "created_at": "2025-01-01T00:00:00Z",
    "producer": {"name": "p", "version": "1", "format": None, "run_id": "x"},
    "defaults": {
        "threshold": 0.5, "quorum": "2/3", "strategy": "quorum", "trim_fraction": 0.2,
        "weights": {"a": 2},
    },
    "generator": {"model": "m", "vendor": None},
    "meta": {"free": [1]},
    "verdicts": [
        {
            "id": "v",
            "case": {
                "test": "t", "suite": "s", "epoch": 1, "tags": ["x"], "dimension": "d",
                "subject": "s",
            },
            "input": "i", "reference": ["a", "b"], "threshold": 1, "quorum": 0.5, "strategy": None,
            "decision": "pass", "score": 0.5, "agreement": {"value": None, "metric": "r_wg"},
            "band": "low", "escalate_for_review": True, "escalation_reasons": ["r"],
            "same_family": None,
            "trim": {
                "method": "quantile", "fraction": 0.2, "rounding": "down", "per_side": 1,
                "dropped_low": ["a"], "degraded": False,
            },
            "checks": [{"name": "c", "pass": None, "reason": "r"}],
            "jurors": [
                {
                    "id": "a", "kind": "llm", "score": 0.5, "raw_score": 5, "scale": [0, 10],
                    "pass": True, "confidence": 0, "weight": 0.1, "trimmed": "low", "latency_ms": 1,
                    "tokens_in": 1.0, "cost_usd": 0, "meta": {}, "status": "ok",
                    "samples": [{"score": 0.5}], "round": 2, "not_applied": ["temperature"],
                },
                {"id": "c", "status": "not_asked"},
                {"id": "d", "status": "unknown"},
                {"id": "b", "error": {"type": None, "message": "m"}, "score": None, "pass": None},
            ],
            "human": {"label": "unsure", "by": "x"},
            "provenance": {"pointer": "/", "unanimous": True},
            "regime": "routine",
            "reruns": [{"id": "w", "case": {"test": "t"}, "jurors": []}],
            "labels": [{"any": 1}],
        }
    ],
}  # fmt: skip
VALUES: list[Any] = [
    None, True, 0, 1, 2, -1, 0.5, 1.5, 1e300, 3.0, [], [1], ["x"], [1, 2], [0, 1.5, 2],
    "", "x", "1/2", "pass", "low", "ok", "unknown", "not_asked", "supermajority",
    {}, {"x": 1}, {"message": "m"}, "x" * 201, "x" * 501,
]  # fmt: skip


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in items:
        if isinstance(child, dict | list):
            found += _places(child, (*path, key))
        else:
            found.append((*path, key))
    return found


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


@cache
def _mutants() -> list[dict[str, Any]]:
    """Every place of a full report, given every value, removed, or beside an unknown key."""
    mutants = []
    for path in _places(FULL):
        for value in VALUES:
            document = copy.deepcopy(FULL)
            _at(document, path[:-1])[path[-1]] = value
            mutants.append(document)
        document = copy.deepcopy(FULL)
        del _at(document, path[:-1])[path[-1]]
        mutants.append(document)
        if isinstance(_at(FULL, path), dict):
            document = copy.deepcopy(FULL)
            _at(document, path)["unknown"] = 1
            mutants.append(document)
    chance = random.Random(20250131)  # noqa: S311 - a fixed sequence, not a secret
    for _ in range(500):
        document = copy.deepcopy(chance.choice(mutants))
        path = chance.choice(_places(document))
        _at(document, path[:-1])[path[-1]] = chance.choice(VALUES)
        mutants.append(document)
    return mutants


# A place has 30 mutants or 31, so that every eleventh is other values at each place.
STEPS = pytest.mark.parametrize("step", [11, pytest.param(3, marks=pytest.mark.slow)])


def _accepts(kind: Any, document: Any) -> bool:
    """Whether the types take a document, and the one rule that the schema states too."""
    try:
        msgspec.convert(document, kind)
    except msgspec.ValidationError:
        return False
    for verdict in _verdicts(document):
        for juror in verdict["jurors"]:
            answers = (juror.get("score"), juror.get("pass"))
            if juror.get("error") is not None and answers != (None, None):
                return False
    return True


def _verdicts(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for verdict in (*node.get("verdicts", ()), *node.get("reruns", ())):
        yield verdict
        yield from _verdicts(verdict)


@pytest.mark.slow
@STEPS
def test_models_and_both_schemas_accept_the_same(step: int) -> None:
    schemas = [report_schema()]
    if PUBLISHED.exists():
        schemas.append(json.loads(PUBLISHED.read_text()))
    Draft202012Validator.check_schema(schemas[0])
    validators = list(map(Draft202012Validator, schemas))
    mutants = _mutants()[::step]
    accepted = 0
    for document in [FULL, *mutants]:
        fits = _accepts(ReportModel, document)
        accepted += fits
        assert {one.is_valid(document) for one in validators} == {fits}, json.dumps(document)
    assert accepted * step > 100
    assert accepted < len(mutants)


@pytest.mark.slow
@STEPS
def test_header_definitions_agree(step: int) -> None:
    if not PUBLISHED.exists():
        pytest.skip("the published schema is not beside this checkout")
    published = json.loads(PUBLISHED.read_text())
    theirs = Draft202012Validator({"$ref": "#/$defs/header", "$defs": published["$defs"]})
    schema = report_schema()
    ours = Draft202012Validator({"$ref": "#/$defs/HeaderModel", "$defs": schema["$defs"]})
    for document in [FULL, *_mutants()[::step]]:
        header = {key: value for key, value in document.items() if key != "verdicts"}
        fits = _accepts(HeaderModel, header)
        assert fits == theirs.is_valid(header) == ours.is_valid(header), json.dumps(header)
    assert not _accepts(HeaderModel, FULL)


@STEPS
def test_every_misfit_is_worded_with_its_place(step: int) -> None:
    worded = 0
    for document in _mutants()[::step]:
        header = {key: value for key, value in document.items() if key != "verdicts"}
        fits = _accepts(HeaderModel, header)
        problem = header_problem(header)
        assert fits or problem is not None
        listed = document.get("verdicts")
        for verdict in listed if isinstance(listed, list) else ():
            found = verdict_problem(verdict)
            worded += found is not None
            for one, value in ((problem, header), (found, verdict)):
                if one is not None and one.text != "is missing":
                    # The place exists in the file, and the message is of what stands there.
                    _at(value, one.path)
                    assert one.text.startswith(("must ", "is not a key"))
    assert worded * step > 500
