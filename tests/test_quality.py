"""Linters and types are part of the suite, so that one command checks everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "--no-cache", "."),
        ("ruff", "format", "--no-cache", "--check", "."),
        ("mypy",),
    ],
    ids=" ".join,
)
def test_the_tree_is_clean(command: tuple[str, ...], tmp_path: Path) -> None:
    extra = ["--cache-dir", str(tmp_path)] if command == ("mypy",) else []
    done = subprocess.run(
        [sys.executable, "-m", *command, *extra],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
