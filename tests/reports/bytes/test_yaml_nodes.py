"""YAML of a suite: JSON's scalars with their lines, and everything else refused."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.errors import SuiteError
from reviewdesk.reports.bytes.yaml_nodes import MAX_BYTES, MAX_DEPTH, read_yaml
from tests.helpers import source


def plain(text: str | bytes) -> Any:
    return read_yaml(source(text.encode() if isinstance(text, str) else text, "s.yml")).plain()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("off", "off"), ("low", "low"), ("true", True),
        ("False", False), ("TRUE", True), ("null", None), ("~", None), ("1", 1), ("-3", -3),
        ("+3", 3), ("010", 10), ("0x1F", "0x1F"), ("0o17", "0o17"), ("1_000", "1_000"),
        ("12:30", "12:30"), ("2024-01-31", "2024-01-31"), ("1e3", 1000.0), ("1.5E-1", 0.15),
        (".5", 0.5), ("1.", 1.0), ("1.2.3", "1.2.3"),
        # Too large for a number: no limit takes a text, and a run's hash is one.
        ("12e45678", "12e45678"), ("9" * 5000, "9" * 5000), ("'true'", "true"), ('"1"', "1"),
        ("''", ""), ("|\n  no\n", "no\n"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_json(text: str, value: Any) -> None:
    found = plain(f"a: {text}")["a"]
    assert (found, type(found)) == (value, type(value))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Z", "S"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc<&*!", min_size=1), inner),
    max_leaves=8,
)


@given(JSON)
def test_json_is_read_as_it_is(value: Any) -> None:
    # JSON is YAML, quoted keys and all.
    assert plain(json.dumps({"a": value})) == {"a": value}


@given(JSON)
def test_an_indented_document_is_read_as_it_is(value: Any) -> None:
    assert plain(f"a: {json.dumps(value, indent=2)}") == {"a": value}


def test_every_node_knows_its_line() -> None:
    root = read_yaml(source(b"a: 1\nb:\n  - x\n  -\n    c: 2\n"))
    assert root.keys == {"a": 1, "b": 2}
    paths: list[list[str | int]] = [[], ["a"], ["b", 0], ["b", 1, "c"]]
    assert [root.at(path).line for path in paths] == [1, 1, 3, 5]
    # A path that leads nowhere ends at the last node there is.
    assert root.at(["b", 7, "c"]).line == root.at(["b"]).line


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(f'*{chr(97 + n)}' for _ in range(9))}]\n"
    for n in range(9)
)

WRONG: dict[str, tuple[str | bytes, int, str]] = {
    "nothing": ("", 0, "is empty"),
    "comments": ("# nothing\n", 0, "is empty"),
    "a marker": ("---\n", 0, "is empty"),
    "laughs": (BOMB, 1, "has the anchor &a"),
    "an anchor": ("a: 1\nb: &x 2\n", 2, "has the anchor &x"),
    "an anchored list": ("a: 1\nb: &x [2]\n", 2, "has the anchor &x"),
    "an alias": ("a: 1\nb: *x\n", 2, "has the alias *x"),
    "an alias as a key": ("*x : 1\n", 1, "has the alias *x"),
    "an object": ("a: !!python/object/apply:os.system [x]", 1, "has the tag "),
    "a tag": ("a: 1\nb: !mine x\n", 2, "has the tag !mine"),
    "a usual tag": ("a: !!str x\n", 1, "has the tag tag:yaml.org,2002:str"),
    "a tag of a key": ("!!str a: x\n", 1, "has the tag "),
    "a merge": ("a: 1\n<<: {b: 2}\n", 2, "has a merge key"),
    "a key twice": ("a: 1\nb: 2\na: 3\n", 3, 'has the key "a" twice, first on line 1'),
    "a key twice in a flow": ("a: {b: 1, 'b': 2}\n", 1, 'has the key "b" twice'),
    "a list as a key": ("? [a]\n: b\n", 1, "has a list or a mapping as a key"),
    "two documents": ("a: 1\n---\nb: 2\n", 2, "starts a second document"),
    "a tab": ("a:\n\t- b\n", 2, "a tab is where only spaces may be"),
    "an open list": ("a: [1,\n", 2, "is not YAML"),
    "an open quote": ("a: 1\nb: 'x\n", 3, "is not YAML"),
    "two colons": ("a: b: c\n", 1, "is not YAML"),
    "infinity": ("a: 1\nb: -.inf\n", 2, "contains -.inf, which is not a number"),
    "not a number": ("a: .NaN\n", 1, "contains .NaN, which is not a number"),
    "a surrogate": ('a: "\\ud800"\n', 1, "lone surrogate"),
    "a surrogate key": ('"\\ud800": 1\n', 1, "lone surrogate"),
    "an escape": ('a: "\\UFFFFFFFF"\n', 0, "is not YAML"),
    "a directive": (f"%YAML {'9' * 5000}.1\n---\na: 1\n", 0, "is not YAML"),
    "a NUL": (b"a: 1\nb: \0\n", 2, "contains the character ␀"),
    "an escape code": (b"a: \x1b[31m\n", 1, "contains the character ␛"),
    "bytes": (b"a: 1\nb: \xff\n", 2, "is not UTF-8"),
    "utf-16": ("a: 1".encode("utf-16"), 1, "is not UTF-8"),
    "deep": ("[" * 100_000, 1, f"nested more than {MAX_DEPTH} levels"),
    "deep blocks": ("- " * 100_000, 1, f"nested more than {MAX_DEPTH} levels"),
    "deep mappings": ("{a: " * 50_000, 1, f"nested more than {MAX_DEPTH} levels"),
    "large": (b"a: " + b"x" * MAX_BYTES, 0, "is over 256 KiB"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_suite_must_not_have(name: str) -> None:
    text, line, problem = WRONG[name]
    with pytest.raises(SuiteError) as caught:
        plain(text)
    assert caught.value.line == line
    assert problem in caught.value.problem
    said = str(caught.value)
    assert said.startswith(f"s.yml:{line}: " if line else "s.yml: ")
    assert said.isprintable()


def test_the_depth_that_is_allowed() -> None:
    fits = "[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH
    assert json.dumps(plain(fits)) == fits
    with pytest.raises(SuiteError):
        plain(f"[{fits}]")


@given(st.text("ab:-[]{}&*!|>'\"#%@`,?~ \t\n\\x0uU.1e<é\x85\u2028", max_size=60))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    with suppress(SuiteError):
        plain(text)
