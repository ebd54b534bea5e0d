"""Asking about many verdicts again: one consent, one ceiling, and a journal for kills."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.live.rerun import ReadyRerun, RerunOrder, give_up, survey
from reviewdesk.desk.review import items
from reviewdesk.desk.review.items import UnfinishedRerun, unfinished
from reviewdesk.domain.panel.asking import LiveProgress
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope
from reviewdesk.domain.records import Run, Truth
from reviewdesk.errors import CeilingError, UsageError
from tests.helpers import events_of, load, open_desk, report, verdict
from tests.live.builders import KEYS
from tests.live.server import Seen, Server, answer, envelope
from tests.live.server import verdict as said
from tests.rerunkit import ready, run

COUNT = 12


def panel_text(url: str, rubric: str = "Right?") -> str:
    seats = "".join(
        f"  - {{name: j{seat}, model: model-{seat}, vendor: custom, base_url: '{url}', "
        f"price: {{input: 1000, output: 1000}}}}\n"
        for seat in (1, 2, 3)
    )
    return f"name: local\nthreshold: 0.6\nrubric: {rubric}\njurors:\n{seats}"


def panel_at(folder: Path, url: str, rubric: str = "Right?") -> str:
    path = folder / "panel.yaml"
    path.write_text(panel_text(url, rubric), encoding="utf-8")
    return str(path)


def many(desk: Desk, count: int = COUNT, *scores: float | None) -> tuple[Run, list[int]]:
    """A run of verdicts that pass (0.9, 0.8 and 0.7 against 0.6), and their keys."""
    bodies = [verdict(f"v{n:02d}", *scores, output=f"answer {n}") for n in range(count)]
    found = load(desk, report(*bodies))
    return found, list(desk.queue(found, "", "file"))


def paid(server: Server) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for seen in server.calls:
        about = next(word for word in range(99) if f"answer {word}\n" in seen.user + "\n")
        found[str(about), seen.payload["model"]] += 1
    return found


@pytest.mark.slow
async def test_one_consent_gives_new_verdicts(desk: Desk, server: Server, tmp_path: Path) -> None:
    found, keys = many(desk)
    desk.label(keys[0], Truth.FAIL)
    server.reply = lambda seen: said(seen, **{"pass": False}, score=0.1)
    plan = ready(desk, keys, panel_at(tmp_path, server.url), shown="")
    # Twelve verdicts and three jurors.
    assert (plan.plan.calls, plan.name, server.connections) == (36, "12 verdicts", 0)
    states: list[LiveProgress] = []
    summary = await run(desk, plan, told=states.append)
    assert set(paid(server).values()) == {1}
    assert (summary.left, summary.flips) == (0, {"pass → fail": 12})
    assert summary.text().endswith(" 36 answered; 12 turned over (12 pass → fail)")
    last = states[-1]
    assert (last.done, last.cases, len(states)) == (12, 12, 36)
    # 160 tokens of a tenth of a cent for each of 36 calls.
    assert last.spent_usd == pytest.approx(5.76)
    assert list(desk.queue(found, "rerun:flipped", "file")) == keys
    [told] = items.of_item(desk, desk.item(keys[0]))
    assert (told.correct, told.kept_its_panel) == (True, True)
    assert desk.item(keys[0]).row.label is Truth.FAIL
    rates = items.flips_of_run(desk, found)
    assert [(one.juror, one.flipped, one.asked) for one in rates] == [
        ("j1", 12, 12), ("j2", 12, 12), ("j3", 12, 12),
    ]  # fmt: skip
    assert desk.verify().ok


async def test_the_consent_to_all_is_one_event_and_on_disk_before_the_first_request(
    desk: Desk, server: Server, tmp_path: Path
) -> None:
    found, keys = many(desk)
    plan = ready(desk, keys, panel_at(tmp_path, server.url), shown="decision:pass", max_cost=90.0)
    told: list[dict[str, Any]] = []

    def look(seen: Seen) -> str:
        with closing(open_desk(tmp_path / "desk.db")) as other:
            told.extend(dict(one.detail) for one in events_of(other, found) if not one.verdict)
        return said(seen)

    server.reply = look
    await run(desk, plan)
    first = told[0]
    assert (first["of"], first["calls"], first["filter"]) == (12, 36, "decision:pass")
    assert first["payload_sha256"] == plan.plan.payload_sha256
    assert first["max_cost_usd"] == 90.0
    # One event is of the whole, and each verdict has its own.
    history = [one for one in events_of(desk, found) if not one.verdict]
    assert [one.kind for one in history] == ["rerun_ended", "rerun_planned"]
    assert [one.kind for one in desk.item(keys[3]).history] == ["rerun_planned", "rerun_ended"]


async def killed(desk: Desk, server: Server, tmp_path: Path, calls: int = 20) -> Desk:
    """A desk as a kill leaves it after so many answers of a re-run of twelve verdicts."""
    _, keys = many(desk)
    target, answered = tmp_path / "killed.db", 0

    async def until(seen: Seen, out: asyncio.StreamWriter) -> None:
        nonlocal answered
        if answered == calls:
            await asyncio.Event().wait()
        answered += 1
        out.write(answer(200, envelope(seen, said(seen))))

    server.fault = until
    path = panel_at(tmp_path, server.url)
    came = asyncio.Event()

    def told(state: LiveProgress) -> None:
        if state.calls == calls:
            came.set()

    plan = ready(desk, keys, path, shown="", max_cost=100.0)
    task = asyncio.create_task(run(desk, plan, told=told))
    await came.wait()
    # The desk as it is on disk at this moment, which is what a kill would leave.
    with closing(sqlite3.connect(desk.path)) as source, closing(sqlite3.connect(target)) as made:
        source.backup(made)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    server.fault = None
    return open_desk(target)


def rest(desk: Desk, **more: Any) -> tuple[UnfinishedRerun, ReadyRerun]:
    [found] = unfinished(desk)
    return found, survey(desk, RerunOrder(**more), KEYS, resumes=found)


@pytest.mark.slow
async def test_a_killed_rerun_is_found_and_finished_without_paying_twice(
    desk: Desk, server: Server, tmp_path: Path
) -> None:
    with closing(await killed(desk, server, tmp_path)) as again:
        stored = again.conn.execute("SELECT count(*) FROM replies").fetchone()[0]
        found, plan = rest(again)
        done = again.conn.execute("SELECT count(*) FROM reruns").fetchone()[0]
        assert (found.extent.verdicts, found.extent.left, found.extent.shown) == (12, 12 - done, "")
        # The answers to verdicts that are not finished yet are not asked for again.
        assert plan.plan.stored == stored - 3 * done
        assert plan.plan.calls == 36 - stored
        # Jurors stand in the order of their seats, whichever answered before.
        assert [one[:2] for one in plan.plan.hosts[0].jurors] == ["j1", "j2", "j3"]
        # The page of consent and a dry run show what would be sent, and no more.
        assert len(list(plan.payloads(plan.held.values()))) == 36 - stored
        server.calls.clear()
        summary = await run(again, plan)
        assert (len(server.calls), summary.left) == (36 - stored, 0)
        total = again.conn.execute("SELECT count(*), count(DISTINCT call) FROM replies").fetchone()
        assert tuple(total) == (36, 36)
        assert again.conn.execute("SELECT count(*) FROM reruns").fetchone()[0] == 12
        assert unfinished(again) == []
        assert again.verify().ok


@pytest.mark.slow
async def test_a_stopped_rerun_goes_on_later(desk: Desk, server: Server, tmp_path: Path) -> None:
    (await killed(desk, server, tmp_path)).close()
    # The first desk is that of the process, whose run was cancelled.
    [end] = [
        one for one in events_of(desk, desk.run()) if one.kind == "rerun_ended" and not one.verdict
    ]
    done = desk.conn.execute("SELECT count(*) FROM reruns").fetchone()[0]
    assert (end.detail["stopped"], end.detail["left"]) == (True, 12 - done)
    found, plan = rest(desk)
    assert (found.stopped, found.extent.left) == (True, 12 - done)
    summary = await run(desk, plan)
    assert (len(summary.done), summary.left) == (12 - done, 0)
    assert desk.verify().ok


async def test_another_panel_takes_no_old_calls(desk: Desk, server: Server, tmp_path: Path) -> None:
    with closing(await killed(desk, server, tmp_path)) as again:
        text = panel_text(server.url).replace("threshold: 0.6", "threshold: 0.9")
        (tmp_path / "panel.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match="not the one that was agreed to"):
            rest(again)


async def test_giving_up_keeps_what_came(desk: Desk, server: Server, tmp_path: Path) -> None:
    with closing(await killed(desk, server, tmp_path)) as again:
        [found] = unfinished(again)
        begun = again.conn.execute(
            """SELECT count(*) AS came FROM replies WHERE plan NOT IN (SELECT plan FROM reruns)
               GROUP BY plan"""
        ).fetchall()
        before = again.conn.execute("SELECT count(*) FROM reruns").fetchone()[0]
        stopped = sum(row["came"] < 3 for row in begun)
        assert stopped
        assert give_up(again, found) == found.extent.left
        after = again.conn.execute("SELECT count(*), sum(stopped) FROM reruns").fetchone()
        assert tuple(after) == (before + len(begun), stopped)
        assert unfinished(again) == []
        assert again.verify().ok


@pytest.mark.slow
async def test_one_ceiling_holds_after_resuming(desk: Desk, server: Server, tmp_path: Path) -> None:
    _, keys = many(desk)
    path = panel_at(tmp_path, server.url)
    worst = (ready(desk, keys, path, shown="").plan.worst_usd or 0) / 36
    # A call costs 0.16, and its worst case is reserved before it is sent: ten calls, one by one.
    ceiling = 1.6 + worst - 0.001
    order: dict[str, Any] = {"shown": "", "max_cost": ceiling, "concurrency": 1}
    with pytest.raises(CeilingError, match="verdicts are left"):
        await run(desk, ready(desk, keys, path, **order))
    assert len(server.calls) == 10
    # The same ceiling lets no further call through.
    with pytest.raises(CeilingError):
        await run(desk, rest(desk, max_cost=ceiling)[1])
    assert len(server.calls) == 10
    desk.conn.execute("UPDATE replies SET usd = NULL WHERE key = 1")
    with pytest.raises(UsageError, match="is not known"):
        rest(desk, max_cost=ceiling)
    desk.conn.execute("UPDATE replies SET usd = 0.16 WHERE key = 1")
    summary = await run(desk, rest(desk, max_cost=100.0)[1])
    assert (len(server.calls), summary.left) == (36, 0)


def test_what_a_filter_shows_and_cannot_be_asked_is_counted_out(desk: Desk, tmp_path: Path) -> None:
    bodies = [verdict("whole"), verdict("lost", 0.9, None, 0.2)]
    keys = list(desk.queue(load(desk, report(*bodies)), "", "file"))
    path, wish = panel_at(tmp_path, "http://127.0.0.1:9/v1"), RerunRequest(RerunScope.MISSING)
    plan = ready(desk, keys, path, wish, shown="")
    assert (plan.keys, plan.plan.calls) == ((keys[1],), 1)
    assert plan.asked.left_out == {"no juror is missing": 1}
    # A verdict that was named is asked about, or nothing is.
    with pytest.raises(UsageError, match="whole: no juror is missing"):
        ready(desk, keys, path, wish)
    with pytest.raises(UsageError, match="whole: no juror is missing"):
        ready(desk, keys[:1], path, wish, shown="")


@pytest.mark.slow
async def test_two_reruns_at_once_share_a_desk(desk: Desk, server: Server, tmp_path: Path) -> None:
    _, keys = many(desk)
    path = panel_at(tmp_path, server.url)
    with closing(open_desk(tmp_path / "desk.db")) as other:
        first, second = await asyncio.gather(
            run(desk, ready(desk, keys[:6], path, shown="")),
            run(other, ready(other, keys[6:], path, shown="")),
        )
    assert (len(first.done), len(second.done)) == (6, 6)
    assert set(paid(server).values()) == {1}
    assert desk.verify().ok
