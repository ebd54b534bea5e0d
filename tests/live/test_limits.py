"""Calls to a host that admits so many a minute: none is lost, and little time is."""

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import pytest

from reviewdesk.desk.live.judge import judge_cases
from reviewdesk.domain.panel.asking import Allowance, ModelPause
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.verdict import Status
from reviewdesk.live.limits import MINUTE, CallTurn, ModelLimit, ModelLimits
from reviewdesk.live.records import Exchange
from reviewdesk.live.replies.envelope import Envelope, Fault, Retryable
from reviewdesk.live.retry import asked_wait, budget_wait
from tests.judgekit import PRICE, YES, Room, world
from tests.live.builders import FakeClock, juror
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
from tests.live.test_retry import JSON, URL

CASES = [f"c{at}" for at in range(40)]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "concurrency"),
    [("window", 16), *(pytest.param(name, 64, marks=pytest.mark.slow) for name in LIMITS)],
)
def test_behind_a_limiter_of_60_a_minute_no_ballot_is_lost_and_little_time(
    room: Room, name: str, concurrency: int
) -> None:
    time = clock()
    host = Limiter(time, LIMITS[name]())
    order = room.put(CASES).order(concurrency=concurrency)
    found = judge_cases(order, YES, world(host, clock=time))
    assert (found.turnouts.failed, found.passed, found.problem) == (0, 40, None)
    assert host.paid.total() == 200
    assert time.time <= 1.2 * host.limit.ideal, (time.time, host.refused)


@pytest.mark.slow
def test_of_failing_calls_and_replies_at_their_limit_only_the_latter_are_lost(room: Room) -> None:
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
    assert (found.turnouts.failed, found.problem) == (20, None)
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


def entered(limit: ModelLimit, one: Juror, tokens: int = 0) -> CallTurn:
    found = limit.enter(one, tokens)
    assert isinstance(found, CallTurn)
    return found


def test_a_request_larger_than_its_rate_goes_alone() -> None:
    limit = ModelLimits(clock()).of("h", None, "m")
    one = dataclasses.replace(juror(URL), tpm=10)
    entered(limit, one, 50)
    assert limit.enter(one, 50) == MINUTE


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
def test_a_spent_budget_says_when_it_is_filled(headers: Any, seconds: float | None) -> None:
    assert budget_wait(limited(headers, status=200), BEGAN) == pytest.approx(seconds)
    assert asked_wait(limited(headers), BEGAN) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({"retry-after": "9"} | OPENAI, "", 9),
        ({"retry-after": "2m"}, "", 120),
        # A vendor behind a proxy.
        ({"llm_provider-retry-after": "9"}, "", 9),
        ({"llm_provider-retry-after-ms": "1500", "llm_provider-retry-after": "9"}, "", 1.5),
        ({"retry-after": "0", "llm_provider-retry-after": "9"}, "", 9),
        ({"retry-after": "12", "llm_provider-retry-after": "9"}, "", 12),
        ({f"llm_provider-{name}": said for name, said in OPENAI.items()}, "", 360),
        (OPENAI, '{"error": {"details": [{"retryDelay": "12.5s"}]}}', 12.5),
        ({}, '{"error": {"details": [{"retryDelay": "12.5s"}]}}', 12.5),
    ],
)
def test_a_429_names_its_wait_in_several_ways(headers: Any, body: str, seconds: float) -> None:
    assert asked_wait(limited(headers, body), BEGAN) == seconds


def test_a_spent_budget_pauses_the_model_in_all_sessions_and_nothing_else() -> None:
    spent = limited(JSON | OPENAI | {"x-ratelimit-reset-tokens": "30s"}, status=200)
    limits, one = ModelLimits(FakeClock()), juror(URL)
    first = limits.of("one.example", "k", "m")
    assert limits.of("ONE.example", "k", "m") is first
    assert first.note(entered(first, one), spent, Envelope()) == 30
    assert first.pause() == ModelPause("m", "spent budget", 30, True)
    assert first.enter(one, 0) == 30
    for named in (
        ("one.example", "another key", "m"),
        ("one.example", "k", "n"),
        ("two", "k", "m"),
    ):
        entered(limits.of(*named), one)


REFUSAL = Fault(Status.ERROR, "rate_limited", "", Retryable.PAUSED)


def test_concurrency_halves_once_for_each_pause_and_grows_again() -> None:
    time = FakeClock()
    limit, one = ModelLimits(time).of("h", None, "m"), juror(URL)

    def most_open() -> int:
        opened = 0
        while isinstance(limit.enter(one, 0), CallTurn):
            opened += 1
            assert opened < 30
        for _ in range(opened):
            limit.leave()
        return opened

    turns = [entered(limit, one) for _ in range(16)]
    assert limit.note(turns[0], limited({"retry-after": "5"}), REFUSAL) == 5
    for turn in turns[1:]:
        assert limit.note(turn, limited({"retry-after": "5"}), REFUSAL) == 0
        limit.leave()
    limit.leave()
    assert limit.enter(one, 0) == 5
    time.slept.append(5)
    assert most_open() == 8
    turns = [entered(limit, one) for _ in range(8)]
    for turn in [*turns, turns[0]]:
        limit.note(turn, limited({}, status=200), Envelope())
    for _ in turns:
        limit.leave()
    # An answer adds an eighth at a limit of eight and a little less above it, so nine add one.
    assert most_open() == 9
    turn = entered(limit, one)
    for _ in range(20):
        limit.note(turn, limited({}, status=200), Envelope())
    limit.leave()
    # With one call open the limit is not what holds back, and does not grow.
    assert most_open() == 9
