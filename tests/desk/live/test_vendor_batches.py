"""Panels that are asked by the vendors' batch interfaces: submitted, left, and fetched later."""

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.desk.live.judge import CallsPendingError, judge_cases
from reviewdesk.domain.panel.asking import BatchSummary, Listener
from reviewdesk.errors import UsageError
from reviewdesk.live.limits import World
from reviewdesk.live.wires.transport import HttpTransport
from tests.judgekit import Clock, Consent, Room
from tests.live.batch_server import BatchVendors
from tests.live.builders import KEY, KEYS
from tests.live.server import Seen, Server

VENDORS = ("openai", "anthropic", "mistral", "gemini")
PRICE = "price: {input: 1000, output: 1000}, api_key_env: TEST_KEY"


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path).put(["c0", "c1"])


def seats(room: Room, url: str, *vendors: str, more: str = "") -> None:
    """Write a panel with a juror of each vendor, whose name is the vendor's."""
    rows = ""
    for vendor in vendors:
        base = url.replace("/v1", "/v1beta/openai") if vendor == "gemini" else url
        rows += f"  - {{name: {vendor}, model: m, vendor: {vendor}, base_url: '{base}', {PRICE}}}\n"
    head = f"name: four\nrubric: is right\nthreshold: 0.7\nstrategy: median\n{more}jurors:\n"
    (room.folder / "panel.yaml").write_text(head + rows, encoding="utf-8")


class Later(Clock):
    """A clock that begins so much later, as a later process sees it."""

    def __init__(self, seconds: int = 0) -> None:
        super().__init__(datetime(2025, 1, 31, 12, seconds // 60, seconds % 60, tzinfo=UTC))


async def judged(
    room: Room,
    *,
    consent: Consent | None = None,
    notes: list[str] | None = None,
    later: int = 0,
    environment: Mapping[str, str] = KEYS,
    report: str | None = None,
    **how: Any,
) -> BatchSummary | tuple[int, int, int]:
    """Judge by batches; what waits is returned."""
    order = replace(room.order(**how), report=report or str(room.report))
    told = Listener(consent or Consent(), noted=(notes if notes is not None else []).append)
    world = World(environment, Later(later), HttpTransport)
    try:
        return await asyncio.to_thread(judge_cases, order, told, world)
    except CallsPendingError as found:
        return found.pending.waiting, found.pending.fetched, found.pending.unsent


async def finished(room: Room, **how: Any) -> BatchSummary:
    """What a resumed run comes to, which nothing keeps waiting."""
    found = await judged(room, resume=True, **how)
    assert isinstance(found, BatchSummary)
    return found


def nowhere(room: Room, *texts: str) -> None:
    for path in room.folder.iterdir():
        assert KEY.encode() not in path.read_bytes()
    assert KEY not in "".join(texts)


async def test_submitted_left_and_fetched_by_four_vendors_at_half_the_price(room: Room) -> None:
    vendors, consent, notes = BatchVendors(), Consent(), list[str]()
    async with Server(fault=vendors) as server:
        seats(room, url := server.url, *VENDORS)
        first = await judged(room, in_batches=True, consent=consent, notes=notes)
        assert first == (8, 0, 0)
        assert not room.report.exists()
        (plan,) = consent.plans
        assert (plan.calls, plan.batched, plan.waiting, plan.live) == (8, 8, 0, ())
        assert plan.worst_usd is not None
        second = await judged(room, resume=True, consent=consent, notes=notes)
        assert second == (8, 0, 0)
        assert len(consent.plans) == 1  # nothing new is sent
        vendors.is_done = True
        found = await finished(room, consent=consent, notes=notes)
    assert (found.passed, found.reused, found.calls, found.turnouts.failed) == (2, 8, 0, 0)
    assert vendors.paid == dict.fromkeys(VENDORS, 2)
    # 120 tokens in and 40 out at a tenth of a cent each, halved, eight times.
    assert found.spent_usd == pytest.approx(8 * 0.16 / 2)
    for ballot in room.verdicts()[0]["jurors"]:
        assert ballot["cost_usd"] == pytest.approx(0.08)
        assert (ballot["tokens_in"], ballot["tokens_out"]) == (120, 40)
        assert "latency_ms" not in ballot
    assert {seen.headers["host"] for seen in vendors.seen} == {url[7:-3]}
    nowhere(room, *notes)


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_batch_whose_id_never_came_is_found_and_paid_once(room: Room, vendor: str) -> None:
    vendors, notes = BatchVendors(drops=True), list[str]()
    async with Server(fault=vendors) as server:
        seats(room, server.url, vendor)
        first = await judged(room, in_batches=True, notes=notes)
        assert first == (2, 0, 0)
        assert "may have it" in notes[0]
        vendors.drops = False
        assert await judged(room, resume=True, later=600) == first
        vendors.is_done = True
        found = await finished(room, later=1200)
    assert (found.passed, vendors.paid[vendor], len(vendors.batches)) == (2, 2, 1)


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_batch_the_vendor_never_took_is_submitted_again(room: Room, vendor: str) -> None:
    vendors = BatchVendors(forgets=True)
    async with Server(fault=vendors) as server:
        seats(room, server.url, vendor)
        await judged(room, in_batches=True)
        vendors.forgets, vendors.is_done = False, True
        waits = await judged(room, resume=True, later=20)  # its list may be behind
        assert (waits, vendors.paid[vendor]) == ((2, 0, 0), 0)
        waits = await judged(room, resume=True, later=120)
        assert (waits, vendors.paid[vendor]) == ((2, 0, 0), 2)
        found = await finished(room, later=200)
    assert (found.passed, vendors.paid[vendor]) == (2, 2)


async def test_an_anthropic_batch_of_another_run_is_not_taken_for_ours(room: Room) -> None:
    """Two runs of one size, of which the second one's id never came: its answers tell it."""
    vendors = BatchVendors()
    async with Server(fault=vendors) as server:
        seats(room, server.url, "anthropic")
        await judged(room, in_batches=True)
        ours, other = vendors.batches[0], str(room.folder / "other.jsonl")
        vendors.drops = True
        await judged(room, report=other, in_batches=True, later=60)
        vendors.drops, vendors.is_done = False, True
        found = await finished(room, report=other, later=900)
    assert (found.passed, len(vendors.batches), ours.id) == (2, 2, "b0")
    results = [seen.path for seen in vendors.seen if seen.path.endswith("/results")]
    assert results[-1] == "/v1/messages/batches/b1/results"


async def test_calls_that_a_batch_left_open_are_lost_and_they_alone_asked_again(room: Room) -> None:
    vendors = BatchVendors(is_done=True, lost=lambda user: "question c1." in user)
    consent = Consent()
    async with Server(fault=vendors) as server:
        seats(room, server.url, *VENDORS)
        await judged(room, in_batches=True)
        found = await finished(room)
        assert (found.turnouts.failed, found.calls) == (4, 0)
        assert found.spent_usd == pytest.approx(4 * 0.08)  # what expired costs nothing
        assert "4 of 8 ballots are lost" in str(found.problem)
        vendors.lost = lambda _: False
        await judged(room, in_batches=True, resume=True, consent=consent)
        assert (consent.plans[0].calls, consent.plans[0].stored) == (4, 4)
        found = await finished(room)
    assert (found.passed, found.turnouts.failed) == (2, 0)
    assert vendors.paid == dict.fromkeys(VENDORS, 3)


async def test_a_juror_without_a_batch_interface_is_asked_live_at_the_end(room: Room) -> None:
    vendors, consent = BatchVendors(), Consent()
    async with Server(fault=vendors) as server:
        seats(room, server.url, "openai", "deepseek")
        waits = await judged(room, in_batches=True, consent=consent)
        assert waits == (2, 0, 0)
        plan = consent.plans[0]
        assert (plan.calls, plan.batched, plan.live) == (4, 2, ("deepseek (deepseek)",))
        vendors.is_done = True
        found = await finished(room, consent=consent)
    assert (found.passed, found.calls, found.reused) == (2, 2, 2)
    assert (consent.plans[1].calls, consent.plans[1].waiting) == (2, 2)
    assert found.spent_usd == pytest.approx(2 * 0.08 + 2 * 0.16)


async def test_live_jurors_follow_case_by_case_within_what_waiting_batches_leave_of_the_ceiling(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call is a batch of its own, and the second case's comes back last."""
    monkeypatch.setattr("reviewdesk.live.vendor_batches.MOST_CALLS", 1)
    vendors = BatchVendors(is_done=True, late={"b1"})
    async with Server(fault=vendors) as server:
        seats(room, server.url, "openai", "deepseek")
        consent = Consent()
        await judged(room, in_batches=True, consent=consent)
        most = consent.plans[0].worst_usd
        assert most is not None
        assert not asked_live(vendors)
        waits = await judged(room, resume=True, max_cost=most)
        assert waits == (1, 1, 0)
        assert asked_live(vendors) == ["c0"]
        vendors.late.clear()
        found = await finished(room, max_cost=most)
    assert (found.passed, found.reused, found.calls) == (2, 3, 1)
    assert sorted(asked_live(vendors)) == ["c0", "c1"]
    assert found.spent_usd == pytest.approx(2 * 0.08 + 2 * 0.16)


def asked_live(vendors: BatchVendors) -> list[str]:
    calls = [seen for seen in vendors.seen if seen.path == "/v1/chat/completions"]
    return [next(name for name in ("c0", "c1") if f"question {name}." in one.user) for one in calls]


async def test_a_refusal_is_told_without_the_key_and_nothing_is_lost(room: Room) -> None:
    vendors, notes = BatchVendors(refuses=403), list[str]()
    async with Server(fault=vendors) as server:
        seats(room, server.url, *VENDORS)
        found = await judged(room, in_batches=True, notes=notes)
        assert found == (0, 0, 8)
        assert all("HTTP 403, no batches for [key]" in note for note in notes)
        nowhere(room, *notes)
        vendors.refuses = 0
        assert await judged(room, in_batches=True, resume=True) == (8, 0, 0)
    assert vendors.paid == dict.fromkeys(VENDORS, 2)


@pytest.mark.parametrize(
    ("more", "how", "why"),
    [
        ("stop_when_decided: true\n", {}, "asks them in an order"),
        ("", {"max_cost": 0.01}, "cannot be stopped half-way"),
    ],
)
async def test_what_batches_cannot_do_is_refused_before_anything_is_sent(
    room: Room, more: str, how: dict[str, Any], why: str
) -> None:
    vendors = BatchVendors()
    async with Server(fault=vendors) as server:
        seats(room, server.url, "openai", "anthropic", more=more)
        with pytest.raises(UsageError, match=why):
            await judged(room, in_batches=True, **how)
        seats(room, server.url, "deepseek")
        with pytest.raises(UsageError, match="no juror"):
            await judged(room, in_batches=True)
    assert vendors.seen == []


async def test_the_batch_is_on_disk_before_it_is_submitted_and_until_it_is_over(room: Room) -> None:
    vendors, seen = BatchVendors(), list[dict[str, Any]]()

    async def look(call: Seen, out: asyncio.StreamWriter) -> None:
        seen.append(waiting(room))
        await vendors(call, out)

    async with Server(fault=look) as server:
        seats(room, server.url, "openai")
        await judged(room, in_batches=True)
        (name, batch) = next(iter(waiting(room).items()))
        assert seen[0] == {name: {**batch, "id": None}}
        assert (batch["juror"], len(batch["nonces"]), bool(batch["id"])) == ("openai", 2, True)
        vendors.is_done = True
        await judged(room, resume=True)
    assert waiting(room) == {}
    assert len(room.stored()) == 2


def waiting(room: Room) -> dict[str, Any]:
    with closing(sqlite3.connect(room.replies)) as conn:
        rows = conn.execute("SELECT key, value FROM meta WHERE key LIKE 'vendor_batch %'")
        return {key.split()[-1]: json.loads(value) for key, value in rows}
