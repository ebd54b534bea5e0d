"""What runs where the project is published: workflows, forms and hooks, as far as files tell."""

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

from reviewdesk.version import __version__
from tests.helpers import ROOT

CI = ROOT / ".github" / "workflows" / "ci.yml"
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "path",
    sorted([*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"]),
    ids=lambda path: path.name,
)
def test_every_file_is_read(path: Path) -> None:
    assert isinstance(read(path), dict)


def test_the_tests_run_on_every_system_with_every_python() -> None:
    jobs = read(CI)["jobs"]
    matrix = jobs["tests"]["strategy"]["matrix"]
    systems = ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert matrix == {"os": systems, "python": PYTHONS}
    assert jobs["package"]["strategy"]["matrix"]["os"] == systems
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [one.rpartition(" :: ")[2] for one in project["classifiers"] if "3." in one]
    assert named == PYTHONS
    assert project["requires-python"] == f">={PYTHONS[0]}"
    run = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    assert {".ci/run", "python -m build", "python -m twine check --strict dist/*"} <= set(run)
    assert "python -m pip install --require-hashes -r requirements.lock" in run


def test_a_workflow_may_read_and_uses_what_cannot_change() -> None:
    found = read(CI)
    assert found["permissions"] == {"contents": "read"}
    for job in found["jobs"].values():
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 30
        for step in job["steps"]:
            assert re.fullmatch(
                r"actions/[\w-]+@[0-9a-f]{40}", step.get("uses", f"actions/x@{'0' * 40}")
            )
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}


HEADING = re.compile(
    r"^## (?:Unreleased|(?P<version>\S+) - (?P<day>\d{4}-\d\d-\d\d))$", re.MULTILINE
)


def test_the_changelog_dates_each_release_and_ends_at_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    found = [HEADING.fullmatch(line) for line in headings]
    assert None not in found, headings
    dated = [
        (Version(one["version"]), date.fromisoformat(one["day"]))
        for one in found
        if one and one["version"]
    ]
    assert dated == sorted(dated, reverse=True)
    assert dated[0][0] == Version(__version__)
    # What is not released stands above what is.
    assert all("Unreleased" not in line for line in headings[1:])
