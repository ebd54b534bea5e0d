"""Nothing is sent before a person has read the question and agreed, whatever was typed before."""

import asyncio
from collections.abc import Callable
from contextlib import closing

import pytest

from tests.cli.conftest import Cli
from tests.cli.terminalkit import QUESTION, at_a_terminal
from tests.helpers import load, mostly_slow, open_desk, report, verdict
from tests.judgekit import Room
from tests.live.server import Seen, Server
from tests.live.server import verdict as verdict_of


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
async def test_no_key_typed_before_the_question_counts(
    room: Room, command: Callable[[Room, str], list[str]], early: bytes
) -> None:
    async with Server() as server:
        asked = command(room, server.url)
        code, shown = await at_a_terminal(asked, room.folder / "desk.db", b"n", early)
        assert (code, server.connections) == (130, 0)
    assert shown.count(QUESTION.decode()) == 1
    assert "nothing was sent" in shown
    assert not room.report.exists()


@pytest.mark.slow
async def test_rerun_sends_once_it_is_told_to(room: Room) -> None:
    async with Server() as server:
        asked = rerun(room, server.url)
        code, _ = await at_a_terminal(asked, room.folder / "desk.db", b"y")
        assert (code, len(server.calls)) == (0, 5)


@pytest.mark.parametrize(
    ("allowed", "code"), mostly_slow([("0", 1), ("1", 0), ("20%", 0), ("19%", 1)])
)
async def test_ballots_that_a_rerun_loses_show_in_its_exit_code(
    cli: Cli, room: Room, allowed: str, code: int
) -> None:
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
