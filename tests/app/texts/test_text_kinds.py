"""Kinds: code and data are told by their signs, and prose never is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.texts.kinds import TextKind, fence_kind, is_json, kind_of
from tests.helpers import ROOT

CODE = {
    TextKind.JSON: ['{"a": 1}', '[1, 2,\n {"b": null}]', " [] \n", '{"a":1,"a":2,"n":1e400}'],
    TextKind.DIFF: [
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "Fix it.\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ def f():\n a\n-b\n+c",
    ],
    TextKind.MARKUP: [
        '<?xml version="1.0"?>\n<a><b/></a>',
        "<!DOCTYPE html>\n<html><body>Hello there, my old friend</body></html>",
        "<p>One.</p>\n<p>Two.</p>",
    ],
    TextKind.PYTHON: [
        "def list_sum(list): \n  # Iterate over the list \n  total = 0\n  return total\n",
        "import datetime\ndate = datetime.date(2021, 1, 5)\nprint(date)  # a Tuesday, of course",
        'class A:\n    """A long sentence that reads like prose. It is one."""\n    x: int | None',
        "#!/usr/bin/env python3\nprint(1)",
        ">>> 1 + 1\n2",
    ],
    TextKind.SCRIPT: [
        "const a = require('x');\nmodule.exports = function (b) {\n  return b;\n};",
        "import React from 'react';\n\nexport default function App() {\n  return null;\n}",
        "export interface Ride {\n  id: number;\n  price?: number;\n}",
        "list.map((x) => {\n  console.log(x);\n});",
    ],
    TextKind.BRACES: [
        '#include <stdio.h>\n\nint main(void) {\n  puts("hello there");\n  return 0;\n}',
        "package main\n\nfunc main() {\n\tprintln(1)\n}",
        "public class A {\n    private int x = 1;\n}",
        "fn main() {\n    let mut x = 1;\n}",
    ],
    TextKind.SQL: [
        "SELECT word FROM words WHERE word = 'd';",
        "CREATE TABLE a (\n  id INTEGER PRIMARY KEY\n);",
        "WITH x AS (SELECT 1) SELECT * FROM x",
    ],
    TextKind.SHELL: ["#!/bin/sh\nset -eu\necho done", "$ git status\n$ git push origin main"],
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in CODE.items() for text in texts]
)
def test_code_is_told_by_its_signs(kind: TextKind, text: str) -> None:
    assert kind_of(text) is kind
    assert kind_of(text.replace("\n", "\r\n")) is kind


PROSE = [
    "",
    "Yes.",
    "import duties rose\nreturn to sender",
    "Select all that apply from the list; one is enough.",
    "SELECT ALL THAT APPLY FROM THE LIST BELOW",
    "UPDATE: the meeting moved (to noon).\nDELETE FROM your calendar what is left.",
    "for everyone in the room:\nif you agree, say so:\nclass dismissed.",
    "let x = 5 and then y = x + 2 follows from that, as we said.",
    "From here on, const is a word; let us use it.",
    "{this is not JSON}",
    "[INST] Say hello. [/INST]",
    '{"cut": "off", "in the middle": ',
    "[1] See the references.\n[2]",
    "<name> wrote to <email>",
    "<think>It is short.</think> The answer is 4.",
    "a < b and c > d",
    "--- a\nThis is a rule.\n+++\n",
    "Here is the function:\n\ndef f(x):\n    return x\n\nIt returns what it is given, as asked.",
    "この関数は次の通りです。\ndef f(x):\n    return x\ndef g(x):\n    return f(x)",
    "1. def f(): the first\n2. def g(): the second",
    "```python\ndef f():\n    return 1\n```",
    "public opinion (and the press);\nprivate opinion {so called};",
    "#5 is wrong, and # is a sign",
    "$ 5 for a coffee, and that is a lot of money for one",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_never_code(text: str) -> None:
    assert kind_of(text) is TextKind.TEXT


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def sample_texts() -> Iterator[str]:
    for path in sorted((ROOT / "sample_runs").glob("*.json*")):
        if path.name in {"code-review.json", "cases.jsonl"}:
            continue
        content = path.read_text(encoding="utf-8")
        for part in content.splitlines() if path.suffix == ".jsonl" else [content]:
            yield from texts(json.loads(part))


def test_the_samples_are_prose() -> None:
    found = {text: kind_of(text) for text in sample_texts()}
    assert len(found) > 500
    assert [text for text, kind in found.items() if kind is not TextKind.TEXT] == []


def test_a_huge_or_deep_text_is_not_parsed() -> None:
    assert not is_json("[" * 100_000 + "]" * 100_000)
    assert not is_json("[" + "1," * 1_500_000 + "1]")
    assert is_json("[" + "9" * 5000 + "]")


@pytest.mark.parametrize(
    ("word", "body", "kind"),
    [
        ("py", "", TextKind.PYTHON),
        ("JSON", "", TextKind.JSON),
        ("tsx", "", TextKind.SCRIPT),
        ("rust", "", TextKind.BRACES),
        ("yaml", "", TextKind.CONFIG),
        ("mermaid", "def f():\n  return 1", TextKind.TEXT),
        ("", "def f():\n  return 1", TextKind.PYTHON),
        ("", "just a tree", TextKind.TEXT),
    ],
)
def test_a_fence_names_its_kind(word: str, body: str, kind: TextKind) -> None:
    assert fence_kind(word, body) is kind


def test_this_package_is_python() -> None:
    package = Path(ROOT / "reviewdesk" / "app")
    sources = [path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))]
    kinds = [kind_of(text) for text in sources if text.count("\n") > 5]
    assert len(kinds) > 20
    assert set(kinds) == {TextKind.PYTHON}
