"""``rerun`` over what a filter keeps: one consent, which no early key gives, kills and resumes."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, Done
from tests.cli.terminalkit import QUESTION, Killer, at_a_terminal, started
from tests.helpers import load, mostly_slow, open_desk, report, verdict
from tests.judgekit import PRICE, Room
from tests.live.server import Seen, Server
from tests.live.server import verdict as said
from tests.live.server import verdict as verdict_of

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


async def test_what_a_filter_keeps_is_asked_and_turns_shown(panel_cli: Cli, tmp_path: Path) -> None:
    async with Server(reply=failing) as server:
        path = panel_of(tmp_path, server.url)
        done = await asked(
            panel_cli, "--filter", "id~v00|id~v01|id~v02|id~v03", "--panel", path, "--yes"
        )
    assert (done.code, len(server.calls)) == (0, 20)
    assert done.lines[1].endswith("about 4 verdicts of the filter id~v00|id~v01|id~v02|id~v03")
    # The first two failed before.
    assert done.out.splitlines() == [
        "4 verdicts asked again: 20 answered; 2 turned over (2 pass → fail)",
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


async def test_dry_run_prints_every_payload_and_sends_none(panel_cli: Cli, tmp_path: Path) -> None:
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
        assert 0 < len(server.calls) < 100
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


def judge(room: Room, url: str) -> list[str]:
    return room.put(["c0"], url=url).judge()


def rerun(room: Room, url: str) -> list[str]:
    room.put(["c0"], url=url)
    with closing(open_desk(room.folder / "desk.db")) as desk:
        load(desk, report(verdict("c0", 0.9, 0.2, 0.8)))
    return ["rerun", "c0", "--panel", room.order().panel]


@pytest.mark.slow
@pytest.mark.parametrize("early", [b"y", b"y\n", b"yyyy"])
@pytest.mark.parametrize("command", [judge, rerun])
async def test_no_key_typed_before_question_counts(room: Room, command: Any, early: bytes) -> None:
    async with Server() as server:
        asked = command(room, server.url)
        code, shown = await at_a_terminal(asked, room.folder / "desk.db", b"n", early)
        assert (code, server.connections) == (130, 0)
    assert shown.count(QUESTION.decode()) == 1
    assert "nothing was sent" in shown
    assert not room.report.exists()


@pytest.mark.parametrize(
    ("allowed", "code"), mostly_slow([("0", 1), ("1", 0), ("20%", 0), ("19%", 1)])
)
async def test_lost_ballots_set_rerun_s_code(cli: Cli, room: Room, allowed: str, code: int) -> None:
    def reply(seen: Seen) -> str:
        return "I pass it." if seen.payload["model"] == "m1" else verdict_of(seen)

    async with Server(reply=reply) as server:
        asked = rerun(room, server.url)
        more = ["--desk", str(room.folder / "desk.db"), "--max-failed", allowed]
        done = await asyncio.to_thread(cli, *asked, *more, "--yes", "--deadline", "5")
        assert (done.code, len(server.calls)) == (code, 5)


def test_two_jurors_by_name_are_refused_and_not_one_of_them_asked(cli: Cli) -> None:
    done = cli("rerun", "c0", "--juror", "a", "--juror", "b", "--yes")
    assert (done.code, done.out, len(done.lines)) == (2, "", 1)
    assert "--juror asks one juror" in done.lines[0]
