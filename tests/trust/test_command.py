"""The command that tries every fault, on few of each; what it would break is where it looks."""

import subprocess
import sys

import pytest
from trusting.rows import ENTRANCES, FaultRow, markdown
from trusting.suites import TESTED, WRONG, WrongProgram

from tests.helpers import ROOT


@pytest.mark.parametrize("wrong", WRONG, ids=lambda one: one.what)
def test_each_control_breaks_line_that_there_is_for_test_that_there_is(wrong: WrongProgram) -> None:
    assert wrong.line in (ROOT / "reviewdesk" / wrong.file).read_text(encoding="utf-8")
    assert wrong.instead != wrong.line
    file, _, name = wrong.test.partition("::")
    assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8") if name else True
    assert (ROOT / file).exists()


def test_the_tests_that_rows_name_are_there() -> None:
    for test in (test for _, _, tests, _ in TESTED for test in tests):
        file, _, name = test.partition("::")
        assert (ROOT / file).exists()
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8") if name else True


def test_every_promise_names_the_entrances_that_it_was_tried_at() -> None:
    known = set(ENTRANCES)
    assert all(entrances and set(entrances) <= known for *_, entrances in TESTED)

    row = FaultRow("a", "b", "c", True, ("shell", "terminal"))
    assert "| 2 of 8: terminal, shell | yes |" in markdown([row], 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["kills", "writers", "full", "terminal", "damage"])
def test_the_faults_are_tried_and_all_holds(rows: str) -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/trust.py", "--quick", "--rows", rows],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    table = [line for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert table, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    for line in table:
        # How soon a key is answered, how long a writer waits, and whether a kill comes before the
        # end, is no matter for a busy machine.
        late = any(
            words in line for words in ("lock held", "processes x", "| 0 were killed in time")
        )
        assert line.endswith("| yes |") or late
