"""Deterministic checks of a case, on plain and on hostile responses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.panel.case import Case, Check, CheckResult
from reviewdesk.reports.panels.case_checks import check_problem, run_checks


def checked(kind: str, value: Any, output: str, *, negated: bool = False) -> CheckResult:
    return run_checks(Case("c", output, checks=(Check(kind, value, negated=negated),)))[0]


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "age": {"minimum": 0}},
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("kind", "value", "output", "reason"),
    [
        ("exact", "yes", "yes", None),
        ("exact", "yes", "yes ", 'is not exactly "yes"'),
        ("exact", {"a": 1}, '{"a": 1.0}', None),
        ("exact", True, "1", "is 1 and not true"),
        ("exact", 3, "three", "the response is not JSON"),
        ("contains", "b", "abc", None),
        ("contains", ["a", "c"], "abc", None),
        ("contains", ["a", "x", "y"], "abc", 'does not contain "x", "y"'),
        ("regex", r"\d{3}", "a 123", None),
        ("regex", r"^\d{3}$", "a 123", "has nothing that matches"),
        ("regex", r"(?i)YES", "yes", None),
        ("regex", "(", "yes", "is not a regular expression"),
        ("regex", 7, "yes", "is not a regular expression"),
        ("schema", PERSON, '{"name": "Ann", "age": 3}', None),
        ("schema", PERSON, '{"name": "Ann", "age": -3}', "$.age: -3 is less than the minimum"),
        ("schema", PERSON, '{"name": "ann"}', '$.name: "ann" does not match "^[A-Z]"'),
        ("schema", PERSON, "{}", "$: 'name' is a required property"),
        ("schema", PERSON, "NaN", "the response is not JSON"),
        ("schema", {"type": "nothing"}, "1", "is not a JSON schema"),
        ("schema", 3, "1", "is not a JSON schema"),
        ("schema", {"$ref": "https://example.org/s"}, "1", "the schema refers to what is not in"),
        ("schema", {"$ref": "#"}, "1", "nested too deeply"),
        ("schema", {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, "1", None),
        ("schema", {"properties": {"a": {"patternProperties": {}}}}, "{}", "patternProperties"),
    ],
)
def test_a_check_passes_or_says_why(kind: str, value: Any, output: str, reason: str | None) -> None:
    found = checked(kind, value, output)
    assert found.passed is (reason is None)
    if reason is not None:
        assert found.reason is not None
        assert reason in found.reason


@pytest.mark.parametrize(
    ("kind", "value"), [("regex", "("), ("schema", {"type": 3}), ("schema", {"$ref": "#"})]
)
@pytest.mark.parametrize("negated", [True, False])
def test_a_check_that_cannot_be_worked_out_has_failed(kind: str, value: Any, negated: bool) -> None:
    assert not checked(kind, value, "1", negated=negated).passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "negated"),
    [
        ("schema", True),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in
          [("schema", False), ("regex", True), ("regex", False)]),
    ],
)  # fmt: skip
def test_a_response_cannot_keep_an_expression_busy(kind: str, negated: bool) -> None:
    slow, text = r"^(a|aa)+$", "a" * 200 + "b"
    value, output = (slow, text) if kind == "regex" else ({"pattern": slow}, f'"{text}"')
    found = checked(kind, value, output, negated=negated)
    assert found.passed is None
    assert not found.failed
    assert "came to no end within 1 s" in (found.reason or "")


def test_a_deep_response_is_an_answer_like_any_other() -> None:
    found = checked("schema", {"type": "array"}, "[" * 100_000)
    assert (found.passed, found.reason is None) == (False, False)


@given(st.text(), st.text())
def test_a_negated_check_holds_where_the_check_does_not(part: str, text: str) -> None:
    for kind in ("exact", "contains"):
        plain, turned = checked(kind, part, text), checked(kind, part, text, negated=True)
        assert plain.passed is not turned.passed
        assert (turned.reason is None) is turned.passed


def test_results_are_named_and_in_order() -> None:
    case = Case("c", "abc", checks=(Check("contains", "a", "first"), Check("exact", "b")))
    first, second = run_checks(case)
    assert first.body == {"name": "first", "pass": True}
    assert second.body == {"name": "exact", "pass": False, "reason": 'is not exactly "b"'}


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        ("regex", "a+", None),
        ("regex", "a(", "is not a regular expression"),
        ("schema", {"type": "object"}, None),
        ("schema", {"type": "objects"}, "is not a JSON schema"),
        ("exact", "anything", None),
    ],
)
def test_a_check_that_can_never_be_worked_out_is_known_beforehand(
    kind: str, value: Any, problem: str | None
) -> None:
    found = check_problem(Check(kind, value))
    assert found is None if problem is None else problem in (found or "")
