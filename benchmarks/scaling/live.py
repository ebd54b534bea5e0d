"""Rows about live panels, against a local server that answers after a fixed time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from statistics import median

import panels
from msgspec.structs import replace

from reviewdesk.live.records import calls_for
from reviewdesk.live.session import CallSession
from reviewdesk.live.wires.transport import HttpTransport
from scaling.measure import Row

CONCURRENCY = 64


def rows(latency: float, cases: int, rounds: int) -> Iterator[Row]:
    """Ask a panel of five about an item, and about many with 64 calls open."""
    with panels.server(latency) as url:
        five, reached = asyncio.run(_asked(url, latency, cases, rounds))
    milliseconds = f"{1000 * latency:g} ms"
    yield Row(
        "a panel of five live", "<= 1.25x", f"{five:.3f}x",
        f"one juror of {milliseconds}; one after another would be 5x",
    )  # fmt: skip
    yield Row(
        f"{CONCURRENCY} calls open at {milliseconds}", ">= 90%", f"{reached:.1%}",
        f"{CONCURRENCY / latency:g} calls a second, concurrency over latency",
    )  # fmt: skip


async def _asked(url: str, latency: float, cases: int, rounds: int) -> tuple[float, float]:
    keys = dict.fromkeys(
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MISTRAL_API_KEY"), "benchmark-key"
    )
    transport = HttpTransport()
    session = CallSession(transport, lambda *_: None, environment=keys, concurrency=CONCURRENCY)
    spec = panels.panel(url)
    alone = replace(spec, jurors=spec.jurors[:1])
    one, five = [], []
    await panels.timed(calls_for(panels.invented(1)[0], spec), session)  # opens the connections
    for case in panels.invented(rounds):
        one.append(await panels.timed(calls_for(case, alone), session))
        five.append(await panels.timed(calls_for(case, spec), session))
    calls = [call for case in panels.invented(cases) for call in calls_for(case, spec)]
    seconds = await panels.timed(calls, session)
    await transport.close()
    return median(five) / median(one), len(calls) / seconds * latency / CONCURRENCY
