"""The layers of the house: who imports whom, what a start loads, the size of files, and names."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.helpers import ROOT, printed

PACKAGE = ROOT / "reviewdesk"
NUMPY = {
    "domain/assessment/assess.py",
    "domain/assessment/mismatches.py",
    "domain/assessment/trail.py",
    "domain/gates/such_items.py",
    "domain/jurors/facts.py",
    "domain/jurors/drift.py",
    "domain/jurors/panels.py",
    "domain/jurors/votes.py",
    "domain/jury/scores.py",
    "domain/jury/label_rules.py",
    "domain/jury/panels.py",
    "domain/jury/stopping.py",
    "domain/jury/sheet.py",
    "domain/jury/injection.py",
    "domain/jury/verdicts.py",
    "domain/labels/draw.py",
    "domain/labels/label_columns.py",
    "domain/labels/summary.py",
    "domain/query/places.py",
    "domain/query/matching.py",
    "domain/run/columns.py",
    "domain/run/stats.py",
    "domain/run/window.py",
    "domain/stats/alpha.py",
    "domain/stats/calibration.py",
    "domain/stats/dense.py",
    "domain/stats/reliability.py",
    "domain/labels/confidence_sequence.py",
    "domain/whatif.py",
}
"""The statistics over many verdicts at once; a panel alone needs plain numbers only."""
SCREEN = {"textual", "rich"}

ALLOWED = {
    "domain": {"domain", "errors", "msgspec"},
    "reports": {
        "domain", "errors", "file_output", "reports", "msgspec", "pydantic", "pydantic_core",
        "yaml", "jsonschema", "referencing", "regex", "zstandard", "platformdirs",
    },
    "store": {"domain", "errors", "file_output", "store", "sqlite_utils", "system"},
    "live": {"domain", "errors", "live", "file_output", "system", "httpx"},
    "views": {"domain", "errors", "views"},
    "pages": {"domain", "errors", "pages", "views", "jinja2", "markupsafe"},
    "scale": {
        "domain", "errors", "scale", "system", "dask", "distributed", "fsspec",
    },
    "desk": {
        "domain", "reports", "store", "live", "views", "pages", "errors", "file_output", "desk",
        "platformdirs", "scale",
    },
    "cli": {
        "desk", "views", "domain", "errors", "cli", "settings", "click", "app", "system", "web",
        "mcp",
    },
    "app": {"app", "desk", "views", "domain", "errors", "settings", "system", *SCREEN},
    "web": {"desk", "domain", "errors", "system", "views", "web", "aiohttp", "textual_serve"},
    "mcp": {"desk", "domain", "errors", "mcp", "views", "pydantic"},
    "pytest": {"desk", "domain", "errors", "pytest", "views"},
    "settings": {"errors", "settings", "platformdirs"},
    "errors": {"errors"},
    "file_output": {"system"},
    "system": {"system"},
    "__init__": {"desk", "domain", "errors", "library"},
    "library": {"desk", "domain", "errors", "library", "pages", "settings", "views"},
    "stats": {"desk", "domain"},
    "__main__": {"cli"},
    "version": set(),
}  # fmt: skip
"""Beside the standard library; ``msgspec``, for records, and ``version`` are anybody's."""


@dataclass(frozen=True)
class Import:
    """One imported name, and whether it is imported inside a function."""

    file: str
    line: int
    name: str
    inside: bool

    @property
    def layer(self) -> str:
        return self.file.split("/")[0].removesuffix(".py")

    @property
    def what(self) -> str:
        """A layer of ours, or the name of somebody else's package."""
        return _what(self.name)

    @property
    def module(self) -> str:
        """The module of ours that is imported, or nothing."""
        found = self.name if self.name in MODULES else self.name.rpartition(".")[0]
        return found if found in MODULES else ""


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Every import of a file, wherever it stands."""
    file = path.relative_to(PACKAGE).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tuple(
        Import(file, node.lineno, name, inside)
        for node, inside in _imports(tree)
        for name in _names(node)
    )


def _imports(
    node: ast.AST, inside: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import() | ast.ImportFrom():
                yield child, inside
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _imports(child, True)
            case ast.stmt() | ast.excepthandler() | ast.match_case():
                yield from _imports(child, inside)


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "imports are absolute"
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _what(module: str) -> str:
    first, _, rest = module.partition(".")
    return rest.split(".")[0] if first == "reviewdesk" and rest else first


def _fits(found: Import) -> bool:
    if found.file.startswith("app/controllers/") and found.what in SCREEN:
        return False
    if found.what in sys.stdlib_module_names or found.what in {"msgspec", "version"}:
        return True
    if found.what == "numpy":
        return found.file in NUMPY
    if found.layer == "cli" and found.what == "app":
        return found.inside
    return found.what in ALLOWED[found.layer]


FILES = sorted(PACKAGE.rglob("*.py"))

_VERB = re.compile(
    r"\s*(SELECT|INSERT|REPLACE|UPDATE|DELETE|WITH|CREATE|DROP|ALTER|PRAGMA|ATTACH|VACUUM|BEGIN|COMMIT"
    r"|ROLLBACK|SAVEPOINT)\b"
)


def statements(path: Path) -> Iterator[str]:
    """Each text that begins with a verb of SQL, and each call that runs a statement, by place."""
    file = path.relative_to(PACKAGE).as_posix()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Constant(value=str(text)) if _VERB.match(text):
                yield f"{file}:{node.lineno} {text.split()[0]}"
            case ast.Call(func=ast.Attribute(attr="execute" | "executemany" as name), args=[_, *_]):
                yield f"{file}:{node.lineno} {name}"


def test_every_layer_is_in_the_table() -> None:
    layers = {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in FILES}
    assert layers <= ALLOWED.keys()


def test_every_import_fits_the_table() -> None:
    every = [found for file in FILES for found in imports(file)]
    # The walk sees the whole package: each layer imports something of another one or of itself.
    assert {found.layer for found in every} >= {"domain", "reports", "store", "desk", "cli", "app"}
    wrong = [f"{bad.file}:{bad.line} imports {bad.what}" for bad in every if not _fits(bad)]
    assert wrong == []


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("domain/x.py", "import numpy as np"),
        ("domain/x.py", "from reviewdesk.store import queue"),
        ("domain/x.py", "def f():\n    import sqlite_utils"),
        ("store/x.py", "from reviewdesk.reports import read"),
        ("desk/x.py", "from reviewdesk import cli"),
        ("desk/x.py", "import httpx"),
        ("live/x.py", "from reviewdesk.reports import read"),
        ("cli/x.py", "from reviewdesk.app.app import ReviewApp"),
        ("cli/x.py", "class C:\n    import textual"),
        ("cli/x.py", "def f():\n    from reviewdesk.reports import FORMATS"),
        ("views/x.py", "from reviewdesk.desk import Desk"),
        ("app/x.py", "from reviewdesk.reports import read"),
        ("pages/x.py", "from reviewdesk.desk import overview"),
        ("app/controllers/x.py", "def f():\n    from textual.message import Message"),
        ("settings/x.py", "from reviewdesk.desk import Desk"),
    ],
)
def test_the_table_refuses(
    file: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(code, encoding="utf-8")
    assert [found for found in imports(path) if not _fits(found)]


@pytest.mark.slow
def test_every_statement_of_sql_is_in_the_store() -> None:
    found = [place for file in FILES for place in statements(file)]
    # The walk knows a statement when it sees one: the store is full of them.
    assert len(found) > 100
    assert [place for place in found if not place.startswith("store/")] == []


@pytest.mark.parametrize(
    "code",
    [
        'query = "SELECT 1"',
        'query = """\\n  SELECT 1"""',
        'query = f"UPDATE {table} SET a = 1"',
        'query = start + "DELETE FROM t"',
        'x.conn.execute("PRAGMA " + name)',
        "conn.executemany(query, rows)",
    ],
)
def test_a_statement_is_found(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    path = tmp_path / "desk.py"
    path.write_text(code, encoding="utf-8")
    assert list(statements(path))


HEAVY = (
    "textual", "rich", "httpx", "numpy", "pydantic", "sqlite_utils", "tomllib",
    "platformdirs", "yaml", "jsonschema", "aiohttp", "textual_serve",
)  # fmt: skip

_LOADS = """
import sys
{start}
heavy = sorted(name for name in {heavy!r} if name in sys.modules)
print("loaded:", *heavy)
"""
_HELP = """
from reviewdesk.cli import run
assert run(["--help"]) == 0
"""
_SETTINGS = """
from pathlib import Path
from reviewdesk.settings import load_settings
Path({path!r}).write_text({text!r})
try:
    load_settings(environ=dict(REVIEWDESK_CONFIG={path!r}))
except Exception as error:
    print(error)
"""


@pytest.mark.parametrize("text", ['theme = "desk"\nkeys.defer = "s"', "blind = 1"])
def test_settings_load_no_pydantic(text: str, tmp_path: Path) -> None:
    start = _SETTINGS.format(path=str(tmp_path / "c.toml"), text=text)
    told = printed(_LOADS.format(start=start, heavy=HEAVY))
    assert "pydantic" not in told.splitlines()[-1]
    assert ("blind must be true or false" in told) is (text == "blind = 1")


@pytest.mark.parametrize(
    ("start", "found"),
    [("import reviewdesk.cli", ""), (_HELP, ""), ("import pydantic", " pydantic")],
    ids=["import", "help", "the probe itself"],
)
def test_a_start_loads_nothing_heavy(start: str, found: str) -> None:
    told = printed(_LOADS.format(start=start, heavy=HEAVY))
    assert told.splitlines()[-1] == f"loaded:{found}"


def _imported(path: Path) -> set[str]:
    """The modules of ours that a file imports, also for types and inside functions."""
    return {one.module for one in imports(path)} - {""}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_name(path): path for path in FILES}


def test_no_modules_name_each_other_in_a_circle_not_even_for_types() -> None:
    graph = {name: _imported(path) for name, path in MODULES.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)
    # The walk sees imports that are for types alone.
    assert "reviewdesk.app.controllers.jobs" in graph["reviewdesk.app.controllers.core"]


_CIRCLE = """
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp
"""


def test_a_circle_of_types_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    path = tmp_path / "x.py"
    path.write_text(_CIRCLE, encoding="utf-8")
    assert _imported(path) == {"reviewdesk.app.app"}


_CONTROLLERS = """
import importlib, pkgutil, sys
import reviewdesk.app.controllers as package
names = [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
for name in names:
    importlib.import_module(name)
print(len(names), "textual" in sys.modules)
"""


@pytest.mark.slow
def test_the_controllers_load_no_textual() -> None:
    controllers = [file for file in FILES if PACKAGE / "app" / "controllers" in file.parents]
    assert printed(_CONTROLLERS).split() == [str(len(controllers) - 1), "False"]


LINES = 600


def sources() -> list[Path]:
    """Everything written by hand: the package with its stylesheets, and the tests."""
    return sorted(
        path
        for folder in ("reviewdesk", "tests")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".tcss"}
    )


def test_no_file_is_over_its_budget() -> None:
    found = sources()
    assert Path(__file__).resolve() in found
    sizes = {path: path.read_text(encoding="utf-8").count("\n") for path in found}
    assert {str(path.relative_to(ROOT)): n for path, n in sizes.items() if n > LINES} == {}


GLOSSARY = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
_CLASS = re.compile(r"^ *class ([A-Za-z]\w*)", re.MULTILINE)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")
COMPOUNDS = {"labelled", "seen"}
"""Adjectives that may qualify a noun in the name of a class, but never name a module."""


def ruled_out() -> set[str]:
    table = GLOSSARY.partition("## Words that we do not use")[2]
    return set(re.findall(r"^\| ([a-z]+) \|", table, re.MULTILINE)) - {"word"}


@cache
def classes() -> list[tuple[str, str]]:
    return [
        (name, path.relative_to(PACKAGE).as_posix())
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in _CLASS.findall(path.read_text(encoding="utf-8"))
    ]


def modules() -> list[Path]:
    return [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")]


def test_the_glossary_rules_words_out() -> None:
    assert {"hands", "sitting", "judged", "twins"} <= ruled_out()


def test_no_module_has_a_name_that_is_ruled_out() -> None:
    named = {part for path in modules() for part in path.with_suffix("").parts}
    words = {word for name in named for word in name.split("_")}
    assert words & ruled_out() == set()


def test_no_class_has_a_name_that_is_ruled_out() -> None:
    barred = ruled_out() - COMPOUNDS
    wrong = [
        f"{path}: {name}"
        for name, path in classes()
        if barred & {word.lower() for word in _CAMEL.findall(name)} or name.lower() in ruled_out()
    ]
    assert wrong == []


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for name, path in classes():
        places[name].append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_no_folder_holds_more_than_a_person_takes_in() -> None:
    held: dict[str, int] = defaultdict(int)
    for path in modules():
        held[path.parent.as_posix()] += 1
    assert {folder: count for folder, count in held.items() if count > 22} == {}
