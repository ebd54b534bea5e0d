"""Inks: no character is lost or moved but JSON's white space, and the inks mean what they say."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.app.paint.inks import Ink
from reviewdesk.app.paint.styled import InkedText, is_json, json_inked, laid_out, rows, text_inked

ATOMS = [
    *'"\'`{}[],:#*_-+<>&;=()\\\n ', "abc", "12", "def ", "```", "```python\n", "~~~\n", "/*", "*/",
    "--", "@@ -1 +1 @@\n", "--- a\n", "<!--", "1. ", "日本",
]  # fmt: skip
MESS = st.lists(st.sampled_from(ATOMS), max_size=40).map("".join)


def inked(found: InkedText, ink: Ink) -> list[str]:
    return [found.text[start:end] for start, end, name in found.spans if name == ink]


def hold(found: InkedText) -> None:
    """The inks lie in order and within the text, and the rows are the text."""
    assert all(0 <= start < end <= len(found.text) for start, end, _ in found.spans)
    assert all(one[1] <= two[0] for one, two in pairwise(found.spans))
    lines = list(rows(found))
    assert "\n".join(row.text for row in lines) == found.text
    painted = [
        (row.text[start:end], ink) for row in lines for start, end, ink in row.spans if end > start
    ]
    expected = [
        (part, ink)
        for start, end, ink in found.spans
        for part in found.text[start:end].split("\n")
        if part
    ]
    assert painted == expected


@given(MESS)
def test_no_text_is_changed(text: str) -> None:
    for found in (text_inked(text), json_inked(text)):
        assert found.text == text
        hold(found)


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
    hold(json_inked(found))
    # Laid out once, it stays so.
    assert "\n" not in found or laid_out(found) == found


def test_json_is_indented_token_by_token() -> None:
    long = "x" * 40
    text = f'{{"a":1.50e+01,"a":"\\u00e9\\"","list":[1,2],"{long}":{{}},"n":[{{"{long}":null}}]}}'
    found = json_inked(laid_out(text))
    assert found.text.split("\n") == [
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
    names = ['"a"', '"a"', '"list"', f'"{long}"', '"n"', f'"{long}"']
    assert inked(found, Ink.NAME) == names
    assert inked(found, Ink.STRING) == ['"\\u00e9\\""']
    assert inked(found, Ink.NUMBER) == ["1.50e+01", "1", "2", "null"]


def test_long_json_and_what_is_none_stay_as_they_are() -> None:
    long = json.dumps(["x" * 50] * 4000)
    assert len(long) > 200_000
    deep = "[" * 25 + "]" * 25
    for text in (long, deep, "no {json}", '{\n"a": 1}', ""):
        assert laid_out(text) == text


def test_markdown() -> None:
    text = (
        "# Title\n\nSome **bold** and *slanted* and `code`.\n- item\n2. two\n> said\n"
        "snake_case_name, 2 * 3 * 4, a*b*c, __init__ and ** alone **\n"
    )
    found = text_inked(text)
    assert inked(found, Ink.STRONG) == ["# Title", "**bold**"]
    assert inked(found, Ink.EMPHASIS) == ["*slanted*"]
    assert inked(found, Ink.CODE) == ["`code`"]
    assert inked(found, Ink.MUTED) == ["-", "2.", ">"]
    assert [row.hang for row in rows(found)] == [0, 0, 0, 2, 3, 2, 0, 0]


def test_the_text_of_a_fence_is_code() -> None:
    text = "def is\n```python\ndef *f*():\n```\nit\n~~~\n```\n~~~\n"
    found = text_inked(text)
    assert inked(found, Ink.CODE) == ["\ndef *f*():\n", "\n```\n"]
    assert inked(found, Ink.MUTED) == ["```python", "```", "~~~", "~~~"]
    assert inked(found, Ink.EMPHASIS) == []


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
