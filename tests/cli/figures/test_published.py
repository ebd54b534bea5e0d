"""Published counts, and a panel against its judges, come out of the commands cell by cell."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT, SHARED

DATA = SHARED / "data/published/llmbar"
PARTS = [DATA / f"llmbar-{part}.report.json" for part in ("GPTOut", "Manual")]


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="the published data are not beside the project"),
]


@pytest.fixture(scope="module")
def published() -> Any:
    spec = importlib.util.spec_from_file_location("published", ROOT / "benchmarks/published.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_every_published_count_comes_out(published: Any, tmp_path: Path) -> None:
    rows = list(published.agreeing(tmp_path, PARTS))
    assert len(rows) == 260
    assert [row for row in rows if not row[2]] == []


def test_a_panel_against_its_judges_comes_out(published: Any, tmp_path: Path) -> None:
    assert len(published.panel_counted()) == 10
    assert published.panel_agrees(tmp_path) == 40
    # The table of the documentation is this one.
    page = (ROOT / "docs/reference/measured.md").read_text()
    for name, (right, kappa, apart, alone) in published.panel_counted().items():
        assert f"| {name} | {right} | {kappa:.3f} | {apart} | {alone} |" in page
