from collections.abc import AsyncIterator

import pytest

from reviewdesk.live.wires.transport import HttpTransport


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    made = HttpTransport()
    yield made
    await made.close()
