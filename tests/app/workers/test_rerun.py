"""A re-run in the background: the desk stays usable, it stops at once, and nothing is lost."""

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from reviewdesk.app.app import WorkerRunner
from reviewdesk.app.controllers.jobs import Job, Report
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import items
from reviewdesk.domain.panel.rerun import Rerun
from reviewdesk.domain.records import Item, View
from reviewdesk.settings import Settings
from tests.app.appkit import Stage, open_run, report, showing, staged, verdict
from tests.app.rerunkit import KEY, asking, ended, panel_file
from tests.helpers import open_desk
from tests.live.server import Seen, Server, answer, envelope
from tests.live.server import verdict as said


class Gate:
    """A fault of the server that answers each juror only when a test lets it."""

    def __init__(self) -> None:
        self.asked = asyncio.Semaphore(0)
        self.open: dict[str, asyncio.Event] = {}

    def of(self, name: str) -> asyncio.Event:
        return self.open.setdefault(f"model-{name}", asyncio.Event())

    async def __call__(self, seen: Seen, out: asyncio.StreamWriter) -> None:
        self.asked.release()
        await self.of(seen.payload["model"].removeprefix("model-")).wait()
        out.write(answer(200, envelope(seen, said(seen))))

    async def all_asked(self, count: int = 3) -> None:
        for _ in range(count):
            await self.asked.acquire()


async def until(stage: Stage, text: str) -> None:
    """Wait until the screen says it; a test that waits in vain is ended by its timeout."""
    async with asyncio.timeout(20):
        while text not in stage.drawn():
            await stage.pilot.pause()


def first(desk: Desk) -> Item:
    return desk.item(desk.find(desk.run(), "item/001"))


def stored(desk: Desk) -> tuple[Rerun, ...]:
    return items.of_item(desk, first(desk))


async def start(stage: Stage) -> None:
    for key in ("R", "enter", "y"):
        stage.clock.wait(0.2)
        await stage.pilot.press(key)


@pytest.mark.slow
async def test_ballots_arrive_one_by_one_and_labels_go_on(tmp_path: Path) -> None:
    gate = Gate()
    async with asking(
        tmp_path, Server(fault=gate), verdict(1), verdict(3), verdict(5), view=View(order="file")
    ) as stage:
        await start(stage)
        await gate.all_asked()
        await until(stage, "0 of 3 came back")
        assert stage.review.text("jury").text.count("waiting") == 3
        gate.of("judge-1").set()
        await until(stage, "1 of 3 came back")
        text = stage.review.text("jury").text
        assert "ASKING AGAIN  1 of 3 came back" in text
        assert text.count("waiting") == 2
        stage.clock.wait(0.2)
        await stage.pilot.press("p")
        await until(stage, "saved ✓ pass item/001")
        assert stage.current == "item/003"
        assert "waiting" not in stage.review.text("jury").text
        assert first(stage.desk).row.label == "pass"
        for name in ("judge-0", "judge-2"):
            gate.of(name).set()
        await ended(stage)
        assert "asking again" not in stage.drawn()
        # Three scores of 0.8 against 0.7; before, 0.9, 0.8 and 0.3 passed two to one.
        assert "1 verdict asked again: 3 answered; 0 turned over" in stage.drawn()
        [told] = stored(stage.desk)
        assert told.correct is True


@pytest.mark.slow
async def test_it_stops_at_once_and_keeps_what_came_back(tmp_path: Path) -> None:
    gate = Gate()
    async with asking(tmp_path, Server(fault=gate), verdict(1)) as stage:
        await start(stage)
        await gate.all_asked()
        gate.of("judge-0").set()
        await until(stage, "1 of 3 came back")
        await stage.pilot.press("ctrl+x")
        # The two others never answer.
        async with asyncio.timeout(20):
            await ended(stage)
        assert "stopped: 1 verdict asked again: 1 answered; 0 turned over" in stage.drawn()
        [told] = stored(stage.desk)
        assert told.stopped
        statuses = [cast.status for cast in told.verdict.ballots]
        assert statuses == ["ok", "error", "error"]
        [row] = stage.desk.conn.execute("SELECT juror, body FROM replies").fetchall()
        assert row["juror"] == "judge-0"
        # Its one 0.8 is a pass, as were two of three before.
        halt = "stopped after 1 of 3"
        text = stage.review.text("jury").text
        assert f"{halt}: pass → pass" in text
        assert "decision pass →" not in text


@pytest.mark.slow
async def test_stopped_before_anybody_answered_there_is_no_verdict(tmp_path: Path) -> None:
    gate = Gate()
    async with asking(tmp_path, Server(fault=gate), verdict(1)) as stage:
        await start(stage)
        await gate.all_asked()
        await stage.pilot.press("ctrl+x")
        async with asyncio.timeout(20):
            await ended(stage)
        assert "stopped: 0 verdicts asked again: 0 answered" in stage.drawn()
        assert stored(stage.desk) == ()
        kinds = [event.kind for event in first(stage.desk).history]
        assert kinds == ["rerun_planned", "rerun_ended"]
        # The next one may start.
        for name in ("judge-0", "judge-1", "judge-2"):
            gate.of(name).set()
        await start(stage)
        await ended(stage)
        assert len(stored(stage.desk)) == 1


@pytest.mark.slow
async def test_closing_stops_it_and_what_came_back_is_kept(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    gate = Gate()
    async with Server(fault=gate) as server:
        settings = Settings(panel=panel_file(tmp_path / "p.yaml", server.url))
        async with staged(desk, run, settings=settings) as stage:
            await start(stage)
            await gate.all_asked()
            gate.of("judge-2").set()
            await until(stage, "1 of 3 came back")
            await stage.pilot.press("q")
            await until(stage, "Close, although the re-run of item/001 is under way?")
            await stage.pilot.press("y")
        async with asyncio.timeout(20):
            # The end of the process waits for its threads in the same way.
            await asyncio.get_running_loop().shutdown_default_executor()
    with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as again:
        [told] = stored(again)
        assert told.stopped
        assert [cast.status for cast in told.verdict.ballots] == ["error", "error", "ok"]
        assert again.verify().ok


@pytest.mark.slow
async def test_a_fault_of_the_job_is_one_line_and_the_sitting_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: Any) -> Any:
        raise RuntimeError(f"headers {KEY}")

    monkeypatch.setattr("reviewdesk.app.controllers.rerun.carry_out", failing)
    settings = Settings(panel=panel_file(tmp_path / "p.yaml", "http://127.0.0.1:9/v1"))
    async with showing(tmp_path, verdict(1), settings=settings) as stage:
        await start(stage)
        await ended(stage)
        assert "asking failed: RuntimeError" in stage.drawn()
        assert KEY not in stage.drawn()
        await stage.press("p")
        assert first(stage.desk).row.label == "pass"


@pytest.mark.slow
async def test_the_key_is_nowhere(tmp_path: Path) -> None:
    def leaking(seen: Seen) -> str:
        return said(seen, reason=f"My key is {seen.key}, truly {json.dumps(seen.key)}.")

    server = Server(reply=leaking)
    async with asking(tmp_path, server, verdict(1)) as stage:
        await start(stage)
        await ended(stage)
        assert all(call.key == KEY for call in server.calls)
        assert KEY not in stage.drawn()
        assert KEY not in stage.review.text("jury").text
        [told] = stored(stage.desk)
        assert "My key is [key], truly" in json.dumps(told.verdict.body)
        assert not holds_key(tmp_path)


def holds_key(folder: Path) -> bool:
    """Whether the key is in a byte of the desk or of its log."""
    files = [file for file in folder.iterdir() if file.name.startswith("d.db")]
    assert any(file.name.endswith("-wal") for file in files)
    return any(KEY.encode() in file.read_bytes() for file in files)


class Work:
    """A job that holds so much that it must not be written out."""

    done = False

    def __call__(self, _desk: Desk, _report: Report) -> None:
        self.done = True

    def __repr__(self) -> str:
        pytest.fail("a job was written out")


async def test_a_job_is_not_written_out_when_it_starts(tmp_path: Path) -> None:
    app: App[None] = App()
    with closing(open_desk(tmp_path / "desk.db")) as desk:
        async with app.run_test():
            work = Work()
            WorkerRunner(app, desk, lambda tell: tell()).start(Job("job", work, lambda *_: None))
            await app.workers.wait_for_complete()
    assert work.done
