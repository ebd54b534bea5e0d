"""Rows about live panels, against a local server that answers after a fixed time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.live.limits import CallSession, RunLimits, World
from reviewdesk.live.records import Call, Clock, calls_for
from reviewdesk.live.wires.transport import HttpTransport
from scaling.measure import Row

ROOT = Path(__file__).resolve().parents[2]
CONCURRENCY = 64


@contextmanager
def server(latency: float) -> Iterator[str]:
    """A server that answers after ``latency`` seconds, until the block ends."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.live.server", str(latency)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with started:
        yield (started.stdout or sys.stdin).readline().strip()
        started.terminate()


def panel(url: str) -> PanelSpec:
    """Five jurors, of whom two are asked by Anthropic's wire."""
    wires = ("custom", "anthropic", "openai", "anthropic", "mistral")
    jurors = tuple(Juror(f"juror {i}", "m", wire, base_url=url) for i, wire in enumerate(wires))
    return PanelSpec("benchmark", jurors, PanelRule(), "The response answers the question.")


def invented(count: int) -> list[Case]:
    """Cases with some text in them."""
    return [
        Case(f"case {i}", f"Response {i}. " * 60, input="A question? " * 20) for i in range(count)
    ]


async def timed(calls: list[Call], asking: CallSession) -> float:
    """Seconds until every ballot is there, each of them an answer."""
    from tests.live.builders import ask_panel

    started = perf_counter()
    async for _, ballot in ask_panel(calls, asking):
        if ballot["status"] != "ok":
            raise SystemExit(f"a ballot failed: {ballot['error']['message']}")
    return perf_counter() - started


def rows(latency: float, cases: int, rounds: int) -> Iterator[Row]:
    """Ask a panel of five about an item, and about many with 64 calls open."""
    with server(latency) as url:
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
    world = World(keys, Clock(), lambda: transport)
    limits = RunLimits(concurrency=CONCURRENCY)
    session = CallSession(world, lambda *_: None, limits, lambda _: None)
    spec = panel(url)
    alone = replace(spec, jurors=spec.jurors[:1])
    one, five = [], []
    await timed(calls_for(invented(1)[0], spec), session)  # opens the connections
    for case in invented(rounds):
        one.append(await timed(calls_for(case, alone), session))
        five.append(await timed(calls_for(case, spec), session))
    calls = [call for case in invented(cases) for call in calls_for(case, spec)]
    seconds = await timed(calls, session)
    await transport.close()
    return median(five) / median(one), len(calls) / seconds * latency / CONCURRENCY
