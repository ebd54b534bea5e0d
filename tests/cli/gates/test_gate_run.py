"""Gates on the labels of a run, and gates as build servers meet them: names, JUnit, a process."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, give, once
from tests.cli.gatekit import AGREE, Gate, Write, entry, facts, rows, suite, xml_of
from tests.helpers import ROOT, SAMPLES, controls, environment, numbered, program, report, verdict

RUN = b"calibration:\n  - name: n\n    run: run\n"
FILE = b"calibration:\n  - name: n\n    labels: labels.jsonl\n"
CALM = b"    expect: [{ target: brier, matcher: { schema: { maximum: 0.25 } } }]\n"
"""Scores of 0.8 and 0.2, all right: Brier 0.04."""
STRICT = "--require-representative"


@pytest.fixture
def eighty(cli: Cli, write: Write, tmp_path: Path) -> Cli:
    """20 flagged and 60 of the rest, of which 30 are to be audited; the flagged are labelled."""

    def make() -> None:
        cli("ingest", write("report.json", numbered(80)))
        label(cli, rest=False)

    once(tmp_path, "eighty", make)
    return cli


def label(cli: Cli, *, rest: bool) -> None:
    give(
        (row["id"], row["decision"])
        for row in cli("queue", "--json").json
        if row["stratum"].startswith("rest") is rest and (row["audit"] or not rest)
    )


def test_a_run_is_held_to_its_own_figures_or_to_a_confusion_from_elsewhere(
    eighty: Cli, write: Write
) -> None:
    label(eighty, rest=True)
    known = eighty("calibrate", "--json").json
    found = facts(eighty("gate", write("s.yml", RUN), "--json"))["entries"][0]
    assert (found["source"], found["design"], found["representative"]) == ("run", "weighted", True)
    assert {one["target"]: one["value"] for one in found["checks"]} == {
        name: known[name] for name in ("ece", "brier", "corrected_rate")
    }
    # The limit of the corrected rate is what the judge passed: 53 of 80.
    assert found["checks"][2]["matcher"] == {"schema": {"maximum": known["observed_positive_rate"]}}
    assert known["observed_positive_rate"] == 53 / 80
    assert "50 labels" in found["notes"]
    matrix = b"    reliability: { tp: 90, fn: 10, tn: 80, fp: 20 }\n"
    found = facts(eighty("gate", write("s.yml", RUN + matrix), "--json"))["entries"][0]
    # Sensitivity 0.9 and specificity 0.8, at an observed 53 of 80.
    assert found["checks"][2]["value"] == pytest.approx((53 / 80 - 0.2) / 0.7)
    assert any("by lang-reiczigel" in note for note in found["notes"])


def test_escalated_labels_alone_are_not_representative(eighty: Cli, write: Write) -> None:
    path = write("s.yml", RUN + CALM)
    assert eighty("gate", path).code == 0
    done = eighty("gate", path, STRICT)
    assert (done.code, rows(done), done.err) == (
        3,
        ["NOT SHOWN"],
        "not representative: n (only escalated verdicts are labelled)\n",
    )
    label(eighty, rest=True)
    assert eighty("gate", path, STRICT).code == 0


def test_a_file_must_say_that_it_is(eighty: Cli, write: Write) -> None:
    path = write("s.yml", FILE + CALM)
    full = ("labels", "export", "--format", "full")
    write("labels.jsonl", eighty(*full).out.encode())
    # All rows are flagged ones: nothing of the rest was seen.
    assert eighty("gate", path, STRICT).code == 3
    label(eighty, rest=True)
    write("labels.jsonl", eighty(*full).out.encode())
    assert eighty("gate", path, STRICT).code == 0
    write("labels.jsonl", eighty("labels", "export").out.encode())
    assert eighty("gate", path, STRICT).code == 3


def test_a_file_does_not_hide_a_stratum_without_a_label(cli: Cli, write: Write) -> None:
    cli("ingest", write("report.json", numbered(80)))
    label(cli, rest=True)
    known = cli("calibrate", "--json").json
    assert known["design"] == "partial"
    path = write("labels.jsonl", cli("labels", "export", "--format", "full").out.encode())
    assert cli("gate", write("s.yml", FILE + CALM), STRICT).code == 3
    # Without weights every row counts once, as on the desk.
    found = cli("calibrate", path, "--json").json
    assert {name: found[name] for name in ("n", "ece", "brier")} == {
        name: known[name] for name in ("n", "ece", "brier")
    }


@pytest.mark.slow
def test_what_two_people_say_of_a_verdict_counts_once(eighty: Cli, write: Write) -> None:
    label(eighty, rest=True)
    known = eighty("calibrate", "--json").json
    for row in eighty("labels", "list", "--json").json[:20]:
        eighty("label", row["id"], row["label"], "--reviewer", "bea")
    full = eighty("labels", "export", "--format", "full").out
    assert len(full.splitlines()) == 70
    found = eighty("calibrate", write("labels.jsonl", full.encode()), "--json").json
    assert (found["n"], found["accuracy"]) == (known["n"], known["accuracy"])
    assert eighty("gate", write("s.yml", FILE + CALM), STRICT).code == 0


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        # Precedence: unreadable, then a failed gate, then not representative.
        ('{"confidence": 2, "correct": true}', 2),
        ('{"confidence": 1, "correct": false}', 1),
        ('{"confidence": 1, "correct": true}', 3),
        ("", 3),
    ],
)
def test_what_comes_first(cli: Cli, write: Write, labels: str, code: int) -> None:
    write("labels.jsonl", f"{labels}\n".encode())
    assert cli("gate", write("s.yml", FILE), STRICT).code == code


def test_a_file_corrects_a_run_it_was_not_drawn_from(eighty: Cli, write: Write) -> None:
    def row(decision: str, *, correct: bool) -> str:
        facts = {"confidence": 0.9, "correct": correct, "decision": decision, "run": "other"}
        return json.dumps({**facts, "truth": "pass"}) + "\n"

    # tp 9, fn 1, tn 8, fp 2: (53/80 + 0.8 - 1) / 0.7
    text = row("pass", correct=True) * 9 + row("fail", correct=False)
    text += row("fail", correct=True) * 8 + row("pass", correct=False) * 2
    path = write("trusted.jsonl", text.encode())
    found = eighty("calibrate", path, "--run", "run", "--json").json
    assert (found["honest"]["method"], found["tp"], found["fp"]) == ("lang_reiczigel", 9, 2)
    assert found["honest"]["estimate"] == pytest.approx((53 / 80 - 0.2) / 0.7)
    assert found["honest"]["estimate"] == pytest.approx(found["corrected_rate"])
    alone = eighty("calibrate", path, "--json").json
    assert (alone["honest"]["method"], alone["observed_positive_rate"]) == ("none", None)
    own = write("own.jsonl", text.replace('"other"', '"run"').encode())
    refused = eighty("calibrate", own, "--run", "run", "--json").json["honest"]
    assert (refused["method"], refused["estimate"]) == ("none", None)
    assert "labels are of this run" in refused["reason"]


HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e</testcase>&\ud800"


def test_hostile_names_stay_harmless(cli: Cli, write: Write, tmp_path: Path) -> None:
    bad = verdict("x\x1b[2J\u202e<b>", 0.9, 0.1, case={"test": HOSTILE}, bias_warning=HOSTILE)
    write("report.json", report(bad))
    name = '"\\e]0;owned\\a\\x9b31m\\u202e</testcase>&\\ufffe"'
    expect = (AGREE, "{target: jury.bias_warning, matcher: {exact: null}, message: " + name + "}")
    path = write("suite.yml", suite(entry(name, "report: report.json", *expect)))
    xml = tmp_path / "out.xml"
    done = cli("gate", path, "--junit", xml)
    assert done.code == 1
    assert controls(done.out + done.err) == set()
    assert "owned" in done.out
    (case,) = xml_of(xml).iter("testcase")
    assert controls(xml.read_text(encoding="utf-8")) == set()
    assert "</testcase>&<U+FFFE>" in case.attrib["name"]
    found = cli("gate", path, "--json")
    assert controls(found.out) == set()
    assert facts(found)["entries"][0]["checks"][0]["verdict"] == "x\x1b[2J\u202e<b>"
    again = cli("gate", write("suite.yml", suite(entry(name, case=name))))
    assert (again.code, len(again.lines)) == (2, 1)
    assert controls(again.err) == set()


def test_junit(gate: Gate, tmp_path: Path) -> None:
    xml = tmp_path / "out.xml"
    entries = [entry(case, case=case) for case in ("calm", "split", "lone", "nobody")]
    assert gate(*entries, options=("--junit", xml)).code == 2
    root = xml_of(xml)
    (found,) = root
    counts = {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert root.attrib == counts
    assert {name: found.attrib[name] for name in counts} == counts
    cases = list(found)
    assert [case.attrib["name"] for case in cases] == ["calm", "split", "lone", "nobody"]
    assert [[inner.tag for inner in case] for case in cases] == [
        ["system-out"], ["failure"], ["skipped"], ["error"],
    ]  # fmt: skip
    assert "must be at least 0.7" in (cases[1][0].text or "")
    # Its own file is written over, anybody else's is not.
    assert gate(entries[0], options=("--junit", xml)).code == 0
    assert xml_of(xml).attrib["tests"] == "1"
    for other in (tmp_path / "report.json", tmp_path / "suite.yml", tmp_path, tmp_path / "a" / "b"):
        before = other.read_bytes() if other.is_file() else None
        done = gate(entries[0], options=("--junit", other))
        assert (done.code, len(done.lines)) == (2, 1)
        assert before is None or other.read_bytes() == before


def test_markdown(gate: Gate, tmp_path: Path) -> None:
    made = tmp_path / "out.md"
    entries = [entry(case, case=case) for case in ("calm", "split", "nobody")]
    assert gate(*entries, options=("--markdown", made)).code == 2
    head, *rest = made.read_text(encoding="utf-8").split("\n\n")
    assert head.startswith("# Gates (`")
    assert rest[0] == "**3 gates: 1 passed, 1 failed, 0 skipped, 1 could not be run**"
    assert [one.split("`")[:2] for one in rest if not one.startswith("```")][1:] == [
        ["PASS ", "calm"], ["**FAIL** ", "split"], ["**ERROR** ", "nobody"],
    ]  # fmt: skip
    told = [one for one in rest if one.startswith("```text\n")]
    assert "must be at least 0.7" in told[0]
    assert 'suite.yml:14: case: no verdict of report.json has the id or test "nobody"' in told[1]
    # Its own file is written over, anybody else's is not.
    assert gate(entries[0], options=("--markdown", made)).code == 0
    assert "1 gate: 1 passed" in made.read_text(encoding="utf-8")
    before = (tmp_path / "report.json").read_bytes()
    done = gate(entries[0], options=("--markdown", tmp_path / "report.json"))
    assert (done.code, len(done.lines)) == (2, 1)
    assert (tmp_path / "report.json").read_bytes() == before


def test_markdown_tells_which_labels_are_no_proof(cli: Cli, tmp_path: Path) -> None:
    made = tmp_path / "out.md"
    options = ("--require-representative", "--markdown", made)
    done = cli("gate", SAMPLES / "judge-gates.yml", *options)
    wanted = [line for line in done.lines if line.startswith("not representative: ")]
    found = made.read_text(encoding="utf-8").splitlines()
    assert [line for line in found if line.startswith("not representative: ")] == wanted != []


@pytest.mark.slow
def test_the_sample_suite(cli: Cli, write: Write) -> None:
    path = SAMPLES / "jury-gates.yml"
    done = cli("gate", path)
    assert (done.code, rows(done)) == (0, ["PASS"] * 3)
    # What the samples' README promises: without its first case line, it fails.
    text = path.read_text(encoding="utf-8").replace("./", f"{SAMPLES}/")
    lines = text.splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if line.strip().startswith("case:"))
    done = cli("gate", write("s.yml", "".join(lines[:first] + lines[first + 1 :]).encode()))
    assert (done.code, rows(done)) == (1, ["FAIL", "PASS", "PASS"])


@pytest.mark.slow
def test_the_suite_of_the_docs(cli: Cli, write: Write) -> None:
    page = (ROOT / "docs/reference/suites.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    write("release-notes.json", (SAMPLES / "release-notes.json").read_bytes())
    (only,) = cli("gate", write("suite.yml", example.encode()), "--json").json["entries"]
    assert [check["status"] for check in only["checks"]] == ["pass"] * 3
    assert {check["source"] for check in only["checks"]} == {"stated"}
    # It is the first gate of the sample suite, too.
    sample = cli("gate", SAMPLES / "jury-gates.yml", "--json").json["entries"][0]
    assert (only["name"], only["checks"]) == (sample["name"], sample["checks"])


@pytest.mark.slow
def test_as_a_process_without_a_terminal(tmp_path: Path) -> None:
    desk = tmp_path / "desk.db"
    plain = {**environment(desk), "NO_COLOR": "1", "TERM": "dumb"}
    suite_ = SAMPLES / "jury-gates.yml"
    done = program(desk, "gate", suite_, env=plain, stdin=subprocess.DEVNULL, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    assert done.stdout.endswith(b"3 gates: 3 passed, 0 failed, 0 skipped" + os.linesep.encode())
    assert not desk.exists()
