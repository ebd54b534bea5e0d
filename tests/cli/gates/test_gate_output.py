"""Gates as build servers meet them: hostile names, JUnit, the samples, a process."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import AGREE, Gate, Write, entry, facts, rows, suite, xml_of
from tests.helpers import ROOT, SAMPLES, controls, environment, program, report, verdict

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
        ["system-out"],
        ["failure"],
        ["skipped"],
        ["error"],
    ]
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


def test_the_suite_of_the_docs(cli: Cli, write: Write) -> None:
    page = (ROOT / "docs/reference/suites.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    write("release-notes.json", (SAMPLES / "release-notes.json").read_bytes())
    done = cli("gate", write("suite.yml", example.encode()), "--json")
    (only,) = done.json["entries"]
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
