"""What ``.ci/run`` runs, and what decides how many examples a property is tried with."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STEPS = [
    "-m pip install -q --no-compile -e .[docs,tools,vendors,mcp,scale,services,web]",
    "-m ruff check .", "-m ruff format --check .", "-m mypy", "-m zensical build --strict",
    "-m pytest", "-m pytest -m slow",
]  # fmt: skip


def run_steps(folder: Path, failing: str) -> tuple[int, list[str], str]:
    """Run a copy of ``.ci/run`` whose Python notes its arguments and fails at one of the steps."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    readme = "```sh\nmkdir made && .venv/bin/python -m pytest\n```\n"
    (folder / "README.md").write_text(readme, encoding="utf-8")
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$*" >> steps\n[ "$*" != "{failing}" ]\n', encoding="utf-8")
    python.chmod(0o755)
    done = subprocess.run(
        ["bash", folder / ".ci" / "run"], capture_output=True, text=True, check=False
    )
    assert (folder / "made").is_dir()
    return done.returncode, (folder / "steps").read_text().splitlines(), done.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("failing", ["nothing", *STEPS])
def test_every_step_runs_and_any_of_them_can_fail_the_run(tmp_path: Path, failing: str) -> None:
    code, steps, error = run_steps(tmp_path, failing)
    assert steps == STEPS
    assert code == (failing in STEPS)
    assert error.replace("'", "") == (f"failed: .venv/bin/python {failing}\n" if code else "")


def test_the_profile_alone_says_how_many_examples_are_tried() -> None:
    # A number beside a test would be the same on a laptop and in CI.
    literal = re.compile(r"max_examples\s*=")
    files = [path for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py"]
    found = [path.name for path in files if literal.search(path.read_text(encoding="utf-8"))]
    assert found == []
