"""`judge --batch` as a person runs it: submitted, killed, and fetched with --resume."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.terminalkit import started
from tests.judgekit import Room
from tests.live.batch_server import BatchVendors
from tests.live.builders import KEY
from tests.live.server import Server

VENDORS = ("openai", "anthropic", "mistral", "gemini")


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path).put(["c0", "c1", "c2"])


def seats(room: Room, url: str) -> None:
    rows = ""
    for vendor in VENDORS:
        base = url.replace("/v1", "/v1beta/openai") if vendor == "gemini" else url
        rows += f"  - {{name: {vendor}, model: m, vendor: {vendor}, base_url: '{base}', "
        rows += "api_key_env: TEST_KEY}\n"
    head = "name: four\nrubric: is right\nthreshold: 0.7\nstrategy: median\njurors:\n"
    (room.folder / "panel.yaml").write_text(head + rows, encoding="utf-8")


async def test_it_leaves_with_a_sentence_and_comes_back(
    cli: Cli, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    vendors = BatchVendors()
    async with Server(fault=vendors) as server:
        seats(room, server.url)
        left = await asyncio.to_thread(cli, *room.judge("--batch", "--yes", "--json"))
        assert left.json == {"report": None, "waiting": 12, "fetched": 0, "unsent": 0}
        assert left.lines[-1] == (
            "12 calls wait at the vendors; come back with --resume, which asks for no answer twice"
        )
        assert "batches   12 calls at half the price, answered within a day" in left.lines
        vendors.is_done = True
        done = await asyncio.to_thread(cli, *room.judge("--resume", "--yes", "--json"))
    assert (done.json["passed"], done.json["reused"], done.json["calls"]) == (3, 12, 0)
    assert KEY not in left.out + left.err + done.out + done.err
    (loaded,) = cli("ingest", room.report, "--json").json
    assert (loaded["verdicts"], loaded["ballots"], loaded["notes"]) == (3, 12, [])


async def test_what_no_vendor_takes_fails_with_the_reason(
    cli: Cli, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    async with Server(fault=BatchVendors(refuses=403)) as server:
        seats(room, server.url)
        done = await asyncio.to_thread(cli, *room.judge("--batch", "--yes"))
    assert (done.code, done.out) == (1, "")
    assert done.lines[-1].startswith("12 could not be submitted")
    assert "(HTTP 403, no batches for [key])" in done.err
    assert KEY not in done.err


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["submitting", "waiting"])
async def test_a_kill_between_submitting_and_fetching_pays_for_nothing_twice(
    room: Room, moment: str
) -> None:
    """Killed while the first vendor holds back its answer, or once all have answered."""
    vendors = BatchVendors(holds=moment == "submitting")

    async def start(*more: str) -> asyncio.subprocess.Process:
        return await started(room.judge(*more), room.folder / "desk.db", TEST_KEY=KEY)

    async with Server(fault=vendors) as server:
        seats(room, server.url)
        first = await start("--batch", "--yes")
        if vendors.holds:
            await vendors.taken.wait()
            first.kill()
        out, told = await first.communicate()
        assert first.returncode == (-9 if vendors.holds else 0)
        vendors.holds = False
        waits = await start("--resume", "--yes", "--json")
        out, told = await waits.communicate()
        assert json.loads(out)["waiting"] == 12
        vendors.is_done = True
        last = await start("--resume", "--yes", "--json")
        out, told = await last.communicate()
    assert (last.returncode, json.loads(out)["passed"]) == (0, 3)
    assert vendors.paid == dict.fromkeys(VENDORS, 3)
    for path in room.folder.iterdir():
        assert KEY.encode() not in path.read_bytes()
    assert KEY.encode() not in out + told
