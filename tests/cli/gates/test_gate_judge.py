"""The ``calibration:`` entries of a suite, from the command line."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write, entry, facts, rows, suite
from tests.helpers import SAMPLES

GOOD = b"".join(b'{"confidence": 1.0, "correct": true}\n' for _ in range(60))
SURE = b"".join(
    b'{"confidence": 1.0, "correct": %s}\n' % (b"true" if at % 2 else b"false") for at in range(60)
)
"""Sure of everything and right half of the time: ECE 0.5, Brier 0.5."""


def judge(name: str, *more: str) -> str:
    lines = [f"  - name: {name}", "    labels: labels.jsonl", *(f"    {line}" for line in more)]
    return "\n".join(lines)


def judges(*entries: str) -> bytes:
    return "\n".join(["calibration:", *entries, ""]).encode()


@pytest.mark.parametrize(("labels", "code", "word"), [(GOOD, 0, "PASS"), (SURE, 1, "FAIL")])
def test_the_default_gates(cli: Cli, write: Write, labels: bytes, code: int, word: str) -> None:
    write("labels.jsonl", labels)
    path = write("suite.yml", judges(judge("judge stays calibrated")))
    done = cli("gate", path)
    assert (done.code, rows(done), done.err) == (code, [word], "")
    found = facts(cli("gate", path, "--json"))["entries"][0]
    assert (found["kind"], found["source"], found["verdicts"]) == (
        "calibration",
        "labels.jsonl",
        None,
    )
    checks = found["checks"]
    assert [(one["target"], one["matcher"]) for one in checks] == [
        ("ece", {"schema": {"maximum": 0.1}}),
        ("brier", {"schema": {"maximum": 0.25}}),
    ]
    # (1.0 - accuracy) in the last bin, and the mean of 0 and 1 squared.
    expected = 0.0 if code == 0 else 0.5
    assert [one["value"] for one in checks] == [expected, expected]


def test_a_judge_and_a_jury_in_one_suite(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("labels.jsonl", SURE)
    both = judges(judge("judge", "expect: [{ target: accuracy, matcher: { exact: 0.5 } }]"))
    both += suite(entry("jury", f"report: {SAMPLES / 'release-notes.json'}"))
    xml = tmp_path / "out.xml"
    done = cli("gate", write("suite.yml", both), "--junit", xml)
    assert (done.code, rows(done)) == (1, ["PASS", "FAIL"])
    assert "(labels.jsonl, 60 labels)" in done.out
    assert 'classname="calibration" name="judge"' in xml.read_text(encoding="utf-8")


def test_the_corrected_rate(cli: Cli, write: Write) -> None:
    write("labels.jsonl", GOOD)
    matrix = "reliability: { tp: %d, fn: 10, tn: %d, fp: 20 }"
    rate = "observed_positive_rate: 0.50"
    # J = 0.9 + 0.8 - 1 lowers 0.5 to 0.43; J = 40/50 + 5/25 - 1 says nothing.
    good = judge("good", matrix % (90, 80), rate)
    coin = judge("coin", matrix % (40, 5), rate)
    found = facts(cli("gate", write("suite.yml", judges(good, coin)), "--json"))["entries"]
    assert [one["status"] for one in found] == ["pass", "pass"]
    third = [one["checks"][2] for one in found]
    assert [one["target"] for one in third] == ["corrected_rate"] * 2
    assert [one["status"] for one in third] == ["pass", "skip"]
    assert third[1]["note"] == "the judge carries no signal"


def test_no_labels_pass_nothing(cli: Cli, write: Write) -> None:
    write("labels.jsonl", b"")
    done = cli("gate", write("suite.yml", judges(judge("empty"))))
    assert (done.code, rows(done)) == (0, ["SKIP"])
    assert "the file has no rows" in done.out


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (b'{"confidence": 2, "correct": true}\n', "line 1: confidence must be a number from 0"),
        (b'{"confidence": 1, "correct": true}\n{\n', "line 2"),
        (b'{"confidence": 1, "correct": 1}\n', "line 1: correct must be true or false, found 1"),
        (None, "there is no such file"),
    ],
)
def test_labels_that_cannot_be_read(
    cli: Cli, write: Write, tmp_path: Path, labels: bytes | None, problem: str
) -> None:
    if labels is not None:
        write("labels.jsonl", labels)
    done = cli("gate", write("suite.yml", judges(judge("bad"))))
    assert (done.code, rows(done), len(done.lines)) == (2, ["ERROR"], 1)
    start = f"{tmp_path / 'suite.yml'}:3: labels: {tmp_path / 'labels.jsonl'}: "
    assert done.err.startswith(start + problem)


def test_the_sample_of_a_judge(cli: Cli) -> None:
    done = cli("gate", SAMPLES / "judge-gates.yml", "--json")
    assert done.code == 1
    first, second = facts(done)["entries"]
    # Eight times the gap of each bin: one row in all but the last, where two of three are right.
    ece = (0.16 + 0.28 + 0.58 + 0.34 + 0.12 + (0.96 + 0.93 + 0.91 - 2)) / 8
    assert first["checks"][0]["value"] == pytest.approx(ece)
    assert [one["status"] for one in first["checks"]] == ["fail", "pass", "pass"]
    assert (first["status"], second["status"]) == ("fail", "pass")
