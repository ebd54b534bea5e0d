from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewdesk.domain.records import View
from tests.app.builders import SMALL
from tests.app.reviewkit import Review, reviewing


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    """A review of a run of six small verdicts."""
    with reviewing(tmp_path) as made:
        yield made


@pytest.fixture
def blind(tmp_path: Path) -> Iterator[Review]:
    """A blind review of six small verdicts."""
    with reviewing(tmp_path, view=View(blind=True)) as made:
        yield made


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Review]:
    """A review of six small verdicts on a small terminal."""
    with reviewing(tmp_path, size=SMALL) as made:
        yield made


@pytest.fixture
def filed(tmp_path: Path) -> Iterator[Review]:
    """A review of six small verdicts in the order of their file."""
    with reviewing(tmp_path, view=View(order="file")) as made:
        yield made
