"""``init``: a panel, a suite and a workflow from a report in the folder, and nothing replaced."""

import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from reviewdesk.version import REPOSITORY, __version__
from tests.cli.conftest import Cli
from tests.helpers import ROOT, SAMPLES

ALL = [".github/workflows/reviewdesk.yml", "judge/suite.yml", "panel.yml"]
LABELLED = sorted([*ALL, "judge/frame.jsonl", "judge/labels.jsonl"])


def copied(folder: Path, *names: str) -> None:
    """Copy samples into a folder; the last is the newest."""
    for age, name in enumerate(reversed(names)):
        shutil.copy(SAMPLES / name, folder)
        os.utime(folder / name, (1_700_000_000 - age, 1_700_000_000 - age))


def written(folder: Path) -> list[str]:
    found = (one.relative_to(folder) for one in folder.rglob("*") if one.is_file())
    return sorted(one.as_posix() for one in found if not (SAMPLES / one.name).exists())


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_labels_make_a_suite_of_their_export_with_limits_that_hold(cli: Cli, folder: Path) -> None:
    copied(folder, "library-desk.jsonl")
    cli("ingest", "library-desk.jsonl")
    cli("labels", "import", SAMPLES / "library-desk-truth.jsonl")
    before = cli("desk", "info", "--json").json
    done = cli("init", "--yes")
    assert (done.code, written(folder)) == (0, LABELLED)
    assert [line.split()[1] for line in done.out.splitlines()] == [
        "panel.yml", "judge/labels.jsonl", "judge/frame.jsonl", "judge/suite.yml", ALL[0],
    ]  # fmt: skip
    assert cli("desk", "info", "--json").json == before, "the desk is only read"
    assert cli("labels", "export", "--format", "suite", "-o", "other").code == 0
    for name in ("labels.jsonl", "frame.jsonl"):
        assert (folder / "judge" / name).read_bytes() == (folder / "other" / name).read_bytes()
    # The usual limit fails today, so another is written beside the reason.
    assert [cli("gate", f"{name}/suite.yml").code for name in ("judge", "other")] == [0, 1]
    suite = (folder / "judge" / "suite.yml").read_text()
    assert "# specificity_low is 0.355 today, and should be 0.8" in suite
    assert "minimum: 0.35 " in suite
    assert len(cli("panel", "check", "panel.yml", "--json").json["jurors"]) == 3


def test_without_labels_the_jurors_agreement_is_held(cli: Cli, folder: Path) -> None:
    copied(folder, "release-notes.json", "library-desk.jsonl")
    done = cli("init", "--floor", "0.9", "--ci", "none", "--yes")
    assert done.code == 0
    assert "report: library-desk.jsonl" in done.err, "the newest is taken"
    assert written(folder) == ["judge/suite.yml", "panel.yml"]
    assert cli("gate", "judge/suite.yml").code == 1


def test_the_workflow_runs_the_action_of_this_version(cli: Cli, folder: Path) -> None:
    copied(folder, "code-review.json")
    (folder / "code-review.json").rename(folder / 'of "today" ü\u0085.json')
    assert cli("init", "--yes", 'of "today" ü\u0085.json').code == 0
    checkout, gate = parsed(folder / ALL[0])["jobs"]["gate"]["steps"]
    action = parsed(ROOT / ".github/actions/gate/action.yml")
    assert gate["uses"] == f"{REPOSITORY}/.github/actions/gate@v{__version__}"
    assert gate["with"].keys() <= action["inputs"].keys()
    assert gate["with"]["report"] == 'of "today" ü\u0085.json'
    assert checkout["uses"] in (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    address = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    assert address == f"https://github.com/{REPOSITORY}"
    # The jurors of one verdict disagree altogether, so that no floor above 0 is met.
    done = cli("gate", "judge/suite.yml")
    assert (done.code, "agreement is 0" in done.out) == (1, True)


@pytest.mark.parametrize("name", [*LABELLED, "panel.yaml"])
def test_nothing_is_replaced(cli: Cli, folder: Path, name: str) -> None:
    copied(folder, "library-desk.jsonl")
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("mine")
    done = cli("init", "--yes")
    assert (done.code, written(folder)) == (2, [name])
    assert f"{name}: already exists" in done.err
    assert (folder / name).read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--yes",), "there is no report or table here"),
        ((), "there is no terminal to ask on"),
        (("gone.json", "--yes"), "gone.json"),
        (("${{ x }}.json", "--yes"), "a workflow would read ${{ as code"),
        (("a.json", "--floor", "2", "--yes"), "--floor"),
    ],
)
def test_what_it_cannot_do_is_one_line(cli: Cli, folder: Path, arguments: Any, says: str) -> None:
    done = cli("init", *arguments)
    assert (done.code, written(folder)) == (2, [])
    assert says in done.err


def test_three_questions_are_asked(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied(folder, "code-review.json", "library-desk.jsonl")
    asked = []

    def answer(question: str, default: Any, **_: Any) -> Any:
        asked.append((question.split("?", maxsplit=1)[0], default))
        return {"Which report": 2, "Which CI": "none"}.get(asked[-1][0], 0.5)

    monkeypatch.setattr("reviewdesk.cli.start.can_ask", lambda: True)
    monkeypatch.setattr("click.prompt", answer)
    assert cli("init").code == 0
    assert asked == [
        ("Which report", 1),
        ("How far must the jurors of each verdict agree, at least", 0.05),
        ("Which CI", "github"),
    ]
    assert written(folder) == ["judge/suite.yml", "panel.yml"]
    assert "../code-review.json" in (folder / "judge/suite.yml").read_text(encoding="utf-8")
