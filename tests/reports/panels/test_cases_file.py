"""Cases files, JSON Lines of what a panel is to judge, and the checks of a case."""

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.panel.case import Case, Check, CheckResult
from reviewdesk.domain.verdict import Generator
from reviewdesk.errors import PanelError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.case_checks import run_checks
from reviewdesk.reports.panels.cases_file import case_from, open_cases, read_cases
from reviewdesk.reports.wording import FieldError
from tests.helpers import SAMPLES

FULL: dict[str, Any] = {
    "id": "a/1", "output": "42", "input": "What is it?", "alternative": "41", "rubric": "Right.",
    "reference": ["42", "forty-two"], "generator": {"model": "gpt-5", "vendor": "openai"},
    "tags": ["red-team"], "context": {"policy": "P", "house style": "H"},
    "checks": {"contains": ["4", "2"], "not": False}, "dimension": "safety", "subject": "agent 2",
}  # fmt: skip
LEAST = {"id": "a", "output": "x"}


def source(*rows: Any) -> Source:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return Source.from_bytes("c.jsonl", "\n".join(lines).encode(errors="surrogatepass"))


def told(*rows: Any) -> str:
    with pytest.raises(PanelError) as caught:
        list(read_cases(source(*rows)))
    return str(caught.value)


def test_an_id_and_an_output_are_enough_and_every_key_has_its_place() -> None:
    (case,) = read_cases(source(FULL))
    assert case == Case(
        id="a/1", output="42", input="What is it?", alternative="41", rubric="Right.",
        reference=("42", "forty-two"), generator=Generator("gpt-5", "openai"), tags=("red-team",),
        context={"policy": "P", "house style": "H"},
        checks=(Check("contains", "4", "contains"), Check("contains", "2", "contains")),
        dimension="safety",
        subject="agent 2",
    )  # fmt: skip
    assert case_from(LEAST) == Case("a", "x")
    assert case_from({**LEAST, **dict.fromkeys(FULL.keys() - LEAST.keys())}) == Case("a", "x")
    # An empty answer is one that can be judged.
    assert case_from({"id": "a", "output": ""}).output == ""


@pytest.mark.parametrize("text", [f"[{json.dumps(LEAST)}]", json.dumps(LEAST, indent=1)])
def test_a_list_and_indented_objects_are_read_too(text: str) -> None:
    assert list(read_cases(source(text))) == [Case("a", "x")]
    more = [text, text] if text[0] == "{" else [text[:-1], ",", text[1:]]
    assert "is that of line 1 too" in told(*more)


def test_a_caller_s_lone_surrogates_are_texts() -> None:
    half = "\ud800"
    texts = {"tags": [half], "context": {half: half}, "reference": half, "rubric": half}
    case = case_from({"id": half, "output": half, "generator": {"model": half}, **texts})
    assert (case.id, case.tags, case.context) == (half, (half,), {half: half})


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([], ()),
        ({"exact": "x"}, (Check("exact", "x", "exact"),)),
        ({"exact": {"a": 1}}, (Check("exact", {"a": 1}, "exact"),)),
        ({"regex": "^a+$", "name": "as"}, (Check("regex", "^a+$", "as"),)),
        ({"schema": {"type": "object"}}, (Check("schema", {"type": "object"}, "schema"),)),
        (
            {"schema": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}},
            (
                Check(
                    "schema", {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, "schema"
                ),
            ),
        ),
        (
            {"contains": ["a", "b"], "not": True},
            (Check("contains", "a", "contains", True), Check("contains", "b", "contains", True)),
        ),
        (
            [{"exact": "x", "regex": "x"}, {"contains": "y", "not": True, "name": "no y"}],
            (
                Check("exact", "x", "exact"),
                Check("regex", "x", "regex"),
                Check("contains", "y", "no y", True),
            ),
        ),
    ],
)
def test_checks_are_an_object_of_kinds_or_a_list_of_such(checks: Any, expected: Any) -> None:
    assert case_from({**LEAST, "checks": checks}).checks == expected


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"ID": 1}, '$.ID: is not a key of a case. Did you mean "id"? Known: id, output, input'),
        ({"id": 7}, "$.id: must be a text of 1 to 400 characters, found 7"),
        ({"id": " "}, '$.id: must be a text of 1 to 400 characters, found " "'),
        ({"output": None}, "$.output: must be a text, found null"),
        ({"input": ["x"]}, '$.input: must be a text or null, found ["x"]'),
        ({"rubric": 1}, "$.rubric: must be a text or null, found 1"),
        ({"reference": [1]}, "$.reference: must be a text or a list of texts, found [1]"),
        ({"generator": "gpt-5"}, "$.generator: must be an object that describes a generator, fou"),
        (
            {"generator": {"name": "x"}},
            "$.generator.name: is not a key of a generator. Known: mod",
        ),
        ({"generator": {"model": 5}}, "$.generator.model: must be a text or null, found 5"),
        ({"tags": "a"}, '$.tags: must be a list of texts, found "a"'),
        ({"tags": [""]}, '$.tags: must be a list of texts, found [""]'),
        ({"context": []}, "$.context: must be an object, found []"),
        ({"context": {"{a}": "x"}}, '$.context["{a}"]: is not a name for a slot. Use 1 to 80'),
        ({"context": {"": "x"}}, '$.context[""]: is not a name for a slot'),
        ({"context": {"output": "x"}}, "$.context.output: is a slot that the case itself fills"),
        ({"context": {"n": 3}}, "$.context.n: must be a text, found 3"),
        ({"checks": "x"}, '$.checks: must be an object that describes a check, found "x"'),
        ({"checks": ["x"]}, '$.checks[0]: must be an object that describes a check, found "x"'),
        (
            {"checks": {"equals": "x"}},
            "$.checks.equals: is not a key of a check. Known: exact, contai",
        ),
        ({"checks": {"name": "x"}}, "$.checks: has none of exact, contains, regex, schema. Give"),
        ({"checks": {"exact": "x", "not": 1}}, "$.checks.not: must be true or false, found 1"),
        ({"checks": {"exact": "x", "name": 1}}, "$.checks.name: must be a text, found 1"),
        ({"checks": {"contains": []}}, "$.checks.contains: must be a text or a list of texts, fou"),
        ({"checks": [{"regex": "("}]}, "$.checks[0].regex: is not a regular expression"),
        ({"checks": {"regex": "x" * 1001}}, "$.checks.regex: must be a regular expression of 1"),
        ({"checks": {"schema": {"type": 3}}}, "$.checks.schema: is not a JSON schema"),
        ({"checks": {"schema": {}}}, "$.checks.schema: must be a JSON schema that is not empty"),
        ({"checks": {"schema": []}}, "$.checks.schema: must be a JSON schema that is not empty"),
        (
            {"checks": {"schema": {"items": [{"$ref": "https://x.example/s"}]}}},
            '$.checks.schema.items[0]["$ref"]: refers to another document. Refer to #/$defs',
        ),
        ({"checks": [{"exact": at} for at in range(101)]}, "$.checks: has 101 checks, more than"),
    ],
)
def test_a_bad_line_names_its_place(change: dict[str, Any], line: str) -> None:
    error = told(LEAST, {"id": "b", "output": "x", **change})
    assert error.startswith(f"c.jsonl: line 2: {line}")
    assert "\n" not in error
    with pytest.raises(FieldError):
        case_from({**LEAST, **change})


def test_lines_that_are_no_cases() -> None:
    assert told({"id": "a"}) == ('c.jsonl: line 1: $.output: is missing. Add "output" to it.')
    assert told("[1]").startswith("c.jsonl: line 1: $: must be an object that describes a case")
    cut_off = told('{"id": "a"')
    assert cut_off.startswith("c.jsonl: line 1, column 11: is not JSON")
    assert cut_off.endswith("Fix the line or remove it.")
    assert "NaN" in told('{"id": "a", "output": NaN}')
    assert 'has the key "id" twice' in told('{"id": "a", "id": "b", "output": ""}')
    with pytest.raises(PanelError, match="line 1: is not UTF-8"):
        list(read_cases(Source.from_bytes("c.jsonl", b'{"id": "\xff"}')))


def test_an_id_is_there_once_and_cases_come_as_they_are_read() -> None:
    # A blank line is skipped, and lines are still counted from the first.
    error = told(LEAST, "", LEAST)
    assert error == 'c.jsonl: line 3: $.id: is that of line 1 too: "a". Give each case its own.'
    good = iter(read_cases(source(LEAST, "{")))
    assert next(good).id == "a"
    with pytest.raises(PanelError):
        next(good)


def test_files_and_stdin_can_be_read_twice(tmp_path: Path) -> None:
    data = (json.dumps(LEAST) + "\n").encode()
    (tmp_path / "c.jsonl").write_bytes(data)
    for found in (open_cases(str(tmp_path / "c.jsonl")), open_cases("-", io.BytesIO(data))):
        for _ in range(2):
            assert [case.id for case in read_cases(found)] == ["a"]
    with pytest.raises(PanelError, match=r"there is no such file. Name a JSON Lines file\."):
        open_cases(str(tmp_path / "none"))
    with pytest.raises(PanelError, match=r"stdin: line 1: \$.id: is missing"):
        list(read_cases(open_cases("-", io.BytesIO(b"{}"))))


@pytest.mark.slow
def test_a_file_with_mistakes_is_cases_or_one_line() -> None:
    dice = random.Random(21)  # noqa: S311 - the same files each time
    pieces = ('"', "{", "}", "[", ":", ",", "null", "1e999", "\\ud800", "\n", "\x00", "\\", "é")
    text = json.dumps(FULL) + "\n" + json.dumps({**FULL, "id": "b"})
    refused = []
    for _ in range(2000):
        at = dice.randrange(len(text))
        mutant = text[:at] + dice.choice(pieces) + text[at + dice.choice((0, 1, 8)) :]
        try:
            list(read_cases(Source.from_bytes("c.jsonl", mutant.encode())))
        except PanelError as error:
            refused.append(str(error))
    assert len(refused) > 500
    assert [line for line in refused if not line.startswith("c.jsonl: ") or "\n" in line] == []


def test_the_sample_cases_are_cases() -> None:
    found = list(read_cases(open_cases(str(SAMPLES / "cases.jsonl"))))
    assert len(found) == 10
    assert any(case.checks for case in found)
    assert any(case.tags for case in found)
    assert any(case.generator.model for case in found)


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
