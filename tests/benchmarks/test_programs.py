"""Benchmarks on small inputs: what they count and promise; nothing here is timed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.improve import tables
from tests.helpers import ROOT

_ROW = """
import sys
sys.path.insert(0, "benchmarks")
from endpoints import judged, limited
from traffic import server
with server(0.01, int(sys.argv[1]), 1.0) as url:
    print(limited(judged(url, 3)).row)
"""


def row(limit: int) -> str:
    """The row of an endpoint that admits so many requests a second; 0 admits everything."""
    done = subprocess.run(
        [sys.executable, "-c", _ROW, str(limit)],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


@pytest.mark.slow
def test_behind_a_limiter_that_refuses_every_ballot_is_answered() -> None:
    answered, sent, lost = row(6).removesuffix(" |").split(" | ")
    assert (answered, lost) == ("15 of 15", "0")
    # Each request that was refused was sent again.
    refused = int(sent.partition(": ")[2].partition(" were")[0])
    assert refused > 0
    assert sent == f"{15 + refused} requests: {refused} were 429, 0 failed otherwise"


@pytest.mark.slow
def test_a_limiter_that_never_acts_is_no_measurement() -> None:
    assert row(0) == "the limiter refused nothing | | |"


@pytest.mark.slow
def test_the_rows_of_a_desk_are_measured(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/scale.py", "--quick", "--folder", str(tmp_path),
         "--rows", "queue", "labels", "costs"],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    for row in ("all ids of", "item opened at random", "label committed"):
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


@pytest.mark.slow
def test_changes_that_do_nothing_are_called_better_on_at_most_one_desk_in_twenty() -> None:
    idle, *_ = tables(desks=100)
    shares = [float(one) for one in re.findall(r"([0-9.]+)%", idle)]
    assert len(shares) == 20
    # The seed is fixed; the published table is of 2,000 desks, where the largest is 3.3%.
    assert max(shares) <= 5
