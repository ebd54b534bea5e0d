"""Gates from the command line: rows, exit codes, JSON."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import CALM, LONE, SPLIT, THREE, Gate, Write, entry, facts, rows, suite
from tests.helpers import SAMPLES, report, verdict


def test_three_entries_three_outcomes(gate: Gate) -> None:
    done = gate(entry("a", case="calm"), entry("b", case="split"), entry("c", case="lone"))
    assert (done.code, done.err) == (1, "")
    assert rows(done) == ["PASS", "FAIL", "SKIP"]
    lines = done.out.splitlines()
    assert lines[2].strip() == (
        "split: jury.agreement is 0 (recomputed r_wg), must be at least 0.7, margin -0.7 "
        "(-1.28 before it is clamped to 0..1)"
    )
    assert lines[4].strip() == (
        "lone: jury.agreement is null (recomputed): skipped, fewer than two jurors answered, so "
        "there is no agreement"
    )
    assert lines[-1] == "3 gates: 1 passed, 1 failed, 1 skipped"


def test_the_same_as_json(gate: Gate) -> None:
    three = [entry("a", case="calm"), entry("b", case="split"), entry("c", case="lone")]
    done = gate(*three, options=("--json",))
    assert done.code == 1
    found = facts(done)
    assert (found["passed"], found["failed"], found["skipped"]) == (1, 1, 1)
    assert [one["status"] for one in found["entries"]] == ["pass", "fail", "skip"]
    checks = [one["checks"] for one in found["entries"]]
    assert checks[1][0] == {
        "target": "jury.agreement", "value": 0.0, "matcher": {"schema": {"minimum": 0.7}},
        "status": "fail", "note": "-1.28 before it is clamped to 0..1",
        "margin": pytest.approx(-0.7), "message": "", "verdict": "split", "test": "test of split",
        "source": "recomputed", "metric": "r_wg",
    }  # fmt: skip
    assert (checks[2][0]["value"], checks[2][0]["status"]) == (None, "skip")
    assert "fewer than two" in checks[2][0]["note"]


@pytest.mark.parametrize(
    ("cases", "code"),
    [
        (["calm"], 0), (["lone"], 0), (["calm", "lone"], 0), (["split"], 1),
        (["calm", "split", "lone"], 1),
        (["calm", "nobody"], 2),
        (["split", "nobody"], 2),
    ],
)  # fmt: skip
def test_exit_codes(gate: Gate, cases: list[str], code: int) -> None:
    entries = [entry(f"n{at}", case=case) for at, case in enumerate(cases)]
    assert gate(*entries).code == code
    assert gate(*entries, options=("--json",)).code == code


def test_without_a_case_every_verdict_is_checked(gate: Gate) -> None:
    done = gate(entry("all", "report: report.json", *map(str.strip, THREE.split("\n      - ")[1:])))
    assert done.code == 1
    assert "1 of 3 verdicts pass, 1 check skipped" in done.out
    assert "calm" not in done.out
    # Three checks fail for the split verdict; the lone one reads low and true.
    told = [line.split(":")[0].strip() for line in done.out.splitlines()[1:-1]]
    assert told == ["split"] * 3 + ["lone"] * 3


@pytest.mark.slow
def test_a_long_list_of_failures_is_cut_in_the_rows_alone(cli: Cli, write: Write) -> None:
    many = [verdict(f"v{at}", 0.9, 0.1) for at in range(200)]
    write("report.json", report(*many))
    path = write("suite.yml", suite(entry("all")))
    done = cli("gate", path)
    assert len(done.out.splitlines()) == 1 + 10 + 1 + 1
    assert "and 190 more (--json has all)" in done.out
    assert len(facts(cli("gate", path, "--json"))["entries"][0]["checks"]) == 200


def test_a_case_is_an_id_or_a_test_and_one_that_nobody_has_is_named(
    gate: Gate, tmp_path: Path
) -> None:
    assert rows(gate(entry(case="calm"), entry(case="test of calm"))) == ["PASS", "PASS"]
    done = gate(entry("fine", case="calm"), entry("n", case="clam"))
    assert (done.code, rows(done)) == (2, ["PASS", "ERROR"])
    # Five lines an entry: the second one's case stands on line 1 + 5 + 3.
    assert done.err == (
        f"{tmp_path / 'suite.yml'}:9: case: no verdict of report.json has the id or test "
        '"clam". Give an id or a test as the report has it.\n'
    )


def test_a_case_that_several_have_names_them(cli: Cli, write: Write) -> None:
    twins = [verdict(name, 0.9, 0.9, case={"test": "twin"}) for name in ("a", "b")]
    write("report.json", report(*twins, CALM))
    done = cli("gate", write("suite.yml", suite(entry(case="twin"))), "--json")
    assert done.code == 2
    assert '"twin" names 2 verdicts of report.json: "a", "b".' in done.err
    (only,) = facts(done)["entries"]
    assert (only["status"], only["checks"]) == ("error", [])
    assert only["error"] == done.err.strip()
    assert (facts(done)["failed"], facts(done)["errors"]) == (0, 1)
    assert cli("gate", write("suite.yml", suite(entry(case="b")))).code == 0


def test_a_message_is_told_on_a_failure(gate: Gate) -> None:
    told = "{ target: jury.escalate, matcher: { exact: true }, message: ask a person }"
    done = gate(entry("n", "report: report.json", told, case="calm"))
    assert done.out.splitlines()[1].strip() == (
        "calm: jury.escalate is false (stated), must be true: ask a person"
    )


def test_a_report_is_read_without_a_desk(gate: Gate, desk_path: Path) -> None:
    assert gate(entry(case="calm")).code == 0
    assert not desk_path.parent.exists()
    # Nor does a gate make one where a run is asked for.
    done = gate(entry("n", "run: week"))
    assert (done.code, len(done.lines)) == (2, 1)
    assert f"{desk_path}: there is no desk. Name another with --desk" in done.err
    assert not desk_path.parent.exists()


def test_a_loaded_run(cli: Cli, write: Write, gate: Gate) -> None:
    cli("ingest", write("week.json", report(CALM, SPLIT, LONE, report_id="week")))
    (run,) = cli("runs", "--json").json
    before = cli("desk", "verify", "--json").json
    done = gate(
        entry("a", "run: week", case="calm"),
        entry("b", f"run: {run['hash'][:8]}", case="split"),
        entry("c", "run: month"),
    )
    assert (done.code, rows(done)) == (2, ["PASS", "FAIL", "ERROR"])
    # Five lines an entry: the third one's run stands on line 1 + 2 * 5 + 2.
    assert done.err.endswith(":13: run: no run 'month'. Loaded runs: week.\n")
    # A gate looks and leaves no trace.
    assert cli("desk", "verify", "--json").json == before


@pytest.mark.slow
def test_a_run_and_its_report_read_the_same(cli: Cli, write: Write) -> None:
    for name in ("release-notes.json", "support-bot.jsonl", "code-review.json"):
        cli("ingest", SAMPLES / name)
        run = cli("runs", "--json").json[-1]["run"]
        one, other = (
            cli("gate", write("s.yml", suite(entry("n", source, *_all()))), "--json")
            for source in (f"report: {SAMPLES / name}", f"run: {run}")
        )
        assert facts(one)["entries"][0]["checks"] == facts(other)["entries"][0]["checks"]
        assert len(facts(one)["entries"][0]["checks"]) >= 50


def _all() -> list[str]:
    names = ("agreement", "confidence", "escalate", "same_family", "bias_warning")
    return [f"{{target: jury.{name}, matcher: {{schema: {{type: 'null'}}}}}}" for name in names]


def test_reports_that_cannot_be_read(gate: Gate, write: Write, tmp_path: Path) -> None:
    write("bad.json", report(CALM, verdict("b", score=2)))
    write("none.json", b"{}")
    done = gate(
        entry("a", "report: bad.json"), entry("b", "report: nothing.json"),
        entry("c", "report: none.json"), entry("d", "report: ."), entry("e", case="calm"),
    )  # fmt: skip
    assert (done.code, rows(done)) == (2, ["ERROR"] * 4 + ["PASS"])
    lines = [3, 7, 11, 15]
    starts = [f"{tmp_path / 'suite.yml'}:{line}: report: {tmp_path}" for line in lines]
    assert [line.startswith(start) for line, start in zip(done.lines, starts, strict=True)] == (
        [True] * 4
    )
    assert "$.verdicts[1].score: must be a number from 0 to 1, found 2" in done.lines[0]


def test_a_report_without_verdicts_holds_nothing(cli: Cli, write: Write) -> None:
    write("report.json", report())
    done = cli("gate", write("suite.yml", suite(entry())))
    assert (done.code, rows(done)) == (3, ["NOT SHOWN"])
    assert "there are no verdicts" in done.out
