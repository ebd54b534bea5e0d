"""Calls to a host that admits so many a minute: none is lost, and little time is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from threading import Lock, Thread
from time import monotonic

import pytest

from reviewdesk.desk.live.batch import BatchEnvironment, judge_cases
from reviewdesk.domain.panel.turnout import Allowance
from reviewdesk.domain.verdict import Status
from reviewdesk.live.clock import SystemClock
from reviewdesk.live.governor import MINUTE, Governor, Governors
from reviewdesk.live.jurors import CallSession, ask
from reviewdesk.live.records import Exchange, Response
from reviewdesk.live.replies.faults import Fault
from reviewdesk.live.replies.retryable import Retryable
from reviewdesk.live.waits import asked_wait, budget_wait
from reviewdesk.live.wires.envelope import Envelope
from tests.judgekit import PRICE, YES, Room, world
from tests.live.builders import KEYS, FakeClock, FakeTransport, Kept, call, juror
from tests.live.limiters import (
    BEGAN,
    Bucket,
    Limit,
    Limiter,
    Sliding,
    VirtualClock,
    Window,
    bare,
    date,
    milliseconds,
)
from tests.live.server import Seen, Server, answer, envelope, verdict
from tests.live.test_retry import GOOD, JSON, URL, refusing

CASES = [f"c{at}" for at in range(40)]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def clock() -> VirtualClock:
    return VirtualClock(chance=random.Random(7).random)  # noqa: S311 - seeded


LIMITS: dict[str, Callable[[], Limit]] = {
    "window": Window,
    "window in milliseconds": lambda: Window(names=milliseconds),
    "window with a date": lambda: Window(names=date),
    "window without a word": lambda: Window(names=bare),
    "sliding": Sliding,
    "bucket": Bucket,
    "bucket without a word": lambda: Bucket(tells=False),
    "small bucket": lambda: Bucket(size=5),
}


@pytest.mark.parametrize("concurrency", [16, pytest.param(64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", LIMITS)
def test_behind_a_limiter_of_60_a_minute_no_ballot_is_lost_and_little_time(
    room: Room, name: str, concurrency: int
) -> None:
    time = clock()
    host = Limiter(time, LIMITS[name]())
    order = room.put(CASES).order(concurrency=concurrency)
    found = judge_cases(order, YES, world(host, clock=time))
    assert (found.failed_ballots, found.passed, found.problem) == (0, 40, None)
    assert host.paid.total() == 200
    assert time.time <= 1.2 * host.limit.ideal, (time.time, host.refused)


def test_of_failing_calls_and_replies_at_their_limit_only_those_at_their_limit_are_lost(
    room: Room,
) -> None:
    time, chance = clock(), random.Random(11)  # noqa: S311 - seeded
    # Of 200 replies the 20 of one juror in every second case reach their token limit.
    host = Limiter(
        time,
        Window(),
        failing=lambda _: chance.random() < 0.3,
        cut=lambda who: who[1] == "m2" and int(who[0][1:]) % 2 == 0,
    )
    order = room.put(CASES, juror=PRICE).order(max_failed=Allowance(0.1, is_share=True))
    found = judge_cases(order, YES, world(host, clock=time))
    assert dict(found.turnouts.why) == {"truncated": 20}
    assert (found.failed_ballots, found.problem) == (20, None)
    assert 40 < host.asked.total() - 200 < 80  # the failed first calls were there
    assert set(host.paid.values()) == {1}
    # The failed calls were admitted too.
    assert time.time <= 1.2 * 60 * (host.asked.total() // 60)


def test_rpm_is_kept_from_the_start(room: Room) -> None:
    time = clock()
    host = Limiter(time, Window())
    sent: list[float] = []

    def limit(now: float) -> tuple[bool, dict[str, str]]:
        sent.append(now)
        return True, {}

    host.limit = limit  # type: ignore[assignment]
    judge_cases(room.put(CASES, count=3, juror=", rpm: 20").order(), YES, world(host, clock=time))
    assert len(sent) == 120
    # 20 of each of three jurors in any minute.
    assert max(sum(at <= one < at + 60 for one in sent) for at in sent) == 60
    # 40 calls of each: 20 at once, and 20 after the minute and its half second.
    assert 60 < time.time < 66


def test_tpm_counts_what_was_used_once_that_is_known(room: Room) -> None:
    time = clock()
    host = Limiter(time, Sliding())
    host.limit = lambda _: (True, {})  # type: ignore[assignment]
    panel = ", tpm: 11000, max_tokens: 100"
    found = judge_cases(
        room.put(CASES[:30], count=1, juror=panel).order(), YES, world(host, None, time)
    )
    assert found.calls == 30
    # A reply counts 110 tokens: 30 are 3,300, so estimates alone, of over 500 each, hold back at
    # most the first round.
    assert time.time < 61


async def test_a_request_larger_than_its_rate_goes_alone() -> None:
    time = clock()
    governor = Governor("h", time)
    one = replace(juror(URL), tpm=10)
    for _ in range(3):
        async with governor.turn(one, 50, 600):
            pass
    assert time.time == 2 * MINUTE


def limited(headers: dict[str, str], body: str = "", status: int = 429) -> Exchange:
    at = BEGAN.isoformat(timespec="milliseconds")
    return Exchange("k", 0, "n", at, 1.0, status, body, headers)


OPENAI = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}
ANTHROPIC = {
    "anthropic-ratelimit-requests-remaining": "0",
    "anthropic-ratelimit-requests-reset": "2025-01-31T12:00:42Z",
}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (OPENAI, 360),
        (OPENAI | {"x-ratelimit-reset-tokens": "1h2m3.5s"}, 3723.5),
        (OPENAI | {"x-ratelimit-reset-tokens": "120ms"}, 0.12),
        (OPENAI | {"x-ratelimit-reset-tokens": "7.66s"}, 7.66),
        (OPENAI | {"x-ratelimit-reset-tokens": "17"}, 17),
        (OPENAI | {"x-ratelimit-reset-tokens": "soon"}, None),
        (OPENAI | {"x-ratelimit-remaining-tokens": "1"}, None),
        (ANTHROPIC, 42),
        # By the endpoint's own clock, which is ten seconds ahead.
        (ANTHROPIC | {"date": "Fri, 31 Jan 2025 12:00:10 GMT"}, 32),
        (OPENAI | ANTHROPIC, 360),
        # OpenRouter's milliseconds since 1970.
        (
            {
                "x-ratelimit-remaining": "0",
                "x-ratelimit-reset": str(int(1000 * BEGAN.timestamp()) + 5000),
            },
            5,
        ),
        ({"x-ratelimit-remaining-requests": "0"}, None),
        ({}, None),
    ],
)
def test_a_spent_budget_says_when_it_is_filled(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert budget_wait(limited(headers, status=200), BEGAN) == pytest.approx(seconds)
    assert asked_wait(limited(headers), BEGAN) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({"retry-after": "9"} | OPENAI, "", 9),
        ({"retry-after": "2m"}, "", 120),
        (OPENAI, '{"error": {"details": [{"retryDelay": "12.5s"}]}}', 12.5),
        ({}, '{"error": {"details": [{"retryDelay": "12.5s"}]}}', 12.5),
    ],
)
def test_a_429_names_its_wait_in_several_ways(
    headers: dict[str, str], body: str, seconds: float
) -> None:
    assert asked_wait(limited(headers, body), BEGAN) == seconds


async def test_a_spent_budget_pauses_the_calls_of_all_sessions_and_no_other_host() -> None:
    spent = Response(200, JSON | OPENAI | {"x-ratelimit-reset-tokens": "30s"}, GOOD.body)
    time = FakeClock()
    governors = Governors(time)
    first, other = governors.of("one.example", "k"), governors.of("one.example", "another key")
    assert governors.of("ONE.example", "k") is first
    one = juror(URL)
    async with first.turn(one, 0, 600) as turn:
        first.note(turn, limited(dict(spent.headers), status=200), Envelope())
    async with other.turn(one, 0, 600), governors.of("two.example", "k").turn(one, 0, 600):
        assert time.slept == []
    async with first.turn(one, 0, 600):
        assert time.slept == [30]


async def test_a_host_that_asks_for_an_hour_fails_what_waits_at_once_and_says_so() -> None:
    transport, time = FakeTransport([refusing(429, retry_after="3600"), GOOD]), FakeClock()
    asking = CallSession(transport, Kept(), environment=KEYS, clock=time)
    first = await ask(call(juror(URL)), asking)
    second = await ask(call(juror(URL), "case 2"), asking)
    assert "asks to wait 3600 s" in first["error"]["message"]  # type: ignore[index]
    assert "asks to wait 3600 s" in second["error"]["message"]  # type: ignore[index]
    assert second["error"]["type"] == "rate_limited"  # type: ignore[index]
    assert (len(transport.sent), time.slept) == (1, [])


async def test_a_host_that_only_refuses_is_tried_anew_after_a_while() -> None:
    transport, time = FakeTransport([*[refusing(429)] * 104, GOOD]), FakeClock()
    asking = CallSession(transport, Kept(), environment=KEYS, clock=time)
    first, second = [await ask(call(juror(URL), case), asking) for case in ("1", "2")]
    for ballot in (first, second):
        assert "nothing but 429" in ballot["error"]["message"]  # type: ignore[index]
    assert len(transport.sent) == 104
    await time.sleep(60)
    assert (await ask(call(juror(URL), "3"), asking))["status"] == "ok"


async def test_concurrency_halves_once_for_each_pause_and_grows_again() -> None:
    time = FakeClock()
    governor = Governor("h", time)
    one, refused = juror(URL), Fault(Status.ERROR, "rate_limited", "", Retryable.PAUSED)
    async with AsyncExitStack() as stack:
        turns = [await stack.enter_async_context(governor.turn(one, 0, 600)) for _ in range(16)]
        assert governor.note(turns[0], limited({"retry-after": "5"}), refused) == 5
        for turn in turns[1:]:
            assert governor.note(turn, limited({"retry-after": "5"}), refused) == 0
    assert await most_open(governor) == 8
    async with AsyncExitStack() as stack:
        turns = [await stack.enter_async_context(governor.turn(one, 0, 600)) for _ in range(8)]
        for turn in [*turns, turns[0]]:
            governor.note(turn, limited({}, status=200), Envelope())
    # An answer adds an eighth at a limit of eight and a little less above it, so nine add one.
    assert await most_open(governor) == 9
    async with governor.turn(one, 0, 600) as turn:
        for _ in range(20):
            governor.note(turn, limited({}, status=200), Envelope())
    # With one call open the limit is not what holds back, and does not grow.
    assert await most_open(governor) == 9


async def most_open(governor: Governor) -> int:
    """How many calls the governor lets be open at once."""
    count = 0
    release = asyncio.Event()

    async def hold() -> None:
        nonlocal count
        async with governor.turn(juror(URL), 0, 600):
            count += 1
            await release.wait()

    tasks = [asyncio.create_task(hold()) for _ in range(30)]
    for _ in range(10):
        await asyncio.sleep(0)
    found = count
    release.set()
    await asyncio.gather(*tasks)
    return found


async def test_a_call_that_is_cancelled_while_it_waits_takes_no_place() -> None:
    governor = Governor("h", FakeClock())
    one, refused = juror(URL), Fault(Status.ERROR, "rate_limited", "", Retryable.PAUSED)

    async def wait() -> None:
        async with governor.turn(one, 0, 600):
            pass

    async with governor.turn(one, 0, 600) as turn:
        governor.note(turn, limited({}), refused)  # leaves room for one
        waiting = [asyncio.create_task(wait()) for _ in range(3)]
        await asyncio.sleep(0.01)
        waiting[0].cancel()
    waiting[1].cancel()  # just as its turn comes
    async with asyncio.timeout(5):
        await waiting[2]


def test_calls_of_several_threads_wait_for_one_another() -> None:
    governor = Governor("h", SystemClock())
    one, refused = juror(URL), Fault(Status.ERROR, "rate_limited", "", Retryable.PAUSED)
    count = most = 0
    lock = Lock()

    async def limit() -> None:
        async with governor.turn(one, 0, 600) as turn:
            governor.note(turn, limited({"retry-after-ms": "1"}), refused)

    async def turns() -> None:
        nonlocal count, most
        for _ in range(50):
            async with governor.turn(one, 0, 600):
                with lock:
                    count += 1
                    most = max(most, count)
                await asyncio.sleep(0)
                with lock:
                    count -= 1

    asyncio.run(limit())
    threads = [Thread(target=lambda: asyncio.run(turns())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    # A 429 of a single open call leaves room for one.
    assert (most, count) == (1, 0)


@pytest.mark.slow
async def test_over_sockets_and_in_real_time_little_is_lost_either(room: Room) -> None:
    """60 in three seconds, so that 200 take nine."""
    limit, refused = Window(names=milliseconds), 0

    async def fault(seen: Seen, out: asyncio.StreamWriter) -> None:
        nonlocal refused
        # The window counts by a clock that runs twenty times as fast.
        admitted, headers = limit(20 * monotonic())
        if "retry-after-ms" in headers:
            headers["retry-after-ms"] = str(float(headers["retry-after-ms"]) / 20)
        refused += not admitted
        body = envelope(seen, verdict(seen)) if admitted else {"error": {"message": "slow down"}}
        out.write(answer(200 if admitted else 429, body, headers))

    async with Server(fault=fault, latency=0.05) as server:
        order = room.put(CASES, url=server.url).order()
        found = await asyncio.to_thread(judge_cases, order, YES, BatchEnvironment.real())
    assert (found.calls, found.failed_ballots) == (200, 0)
    assert refused > 0
    assert 9 <= found.seconds < 1.2 * 9
