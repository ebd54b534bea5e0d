"""Gates count contents: a label of fifty verdicts is one label, on the desk and in files."""

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write, facts
from tests.helpers import report, verdict

LIMITS = b"""    expect:
      - { target: accuracy_low, matcher: { schema: { minimum: 0.98 } } }
      - { target: accuracy, matcher: { schema: { minimum: 0.98 } } }
      - { target: n, matcher: { exact: 8 } }
"""
STRICT = "--require-representative"


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
    text = eight("labels", "export", "--format", "full").out
    write("labels.jsonl", text.encode())
    suite = b"calibration:\n  - name: n\n    labels: labels.jsonl\n" + LIMITS
    found = facts(eight("gate", write("s.yml", suite), "--json"))["entries"][0]
    assert found["checks"][0]["value"] == pytest.approx(known["such_items"]["accuracy_low"])
    assert found["checks"][2]["status"] == "pass"


def test_rows_without_their_content_have_an_independence_that_nobody_knows(
    eight: Cli, write: Write
) -> None:
    text = eight("labels", "export").out
    assert len(text.splitlines()) == 400
    write("labels.jsonl", text.encode())
    limit = b"    expect: [{ target: accuracy_low, matcher: { schema: { minimum: 0.9 } } }]\n"
    suite = write("s.yml", b"calibration:\n  - name: n\n    labels: labels.jsonl\n" + limit)
    assert eight("gate", suite).code == 0
    done = eight("gate", suite, STRICT)
    assert done.code == 3
    assert "independence unknown" in done.err
