from __future__ import annotations

import copy
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import ValidationError

from reviewdesk.reports.canonical import models
from reviewdesk.reports.canonical.models import HeaderModel
from reviewdesk.reports.canonical.types import PLAIN, fits_header, is_of, plain_type
from reviewdesk.reports.validation import Strict
from tests.reports.canonical.schema import ReportModel, report_schema

KEPT = Path(models.__file__).with_name("schema.json")
PUBLISHED = Path(__file__).parents[3] / "shared" / "spec" / "report-1.schema.json"

FULL: dict[str, Any] = {
    "schema": "reviewdesk.report/1",
    "report_id": "r",
    "title": None,
    "created_at": "2025-01-01T00:00:00Z",
    "producer": {"name": "p", "version": "1", "format": None, "run_id": "x"},
    "defaults": {
        "threshold": 0.5,
        "quorum": "2/3",
        "strategy": "quorum",
        "trim_fraction": 0.2,
        "weights": {"a": 2},
    },
    "generator": {"model": "m", "vendor": None},
    "meta": {"free": [1]},
    "verdicts": [
        {
            "id": "v",
            "case": {
                "test": "t",
                "suite": "s",
                "epoch": 1,
                "tags": ["x"],
                "dimension": "d",
                "subject": "s",
            },
            "input": "i",
            "reference": ["a", "b"],
            "threshold": 1,
            "quorum": 0.5,
            "strategy": None,
            "decision": "pass",
            "score": 0.5,
            "agreement": {"value": None, "metric": "r_wg"},
            "band": "low",
            "escalate_for_review": True,
            "escalation_reasons": ["r"],
            "same_family": None,
            "trim": {
                "method": "quantile",
                "fraction": 0.2,
                "rounding": "down",
                "per_side": 1,
                "dropped_low": ["a"],
                "degraded": False,
            },
            "checks": [{"name": "c", "pass": None, "reason": "r"}],
            "jurors": [
                {
                    "id": "a",
                    "kind": "llm",
                    "score": 0.5,
                    "raw_score": 5,
                    "scale": [0, 10],
                    "pass": True,
                    "confidence": 0,
                    "weight": 0.1,
                    "trimmed": "low",
                    "latency_ms": 1,
                    "tokens_in": 1.0,
                    "cost_usd": 0,
                    "meta": {},
                    "status": "ok",
                    "samples": [{"score": 0.5}],
                    "round": 2,
                    "not_applied": ["temperature"],
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
}
VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    2,
    -1,
    0.5,
    1.5,
    1e300,
    3.0,
    "",
    "x",
    "1/2",
    "pass",
    "low",
    "ok",
    "unknown",
    "not_asked",
    "supermajority",
]
VALUES += [
    [],
    [1],
    ["x"],
    [1, 2],
    [0, 1.5, 2],
    {},
    {"x": 1},
    {"message": "m"},
    "x" * 201,
    "x" * 501,
]


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
        places = _places(document)
        path = chance.choice(places)
        _at(document, path[:-1])[path[-1]] = chance.choice(VALUES)
        mutants.append(document)
    return mutants


# A place has 30 mutants or 31, so that every eleventh is other values at each place.
STEPS = pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])


def _accepts(model: type[Strict], document: Any) -> bool:
    try:
        model.model_validate(document)
    except ValidationError:
        return False
    return True


@pytest.mark.slow
@STEPS
def test_models_and_generated_schema_accept_the_same(step: int) -> None:
    schema = report_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    mutants = _mutants()[::step]
    accepted = 0
    for document in [FULL, *mutants]:
        fits = _accepts(ReportModel, document)
        accepted += fits
        assert fits == validator.is_valid(document), json.dumps(document)
    assert accepted * step > 100
    assert accepted < len(mutants)


@STEPS
def test_generated_and_published_schema_accept_the_same(step: int) -> None:
    if not PUBLISHED.exists():
        pytest.skip("the published schema is not beside this checkout")
    validator = Draft202012Validator(json.loads(PUBLISHED.read_text()))
    for document in [FULL, *_mutants()[::step]]:
        fits = _accepts(ReportModel, document)
        assert fits == validator.is_valid(document), json.dumps(document)


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
def test_what_fits_the_types_fits_the_models(step: int) -> None:
    headers, verdicts = [], []
    for document in [FULL, *_mutants()[::step]]:
        header = {key: value for key, value in document.items() if key != "verdicts"}
        headers.append((fits_header(header), _accepts(HeaderModel, header)))
        listed = document.get("verdicts")
        for verdict in listed if isinstance(listed, list) else ():
            bare = _plain(verdict)
            found = is_of(bare, plain_type())
            verdicts.append((found, _accepts(models.VerdictModel, bare)))
    for every in (headers, verdicts):
        assert (True, False) not in every
        assert sum(fits for fits, _ in every) * step > 100


def _plain(verdict: Any) -> Any:
    """What of a verdict and of its jurors is taken at sight, but where a null has a meaning."""
    if not isinstance(verdict, dict):
        return verdict
    keys = PLAIN - {"agreement", "checks"}
    made = {key: _without_nulls(value) for key, value in verdict.items() if key in keys}
    if isinstance(jurors := made.get("jurors"), list):
        made["jurors"] = [_plain(juror) for juror in jurors]
    return _without_nulls(made)


def _without_nulls(value: Any) -> Any:
    """The value without keys that are null, and 3 in the place of 3.0."""
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    if not isinstance(value, dict):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    return {key: _without_nulls(one) for key, one in value.items() if one is not None}


def test_the_schema_that_is_kept_is_that_of_the_models() -> None:
    # Made by: python benchmarks/reference.py
    assert json.loads(KEPT.read_text(encoding="utf-8")) == models.schemas()
