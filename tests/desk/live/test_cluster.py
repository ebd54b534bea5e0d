"""`judge` over the workers of a cluster: what they hold, what they take with them, what is kept."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.judgekit import PRICE, Room
from tests.live.clusterkit import KEY, NAME, LimitedVendor, holds_key, judge_over_workers
from tests.live.server import Server

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

OPEN = 6
CASES = [f"c{at}" for at in range(100)]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def put(room: Room, server: Server) -> None:
    juror = f", api_key_env: {NAME}{PRICE}"
    room.put(CASES, url=server.url, count=2, juror=juror)


async def test_a_killed_worker_costs_its_open_calls_and_no_ballot(room: Room) -> None:
    vendor = LimitedVendor(OPEN)
    async with Server(fault=vendor) as server:
        put(room, server)
        done = await judge_over_workers(room, server, 60, "--per-host", str(OPEN))
    assert done.code == 0, done.stderr
    assert (done.told["verdicts"], done.told["failed_ballots"]) == (100, 0)
    # The vendor's limit holds for all workers together.
    assert vendor.refused == 0
    assert vendor.keys == {KEY}
    asked = {(case, f"m{seat}") for case in CASES for seat in range(2)}
    assert set(vendor.paid) == asked
    # What was open on the killed worker is asked again, and nothing else is.
    assert 0 < done.lost.total() <= OPEN
    assert vendor.paid - Counter(asked) <= done.lost
    # Such a call counts at its worst, as nobody knows whether it was paid for.
    answered = 200 * 0.16
    assert done.told["cost_usd"] > answered
    assert holds_key(room.folder) == []
    assert KEY not in done.stderr + str(done.told)


async def test_a_refusal_pauses_all_workers_and_loses_no_ballot(room: Room) -> None:
    vendor = LimitedVendor(3)
    async with Server(fault=vendor) as server:
        put(room, server)
        done = await judge_over_workers(room, server, None, "--concurrency", "8")
    assert (done.code, done.told["failed_ballots"]) == (0, 0)
    # The calls that were open at the first refusal meet the limit, and few after them.
    assert 0 < vendor.refused < 40
    assert set(vendor.paid.values()) == {1}


async def test_a_run_over_workers_is_resumed_without_paying_twice(room: Room) -> None:
    vendor = LimitedVendor(OPEN)
    async with Server(fault=vendor) as server:
        put(room, server)
        options = ("--per-host", str(OPEN))
        stopped = await judge_over_workers(room, server, None, "--max-cost", "20", *options)
        assert stopped.code == 1
        assert "--resume" in stopped.stderr
        assert 0 < vendor.paid.total() < 200
        done = await judge_over_workers(room, server, None, "--resume", *options)
    assert (done.code, done.told["verdicts"]) == (0, 100)
    assert set(vendor.paid.values()) == {1}
    assert vendor.paid.total() == 200


async def test_a_variable_that_no_worker_has_is_named_before_consent(room: Room) -> None:
    vendor = LimitedVendor(OPEN)
    async with Server(fault=vendor) as server:
        room.put(["c0"], url=server.url, count=1, juror=", api_key_env: NOBODY_HAS_THIS")
        done = await judge_over_workers(room, server, None)
    assert done.code == 1
    assert "NOBODY_HAS_THIS" in done.stderr
    assert vendor.keys == set()
