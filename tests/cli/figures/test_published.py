"""Every published count of the two smallest parts of LLMBar comes out of the command."""

import importlib.util
from pathlib import Path

import pytest

from tests.helpers import ROOT, SHARED

DATA = SHARED / "data/published/llmbar"
PARTS = [DATA / f"llmbar-{part}.report.json" for part in ("GPTOut", "Manual")]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the published data are not beside the project")
def test_every_published_count_comes_out(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("published", ROOT / "benchmarks/published.py")
    assert spec is not None
    assert spec.loader is not None
    published = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(published)
    rows = list(published.agreeing(tmp_path, PARTS))
    assert len(rows) == 260
    assert [row for row in rows if not row[2]] == []
