from collections.abc import AsyncIterator

import pytest

from tests.live.server import Server


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server() as running:
        yield running
