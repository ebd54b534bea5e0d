"""The sizes that keep the house readable: files, functions and classes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.helpers import ROOT

FILE, FUNCTION, CLASS = 400, 40, 200


def sources() -> list[Path]:
    """Everything written by hand: the package with its stylesheets, and the tests."""
    return sorted(
        path
        for folder in ("reviewdesk", "tests")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".tcss"}
    )


def definitions(
    statements: Iterable[ast.AST],
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Every function and class, however deep; they stand in statements, never in expressions."""
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from definitions(getattr(node, name, ()))


def offenders(name: str, text: str) -> Iterator[str]:
    """What of a file is over its budget, with the place and the size."""
    lines = text.count("\n")
    if lines > FILE:
        yield f"{name}: {lines} lines"
    if not name.endswith(".py"):
        return
    for node in definitions(ast.parse(text).body):
        budget = CLASS if isinstance(node, ast.ClassDef) else FUNCTION
        size = (node.end_lineno or node.lineno) - node.lineno + 1
        if size > budget:
            yield f"{name}:{node.lineno} {node.name}: {size} lines"


def test_nothing_is_over_its_budget() -> None:
    found = sources()
    assert Path(__file__).resolve() in found
    assert [
        line
        for path in found
        for line in offenders(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    ] == []


def test_the_measure_counts_to_the_line() -> None:
    def function(size: int) -> str:
        return "def f():\n" + "    x = 1\n" * (size - 1)

    def klass(size: int) -> str:
        return "class C:\n" + "    x = 1\n" * (size - 1)

    assert list(offenders("a.py", function(40))) == []
    assert list(offenders("a.py", function(41))) == ["a.py:1 f: 41 lines"]
    assert list(offenders("a.py", klass(200))) == []
    assert list(offenders("a.py", klass(201))) == ["a.py:1 C: 201 lines"]
    nested = "try:\n pass\nexcept E:\n match x:\n  case 1:\n   def f():\n" + "    x = 1\n" * 40
    assert list(offenders("a.py", nested)) == ["a.py:6 f: 41 lines"]
    assert list(offenders("a.tcss", "\n" * 400)) == []
    assert list(offenders("a.tcss", "\n" * 401)) == ["a.tcss: 401 lines"]
