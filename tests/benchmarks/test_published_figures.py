"""Each command behind a published figure runs, small, and its checks on itself hold."""

import re
import subprocess
import sys

import pytest

from tests.helpers import ROOT

pytestmark = pytest.mark.slow


def printed(name: str, *options: str) -> str:
    """What a benchmark prints; it must end well."""
    done = subprocess.run(
        [sys.executable, f"benchmarks/{name}.py", *options],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_intervals_hold_the_truth_in_most_of_twenty_runs() -> None:
    text = printed("coverage", "--quick", "--process", "weak")
    found = [float(one) for one in re.findall(r"([0-9]+\.[0-9])%", text)]
    assert found
    assert "the stratified interval of the pass rate holds it in" in text


def test_equal_jurors_are_seldom_told_apart_and_the_band_holds() -> None:
    lines = printed("claims", "--runs", "10").splitlines()
    best = [line for line in lines if "shared" in line or "each its own" in line]
    assert len(best) == 3
    # At most 5 in 100 by Bonferroni: of ten runs none, or one by bad luck.
    assert max(float(one) for line in best for one in re.findall(r"([0-9.]+)%", line)) <= 10
    bands = [line.split("|")[3] for line in lines if "the panel" in line and line.startswith("|")]
    assert len(bands) == 9
    assert min(float(one.strip(" %")) for one in bands) >= 80


def test_driftless_runs_seldom_alarm() -> None:
    text = printed("cusum", "--quick")
    shares = [float(one) for one in re.findall(r"verdicts ([0-9.]+)%", text)]
    # 1 of 20 is meant; the seeds are fixed.
    assert len(shares) == 6
    assert max(shares) <= 20


def test_figures_after_a_label_are_those_of_all_labels_read_anew() -> None:
    # It ends with an error where the two differ.
    text = printed("refresh", "--labels", "20", "60")
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["20", "60"]


def test_every_figure_of_agreement_has_its_multiple() -> None:
    text = printed("agreement", "--verdicts", "2000")
    assert {"quorum", "trimmed mean", "alpha, interval"} <= {
        line[:24].strip() for line in text.splitlines()
    }


def test_every_call_of_a_judged_file_is_answered() -> None:
    text = printed("judge", "--cases", "6", "--latency", "0.01", "--concurrency", "4")
    assert text.startswith("30 calls, 6 verdicts, 400 calls/s possible")


def test_the_limiter_of_the_comparison_counts_what_it_refuses() -> None:
    script = """
import sys
sys.path.insert(0, "benchmarks")
from traffic import ours, refusals, server
with server(0.01, 6, 1.0) as url:
    print(ours(url, 3, 8).lost, refusals(url) > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.stdout.split() == ["0", "True"], done.stderr[-2000:]


def test_an_interval_for_every_look_misses_in_few_sessions() -> None:
    text = printed("looks", "--sessions", "12")
    missed = [float(one) for one in re.findall(r"\| ([0-9.]+)% \| [-0-9.]+%? \|", text)]
    # Six figures of two or four panels; one session of twelve may miss, and two by bad luck.
    assert len(missed) == 16
    assert max(missed) <= 17
