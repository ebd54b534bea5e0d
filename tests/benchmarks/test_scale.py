"""The benchmark of size measures every row on small inputs; nothing here is timed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT

ROWS = ("all ids of", "item opened at random", "label committed")


@pytest.mark.slow
def test_the_rows_of_a_desk_are_measured(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/scale.py", "--quick", "--folder", str(tmp_path),
         "--rows", "queue", "labels", "costs"],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    for row in ROWS:
        assert sum(line.startswith(f"| {row}") for line in lines) == 1, row
    # The second table: two sizes, each with the cost of a verdict and of a label.
    assert [line.split(" | ")[0] for line in lines if line.startswith(("| 100 ", "| 300 "))] == [
        "| 100",
        "| 300",
    ]


@pytest.mark.slow
def test_the_kernels_are_measured_against_a_copy() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/scale.py", "--quick", "--rows", "kernels"],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert (
        "| 500 x 5: trimmed mean / quorum / interval alpha, CPU | <= 4x / 1x / 15x |" in done.stdout
    )
    assert "cores," in done.stdout
