"""Texts as they are laid out: nothing of JSON is lost or moved but its white space."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.app.paint.styled import hang_of, is_json, laid_out

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30
)
_WHITE = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')


def bare(text: str) -> str:
    """JSON without the white space between its tokens."""
    return _WHITE.sub(lambda match: match[1] or "", text)


@given(VALUES, st.booleans())
def test_indenting_json_keeps_every_token(value: object, spaced: bool) -> None:
    text = json.dumps([value], separators=(", ", ": ") if spaced else (",", ":"))
    found = laid_out(text)
    assert bare(found) == bare(text)
    # Laid out once, it stays so.
    assert "\n" not in found or laid_out(found) == found


def test_json_is_indented_token_by_token() -> None:
    long = "x" * 40
    text = f'{{"a":1.50e+01,"a":"\\u00e9\\"","list":[1,2],"{long}":{{}},"n":[{{"{long}":null}}]}}'
    assert laid_out(text).split("\n") == [
        "{",
        '  "a": 1.50e+01,',
        '  "a": "\\u00e9\\"",',
        '  "list": [',
        "    1,",
        "    2",
        "  ],",
        f'  "{long}": {{}},',
        '  "n": [',
        "    {",
        f'      "{long}": null',
        "    }",
        "  ]",
        "}",
    ]


def test_long_json_and_what_is_none_stay_as_they_are() -> None:
    long = json.dumps(["x" * 50] * 4000)
    assert len(long) > 200_000
    deep = "[" * 25 + "]" * 25
    for text in (long, deep, "no {json}", '{\n"a": 1}', ""):
        assert laid_out(text) == text


def test_a_line_continues_behind_its_marks() -> None:
    rows = "# Title", "plain", "  two", "- item", "2. two", "> said", "> - both"
    assert [hang_of(row, json=False) for row in rows] == [0, 0, 2, 2, 3, 2, 4]
    assert hang_of('    "a": 1', json=True) == 6


@pytest.mark.parametrize(
    ("text", "json"),
    [
        ('{"a": 1}', True),
        ('[1, 2,\n {"b": null}]', True),
        (" [] \n", True),
        ('{"a":1,"a":2,"n":1e400}', True),
        ('{"a": 1} and more', False),
        ("{not json}", False),
        ('["\ud800"]', False),
        ("[" * 100_000 + "]" * 100_000, False),
    ],
)
def test_json_is_told_by_its_signs(text: str, json: bool) -> None:
    assert is_json(text) is json
