from collections.abc import AsyncIterator

import pytest

from tests.live.server import Server


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """An endpoint of jurors on this machine."""
    async with Server() as running:
        yield running
