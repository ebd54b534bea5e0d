"""The GitHub Action and the hook of pre-commit, as far as they run without their services."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.gatekit import CALM, SPLIT, entry, suite, write_judge
from tests.helpers import ROOT, report, verdict
from tests.package.packagekit import build, empty_home, index, only, unpack

ACTION = ROOT / ".github" / "actions" / "gate"
INSTALL, GATE = 0, 1
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""How GitHub runs a step whose shell is bash."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the steps are written for bash"),
]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Job:
    """A job whose working folder holds a suite, and what its steps wrote for GitHub."""

    folder: Path
    env: dict[str, str]

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.txt"

    def step(self, number: int, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a step of the action with inputs, of which those left out have their defaults."""
        action = read(ACTION / "action.yml")
        given = {name: one.get("default", "") for name, one in action["inputs"].items()} | inputs
        found = action["runs"]["steps"][number]
        env = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda one: given[one[1]], value)
            for name, value in found.get("env", {}).items()
        }
        script = self.folder / "step.sh"
        script.write_text(found["run"], encoding="utf-8")
        return subprocess.run(
            [*BASH, script], cwd=self.folder, env=self.env | env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def left(self, name: str) -> str:
        return self.file(name).read_text(encoding="utf-8")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "temp").mkdir()
    (tmp_path / "report.json").write_bytes(report(CALM, SPLIT))
    env = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "GITHUB_ACTION_PATH": str(ACTION),
        "RUNNER_TEMP": str(tmp_path / "temp"),
    }  # fmt: skip
    made = Job(tmp_path, env)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        made.file(name).write_text("before\n", encoding="utf-8")
        env[name] = str(made.file(name))
    return made


@pytest.fixture
def installed(job: Job) -> Job:
    """A job whose first step has run: the programs are there."""
    programs = job.folder / "temp" / "reviewdesk-gate" / "bin"
    programs.mkdir(parents=True)
    for name, command in (("python", ""), ("reviewdesk", " -m reviewdesk")):
        text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{command} "$@"\n'
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    job.env["PYTHONPATH"] = str(ROOT)
    return job


def gate(job: Job, text: bytes, **inputs: str) -> subprocess.CompletedProcess[str]:
    (job.folder / "suite.yml").write_bytes(text)
    return job.step(GATE, **{"suite": "suite.yml", **inputs})


def test_no_input_is_part_of_a_script() -> None:
    action = read(ACTION / "action.yml")
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    used = {re.sub(r"\W+", " ", value).split()[1] for value in gate_variables(action).values()}
    assert used == {"suite", "report", "against", "margin", "baseline", "require", "desk", "junit"}
    assert {name for name, one in action["inputs"].items() if one.get("required")} == {"suite"}


def gate_variables(action: Any) -> dict[str, str]:
    found: dict[str, str] = action["runs"]["steps"][GATE]["env"]
    return {name: value for name, value in found.items() if "${{" in value}


@pytest.mark.parametrize(
    ("text", "inputs", "status", "said"),
    [
        (suite(entry(case="calm")), {}, 0, "1 gate: 1 passed, 0 failed"),
        (suite(entry()), {}, 1, "**1 gate: 0 passed, 1 failed"),
        (b"jury: 3\n", {}, 2, "Nothing was decided"),
        (suite(entry()), {"suite": "gone.yml"}, 2, "Nothing was decided"),
        (
            b"calibration: [{name: n, labels: l, expect: [{target: n, matcher: {exact: 1}}]}]",
            {"require-representative": "true"}, 3, "not representative: n",
        ),
    ],
    ids=["passed", "failed", "wrong", "gone", "no proof"],
)  # fmt: skip
def test_the_step_ends_as_the_gate_does(
    text: bytes, inputs: dict[str, str], status: int, said: str, installed: Job
) -> None:
    (installed.folder / "l").write_text('{"confidence": 0.9, "correct": true}\n', encoding="utf-8")
    done = gate(installed, text, **inputs)
    assert done.returncode == status, done.stderr
    assert installed.left("GITHUB_OUTPUT") == f"before\nstatus={status}\n"
    summary = installed.left("GITHUB_STEP_SUMMARY")
    assert summary.startswith("before\n")
    assert said in summary
    assert ("::error title=" in done.stdout) is (status != 0)
    assert "Traceback" not in done.stdout + done.stderr


def test_the_report_of_a_worse_judge_fails_the_step(installed: Job) -> None:
    """The labels of ten passes and ten fails; the second panel passes all of them."""
    bodies = write_judge(installed.folder)
    inputs = {"suite": "judge/suite.yml", "require-representative": "true"}
    for name, made, status in (
        ("good", bodies, 0),
        ("worse", [verdict(body["id"], 0.95, 0.95, 0.95) for body in bodies], 1),
        ("other", [verdict("w")], 2),
        ("short", bodies[:17], 3),
    ):
        (installed.folder / f"{name} $(touch owned).json").write_bytes(report(*made))
        done = gate(installed, b"", **inputs, report=f"{name} $(touch owned).json")
        assert done.returncode == status, done.stdout + done.stderr
    assert not (installed.folder / "owned").exists()
    assert "only 17 of 20 labels joined" in installed.left("GITHUB_STEP_SUMMARY")


def test_all_inputs_reach_the_gate_as_they_are(installed: Job) -> None:
    hostile = '-x"; touch owned; $(touch owned) `touch owned`.yml'
    (installed.folder / hostile).write_bytes(suite(entry("n", "run: gone")))
    done = gate(installed, b"", suite=hostile, desk="$(touch owned).db", junit="a b;c.xml")
    assert done.returncode == 2
    assert "$(touch owned).db: there is no desk" in done.stderr
    assert (installed.folder / "a b;c.xml").read_bytes().startswith(b"<?xml")
    assert not (installed.folder / "owned").exists()


def test_no_text_of_a_report_is_a_command_of_the_runner(installed: Job) -> None:
    names = ("::add-mask::x", "##[error]x", "::stop-commands::x")
    text = suite(*(entry(f'"{name}"', case=f'"{name}"') for name in names))
    bad = [{**SPLIT, "id": name, "case": {"test": f"t{at}"}} for at, name in enumerate(names)]
    (installed.folder / "report.json").write_bytes(report(*bad))
    done = gate(installed, text)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    # The runner takes a line for a command if it begins so after its spaces.
    opened = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", lines[0])
    assert opened
    closed = lines.index(f"::{opened[1]}::")
    commands = [at for at, line in enumerate(lines) if re.match(r"\s*::|.*##\[", line)]
    inside = [at for at in commands if 0 < at < closed]
    assert len(inside) >= len(names)
    assert [lines[at] for at in commands if at > closed] == [
        "::error title=reviewdesk gate::A gate failed; the summary of the job says which."
    ]


def test_the_action_installs_what_stands_beside_it(job: Job, tmp_path: Path) -> None:
    build(ROOT, tmp_path / "built", "sdist", "wheel")
    clone = unpack(only(tmp_path / "built", "*.tar.gz"), tmp_path / "clone")
    job.env["GITHUB_ACTION_PATH"] = str(clone / ACTION.relative_to(ROOT))
    with index(tmp_path / "served", only(tmp_path / "built", "*.whl")) as address:
        job.env.update(empty_home(tmp_path / "home", address))
        # The versions are those of the lock file: here of one that asks for what nobody serves.
        lock = clone / "requirements.lock"
        lock.write_text("click==0.0.1 \\\n    --hash=sha256:00\n", encoding="utf-8")
        refused = job.step(INSTALL)
        assert refused.returncode != 0
        assert "conflicting dependencies" in refused.stderr
        served = f"click=={version('click')} ; python_version > '3' \\\n    --hash=sha256:00\n"
        lock.write_text(served, encoding="utf-8")
        done = job.step(INSTALL)
        assert done.returncode == 0, done.stderr
    done = gate(job, suite(entry(case="calm")))
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 gate: 1 passed" in job.left("GITHUB_STEP_SUMMARY")


def test_the_hook_runs_the_gate_that_its_arguments_name(installed: Job) -> None:
    (hook,) = read(ROOT / ".pre-commit-hooks.yaml")
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    (installed.folder / "suite.yml").write_bytes(suite(entry()))
    env = installed.env | {"PATH": f"{installed.folder}/temp/reviewdesk-gate/bin:{os.defpath}"}
    command = [*shlex.split(hook["entry"]), "suite.yml"]
    done = subprocess.run(
        command, cwd=installed.folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL   n ")
