"""The ``calibration:`` entries of a suite, from the command line."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write, entry, facts, rows, suite
from tests.helpers import SAMPLES

SURE = b"".join(
    b'{"confidence": 1.0, "correct": %s}\n' % (b"true" if at % 2 else b"false") for at in range(60)
)
"""Sure of everything and right half of the time: ECE 0.5, Brier 0.5."""


def test_a_judge_and_a_jury_in_one_suite(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("labels.jsonl", SURE)
    both = b"calibration:\n  - name: judge\n    labels: labels.jsonl\n"
    both += b"    expect: [{ target: accuracy, matcher: { exact: 0.5 } }]\n"
    both += suite(entry("jury", f"report: {SAMPLES / 'release-notes.json'}"))
    xml = tmp_path / "out.xml"
    done = cli("gate", write("suite.yml", both), "--junit", xml)
    assert (done.code, rows(done)) == (1, ["PASS", "FAIL"])
    assert "(labels.jsonl, 60 labels, no report was read: " in done.out
    assert 'classname="calibration" name="judge"' in xml.read_text(encoding="utf-8")


def test_the_sample_of_a_judge(cli: Cli) -> None:
    done = cli("gate", SAMPLES / "judge-gates.yml", "--json")
    assert done.code == 1
    first, second = facts(done)["entries"]
    # Eight times the gap of each bin: one row in all but the last, where two of three are right.
    ece = (0.16 + 0.28 + 0.58 + 0.34 + 0.12 + (0.96 + 0.93 + 0.91 - 2)) / 8
    assert first["checks"][0]["value"] == pytest.approx(ece)
    assert [one["status"] for one in first["checks"]] == ["fail", "pass", "pass"]
    assert (first["status"], second["status"]) == ("fail", "pass")
