"""Libraries are used by what they publish: no private names of theirs, no doctored imports."""

import ast
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions

import pytest

import reviewdesk
from tests.helpers import ROOT

PACKAGE = ROOT / "reviewdesk"
FILES = sorted(PACKAGE.rglob("*.py"))
PUBLIC = {"_replace", "_asdict", "_fields", "_make"}
"""What namedtuples document; their names avoid those of the fields."""


INPUT = {
    "app/terminal/browser.py": {
        "from textual.drivers._byte_stream import ByteStream",
        "from textual.drivers.web_driver import WINDOWS, WebDriver, _ExitInput",
        "super()._on_meta",
    },
    "app/terminal/changes.py": {"from textual._xterm_parser import XTermParser"},
}
"""Textual publishes no parser of input. Its own takes parts of a paste for keys, so ours reads
around it; the bound on Textual's version in pyproject.toml keeps these names."""
READERS = {"BrowserDriver": {"_debug", "_input_reader", "_on_meta"}, "ChangesDriver": {"_debug"}}
"""The classes that read input, and the private names of Textual's drivers that they use."""


def is_private(name: str) -> bool:
    """Neither ``__dunder__`` nor ``_sunder_``, which are documented wherever they exist."""
    return name.startswith("_") and not name.endswith("_") and name not in PUBLIC


def foreign_private_uses(code: str) -> Iterator[str]:
    """Private names that a module takes from anything but its own objects, and doctored imports."""
    for node in ast.walk(ast.parse(code)):
        names: list[str] = []
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr="modules" | "meta_path"):
                yield f"{node.lineno}: {ast.unparse(node)}"
            case ast.Attribute(value=of, attr=name) if not is_own(of):
                names = [name]
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr" | "delattr"),
                args=[of, ast.Constant(value=str(name)), *_],
            ) if not is_own(of):
                names = [name]
            case ast.Import(names=given):
                names = [part for alias in given for part in alias.name.split(".")]
            case ast.ImportFrom(module=module, names=given):
                names = [*(module or "").split("."), *(alias.name for alias in given)]
                if module == "sys" and "modules" in names:
                    yield f"{node.lineno}: {ast.unparse(node)}"
        if any(map(is_private, names)):
            yield f"{node.lineno}: {ast.unparse(node)}"  # type: ignore[attr-defined]


def is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


@pytest.mark.slow
def test_no_private_name_of_another_object_is_touched() -> None:
    assert len(FILES) > 100
    found = [
        f"{file.relative_to(ROOT)}:{use}"
        for file in FILES
        for use in foreign_private_uses(file.read_text(encoding="utf-8"))
        if use.partition(": ")[2] not in INPUT.get(file.relative_to(PACKAGE).as_posix(), ())
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "pool._connections",
        "super()._on_key(event)",
        "self._http._pool.connections",
        "getattr(below, '_connection', None)",
        "import sys\nsys.modules['sniffio'] = None",
        "from sys import modules",
        "from httpcore._async import http11",
        "import textual._context",
        "from reviewdesk.domain.jury.injection import _SIGNS",
    ],
)
def test_the_search_finds(code: str) -> None:
    assert list(foreign_private_uses(code))


@pytest.mark.parametrize(
    "code", ["self._lines", "segment._replace(text='')", "value.__class__", "cls._made", "_x = 1"]
)
def test_the_search_passes(code: str) -> None:
    assert not list(foreign_private_uses(code))


def imported(folder: str) -> set[str]:
    """Distributions whose modules a folder imports, without the standard library and ourselves."""
    known = packages_distributions()
    names = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
    found = set()
    for name in names:
        top, _, rest = name.partition(".")
        if top in known and top not in {*sys.stdlib_module_names, "reviewdesk", "tests"}:
            # Several distributions share the namespace google.
            makers = [one.lower().replace("_", "-") for one in known[top]]
            inner = f"{top}-{rest.partition('.')[0]}"
            found.add(inner if inner in makers else makers[0])
    return found


def declared(*extras: str) -> dict[str, str]:
    """What the project asks for, by its name: the version as it is written there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = list(project["dependencies"] if not extras else [])
    for extra in extras:
        asked += project["optional-dependencies"][extra]
    parts = [re.fullmatch(r"([a-z0-9-]+)(?:\[\w+\])?(.*)", one) for one in asked]
    return {part[1]: part[2] for part in parts if part}


@pytest.mark.slow
def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    extras = ("inspect", "mcp", "scale", "web")
    # distributed imports cryptography itself, for the certificates of its workers.
    optional = {name for extra in extras for name in declared(extra)} - {"cryptography"}
    # The plugin of pytest is imported by pytest itself.
    assert imported("reviewdesk") - {"pytest"} == declared().keys() | optional


@pytest.mark.slow
def test_what_only_tests_import_is_declared() -> None:
    # The SDKs of the vendors may not be installed.
    by_tests = imported("tests") - (imported("reviewdesk") - {"pytest"})
    by_tests -= declared("vendors").keys() | declared("services").keys()
    run_by_name = {"hatchling", "pytest-asyncio", "pytest-timeout", "pytest-xdist"}
    of_extras = {"openpyxl", "pyarrow", "zstandard"}
    assert by_tests == declared("test").keys() - run_by_name - of_extras


def test_what_behaviour_is_relied_on_has_an_upper_bound() -> None:
    unbounded = {name for name, version in declared().items() if "<" not in version}
    # Its versions are dates, which say nothing of changes.
    assert unbounded == {"regex"}


@cache
def private_names(cls: type) -> frozenset[str]:
    """Private names that the body of a class defines, or uses of its instances."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        # Compiled: its names are those that it shows.
        return frozenset(filter(is_private, vars(cls)))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and is_own(node.value):
            found.add(node.attr)
    return frozenset(filter(is_private, found))


def overridden(cls: type) -> set[str]:
    """Private names that a class shares with a base class of a library."""
    bases = [base for base in cls.__mro__ if not base.__module__.startswith("reviewdesk")]
    libraries = [b for b in bases if b.__module__.split(".")[0] not in sys.stdlib_module_names]
    theirs = frozenset[str]().union(*map(private_names, libraries))
    return {name for name in private_names(cls) if name in theirs}


@pytest.mark.slow
def test_no_class_overrides_or_shadows_a_private_name_of_its_library() -> None:
    found = []
    for module in pkgutil.walk_packages(reviewdesk.__path__, "reviewdesk."):
        if module.name != "reviewdesk.__main__":
            members = vars(importlib.import_module(module.name)).values()
            own = [m for m in members if inspect.isclass(m) and m.__module__ == module.name]
            found += [(cls.__qualname__, names) for cls in own if (names := overridden(cls))]
    assert [(name, names) for name, names in found if names != READERS.get(name)] == []


@pytest.mark.slow
def test_the_comparison_finds_an_override() -> None:
    from textual.widgets import TextArea

    class Note(TextArea):
        def _on_key(self) -> None:  # type: ignore[override]
            """Override what Textual keeps to itself."""

        def keep(self) -> None:
            self._watch_theme("")

    assert overridden(Note) == {"_on_key", "_watch_theme"}
