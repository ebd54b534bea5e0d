"""Jurors that are asked one after the other, as long as their answers can turn the decision."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.cli.plain import document_text, section_text
from reviewdesk.desk.core import Desk
from reviewdesk.desk.export.report import report as report_of
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.live.judge import judge_cases
from reviewdesk.desk.review import items
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope
from reviewdesk.domain.records import Design
from reviewdesk.domain.verdict import Decision, Status, verdict_from_body
from reviewdesk.live.records import Response
from reviewdesk.store.load.rederive import differences
from reviewdesk.views import jury
from reviewdesk.views.document import Section
from reviewdesk.views.json.figures import batch
from reviewdesk.views.jurors import jurors
from tests.helpers import load
from tests.judgekit import (
    CUT,
    PRICE,
    YES,
    Consent,
    Jurors,
    Room,
    fine,
    of_whom,
    reply,
    saying,
    silent,
    world,
)
from tests.rerunkit import ready, run

QUORUM = "stop_when_decided: true\n"
CASES = tuple(f"c{n}" for n in range(12))


def voting(vote: Callable[[str, str], bool | None]) -> Jurors:
    def answer(body: Any) -> Response:
        said = vote(*of_whom(body))
        return Response(
            200, {}, reply(body, vote=said, score=None if said is None else 0.5 + said / 2)
        )

    return Jurors(answer)


def change_panel(room: Room, before: str, after: str) -> None:
    path = room.folder / "panel.yaml"
    path.write_text(path.read_text().replace(before, after))


def quorum_panel(room: Room, names: tuple[str, ...] = CASES, **how: Any) -> None:
    room.put(names, **how)
    change_panel(room, "strategy: median", "strategy: quorum")


def mixed(case: str, model: str) -> bool:
    """Votes that differ from case to case and from juror to juror, the same at each look."""
    n, seat = int(case[1:]), int(model[1:])
    return (n * n + seat * (n + 1)) % 7 > 2


@pytest.mark.slow
def test_a_panel_that_stops_decides_what_the_full_panel_decides(room: Room) -> None:
    quorum_panel(room)
    full = judge_cases(room.order(), YES, world(voting(mixed)))
    wanted = [one["decision"] for one in room.verdicts()]
    jurors = voting(mixed)
    order = replace(room.order(stop_when_decided=True), report=str(room.folder / "stopped.jsonl"))
    found = judge_cases(order, YES, world(jurors))
    stopped = room.verdicts("stopped.jsonl")
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


def test_a_verdict_of_a_panel_that_stopped_reads_back_the_same(room: Room) -> None:
    quorum_panel(room, ("c0",), more=QUORUM)
    judge_cases(room.order(), YES, world(voting(lambda *_: True)))
    (body,) = room.verdicts()
    assert [one["status"] for one in body["jurors"]] == ["ok"] * 3 + ["not_asked"] * 2
    assert body["decision"] == "pass"
    for key in ("agreement", "band", "escalate_for_review", "escalation_reasons"):
        assert key not in body
    assert panel_hash_status(verdict_from_body(body)) is HashStatus.VERIFIED
    # Taken alone, the key changes the hash, because another panel would have been asked.
    own = {**body["meta"]["reviewdesk"], "stop_when_decided": None}
    other: Any = {**body, "meta": {"reviewdesk": own}}
    assert panel_hash_status(verdict_from_body(other)) is HashStatus.UNVERIFIED


def test_the_desk_puts_it_into_the_rest_and_shows_no_agreement(desk: Desk, room: Room) -> None:
    quorum_panel(room, ("c0", "c1"), more=QUORUM)
    judge_cases(room.order(), YES, world(voting(lambda case, _: case == "c0")))
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
    assert "not always asked" in document_text(jurors(page))
    item = items[0]
    assert item.assessment.agreement.spread.reason == "stopped early"
    assert item.assessment.pair.value is None


def test_jurors_are_asked_in_their_order_and_equal_places_together(room: Room) -> None:
    quorum_panel(room, ("c0",), more=QUORUM)
    for seat, order in ((4, 1), (2, 1), (0, 2)):
        change_panel(room, f"model: m{seat},", f"model: m{seat}, order: {order},")
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


def test_many_cases_are_open_at_once_although_each_asks_one_juror_after_another(room: Room) -> None:
    quorum_panel(room, more=QUORUM)
    jurors = voting(lambda *_: True)
    judge_cases(room.order(), YES, world(jurors))
    assert jurors.most > len(CASES) / 2


LABELS = "labels: [KEEP, REJECT, SPLIT]\npassing: [KEEP]\nfailing: [REJECT]\n"
SAID = {
    "agree": ("KEEP", "KEEP", "KEEP"), "mixed": ("KEEP", "SPLIT", "keep."),
    "fails": ("REJECT", "REJECT", "SPLIT"), "splits": ("SPLIT", "SPLIT", "KEEP"),
}  # fmt: skip
DECIDED = {"agree": "pass", "mixed": "pass", "fails": "fail", "splits": None}


def by_seat(case: str, model: str) -> str:
    return SAID[case][int(model[1:])]


def labelled(room: Room, names: tuple[str, ...] = tuple(SAID), **how: Any) -> Room:
    """Put three jurors whose panel declares its labels, and decides by majority."""
    more = LABELS + how.pop("more", "")
    room.put(names, count=3, more=more, **how)
    change_panel(room, "strategy: median", "strategy: majority")
    return room


def test_labels_are_asked_counted_and_read_back(desk: Desk, room: Room) -> None:
    judge_cases(labelled(room).order(), YES, world(saying(by_seat)))
    bodies = {body["id"]: body for body in room.verdicts()}
    assert {name: body.get("decision") for name, body in bodies.items()} == DECIDED
    assert [one["label"] for one in bodies["mixed"]["jurors"]] == ["KEEP", "SPLIT", "KEEP"]
    assert [one.get("pass") for one in bodies["mixed"]["jurors"]] == [True, None, True]
    for body in bodies.values():
        assert panel_hash_status(verdict_from_body(body)) is HashStatus.VERIFIED
    run = load(desk, room.report.read_bytes(), "report.jsonl")
    found = {row.id: desk.item(row.key).assessment for row in desk.rows(desk.queue(run))}
    assert {name: one.decision for name, one in found.items()} == {
        name: None if word is None else Decision(word) for name, word in DECIDED.items()
    }
    assert not any(one.mismatches for one in found.values())
    # One of three pairs agrees.
    assert found["mixed"].pair.value == pytest.approx(-1 / 3)
    same = [row.id for row in desk.rows(desk.queue(run, "unanimous_votes"))]
    assert same == ["agree"]
    split = {row.id for row in desk.rows(desk.queue(run, "split"))}
    assert split == {"mixed", "fails", "splits"}
    shown = section_text(Section("", jury.decision(desk.item(desk.find(run, "mixed")))))
    assert "2 KEEP, 1 SPLIT of 3 jurors" in shown
    assert "unanimous" not in shown
    # What the columns hold is what each body gives, and the export reads back as the same.
    assert [*differences(desk.conn, run.key, lambda _share, _count: None)] == []
    once = "".join(report_of(desk, run))
    again = load(desk, once.encode(), "again.json")
    assert "".join(report_of(desk, again)) == once


def test_a_word_outside_the_labels_is_lost_and_asked_again(room: Room) -> None:
    def odd(case: str, model: str) -> str:
        return "MAYBE" if (case, model) == ("agree", "m1") else by_seat(case, model)

    found = judge_cases(labelled(room).order(), YES, world(saying(odd)))
    (lost,) = [one for body in room.verdicts() for one in body["jurors"] if one.get("error")]
    assert (lost["status"], lost["error"]["type"]) == (Status.PARSE_FAIL, "not_a_label")
    assert (
        lost["error"]["message"] == "the juror says MAYBE, and the labels are KEEP, REJECT, SPLIT"
    )
    assert found.turnouts.failed == 1
    jurors = saying(by_seat)
    judge_cases(room.order(resume=True), YES, world(jurors))
    assert jurors.asked.total() == 1
    assert not any(one.get("error") for body in room.verdicts() for one in body["jurors"])


def test_samples_come_to_the_label_that_most_of_them_give(room: Room) -> None:
    # Two labels pass; of three answers two say MERGE.
    words = iter(("KEEP", "MERGE", "MERGE") * 3)
    labels = LABELS.replace("SPLIT", "MERGE").replace("passing: [KEEP]", "passing: [KEEP, MERGE]")
    labelled(room, ("agree",), juror=", samples: 3")
    change_panel(room, LABELS, labels)
    judge_cases(room.order(concurrency=1), YES, world(saying(lambda _case, _model: next(words))))
    (body,) = room.verdicts()
    assert [one["label"] for one in body["jurors"]] == ["MERGE"] * 3
    assert [one["pass"] for one in body["jurors"]] == [True] * 3
    assert (body["label"], body["decision"]) == ("MERGE", "pass")


def test_a_panel_stops_when_no_label_can_catch_up(room: Room) -> None:
    labelled(room, more="stop_when_decided: true\n")
    jurors = saying(by_seat)
    judge_cases(room.order(), YES, world(jurors))
    bodies = {body["id"]: body for body in room.verdicts()}
    assert {name: body.get("decision") for name, body in bodies.items()} == DECIDED
    # Two alike of three seats are enough: in three cases the first two agree.
    assert jurors.asked.total() == 3 * 4 - 3
    assert not any(verdict_from_body(one).policy.counting is None for one in bodies.values())


def test_a_rerun_asks_for_the_labels_again(desk: Desk, room: Room) -> None:
    judge_cases(labelled(room).order(), YES, world(saying(by_seat)))
    key = desk.find(load(desk, room.report.read_bytes(), "report.jsonl"), "mixed")
    panel = str(room.folder / "panel.yaml")
    whole = ready(desk, key, panel, RerunRequest())
    asyncio.run(run(desk, whole, transport=saying(lambda *_: "REJECT")))
    one = ready(desk, key, panel, RerunRequest(RerunScope.JUROR, "j1"))
    asyncio.run(run(desk, one, transport=saying(lambda *_: "KEEP")))
    rejected, kept = items.of_item(desk, desk.item(key))
    assert (rejected.verdict.text("label"), rejected.assessment.decision) == ("REJECT", "fail")
    assert (kept.verdict.text("label"), kept.assessment.decision) == ("KEEP", "pass")
    assert kept.assessment.labels == {"KEEP": 3}
