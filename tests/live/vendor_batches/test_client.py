"""The requests to a vendor's batch interface: what is tried again, and after which wait."""

from __future__ import annotations

import pytest

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.errors import TransportError
from reviewdesk.live.records import Response
from reviewdesk.live.session import CallSession
from reviewdesk.live.vendor_batches.interfaces import interface
from reviewdesk.live.vendor_batches.run import BatchClient
from tests.live.builders import KEYS, FakeClock, FakeTransport, Kept
from tests.live.test_retry import JSON, refusing

JOB = Response(200, JSON, b'{"id": "b1", "status": "in_progress"}')


def client(*answers: Response) -> tuple[BatchClient, FakeTransport, FakeClock]:
    transport, clock = FakeTransport(list(answers)), FakeClock()
    juror = Juror("ada", "m", "openai", api_key_env="TEST_KEY")
    asking = CallSession(transport, Kept(), environment=KEYS, clock=clock)
    batches = interface(juror)
    assert batches is not None
    return BatchClient(juror, batches, asking), transport, clock


@pytest.mark.parametrize(
    ("headers", "slept"),
    [
        ({}, 0.375),
        ({"retry_after": "5"}, 5.0),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"retry_after": "0"}, 0.375),
    ],
)
async def test_a_short_wait_is_waited(headers: dict[str, str], slept: float) -> None:
    asked, transport, clock = client(refusing(429, **headers), JOB)
    job = await asked.look_up("b1")
    assert job is not None
    assert job.id == "b1"
    assert (len(transport.sent), clock.slept) == (2, [slept])


@pytest.mark.parametrize("status", [429, 503])
async def test_a_long_wait_is_said_and_keeps_no_other_batch_waiting(status: int) -> None:
    asked, transport, clock = client(refusing(status, retry_after="3600"), JOB)
    with pytest.raises(TransportError, match=f"HTTP {status}, no; it asks to wait 3600 s"):
        await asked.look_up("b1")
    assert (len(transport.sent), clock.slept) == (1, [])
