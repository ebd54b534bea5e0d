from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.reviewkit import Review, reviewing


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    """A review of a run of six small verdicts."""
    with reviewing(tmp_path) as made:
        yield made
