"""Three desks with the same run, and a place that they share."""

from pathlib import Path

import pytest

from reviewdesk.desk.team.sync import SharedFolder
from tests.desk.team.sharekit import copied, make


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make(tmp_path_factory.mktemp("made"))


@pytest.fixture
def desks(made: dict[str, Path], tmp_path: Path) -> dict[str, Path]:
    return copied(made, tmp_path / "desks")


@pytest.fixture
def place(tmp_path: Path) -> SharedFolder:
    return SharedFolder(tmp_path / "place")
