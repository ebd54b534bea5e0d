"""`judge` over the workers of a cluster: what they hold, what they take with them, what is kept."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers import POSIX
from tests.judgekit import PRICE, Room
from tests.live.clusterkit import (
    KEY,
    NAME,
    LimitedVendor,
    ended,
    holds_key,
    judge_by_own_workers,
    judge_over_workers,
    start,
)
from tests.live.server import Server
from tests.scale.workerkit import worker_processes

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


# Workers that the command starts


@POSIX
async def test_a_rate_is_kept_over_own_workers_though_one_is_killed(room: Room) -> None:
    """It takes a minute without work, as the rate is one of a minute."""
    rate = 80
    vendor = LimitedVendor(OPEN, rate)
    async with Server(fault=vendor) as server:
        room.put(CASES, url=server.url, count=2, juror=f", api_key_env: {NAME}, rpm: {rate}")
        done = await judge_by_own_workers(room, server, 60, "--per-host", str(OPEN))
    assert (done.code, done.told["failed_ballots"]) == (0, 0), done.stderr
    # 100 calls of each model do not fit into a minute of 80, nor do those that are asked again.
    assert vendor.refused == 0
    answered = [
        (verdict["id"], juror["id"])
        for verdict in room.verdicts()
        for juror in verdict["jurors"]
        if juror["score"] is not None
    ]
    assert Counter(answered) == Counter((case, f"j{seat}") for case in CASES for seat in range(2))
    asked = Counter((case, f"m{seat}") for case in CASES for seat in range(2))
    assert set(vendor.paid) == set(asked)
    assert 0 < done.lost.total() <= OPEN
    assert vendor.paid - asked <= done.lost


@POSIX
async def test_ctrl_c_ends_own_workers_and_leaves_what_can_be_resumed(room: Room) -> None:
    vendor = LimitedVendor(OPEN)
    options = ("--workers", "2", "--per-host", str(OPEN))
    async with Server(fault=vendor) as server:
        put(room, server)
        process = await start(room, {NAME: KEY}, *options)
        await server.reached(60)
        os.killpg(process.pid, signal.SIGINT)
        stopped = await ended(room, process)
        # Every process of the command was sent it, as by a terminal, and one of them speaks.
        last = stopped.stderr.splitlines()[-1]
        assert (stopped.code, "Traceback" in stopped.stderr) == (130, False), stopped.stderr
        assert re.fullmatch(r"stopped: \d+ of 100 cases are complete\. Go on with --resume\.", last)
        done = await ended(room, await start(room, {NAME: KEY}, *options, "--resume"))
    assert (done.code, done.told["failed_ballots"], len(room.verdicts())) == (0, 0, 100)
    assert (vendor.paid - Counter(set(vendor.paid))).total() <= OPEN


@POSIX
async def test_ctrl_c_while_own_workers_start_is_one_sentence(room: Room) -> None:
    vendor = LimitedVendor(OPEN)
    async with Server(fault=vendor) as server:
        put(room, server)
        process = await start(room, {NAME: KEY}, "--workers", "2")
        while not await asyncio.to_thread(worker_processes, process.pid):
            pass
        os.killpg(process.pid, signal.SIGINT)
        stopped = await ended(room, process)
    assert (stopped.code, stopped.stderr) == (130, "interrupted\n")
    assert (vendor.keys, room.replies.exists()) == (set(), False)
