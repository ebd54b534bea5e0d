"""The names of ``from reviewdesk import ...``: which there are, and how they load."""

import ast
import inspect
import re

import pytest

import reviewdesk
from reviewdesk import stats
from tests.helpers import ROOT, printed

NAMES = {
    # a desk
    "open", "ReviewDesk", "DeskRun", "DeskRecord", "DeskRecords", "CalibrationRecord", "Plot",
    # a panel that is asked, or that decides by ballots
    "Panel", "Juror", "Price", "Case", "Check", "with_prompt", "LiveVerdict", "Ballot", "ballot",
    "Assessment", "Decision",
    # errors
    "ReviewDeskError", "UsageError", "NotFoundError", "ReportError", "DeskError", "PanelError",
    "NoJurorsError",
}  # fmt: skip


def test_the_names_of_the_library() -> None:
    assert set(reviewdesk.__all__) == NAMES
    assert len(reviewdesk.__all__) == len(NAMES) == 25
    assert set(dir(reviewdesk)) == NAMES | {"__version__", "stats"}


def test_types_and_run_time_see_the_same_names_in_the_same_modules() -> None:
    tree = ast.parse((ROOT / "reviewdesk" / "__init__.py").read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == {name: f"reviewdesk.{module}" for name, module in reviewdesk._MODULES.items()}
    assert typed.keys() == NAMES


def test_a_name_that_has_moved_is_found_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"is reviewdesk\.stats\.ece now") as told:
        found = reviewdesk.ece  # type: ignore[attr-defined]
    assert found is reviewdesk.stats.ece
    assert told[0].filename == __file__
    assert not NAMES & set(reviewdesk.stats.__all__)


@pytest.mark.parametrize("name", sorted(NAMES | set(stats.__all__) - {"STRATEGIES"}))
def test_each_name_says_what_it_is(name: str) -> None:
    found = getattr(reviewdesk if name in NAMES else stats, name)
    doc = inspect.getdoc(found) or ""
    # A dataclass without words of its own is described by its signature.
    assert doc
    assert not doc.startswith(f"{name}(")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="'reviewdesk' has no attribute 'jury'"):
        _ = reviewdesk.jury  # type: ignore[attr-defined]


def test_the_library_is_loaded_as_it_is_asked_for() -> None:
    code = """
import sys, reviewdesk
assert [name for name in sys.modules if name.startswith("reviewdesk.")] == ["reviewdesk.version"]
from reviewdesk import DeskRun, Panel, ballot, open
assert "numpy" not in sys.modules
Panel().decide([ballot("a", score=0.9)])
heavy = {"httpx", "sqlite3", "pydantic", "yaml", "reviewdesk.store"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    assert printed(code) == ""


def test_the_lines_of_the_docs_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    # The third only says how a panel is asked: nothing is sent here.
    assert len(blocks) == 3
    for lines in blocks:
        exec(compile(lines, "library.md", "exec"), {})  # noqa: S102
    # gpt failed, so the median of .9 and .6 stands in: .75, over .7. The votes are 1-1 of three,
    # and their spread is .045, of which r_WG makes 1 - .045 * 12 = .46: low.
    assert capsys.readouterr().out.splitlines() == [
        "30 insurance-excess pass",
        "pass 0.75 median failed: gpt",
        "inconclusive low ()",
        "inconclusive",
    ]
