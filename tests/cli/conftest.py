"""The command line in this process: a temporary desk, and what a command printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.cli import run


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


Cli = Callable[..., Done]


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
def write(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """Put a file beside the desk."""

    def put(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return put
