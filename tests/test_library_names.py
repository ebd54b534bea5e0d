"""The names of ``from reviewdesk import ...``: which there are, and how they load."""

import ast
import inspect
import re
import subprocess
import sys

import pytest

import reviewdesk
from tests.helpers import ROOT

NAMES = {
    # a panel, and what it decides by
    "Panel", "ballot", "Ballot", "Verdict", "verdict_from_body", "Policy", "Generator", "Rounding",
    "Regime", "Status", "Strategy", "STRATEGIES", "rule_for",
    # a panel that is asked
    "Juror", "Price", "PanelSpec", "Case", "Check", "LiveVerdict", "aggregate", "PanelError",
    "with_prompt",
    # what it decides
    "assess", "Assessment", "Decision", "Band", "remarks",
    # its rules one by one
    "Votes", "quorum_met", "quorum_met_strictly", "mean", "median", "weighted_average", "Trim",
    "trim", "trim_count", "trimmed_mean", "Breakdown", "breakdown",
    # labels
    "LabelVote", "LabelRules", "label_vote", "label_decision", "Supermajority", "supermajority",
    # agreement and bias of one verdict
    "r_wg", "votes_agreement", "verdict_agreement", "unit_alpha", "closeness", "band", "family",
    "same_family",
    # agreement of a run
    "AlphaState", "alpha_interval", "alpha_nominal", "alpha_ordinal", "contributions",
    "interval_ci",
    # calibration
    "Fit", "fit", "Part", "stratified_rate", "lang_reiczigel", "wilson", "cohen_kappa",
    "rate_difference", "Rows", "accuracy", "brier", "ece", "effective_sample_size", "measure",
    "rogan_gladen", "wald",
    # errors
    "ReviewDeskError", "UsageError", "NoJurorsError",
}  # fmt: skip


def test_the_names_of_the_library() -> None:
    assert set(reviewdesk.__all__) == NAMES
    assert len(reviewdesk.__all__) == len(NAMES)
    assert set(dir(reviewdesk)) == NAMES | {"__version__"}


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


@pytest.mark.parametrize("name", sorted(NAMES - {"STRATEGIES"}))
def test_each_name_says_what_it_is(name: str) -> None:
    found = getattr(reviewdesk, name)
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
from reviewdesk import PanelSpec, label_decision, quorum_met
assert "numpy" not in sys.modules
from reviewdesk import Panel, ballot
Panel().decide([ballot("a", score=0.9)])
heavy = {"httpx", "sqlite3", "pydantic", "yaml", "reviewdesk.store"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_lines_of_the_docs_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    # The second only says how a panel is asked: nothing is sent here.
    assert len(blocks) == 2
    for lines in blocks:
        exec(compile(lines, "library.md", "exec"), {})  # noqa: S102
    # gpt failed, so the median of .9 and .6 stands in: .75, over .7. The votes are 1-1 of three,
    # and their spread is .045, of which r_WG makes 1 - .045 * 12 = .46: low.
    assert capsys.readouterr().out.splitlines() == [
        "pass 0.75 median failed: gpt",
        "inconclusive low ()",
        "inconclusive",
    ]
