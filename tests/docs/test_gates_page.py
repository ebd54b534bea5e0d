"""The way from labels to a gate, run as its page says it, from an empty desk."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, run_page
from tests.helpers import environment

PAGE = DOCS / "how-to" / "gates-in-ci.md"


@pytest.mark.slow
def test_every_command_of_the_way_does_what_it_says(tmp_path: Path) -> None:
    finished, stderr = run_page(PAGE, tmp_path)
    assert [one.code for one in finished] == [0, 0, 0, 1, 0, 0, 1, 3, 3, 1, 0, 0], stderr
    assert [one.code for one in finished] == [one.block.code for one in finished]
    (
        opened, imported, figures, failed, passed, joined, worse, changed, unsure, against, job,
        made,
    ) = (one.stdout for one in finished)  # fmt: skip
    assert len(opened.splitlines()) >= 40
    assert imported.startswith("40 rows, 40 labelled, 40 of them new, 0 unknown, 0 conflicts")
    assert "every decided verdict is labelled" in imported
    assert figures.startswith(
        "May this judge decide alone? Not alone: it passes 5 of 13 bad answers (new items, 95%: "
        "up to 65%; the limit is 20%)."
    )
    assert "ECE 0.057" in " ".join(figures.split())
    assert failed.startswith("FAIL")
    # Wilson's interval of 8 of 13 begins at 0.355.
    assert "specificity_low is 0.35" in failed
    assert "must be at least 0.8, margin -0.4" in failed
    assert passed.startswith("PASS")
    # A better judge leaves the job green, and one that passes everything catches none of 13.
    assert joined.startswith("PASS")
    assert "of report.jsonl: 40 of 40 labels joined" in joined
    assert worse.startswith("FAIL")
    assert "specificity_low is 0, must be at least 0.3" in worse
    assert "answer changed" in changed
    assert "not shown: the judge of library-desk (only " in stderr
    # Wilson's interval of 33 of 40 begins at 0.68.
    assert unsure.startswith("NOT SHOWN")
    assert "accuracy is 0.825, 0.6805 to 0.9125, must be at least 0.75" in unsure
    assert "(accuracy is 0.6805 to 0.9125, which reaches past 0.75)" in stderr
    same, change = against.split("FAIL")
    # Tango's interval of 0 and 0 of 40 ends at 0.0876; 5 of 40 are gained and 25 lost.
    assert "change_from_parent is 0, -0.08762 to 0.08762, must be at least -0.1" in same
    assert "change_from_baseline is -0.5, -0.6831 to -0.2477" in change
    assert job.endswith("every gate passed\n")
    assert made.startswith("written  panel.yml\n")
    assert "specificity_low is 0.355229, must be at least 0.35" in made
    # The job itself, on the day when the panel is worse.
    (tmp_path / "worse.jsonl").replace(tmp_path / "report.jsonl")
    path = f"{tmp_path}/.venv/bin:{os.environ['PATH']}"
    again = subprocess.run(
        ["sh", "-c", finished[-2].block.text], cwd=tmp_path, stdin=subprocess.DEVNULL,
        env=environment(tmp_path / "desk.db") | {"PATH": path}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert again.returncode == 1, again.stdout + again.stderr
    assert again.stdout.endswith("a gate failed: the judge is not what the suite expects\n")
    assert (tmp_path / "judge-gates.xml").read_bytes().startswith(b"<?xml")
    labels = (tmp_path / "judge" / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["weight"] for line in labels} == {1.0}
    assert not {"input", "output", "rubric"} & json.loads(labels[0]).keys()
