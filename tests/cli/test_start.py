"""What a newcomer runs first: the program without a command, and the demo."""

import shutil
from pathlib import Path

import pytest

from reviewdesk.desk.setup import sample_folder
from tests.cli.conftest import Cli
from tests.helpers import SAMPLES


def commands(text: str) -> list[str]:
    """The commands that are proposed."""
    return [line.split("  ")[1] for line in text.splitlines() if line.startswith("  ")]


def test_without_a_command_it_proposes_what_fits(cli: Cli, folder: Path, desk_path: Path) -> None:
    assert commands(cli().out) == ["reviewdesk open report.json", "reviewdesk demo"]
    shutil.copy(SAMPLES / "code-review.json", folder / "of today.json")
    (folder / "package.json").write_text('{"name": "no report"}')
    (folder / "broken.jsonl").write_text("{")
    assert commands(cli().out) == ["reviewdesk open 'of today.json'"]
    assert not desk_path.exists(), "looking for a next step makes no desk"
    cli("ingest", "of today.json")
    (folder / "of today.json").unlink()
    assert commands(cli().out) == ["reviewdesk open"]
    assert "continues code-review: 0 of 10 labelled" in cli().out
    cli("label", cli("queue", "--json").json[0]["id"], "pass")
    done = cli()
    assert (done.code, done.err) == (0, "")
    assert commands(done.out) == ["reviewdesk open", "reviewdesk calibrate"]


def test_the_demo_has_a_desk(cli: Cli, desk_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("demo")
    assert done.code == 0
    assert len(done.out.splitlines()) == 1 + 30
    assert not desk_path.exists()
    monkeypatch.setenv("REVIEWDESK_DESK", str(desk_path.with_name("demo.db")))
    # A second panel on the same items, and labels to measure a judge by.
    assert [run["verdicts"] for run in cli("runs", "--json").json] == [30, 27, 40]
    assert cli("calibrate", "--run", "library-desk", "--json").json["n"] > 30
    before = cli("desk", "info", "--json").json
    assert cli("demo").code == 0
    assert cli("desk", "info", "--json").json == before, "it is prepared once"


def test_the_samples_are_where_the_demo_looks() -> None:
    assert sample_folder() == SAMPLES
