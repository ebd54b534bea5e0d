"""Jurors that are asked one after the other, as long as their answers can turn the decision."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.cli.plain import document_text
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.live.batch import judge_cases
from reviewdesk.desk.live.panel import Panel
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.records import Design
from reviewdesk.domain.verdict import Decision, Generator, Policy, verdict_from_body
from reviewdesk.live.records import Response
from reviewdesk.views.json.panel import batch
from reviewdesk.views.jurors import jurors
from tests.helpers import load, open_desk
from tests.judgekit import (
    CUT,
    PRICE,
    URL,
    YES,
    Clock,
    Consent,
    Jurors,
    Room,
    fine,
    of_whom,
    reply,
    silent,
    world,
)

QUORUM = "stop_when_decided: true\n"
CASES = tuple(f"c{n}" for n in range(12))


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def voting(vote: Callable[[str, str], bool | None]) -> Jurors:
    """Jurors that vote as told about a case, by their model."""

    def answer(body: Any) -> Response:
        said = vote(*of_whom(body))
        return Response(
            200, {}, reply(body, vote=said, score=None if said is None else 0.5 + said / 2)
        )

    return Jurors(answer)


def quorum_panel(room: Room, names: tuple[str, ...] = CASES, **how: Any) -> Room:
    room.put(names, **how)
    path = room.folder / "panel.yaml"
    path.write_text(path.read_text().replace("strategy: median", "strategy: quorum"))
    return room


def mixed(case: str, model: str) -> bool:
    """Votes that differ from case to case and from juror to juror, the same at each look."""
    n, seat = int(case[1:]), int(model[1:])
    return (n * n + seat * (n + 1)) % 7 > 2


def test_a_panel_that_stops_decides_what_the_full_panel_decides(room: Room) -> None:
    quorum_panel(room)
    full = judge_cases(room.order(), YES, world(voting(mixed)))
    wanted = [one["decision"] for one in room.verdicts()]
    jurors = voting(mixed)
    order = replace(room.order(stop_when_decided=True), report=str(room.folder / "stopped.jsonl"))
    found = judge_cases(order, YES, world(jurors))
    stopped = verdicts_of(room, "stopped.jsonl")
    assert [one["decision"] for one in stopped] == wanted
    assert full.calls == 60
    assert full.saved is None
    assert found.calls == jurors.asked.total() < 60
    assert found.calls + found.spared == 60
    assert found.saved == found.spared / 60
    assert found.problem is None
    asked = [[one["status"] for one in verdict["jurors"]].count("ok") for verdict in stopped]
    assert found.calls == sum(asked)
    assert min(asked) == 3  # three of five decide a quorum of a half
    shown = batch(found)
    assert shown["calls_saved"] == found.spared
    assert shown["stopped_early"] == sum(count < 5 for count in asked)
    assert sum(one.get("not_asked", 0) for one in shown["jurors"]) == found.spared


def verdicts_of(room: Room, name: str) -> list[Any]:
    return [json.loads(line) for line in (room.folder / name).read_bytes().splitlines()[1:]]


def test_a_verdict_of_a_panel_that_stopped_reads_back_the_same(room: Room) -> None:
    quorum_panel(room, ("c0",), more=QUORUM)
    judge_cases(room.order(), YES, world(voting(lambda *_: True)))
    (body,) = room.verdicts()
    assert [one["status"] for one in body["jurors"]] == ["ok"] * 3 + ["not_asked"] * 2
    assert body["decision"] == "pass"
    for key in ("agreement", "band", "escalate_for_review", "escalation_reasons"):
        assert key not in body
    verdict = verdict_from_body(body, Policy(), Generator())
    assert panel_hash_status(verdict) is HashStatus.VERIFIED
    # Taken alone, the key changes the hash, because another panel would have been asked.
    own = {**body["meta"]["reviewdesk"], "stop_when_decided": None}
    other: Any = {**body, "meta": {"reviewdesk": own}}
    read = verdict_from_body(other, Policy(), Generator())
    assert panel_hash_status(read) is HashStatus.UNVERIFIED


def test_the_desk_puts_it_into_the_rest_and_shows_no_agreement(room: Room) -> None:
    quorum_panel(room, ("c0", "c1"), more=QUORUM)
    judge_cases(room.order(), YES, world(voting(lambda case, _: case == "c0")))
    with closing(open_desk(room.folder / "desk.db")) as desk:
        run = load(desk, room.report.read_bytes())
        items = [desk.item(key) for key in desk.queue(run)]
        page = jurors_page(desk, run)
    assert sorted(item.row.stratum for item in items) == ["rest/fail", "rest/pass"]
    found = {one.name: one for one in page.jurors}
    # Three of five seats decide, so the last two were never asked.
    assert [found[f"j{n}"].seats.not_asked for n in range(5)] == [0, 0, 0, 2, 2]
    assert [found[f"j{n}"].drawn.design is Design.SELECTED for n in range(5)] == [False] * 3 + [
        True
    ] * 2
    text = document_text(jurors(page))
    assert "j3, j4 (selected sample)" in text
    item = items[0]
    assert item.assessment.agreement.spread.reason == "stopped early"
    assert item.assessment.pair.value is None


def test_jurors_are_asked_in_their_order_and_equal_places_together(room: Room) -> None:
    quorum_panel(room, ("c0",), more=QUORUM)
    path = room.folder / "panel.yaml"
    text = path.read_text()
    for seat, order in ((4, 1), (2, 1), (0, 2)):
        text = text.replace(f"model: m{seat},", f"model: m{seat}, order: {order},")
    path.write_text(text)
    jurors = voting(lambda *_: True)
    judge_cases(room.order(), YES, world(jurors))
    # m4 and m2 first and together, then m0, which decides; m1 and m3 have no place of their own.
    assert list(jurors.asked) == [("c0", "m2"), ("c0", "m4"), ("c0", "m0")]
    assert jurors.most == 2
    assert [one["status"] for one in room.verdicts()[0]["jurors"]] == [
        "ok", "not_asked", "ok", "not_asked", "ok",
    ]  # fmt: skip


def test_a_lost_ballot_brings_in_the_next_juror_and_is_asked_again_by_resume(room: Room) -> None:
    quorum_panel(room, ("c0", "c1"), more=QUORUM, juror=PRICE)
    flaky = Jurors(lambda body: Response(200, {}, CUT) if of_whom(body)[1] == "m1" else fine(body))
    found = judge_cases(room.order(), YES, world(flaky))
    assert found.problem is not None
    assert sorted(flaky.asked) == [(c, f"m{n}") for c in ("c0", "c1") for n in range(4)]
    consent = Consent()
    listener = replace(YES, agreed=consent)
    found = judge_cases(room.order(resume=True), listener, world(again := Jurors()))
    (plan,) = consent.plans
    # m1 is asked again; until it answers, m4 may have to follow and is counted too.
    assert (plan.calls, plan.stored, plan.again) == (4, 6, {"truncated": 2})
    assert sorted(again.asked) == [("c0", "m1"), ("c1", "m1")]
    assert found.problem is None
    assert found.calls == 2
    found = judge_cases(room.order(resume=True), YES, world(silent()))
    assert found.calls == 0


def test_many_cases_are_open_at_once_although_each_asks_one_juror_after_another(
    room: Room,
) -> None:
    quorum_panel(room, more=QUORUM)
    jurors = voting(lambda *_: True)
    judge_cases(room.order(), YES, world(jurors))
    assert jurors.most > len(CASES) / 2


def test_the_library_panel_stops_too() -> None:
    seats = [Juror(f"j{n}", f"m{n}", "custom", base_url=URL) for n in range(5)]
    panel = Panel("quorum", jurors=seats, rubric="right?", stop_when_decided=True)
    jurors = voting(lambda *_: False)
    case = {"id": "c", "input": "question c.", "output": "no"}
    found = asyncio.run(panel.judge(case, transport=jurors, clock=Clock(), environment={}))
    assert found.decision is Decision.FAIL
    assert jurors.asked.total() == 3
    assert panel.stop_when_decided
