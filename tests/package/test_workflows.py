"""Where the project is published: workflows, forms, hooks and the lock file, as files tell."""

import json
import re
import subprocess
import tomllib
from collections import defaultdict
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from reviewdesk.cli.desk import serve
from reviewdesk.version import __version__
from reviewdesk.web.access import Site, public_origin
from tests.helpers import ROOT

CI = ROOT / ".github" / "workflows" / "ci.yml"
RELEASE = CI.with_name("release.yml")
SITE = CI.with_name("docs.yml")
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


@pytest.mark.parametrize("path", [CI, RELEASE, SITE], ids=lambda path: path.name)
def test_a_workflow_may_read_and_uses_what_cannot_change(path: Path) -> None:
    found = read(path)
    assert found["permissions"] == {"contents": "read"}
    for name, job in found["jobs"].items():
        # To publish, a job shows who it is; it never runs code of the repository.
        shown = {"id-token": "write"} | ({"pages": "write"} if path == SITE else {})
        assert job.get("permissions", {}) == (shown if name == "publish" else {})
        assert name != "publish" or not any("run" in step for step in job["steps"])
        assert job["timeout-minutes"] <= 30
        for step in job["steps"]:
            used = step.get("uses", f"actions/x@{'0' * 40}")
            assert re.fullmatch(r"(?:actions|pypa)/[\w-]+@[0-9a-f]{40}", used)
            if used.startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        (RELEASE, {"python -m build", "python -m twine check --strict dist/*"}),
        (SITE, {"python -m zensical build --strict"}),
    ],
    ids=["package", "site"],
)
def test_a_tag_publishes_what_was_built_and_checked(path: Path, steps: set[str]) -> None:
    found = read(path)
    # YAML reads the key `on` as true.
    assert found[True] == {"push": {"tags": ["v*"]}}
    assert found["jobs"]["publish"]["needs"] == "build"
    assert steps <= {step.get("run", "") for step in found["jobs"]["build"]["steps"]}


@pytest.mark.parametrize(("tag", "code"), [(f"v{__version__}", 0), ("v0.0.0", 1), ("v.*", 1)])
def test_a_tag_is_the_version_that_the_changelog_dates(tag: str, code: int) -> None:
    steps = read(RELEASE)["jobs"]["build"]["steps"]
    (script,) = (one["run"] for one in steps if "TAG" in one.get("env", {}))
    done = subprocess.run(["bash", "-e", "-c", script], cwd=ROOT, env={"TAG": tag}, check=False)
    assert done.returncode == code


def test_the_image_serves_a_desk_as_nobody_special() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    said = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    last = dict(said)
    assert last["USER"] == "reviewer"
    assert f"REVIEWDESK_DESK={last['VOLUME']}/" in last["ENV"]
    entry, arguments = (json.loads(last[name]) for name in ("ENTRYPOINT", "CMD"))
    assert entry == ["reviewdesk"]
    # The command line is one that the program takes, and one that may listen everywhere.
    given = serve.make_context("serve", arguments[1:]).params
    site = Site(given["host"], given["port"], tuple(map(public_origin, given["public"])))
    assert (arguments[0], str(given["port"])) == ("serve", last["EXPOSE"])
    assert site.link.startswith("http://localhost:8765/?token=")
    copied = [one for line in said if line[0] == "COPY" and "--from" not in line[1]
              for one in line[1].split()[:-1]]  # fmt: skip
    assert [name for name in copied if not (ROOT / name).exists()] == []


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


LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
STALE = "requirements.lock is stale; CONTRIBUTING says how it is made"


def asked() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = (project["dependencies"], *project["optional-dependencies"].values())
    return [Requirement(line) for line in chain.from_iterable(lists)]


def entries(text: str) -> list[tuple[Requirement, str]]:
    """Return each locked requirement, with the lines of its hashes and of who asks for it."""
    parts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    heads = [(part.partition("--hash")[0].rstrip(" \\\n"), part) for part in parts if part]
    return [(Requirement(head), part) for head, part in heads]


def stale(text: str, wanted: list[Requirement]) -> set[str]:
    """Return what is locked by nobody's wish, what is not locked, and what is out of its bounds."""
    locked = defaultdict(list)
    for found, part in entries(text):
        if "reviewdesk (pyproject.toml)" in part:
            (version,) = (one.version for one in found.specifier)
            locked[canonicalize_name(found.name)].append(version)
    names = {canonicalize_name(one.name) for one in wanted}
    outside = {
        canonicalize_name(one.name)
        for one in wanted
        for version in locked[canonicalize_name(one.name)]
        if not one.specifier.contains(version)
    }
    return {name for name in locked if locked[name]} ^ names | outside


def test_the_lock_fits_the_project() -> None:
    assert stale(LOCK, asked()) == set(), STALE


def test_every_version_is_one_and_has_hashes() -> None:
    found = entries(LOCK)
    assert len(found) > 40
    for requirement, part in found:
        assert [one.operator for one in requirement.specifier] == ["=="]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", part), requirement.name
        assert requirement.url is None
    assert "//" not in LOCK


HASHED = f"    --hash=sha256:{'0' * 64}\n    # via reviewdesk (pyproject.toml)\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"a==1.2 \\\n{HASHED}", set()),
        (f"a==2.0 ; python_version < '3.12' \\\n{HASHED}a==1.5 \\\n{HASHED}", {"a"}),
        (f"a==1.2 \\\n{HASHED}b==1 \\\n{HASHED}", {"b"}),
        (f"a==1.2 \\\n{HASHED.replace('reviewdesk (pyproject.toml)', 'b')}", {"a"}),
        ("", {"a"}),
    ],
)
def test_a_stale_lock_is_found(text: str, found: set[str]) -> None:
    assert stale(text, [Requirement("A>=1,<2")]) == found
