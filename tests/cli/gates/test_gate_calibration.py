"""Suites in the words of the judge calibration document, and labels that no suite may have."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write, entry, facts, rows, suite
from tests.helpers import SAMPLES, report, verdict

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

# Of ten at 0.9 nine are right and of ten at 0.2 two, so each bin's gap is 0.
PAIRS = [(0.9, at > 0) for at in range(10)] + [(0.2, at < 2) for at in range(10)]


def lines(pairs: list[tuple[float, bool]]) -> bytes:
    made = (json.dumps({"confidence": one, "correct": other}) for one, other in pairs)
    return "\n".join(made).encode()


def test_the_suite_of_the_document(cli: Cli, write: Write) -> None:
    path = write("suite.yml", SUITE)
    write("calibration-labels.jsonl", lines(PAIRS))
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


def test_flipped_labels_fail_it(cli: Cli, write: Write) -> None:
    write("calibration-labels.jsonl", lines([(one, not other) for one, other in PAIRS]))
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
        (b'{"confidence": 1, "correct": true}\n{\n', "line 2"),
    ],
)
def test_labels_no_suite_may_have(cli: Cli, write: Write, labels: Any, problem: str) -> None:
    path = write("suite.yml", SUITE)
    if labels is not None:
        write("calibration-labels.jsonl", labels)
    done = cli("gate", path)
    assert (done.code, rows(done)) == (2, ["ERROR", "ERROR"])
    assert [line.split(": ")[0] for line in done.lines] == [f"{path}:3", f"{path}:15"]
    assert all(f"calibration-labels.jsonl: {problem}" in line for line in done.lines)


@pytest.mark.parametrize("data", [b"[]", b"", b"# none yet\n[]\n"])
def test_an_empty_set_warns_and_passes_nothing(cli: Cli, write: Write, data: bytes) -> None:
    found = cli("calibrate", write("labels.yaml", data), "--json").json
    assert (found["n"], found["ece"], found["design"]) == (0, 0.0, "file")
    assert found["warnings"] == ["the file has no rows, so its ECE of 0 says nothing"]
    write("calibration-labels.jsonl", data)
    done = cli("gate", write("suite.yml", SUITE))
    # The rate needs no rows: it is of the counts that the suite gives.
    assert (done.code, rows(done)) == (0, ["PASS", "SKIP"])
    assert "the file has no rows" in done.out


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


LIMITS = b"""    expect:
      - { target: accuracy_low, matcher: { schema: { minimum: 0.98 } } }
      - { target: accuracy, matcher: { schema: { minimum: 0.98 } } }
      - { target: n, matcher: { exact: 8 } }
"""


@pytest.fixture
def eight(cli: Cli, write: Write) -> Cli:
    """Eight contents of fifty verdicts each, with eight labels that agree with the panel."""
    bodies = [
        verdict(f"c{c}#{i}", input=f"q{c}", output=f"a{c}", case={"test": f"t{c // 2}"})
        for c in range(8)
        for i in range(50)
    ]
    cli("ingest", write("report.json", report(*bodies)))
    for c in range(8):
        cli("label", f"c{c}#0", "pass")
    return cli


def test_eight_labels_prove_no_accuracy_of_98_percent(eight: Cli, write: Write) -> None:
    done = eight(
        "gate", write("s.yml", b"calibration:\n  - name: n\n    run: run\n" + LIMITS), "--json"
    )
    assert done.code == 1
    found = facts(done)["entries"][0]
    # Four cases of two contents each: n = C = 4, t = 3.1824 at 3 degrees, 4 / (4 + t²).
    low, value, n = found["checks"]
    assert low["value"] == pytest.approx(4 / (4 + 3.1824**2), abs=1e-4)
    assert [one["status"] for one in (low, value, n)] == ["fail", "pass", "pass"]
    assert "8 labels on 4 tests" in found["notes"]


def test_a_suite_says_the_same_of_its_files(eight: Cli, write: Write) -> None:
    known = eight("calibrate", "--json").json
    assert (known["such_items"]["labels"], known["such_items"]["tests"]) == (8, 4)
    write("labels.jsonl", eight("labels", "export", "--format", "full").out.encode())
    suite = b"calibration:\n  - name: n\n    labels: labels.jsonl\n" + LIMITS
    found = facts(eight("gate", write("s.yml", suite), "--json"))["entries"][0]
    assert found["checks"][0]["value"] == pytest.approx(known["such_items"]["accuracy_low"])
    assert found["checks"][2]["status"] == "pass"
    assert "has a label, and 8 labels are fewer than the 30" in eight("calibrate").out
    eight("label", "undo")
    assert "350 of 400 verdicts labelled, and 7 labels count." in eight("calibrate").out
    told = eight("calibrate", "--json").json
    assert (told["open"]["n"], told["open_unsaid"]) == (7, 7)


def test_rows_without_content_have_an_independence_nobody_knows(eight: Cli, write: Write) -> None:
    text = eight("labels", "export").out
    assert len(text.splitlines()) == 400
    write("labels.jsonl", text.encode())
    limit = b"    expect: [{ target: accuracy_low, matcher: { schema: { minimum: 0.9 } } }]\n"
    suite = write("s.yml", b"calibration:\n  - name: n\n    labels: labels.jsonl\n" + limit)
    assert eight("gate", suite).code == 0
    done = eight("gate", suite, "--require-representative")
    assert done.code == 3
    assert "independence unknown" in done.err
