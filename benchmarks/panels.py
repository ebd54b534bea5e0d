"""How near live panels come to what concurrency and latency allow.

A server in a process of its own speaks both wires over real sockets and answers each call after a
fixed time. The share reached is the calls per second over concurrency divided by latency, over the
whole run with its first connections and its last, half-empty round; five ballots of one item are
set against one.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.live.records import Call, calls_for
from reviewdesk.live.session import CallSession
from reviewdesk.live.wires.transport import HttpTransport

ROOT = Path(__file__).resolve().parent.parent
ITEMS = 9
"""Items whose ballots are timed, of which the median counts."""


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


async def measured(url: str, cases: int, concurrency: int, latency: float) -> None:
    """Print the share reached, and what five ballots cost over one."""
    keys = dict.fromkeys(
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MISTRAL_API_KEY"), "benchmark-key"
    )
    transport = HttpTransport()
    asking = CallSession(transport, lambda *_: None, environment=keys, concurrency=concurrency)
    spec = panel(url)
    calls = [call for case in invented(cases) for call in calls_for(case, spec)]
    seconds = await timed(calls, asking)
    reached = len(calls) / seconds
    print(
        f"{len(calls)} calls, {concurrency} at once, {latency * 1000:.0f} ms each: {seconds:.2f} s"
    )
    print(
        f"{reached:.1f} calls a second, {reached * latency / concurrency:.1%} of what is possible"
    )
    one = [
        await timed(calls_for(case, dataclasses.replace(spec, jurors=spec.jurors[:1])), asking)
        for case in invented(ITEMS)
    ]
    five = [await timed(calls_for(case, spec), asking) for case in invented(ITEMS)]
    print(f"five ballots of one item over one: {median(five) / median(one):.3f} times as long")
    await transport.close()


def main() -> None:
    """Start the server and measure against it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--cases", type=int, default=200)
    options.add_argument("--concurrency", type=int, default=64)
    options.add_argument("--latency", type=float, default=0.5, help="seconds")
    given = options.parse_args()
    with server(given.latency) as url:
        asyncio.run(measured(url, given.cases, given.concurrency, given.latency))


if __name__ == "__main__":
    main()
