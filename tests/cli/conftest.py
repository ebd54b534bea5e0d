"""The command line in this process: a temporary desk, and what a command printed."""

import json
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.cli import run
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
from tests.cli.gatekit import CALM, LONE, SPLIT, Gate, Write, suite
from tests.helpers import report, verdict


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """What a person was told, a line each."""
        return self.err.splitlines()


def rows(done: Done) -> list[dict[str, Any]]:
    """The lines of JSON that a command printed."""
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


Cli = Callable[..., Done]


def keys(text: str) -> set[str]:
    """The names in a list of them."""
    return set(text.replace(",", " ").split())


@pytest.fixture
def desk_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The desk of this test and nobody else's."""
    path = tmp_path / "desk" / "desk.db"
    monkeypatch.setenv("REVIEWDESK_DESK", str(path))
    monkeypatch.setenv("REVIEWDESK_REVIEWER", "ann")
    return path


@pytest.fixture
def cli(desk_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run one command: ``cli("queue", "--json")``."""
    assert not desk_path.exists()

    def call(*arguments: str | Path) -> Done:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Done(int(code), out, err)

    return call


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Put a file beside the desk."""

    def put(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return put


def give(truths: Iterable[tuple[str, str]]) -> None:
    """Label verdicts of the newest run, as commands do, without a command for each."""
    with closing(Desk.open()) as desk:
        run = desk.run()
        for name, truth in truths:
            desk.label(desk.find(run, name), Truth(truth))


_MADE: dict[str, dict[Path, bytes]] = {}


def once(folder: Path, name: str, make: Callable[[], object]) -> None:
    """Make files in the folder of a test, or copy what another test made under that name."""
    for path, data in _MADE.get(name, {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    if name not in _MADE:
        make()
        found = (path for path in folder.rglob("*") if path.is_file())
        _MADE[name] = {path.relative_to(folder): path.read_bytes() for path in found}


@pytest.fixture
def loaded(cli: Cli, write: Write, tmp_path: Path) -> Cli:
    """A desk with four verdicts: a pass, a flagged pass, a fail, and one without a decision."""
    data = report(
        verdict("agreed", 0.9, 0.8, 0.9), verdict("split", 0.9, 0.2, 0.8, flagged=True),
        verdict("failed", 0.1, None, 0.3), verdict("none", None, None, decision="error"),
    )  # fmt: skip
    once(tmp_path, "loaded", lambda: cli("ingest", write("report.json", data)))
    return cli


@pytest.fixture
def gate(cli: Cli, write: Write) -> Gate:
    """Run a suite beside ``report.json``, which holds the three verdicts."""
    write("report.json", report(CALM, SPLIT, LONE))

    def call(*entries: str, options: tuple[str | Path, ...] = ()) -> Done:
        return cli("gate", write("suite.yml", suite(*entries)), *options)

    return call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the program runs in."""
    made = tmp_path / "folder"
    made.mkdir()
    monkeypatch.chdir(made)
    return made
