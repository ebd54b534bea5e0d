"""The benchmark of foreign endpoints counts a row only if its limiter did refuse."""

import subprocess
import sys

import pytest

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
