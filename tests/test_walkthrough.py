"""The README's way from zero to a gate, run as it is written, from an empty desk."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT, SAMPLES, environment

SECTION = (ROOT / "README.md").read_text(encoding="utf-8").split("## From zero to a CI gate")[1]
BLOCKS = re.findall(r"```sh\n(.*?)```", SECTION.split("\n## ")[0], re.DOTALL)


@pytest.fixture
def shell(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """What one shell made of all the blocks, each told apart by its exit code."""
    shutil.copytree(SAMPLES, tmp_path / "sample_runs")
    program = tmp_path / "bin" / "reviewdesk"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reviewdesk "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env = environment(tmp_path / "desk.db")
    env["PATH"] = f"{program.parent}:{env['PATH']}"
    script = "\n".join(f'(\n{block}\n)\necho "== $?"' for block in BLOCKS)
    return subprocess.run(
        ["sh"], input=script, capture_output=True, text=True, check=True, cwd=tmp_path, env=env
    )


def test_every_command_of_the_way_does_what_it_says(
    shell: subprocess.CompletedProcess[str], tmp_path: Path
) -> None:
    said = re.split(r"== \d+\n", shell.stdout)
    codes = [int(code) for code in re.findall(r"== (\d+)\n", shell.stdout)]
    assert codes == [0, 0, 0, 0, 1, 3, 0], shell.stderr
    opened, imported, figures, passed, failed, unsure, job, _ = said
    assert len(opened.splitlines()) >= 40
    assert imported.startswith("40 rows, 40 labelled, 40 of them new, 0 unknown, 0 conflicts")
    assert "design census" in imported
    assert "ECE 0.057" in " ".join(figures.split())
    assert passed.startswith("PASS")
    assert failed.startswith("FAIL")
    assert "ece is 0.0565, must be at most 0.05" in failed
    # Wilson's interval of 33 of 40 begins at 0.68.
    assert unsure.startswith("PASS")
    assert "accuracy is 0.825, 0.6805 to 0.9125, must be at least 0.75" in unsure
    assert "(accuracy is 0.6805 to 0.9125, which reaches past 0.75)" in shell.stderr
    assert job.endswith("every gate passed\n")
    assert (tmp_path / "judge-gates.xml").read_bytes().startswith(b"<?xml")
    labels = (tmp_path / "judge" / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["weight"] for line in labels} == {1.0}
    assert not {"input", "output", "rubric"} & json.loads(labels[0]).keys()
