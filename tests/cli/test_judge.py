"""`judge` as a person runs it, call by call and by batches, against jurors on this machine."""

import asyncio
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.domain.panel.asking import LiveProgress
from reviewdesk.views.panel import live_text
from tests.cli.conftest import Cli, Done
from tests.cli.terminalkit import Killer, at_a_terminal, started
from tests.judgekit import PRICE, Room, of_whom
from tests.live.batch_server import BatchVendors
from tests.live.builders import KEY
from tests.live.server import Seen, Server, answer, envelope, verdict


async def judged(cli: Cli, room: Room, *more: str) -> Done:
    """Run the command beside the server."""
    return await asyncio.to_thread(cli, *room.judge(*more))


async def test_a_report_that_the_desk_loads(cli: Cli, room: Room) -> None:
    async with Server() as server:
        url = server.url
        room.put(url=url, juror=PRICE)
        done = await judged(cli, room, "--yes", "--json")
    # 120 tokens in and 40 out at a tenth of a cent, fifteen times.
    told = done.json
    assert told.pop("cost_usd") == pytest.approx(15 * 0.16)
    assert told.pop("rate") > 0
    assert told.pop("seconds") > 0
    assert told == {
        "report": str(room.report), "cases": 3, "verdicts": 3, "passed": 3, "failed": 0,
        "inconclusive": 0, "no_decision": 0, "errors": 0, "failed_checks": 0, "calls": 15,
        "reused": 0, "abstained_ballots": 0, "failed_ballots": 0,
        "jurors": [
            {
                "id": f"j{seat}", "answered": 3, "abstained": 0, "failed": 0, "why": {},
                "stopped": None,
            }
            for seat in range(5)
        ],
    }  # fmt: skip
    assert url.removeprefix("http://").removesuffix("/v1") in done.lines[1]
    assert "calls     15 for 3 cases" in done.lines
    (head,) = room.commitments()
    assert (head["how"], head["calls"]) == ("--yes", 15)
    (loaded,) = cli("ingest", room.report, "--json").json
    assert (loaded["verdicts"], loaded["ballots"], loaded["notes"]) == (3, 15, [])
    shown = cli("show", "c1", "--json").json
    assert (shown["decision"], shown["mismatches"]) == ("pass", [])


async def test_a_dry_run_prints_what_is_sent_and_opens_no_connection(cli: Cli, room: Room) -> None:
    async with Server() as server:
        url = server.url
        # c1 fails its check, so that nobody is asked about it.
        check: dict[str, Any] = {"checks": {"contains": "c1", "not": True}}
        room.put(url=url, juror=", api_key_env: NOBODY_SET_THIS", **check)
        order = room.order()
        dry = await asyncio.to_thread(
            cli, "judge", order.cases, "--panel", order.panel, "--dry-run"
        )
        assert server.connections == 0
        room.put(url=url, **check)
        await judged(cli, room, "--yes")
    assert dry.code == 0
    assert "127.0.0.1" in dry.lines[0]
    rows = [json.loads(line) for line in dry.out.splitlines()]
    assert {row["url"] for row in rows} == {f"{url}/chat/completions"}

    def plain(payload: dict[str, Any], nonce: str) -> str:
        return json.dumps(payload).replace(nonce, "nonce")

    sent = {of_whom(seen.payload): plain(seen.payload, seen.nonce) for seen in server.calls}
    for row in rows:
        seen = Seen("", {}, json.dumps(row["payload"]).encode())
        assert plain(row["payload"], seen.nonce) == sent[row["case"], f"m{row['juror'][1]}"]
    assert len(rows) == len(sent) == 10


async def test_off_a_terminal_nothing_is_sent_without_yes(cli: Cli, room: Room) -> None:
    async with Server() as server:
        room.put(url=server.url)
        done = await judged(cli, room)
        assert server.connections == 0
    assert (done.code, done.out, len(done.lines)) == (2, "", 1)
    assert "--yes" in done.lines[0]
    assert not room.replies.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "agrees"),
    [
        (b"y", True), (b"y\n", True), (b"\n", False), (b"n", False), (b"\x1b", False),
        (b"\xc3", False),
    ],
)  # fmt: skip
async def test_one_key_agrees_and_every_other_cancels(room: Room, key: bytes, agrees: bool) -> None:
    async with Server() as server:
        room.put(["c0"], url=server.url)
        code, shown = await at_a_terminal(room.judge(), room.folder / "desk.db", key)
        assert len(server.calls) == (5 if agrees else 0)
        assert bool(server.connections) is agrees
    assert code == (0 if agrees else 130)
    assert "j0 (m0)" in shown
    assert "calls     5 for 1 case" in shown
    assert "cost      unknown: no price for m0, m1, m2, m3, m4" in shown
    assert " · NOT encrypted · without a key · j0 (m0), " in shown
    assert "--dry-run" in shown
    if agrees:
        (consent,) = room.commitments()
        assert (consent["how"], consent["calls"]) == ("asked", 5)
        assert f"payload sha256, nonces aside: {consent['payload_sha256']}" in shown
    assert ("nothing was sent" in shown) is not agrees
    assert room.report.exists() is agrees
    assert room.replies.exists() is agrees


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (("--max-cost", "nan"), "max_cost cannot be nan"),
        (("--max-cost", "-1"), "--max-cost"),
        (("--max-cost", "1"), "needs prices"),
        (("--concurrency", "0"), "--concurrency"),
        (("--concurrency", "1001"), "--concurrency"),
        (("--per-host", "0"), "--per-host"),
        (("--max-failed", "-1"), "--max-failed"),
        (("--max-failed", "101%"), "--max-failed"),
        (("--max-failed", "1.5"), "--max-failed"),
        (("--max-failed", "1e3"), "--max-failed"),
        (("--max-failed", "few"), "--max-failed"),
        (("--deadline", "0"), "--deadline"),
        (("--deadline", "-1"), "--deadline"),
        (("--deadline", "10m"), "--deadline"),
        (("--deadline", "86401"), "--deadline"),
        (("--panel", "missing.yaml"), "missing.yaml"),
        (("-o", "missing/report.json"), "the folder does not exist"),
        (("-o", "-"), "-o is missing"),
        (("-o", ""), "-o is missing"),
        (("-o", "."), "is a folder"),
    ],
)
def test_wrong_orders_are_2_and_the_last_line_says_why(
    cli: Cli, room: Room, more: tuple[str, ...], word: str
) -> None:
    done = cli(*room.put().judge("--yes", *more))
    assert (done.code, done.out) == (2, "")
    assert word in done.lines[-1]
    assert not room.replies.exists()


async def test_a_report_that_is_there_needs_resume_or_another_name(cli: Cli, room: Room) -> None:
    async with Server() as server:
        room.put(url=server.url)
        assert (await judged(cli, room, "--yes")).code == 0
        before = room.report.read_bytes()
        done = await judged(cli, room, "--yes")
        assert (done.code, len(done.lines)) == (2, 1)
        assert "--resume" in done.lines[0]
        assert "-o" in done.lines[0]
        # Nothing is to be sent, so nothing is to be agreed to.
        again = await judged(cli, room, "--resume", "--yes", "--json")
        assert (again.json["calls"], again.json["reused"], len(server.calls)) == (0, 15, 15)
    assert room.report.read_bytes() == before


@pytest.mark.parametrize(
    ("allowed", "code"), [("0", 1), ("2", 1), ("3", 0), ("19%", 1), ("20%", 0), ("0.2", 0)]
)
async def test_lost_ballots_set_exit_codes(cli: Cli, room: Room, allowed: str, code: int) -> None:
    """Three of fifteen are lost, a fifth; the report is written all the same."""

    def reply(seen: Seen) -> str:
        return "I pass it." if seen.payload["model"] == "m1" else verdict(seen)

    async with Server(reply=reply) as server:
        room.put(url=server.url)
        done = await judged(cli, room, "--yes", "--max-failed", allowed)
    assert done.code == code
    assert "  juror j0: 3 answered" in done.out.splitlines()
    assert "  juror j1: 0 answered, 3 failed (3 no object)" in done.out.splitlines()
    assert "  no object: the reply contains no JSON object" in done.out.splitlines()
    # What did not happen has no line, and no decision has one name.
    assert "  passed: 3" in done.out.splitlines()
    assert not [line for line in done.out.splitlines() if line.endswith(": 0")]
    assert "inconclusive" not in done.out
    assert ("3 of 15 ballots are lost" in done.lines[-1]) is (code == 1)
    assert (f"--max-failed allows {allowed.removesuffix('%')}" in done.lines[-1]) is (code == 1)
    assert len(room.verdicts()) == 3


def test_cases_come_from_stdin_too(cli: Cli, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.put()
    with (room.folder / "cases.jsonl").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        done = cli("judge", "-", "--panel", room.order().panel, "--dry-run")
    assert (done.code, len(done.out.splitlines())) == (0, 15)


@pytest.mark.slow
async def test_kills_lose_no_reply_and_repeat_no_stored_one(room: Room) -> None:
    names = [f"c{at}" for at in range(20)]
    killer = Killer((3, 1, 14, 7), lambda seen: of_whom(seen.payload))

    async def start(_place: int) -> asyncio.subprocess.Process:
        assert not room.report.exists()
        line = room.judge("--yes", "--resume", "--concurrency", "4")
        return await started(line, room.folder / "desk.db")

    async with Server(reply=killer) as server:
        room.put(names, url=server.url)
        await killer.run(start, room.answered)
    assert [body["id"] for body in room.verdicts()] == names
    for body in room.verdicts():
        assert [ballot["id"] for ballot in body["jurors"]] == [f"j{seat}" for seat in range(5)]
        assert all(ballot["score"] == 0.8 for ballot in body["jurors"])
    left = {file.name for file in room.folder.iterdir()}
    assert left == {"cases.jsonl", "panel.yaml", room.report.name, room.replies.name}


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A suite that was started in the background ignores ctrl+c, and so would its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_at_once_keeps_what_came_back_and_says_how_to_go_on(
    room: Room, number: signal.Signals
) -> None:
    async def hang(seen: Seen, out: asyncio.StreamWriter) -> None:
        if len(server.calls) > 7:
            running.send_signal(number)
            await asyncio.Event().wait()
        out.write(answer(200, envelope(seen, verdict(seen))))

    async with Server(fault=hang) as server:
        room.put(url=server.url)
        line = room.judge("--yes", "--concurrency", "1")
        running = await started(line, room.folder / "desk.db")
        out, told = await running.communicate()
    assert (running.returncode, out) == (128 + number, b"")
    assert told.decode().splitlines()[-1] == (
        "stopped: 1 of 3 cases are complete. Continue with --resume."
    )
    assert len(room.stored()) == 7
    assert not room.report.exists()


def test_progress_is_one_harmless_line() -> None:
    # 610 calls in 10 s are 61 a second, which leaves 390 / 61 = 6.4 s.
    now = LiveProgress(120, 200, 610, 1000, 0.12, seconds=10)
    assert live_text(now) == "120/200 · 61/s calls · $0.1200 · ETA 7s"
    # 100 calls in 10 s leave 900 / 10 = 90 s.
    now = LiveProgress(20, 200, 100, 1000, seconds=10)
    assert live_text(now) == "20/200 · 10/s calls · ETA 1m30s"
    assert live_text(LiveProgress(0, 200, 0, 1000)) == "0/200 · 0/s calls"


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
async def test_a_kill_between_submit_and_fetch_pays_nothing_twice(room: Room, moment: str) -> None:
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
