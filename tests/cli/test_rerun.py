"""``rerun`` over what a filter keeps: one consent, kills, resumes, and what it prints."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Done
from tests.cli.terminalkit import Killer, started
from tests.helpers import load, open_desk, report, verdict
from tests.judgekit import PRICE, Room
from tests.live.server import Seen, Server
from tests.live.server import verdict as said

NAMES = [f"v{number:02d}" for number in range(20)]


def panel_of(folder: Path, url: str) -> str:
    """A panel of five jurors at ``url``, with prices."""
    return Room(folder).put(NAMES, url=url, juror=PRICE).order().panel


def loaded(path: Path) -> None:
    """A desk with a run of twenty verdicts, of which two fail."""
    path.parent.mkdir(parents=True, exist_ok=True)
    bodies = [verdict(name, *((0.1, 0.2, 0.3) if at < 2 else ())) for at, name in enumerate(NAMES)]
    with closing(open_desk(path)) as desk:
        load(desk, report(*bodies))


@pytest.fixture
def panel_cli(cli: Cli, desk_path: Path) -> Cli:
    loaded(desk_path)
    return cli


def failing(seen: Seen) -> str:
    return said(seen, **{"pass": False}, score=0.1)


async def asked(cli: Cli, *arguments: str) -> Done:
    """Run the command beside the server."""
    return await asyncio.to_thread(cli, "rerun", *arguments)


async def test_what_a_filter_keeps_is_asked_about_and_what_turned_is_printed(
    panel_cli: Cli, tmp_path: Path
) -> None:
    async with Server(reply=failing) as server:
        path = panel_of(tmp_path, server.url)
        done = await asked(
            panel_cli, "--filter", "id~v00|id~v01|id~v02|id~v03", "--panel", path, "--yes"
        )
    assert (done.code, len(server.calls)) == (0, 20)
    assert done.lines[1].endswith("about 4 verdicts of the filter id~v00|id~v01|id~v02|id~v03")
    # The first two failed before.
    assert done.out.splitlines() == [
        "4 verdicts asked again: 2 turned over (2 pass → fail)",
        "  v02: pass → fail, score 0.800 → 0.100",
        "  v03: pass → fail, score 0.800 → 0.100",
    ]
    assert "juror j0: 4 answered" in done.lines
    rows = panel_cli("queue", "--filter", "rerun:flipped", "--json").json
    assert sorted(row["id"] for row in rows) == ["v02", "v03"]
    # `show` tells the new reason of each of the five jurors, as text and in JSON.
    assert panel_cli("show", "v02").out.split("RE-RUNS")[1].count("It fits.") == 5
    again = panel_cli("show", "v02", "--json").json["reruns"][0]["jurors"]
    told = [one["after"]["reason"] for one in again if one["asked"]]
    assert told == ["It fits."] * 5


async def test_a_dry_run_prints_every_payload_and_sends_none(
    panel_cli: Cli, tmp_path: Path
) -> None:
    async with Server() as server:
        path = panel_of(tmp_path, server.url)
        done = await asked(panel_cli, "--filter", "", "--panel", path, "--dry-run")
        lines = [json.loads(line) for line in done.out.splitlines()]
        assert (len(lines), server.connections) == (100, 0)
        assert {line["case"] for line in lines} == set(NAMES)


@pytest.mark.slow
async def test_the_ceiling_is_1_and_a_resume_goes_on(panel_cli: Cli, tmp_path: Path) -> None:
    async with Server() as server:
        path = panel_of(tmp_path, server.url)
        limit = ("--max-cost", "4", "--concurrency", "1")
        done = await asked(panel_cli, "--filter", "", "--panel", path, "--yes", *limit)
        assert (done.code, done.out) == (1, "")
        assert "stopped before the ceiling of $4" in done.lines[-1]
        count = len(server.calls)
        assert 0 < count < 100
        done = await asked(panel_cli, "--resume", "--yes", "--json")
        assert (done.code, len(server.calls)) == (0, 100)
        done = await asked(panel_cli, "--resume", "--yes")
        assert (done.code, done.lines) == (
            2, ["no re-run was interrupted. Begin one with --filter, or name verdicts."],
        )  # fmt: skip


def test_one_way_of_choosing_is_needed(panel_cli: Cli) -> None:
    for wrong in ((), ("v00", "--resume"), ("v00", "--filter", "esc"), ("--resume", "--give-up")):
        done = panel_cli("rerun", *wrong, "--yes")
        assert (done.code, len(done.lines)) == (2, 1)
        assert "takes verdicts, --filter, --resume or --give-up" in done.lines[0]
    done = panel_cli("rerun", "--filter", "tag:nothing-has-it", "--yes")
    assert (done.code, "no verdict passes the filter" in done.lines[0]) == (2, True)


def kept(desk: Path) -> set[tuple[str, str]]:
    """The verdicts and models of the replies on disk, of which none may be there twice."""
    with closing(sqlite3.connect(desk)) as conn:
        rows = conn.execute(
            "SELECT e.verdict, p.juror FROM replies p JOIN label_events e ON e.key = p.plan"
        ).fetchall()
    assert len(set(rows)) == len(rows)
    return {(name, f"m{juror[1:]}") for name, juror in rows}


@pytest.mark.slow
async def test_kills_lose_no_reply_and_repeat_no_stored_one(tmp_path: Path) -> None:
    desk = tmp_path / "desk.db"
    loaded(desk)

    def whom(seen: Seen) -> tuple[str, str]:
        name = next(name for name in NAMES if f"answer {name}\n" in seen.user + "\n")
        return name, seen.payload["model"]

    killer = Killer((9, 21, 2, 33), whom)
    async with Server(reply=killer) as server:
        first = ("--filter", "", "--panel", panel_of(tmp_path, server.url))

        async def start(place: int) -> asyncio.subprocess.Process:
            how = ("--resume",) if place else first
            return await started(["rerun", "--yes", *how, "--concurrency", "4"], desk)

        stored = await killer.run(start, lambda: kept(desk))
    assert len(stored) == 100
    with closing(open_desk(desk)) as again:
        assert again.verify().ok
        [count] = again.conn.execute("SELECT count(*) FROM reruns").fetchone()
        assert count == 20
