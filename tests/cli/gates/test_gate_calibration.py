"""Suites in the words of the judge calibration document, and labels that no suite may have."""

import json
from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write, facts, rows

SUITE = b"""calibration:
  - name: "judge stays calibrated"
    labels: ./calibration-labels.jsonl   # one {confidence, correct} per line
    # both inputs of the correction
    reliability: { tp: 90, fn: 10, tn: 80, fp: 20 }
    observed_positive_rate: 0.50
    expect:
      - target: ece
        matcher: { schema: { maximum: 0.10 } }
      - target: brier
        matcher: { schema: { maximum: 0.25 } }
      - target: corrected_rate
        matcher: { schema: { maximum: 0.50 } }
  - name: "by default"
    labels: ./calibration-labels.jsonl
"""
Form: TypeAlias = Callable[[list[tuple[float, bool]]], bytes]

# Of ten at 0.9 nine are right and of ten at 0.2 two, so each bin's gap is 0.
PAIRS = [(0.9, at > 0) for at in range(10)] + [(0.2, at < 2) for at in range(10)]


def lines(pairs: list[tuple[float, bool]]) -> bytes:
    made = (json.dumps({"confidence": one, "correct": other}) for one, other in pairs)
    return "\n".join(made).encode()


def listed(pairs: list[tuple[float, bool]]) -> bytes:
    made = (f"- confidence: {one}\n  correct: {str(other).lower()}" for one, other in pairs)
    return "\n".join(made).encode()


@pytest.mark.parametrize("form", [lines, listed])
def test_the_suite_of_the_document(cli: Cli, write: Write, form: Form) -> None:
    path = write("suite.yml", SUITE)
    write("calibration-labels.jsonl", form(PAIRS))
    done = cli("gate", path)
    assert (done.code, rows(done), done.err) == (0, ["PASS", "PASS"], "")
    first, second = facts(cli("gate", path, "--json"))["entries"]
    values = {check["target"]: check["value"] for check in first["checks"]}
    # Brier: (9 * 0.01 + 0.81 + 2 * 0.64 + 8 * 0.04) / 20. The rate: (0.5 + 0.8 - 1) / 0.7.
    expected = {"ece": 0.0, "brier": 0.125, "corrected_rate": 3 / 7}
    assert values == {name: pytest.approx(value) for name, value in expected.items()}
    said = (second["kind"], second["source"], second["verdicts"])
    assert said == ("calibration", "./calibration-labels.jsonl", None)
    assert [(check["target"], check["matcher"]) for check in second["checks"]] == [
        ("ece", {"schema": {"maximum": 0.1}}),
        ("brier", {"schema": {"maximum": 0.25}}),
    ]


@pytest.mark.parametrize("form", [lines, listed])
def test_flipped_labels_fail_it(cli: Cli, write: Write, form: Form) -> None:
    write("calibration-labels.jsonl", form([(one, not other) for one, other in PAIRS]))
    path = write("suite.yml", SUITE)
    assert rows(done := cli("gate", path)) == ["FAIL", "FAIL"]
    assert (done.code, done.err) == (1, "")
    first = facts(cli("gate", path, "--json"))["entries"][0]
    # 0.9 where one of ten is right, and 0.2 where eight are: ECE (8 + 6) / 20. The counts that
    # the suite gives are not those of the file, so its third check still passes.
    assert first["checks"][0]["value"] == pytest.approx(0.7)
    assert [check["status"] for check in first["checks"]] == ["fail", "fail", "pass"]


ROW = b"- { confidence: 0.5, correct: true }\n"


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (None, "there is no such file"),
        (ROW + b"- { confidence: 7, correct: true }\n", "line 2: confidence must be a number"),
        (ROW + b"- &a [x, x]\n- &b [*a, *a]\n", "line 2: has the anchor &a"),
        (ROW + b"- { confidence: 0.5, correct: true\n", "line 3: is not YAML"),
        (ROW * 20_000, "is over 512 KiB of YAML. Write it as JSON Lines"),
        (b'{"confidence": 0.5, "correct": true, "x": 1}', 'line 1: has the key "x"'),
        (b'{"confidence": 1, "correct": true}\n{\n', "line 2"),
    ],
)
def test_labels_no_suite_may_have(
    cli: Cli, write: Write, labels: bytes | None, problem: str
) -> None:
    path = write("suite.yml", SUITE)
    if labels is not None:
        write("calibration-labels.jsonl", labels)
    done = cli("gate", path)
    assert (done.code, rows(done)) == (2, ["ERROR", "ERROR"])
    assert [line.split(": ")[0] for line in done.lines] == [f"{path}:3", f"{path}:15"]
    assert all(f"calibration-labels.jsonl: {problem}" in line for line in done.lines)


@pytest.mark.parametrize("data", [b"[]", b"", b"# none yet\n[]\n"])
def test_an_empty_set_warns_and_passes_nothing(cli: Cli, write: Write, data: bytes) -> None:
    path = write("labels.yaml", data)
    found = cli("calibrate", path, "--json").json
    assert (found["n"], found["ece"]) == (0, 0.0)
    assert found["warnings"] == ["the file has no rows, so its ECE of 0 says nothing"]
    write("calibration-labels.jsonl", data)
    done = cli("gate", write("suite.yml", SUITE))
    # The rate needs no rows: it is of the counts that the suite gives.
    assert (done.code, rows(done)) == (0, ["PASS", "SKIP"])
    assert "the file has no rows" in done.out
