"""What is said of a value that does not fit its model."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import BeforeValidator, Field, model_validator

from reviewdesk.errors import PanelError, SuiteError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.yaml_nodes import read_yaml
from reviewdesk.reports.panels.cases_file import read_cases
from reviewdesk.reports.suites.suite import read_suite
from reviewdesk.reports.validation import Strict, Wanted, validated
from reviewdesk.reports.wording import FieldError

KEY = "sk-live-4f9aT7Qe2LmZ8xWb"
HIDDEN = "a value that may hold an API key (not shown)"


class Inner(Strict):
    what = "an inner"

    share: Annotated[float, Field(ge=0, le=1), Wanted("a number from 0 to 1")] = 0
    word: Annotated[str, Wanted("a word", known=("left", "right"))] = "left"
    schema_: int = Field(0, alias="schema")

    @model_validator(mode="after")
    def _agrees(self) -> Inner:
        if self.share == 0.5:
            raise FieldError(("share",), "is not decided", "Decide.")
        return self


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


class Outer(Strict):
    what = "an outer"
    shape: ClassVar[str] = "a mapping"
    secret_hint: ClassVar[str] = "Keys come from the environment."

    name: str
    inner: Inner | None = None
    some: Annotated[list[Inner], BeforeValidator(_listed)] = Field(default_factory=list)
    many: Annotated[list[int], Field(max_length=2)] = Field(default_factory=list)
    max_tokens: int = 1
    routes: dict[str, int] = Field(default_factory=dict)


def problem(value: Any) -> FieldError:
    with pytest.raises(FieldError) as caught:
        validated(Outer, value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        ({"name": 1}, ("name",), "must be a text, found 1"),
        ({}, ("name",), "is missing"),
        ([], (), "must be a mapping that describes an outer, found []"),
        ({"name": "x", "inner": 1}, ("inner",), "must be an object that describes an inner, fou"),
        ({"name": "x", "inner": {"share": True}}, ("inner", "share"), "must be a number from 0 to"),
        ({"name": "x", "inner": {"share": "1"}}, ("inner", "share"), "must be a number from 0 to "),
        ({"name": "x", "inner": {"share": float("nan")}}, ("inner", "share"), "must be a number "),
        ({"name": "x", "inner": {"share": 0.5}}, ("inner", "share"), "is not decided"),
        ({"name": "x", "inner": {"schema": 1.0}}, ("inner", "schema"), "must be a value this"),
        ({"name": "x", "many": [1, 2, 3]}, ("many",), "must be a list of 2 or fewer, found 3"),
        ({"name": "x", "max_tokens": True}, ("max_tokens",), "must be"),
        ({"name": "x", "routes": []}, ("routes",), "must be a mapping, found []"),
        # One of a list may stand alone, and then has no index in the file.
        ({"name": "x", "some": {"share": 2}}, ("some", "share"), "must be a number from 0 to 1, f"),
        ({"name": "x", "some": [{}, {"share": 2}]}, ("some", 1, "share"), "must be a number from"),
    ],
)
def test_a_value_that_does_not_fit(value: Any, path: tuple[str | int, ...], text: str) -> None:
    found = problem(value)
    assert found.path == path
    assert found.text.startswith(text)


def test_an_unknown_key_is_told_first_and_knows_its_neighbours() -> None:
    # Without the rule, the missing name, which the slip explains, would be told.
    found = problem({"nam": "x", "inner": {"share": 2}})
    assert (found.path, found.text) == (("nam",), "is not a key of an outer")
    assert found.hint.startswith('Did you mean "name"? Known: name, inner, some,')
    found = problem({"name": "x", "some": [{"shema": 1}]})
    assert (found.path, found.text) == (("some", 0, "shema"), "is not a key of an inner")
    assert found.hint == 'Did you mean "schema"? Known: share, word, schema.'


def test_a_word_knows_its_neighbours_and_no_key_is_shown() -> None:
    found = problem({"name": "x", "inner": {"word": "lefd"}})
    assert found.hint == 'Did you mean "left"? Known: left, right.'
    assert problem({"name": [KEY]}).text == f"must be a text, found {HIDDEN}"
    assert problem({"name": "x", "inner": {"share": {"token": "abc"}}}).text.endswith(HIDDEN)
    # As a name it would stand in the path.
    keyed: list[dict[str, Any]] = [{KEY: 1}, {"routes": {KEY: "x"}}, {"inner": {KEY: {}}}]
    for value in keyed:
        found = problem({"name": "x", **value})
        assert found.text == "has an API key for a name (not shown)"
        assert KEY not in found.path
    assert problem({"name": "x", "api_key": 1}).hint == "Keys come from the environment."
    # A slip of a known key is no secret's name.
    assert problem({"name": "x", "max_token": 1}).hint.startswith('Did you mean "max_tokens"?')


def test_nothing_of_a_key_is_shown_of_suites_and_cases(tmp_path: Path) -> None:
    (tmp_path / "s.yml").write_text(f"jury: [{{name: n, run: [{KEY}]}}]", encoding="utf-8")
    with pytest.raises(SuiteError, match=r"\$\.jury\[0\]\.run: must be a text, found a value that"):
        read_suite(str(tmp_path / "s.yml"))
    with pytest.raises(PanelError, match=r"\$\.output: must be a text, found a value that may"):
        list(read_cases(Source.from_bytes("c", f'{{"id": "a", "output": ["{KEY}"]}}'.encode())))


@pytest.mark.parametrize(
    "line", ["run:", "reliability:", "observed_positive_rate:", "observed_n:", "expect:"]
)
def test_a_key_of_a_suite_without_a_value_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "s.yml"
    text = f"calibration:\n  - name: n\n    labels: x\n    {line}\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        read_suite(str(path))
    where = f"{path}:4: $.calibration[0].{line} must have a value, found null."
    assert str(caught.value).startswith(where)


def test_the_line_of_a_path() -> None:
    text = "a:\n  b:\n    - 1\n    -\n      c: x\nd: 3\n"
    root = read_yaml(Source.from_bytes("x", text.encode()))
    # A key has its own line and not that of its value; what is missing, that of what is around it.
    for path, line in (
        ((), 1), (("a",), 1), (("a", "b"), 2), (("a", "b", 0), 3), (("a", "b", 1, "c"), 5),
        (("d",), 6), (("a", "x"), 2), (("a", "b", 1, "x"), 5), (("z",), 1),
    ):  # fmt: skip
        assert root.line_of(path) == line, path
    assert root.plain(("d",)) == {"a": {"b": [1, {"c": "x"}]}, "d": "3"}
