"""Values held to ``exact``, ``not`` and ``schema``."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from reviewdesk.reports.suites.matchers import exact, fitting, keyword_of_numbers, negated, same
from reviewdesk.reports.wording import FieldError

NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
VALUES = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)


@given(VALUES)
def test_a_value_is_exactly_itself(value: Any) -> None:
    assert exact(value).judge(value).fits
    assert not negated(exact(value)).judge(value).fits
    assert negated(negated(exact(value))).judge(value).fits
    # A copy through JSON is the same value.
    assert same(json.loads(json.dumps(value)), value)


@given(VALUES, VALUES)
def test_equality_is_that_of_json(one: Any, other: Any) -> None:
    assert same(one, other) == same(other, one)
    assert exact(one).judge(other).fits == same(one, other)
    kinds = {bool: "bool", int: "number", float: "number", str: "text", type(None): "null"}
    if kinds[type(one)] != kinds[type(other)]:
        assert not same(one, other)
    elif kinds[type(one)] == "number":
        assert same(one, other) == (abs(one - other) <= 1e-9)
    else:
        assert same(one, other) == (one == other)


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"minimum": 0.7}, 0.7, True),
        # The slack is 1e-9, on the side of passing.
        ({"minimum": 0.7}, 0.7 - 1e-12, True),
        ({"minimum": 0.7}, 0.7 - 1e-8, False),
        ({"maximum": 0.1}, 0.1 + 1e-12, True),
        ({"maximum": 0.1}, 0.1 + 1e-8, False),
        ({"minimum": 1}, 1.0, True),
        ({"exclusiveMinimum": 0.7}, 0.7, False),
        ({"exclusiveMaximum": 0.7}, 0.7 - 1e-12, True),
        # Limits within other keywords forgive the same.
        ({"not": {"minimum": 0.7}}, 0.7 - 1e-12, False),
        ({"allOf": [{"minimum": 0.7}, {"maximum": 0.8}]}, 0.8 + 1e-12, True),
        ({"anyOf": [{"maximum": 0.2}, {"minimum": 0.7}]}, 0.7 - 1e-12, True),
        ({"anyOf": [{"maximum": 0.2}, {"minimum": 0.7}]}, 0.5, False),
        ({"if": {"minimum": 0.5}, "then": {"minimum": 0.9}, "else": True}, 0.6, False),
        ({"oneOf": [{"minimum": 0}, {"maximum": 1}]}, 0.5, False),
        ({"type": "number"}, True, False),
        ({"type": "integer"}, 1.0, True),
        ({"type": ["string", "null"]}, None, True),
        ({"type": "string"}, None, False),
        ({"enum": ["high", "medium"]}, "low", False),
        ({"enum": ["high", "medium"]}, "high", True),
        ({"const": True}, 1, False),
        ({"maxLength": 3}, "four", False),
        ({"multipleOf": 0.25}, 0.75, True),
        ({"minimum": 0.7, "title": "agreement"}, 0.6, False),
    ],
)
def test_a_schema_judges(schema: dict[str, Any], value: Any, fits: bool) -> None:
    found = fitting(schema)
    assert found.judge(value).fits is fits
    assert negated(found).judge(value).fits is not fits
    assert found.written == {"schema": schema}


LIMIT = st.fixed_dictionaries(
    {}, optional={"minimum": st.floats(-2, 2), "maximum": st.floats(-2, 2)}
).filter(bool)


@given(LIMIT, st.floats(-2, 2))
def test_away_from_its_limits_a_schema_is_the_library_s(limit: Any, value: float) -> None:
    found = fitting(limit).judge(value)
    assert found.margin is not None
    # margin: the smaller of the rooms on either side.
    rooms = [value - limit.get("minimum", -math.inf), limit.get("maximum", math.inf) - value]
    assert found.margin == min(rooms)
    if abs(found.margin) > 1e-9:
        assert found.fits == Draft202012Validator(limit).is_valid(value)
        assert found.fits == (found.margin > 0)
    else:
        assert found.fits


def test_the_words_of_matchers_and_that_only_a_plain_limit_has_a_margin() -> None:
    assert fitting({"minimum": 0.7, "type": "number"}).judge(0.6).margin == pytest.approx(-0.1)
    assert fitting({"exclusiveMinimum": 0.7}).judge(0.6).margin is None
    assert fitting({"anyOf": [{"minimum": 0.7}]}).judge(0.6).margin is None
    assert fitting({"minimum": 0.7}).judge(None).margin is None
    assert exact(1).judge(2).margin is None
    limit = fitting({"minimum": 0.7, "maximum": 0.9, "description": "x"})
    assert limit.words == "be at least 0.7 and at most 0.9"
    assert negated(limit).words == "not be at least 0.7 and at most 0.9"
    assert exact(False).words == "be false"
    assert negated(exact("low")).words == 'not be "low"'
    assert negated(negated(exact(None))).words == "be null"
    assert fitting({"enum": ["high"]}).words == 'fit {"enum": ["high"]}'
    assert fitting({"enum": ["high"]}).judge("low").why == "'low' is not one of ['high']"
    assert negated(negated(exact(None))).written == {"not": {"not": {"exact": None}}}


@pytest.mark.parametrize(
    ("schema", "path", "problem"),
    [
        ({"minimum": "0.7"}, ["minimum"], "is not a JSON schema: '0.7' is not of type 'number'"),
        ({"minimum": True}, ["minimum"], "is not a JSON schema"),
        ({"type": "float"}, ["type"], "is not a JSON schema"),
        ({"multipleOf": 0}, ["multipleOf"], "is not a JSON schema"),
        ({"anyOf": []}, ["anyOf"], "is not a JSON schema"),
        ({"anyOf": {"minimum": 1}}, ["anyOf"], "is not a JSON schema"),
        ({"minimun": 0.7}, ["minimun"], 'has "minimun"'),
        ({"not": {"minimun": 0.7}}, ["not", "minimun"], 'has "minimun"'),
        ({"anyOf": [{}, {"max": 1}]}, ["anyOf", 1, "max"], 'has "max"'),
        ({"pattern": "(a+)+$"}, ["pattern"], 'has "pattern", which is not read'),
        ({"if": {"pattern": "(a+)+$"}}, ["if", "pattern"], 'has "pattern", which is not read'),
        ({"patternProperties": {}}, ["patternProperties"], "which is not read"),
        ({"$ref": "http://127.0.0.1:9/x"}, ["$ref"], 'has "$ref", which is not read'),
        ({"allOf": [{"$ref": "#"}]}, ["allOf", 0, "$ref"], 'has "$ref", which is not read'),
        ({"$schema": "http://json-schema.org/draft-07/schema"}, ["$schema"], "not read"),
        ({"items": {"minimum": 1}}, ["items"], "does not apply to a single value"),
        ({"required": ["x"]}, ["required"], "does not apply to a single value"),
        ({"format": "date"}, ["format"], "does not apply to a single value"),
    ],
)
def test_schemas_that_are_refused(schema: dict[str, Any], path: Any, problem: str) -> None:
    with pytest.raises(FieldError) as caught:
        fitting(schema)
    assert caught.value.path == tuple(path)
    assert problem in caught.value.text


def test_a_slip_is_met_with_the_word_meant_and_data_of_a_schema_is_none() -> None:
    with pytest.raises(FieldError) as caught:
        fitting({"minimun": 0.7})
    assert caught.value.hint == 'Did you mean "minimum"?'
    # What stands in const, enum, default and examples is a value, whatever its keys are.
    schema = {"enum": ["low"], "default": {"pattern": "x"}, "examples": [{"$ref": "x"}]}
    assert fitting(schema).judge("low").fits


def test_the_keywords_that_judge_numbers() -> None:
    assert keyword_of_numbers({"enum": [1]}) == ""
    assert keyword_of_numbers({"anyOf": [{"maximum": 1}]}) == "maximum"


def test_a_long_value_is_not_repeated_whole() -> None:
    assert len(fitting({"maxLength": 3}).judge("x" * 100_000).why) < 200
