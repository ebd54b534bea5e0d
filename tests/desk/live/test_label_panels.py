"""A panel that asks for labels: judged, resumed, sampled, stopped early, loaded and asked again."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.cli.plain import section_text
from reviewdesk.desk.export.report import report as report_of
from reviewdesk.desk.live import rerun_history
from reviewdesk.desk.live.batch import judge_cases
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope
from reviewdesk.domain.verdict import Decision, Generator, Policy, Status, verdict_from_body
from reviewdesk.live.records import Response
from reviewdesk.reports.panels.panel_file import read_panel
from reviewdesk.reports.panels.panel_text import panel_text
from reviewdesk.store.load.rederive import differences
from reviewdesk.views import jury
from reviewdesk.views.document import Section
from tests.helpers import load, open_desk
from tests.judgekit import YES, Jurors, Room, of_whom, reply, world
from tests.rerunkit import ready, run

LABELS = "labels: [KEEP, REJECT, SPLIT]\npassing: [KEEP]\nfailing: [REJECT]\n"
SAID = {
    "agree": ("KEEP", "KEEP", "KEEP"),
    "mixed": ("KEEP", "SPLIT", "keep."),
    "fails": ("REJECT", "REJECT", "SPLIT"),
    "splits": ("SPLIT", "SPLIT", "KEEP"),
}
DECIDED = {"agree": "pass", "mixed": "pass", "fails": "fail", "splits": None}


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def saying(word: Callable[[str, str], Any]) -> Jurors:
    """Jurors that answer a case by a word, in the form that such a panel asks for."""

    def answer(body: dict[str, Any]) -> Response:
        said = json.loads(reply(body))["choices"][0]["message"]["content"]
        told = {"reason": "r", "label": word(*of_whom(body)), "confidence": 0.9}
        content = json.dumps({**told, "nonce": json.loads(said)["nonce"]})
        choice = {"message": {"content": content}, "finish_reason": "stop"}
        return Response(200, {}, json.dumps({"choices": [choice]}).encode())

    return Jurors(answer)


def by_seat(case: str, model: str) -> str:
    return SAID[case][int(model[1:])]


def labelled(room: Room, names: tuple[str, ...] = tuple(SAID), **how: Any) -> Room:
    """Put three jurors whose panel declares its labels, and decides by majority."""
    more = LABELS + how.pop("more", "")
    room.put(names, count=3, more=more, **how)
    path = room.folder / "panel.yaml"
    path.write_text(path.read_text().replace("strategy: median", "strategy: majority"))
    return room


def test_labels_are_asked_counted_and_read_back(room: Room) -> None:
    judge_cases(labelled(room).order(), YES, world(saying(by_seat)))
    bodies = {body["id"]: body for body in room.verdicts()}
    assert {name: body.get("decision") for name, body in bodies.items()} == DECIDED
    assert [one["label"] for one in bodies["mixed"]["jurors"]] == ["KEEP", "SPLIT", "KEEP"]
    assert [one.get("pass") for one in bodies["mixed"]["jurors"]] == [True, None, True]
    for body in bodies.values():
        verdict = verdict_from_body(body, Policy(), Generator())
        assert panel_hash_status(verdict) is HashStatus.VERIFIED
    with closing(open_desk(room.folder / "desk.db")) as desk:
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
        assert "2 KEEP, 1 SPLIT, 3 seated" in shown
        assert "unanimous" not in shown
        # What the columns hold is what each body gives, and the export reads back as the same.
        assert [*differences(desk.conn, run.key, lambda _share, _count: None)] == []
        once = "".join(report_of(desk, run, as_lines=False))
        again = load(desk, once.encode(), "again.json")
        assert "".join(report_of(desk, again, as_lines=False)) == once


def test_a_word_outside_the_labels_is_lost_and_asked_again(room: Room) -> None:
    def odd(case: str, model: str) -> str:
        return "MAYBE" if (case, model) == ("agree", "m1") else by_seat(case, model)

    found = judge_cases(labelled(room).order(), YES, world(saying(odd)))
    (lost,) = [one for body in room.verdicts() for one in body["jurors"] if one.get("error")]
    assert (lost["status"], lost["error"]["type"]) == (Status.PARSE_FAIL, "not_a_label")
    assert (
        lost["error"]["message"] == "the juror says MAYBE, and the labels are KEEP, REJECT, SPLIT"
    )
    assert found.failed_ballots == 1
    jurors = saying(by_seat)
    judge_cases(room.order(resume=True), YES, world(jurors))
    assert jurors.asked.total() == 1
    assert not any(one.get("error") for body in room.verdicts() for one in body["jurors"])


def test_samples_come_to_the_label_that_most_of_them_give(room: Room) -> None:
    # Two labels pass; of three answers two say MERGE.
    words = iter(("KEEP", "MERGE", "MERGE") * 3)
    labels = LABELS.replace("SPLIT", "MERGE").replace("passing: [KEEP]", "passing: [KEEP, MERGE]")
    labelled(room, ("agree",), juror=", samples: 3")
    path = room.folder / "panel.yaml"
    path.write_text(path.read_text().replace(LABELS, labels))
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
    assert not any(
        verdict_from_body(one, Policy(), Generator()).policy.counting is None
        for one in bodies.values()
    )


@pytest.fixture
def judged(room: Room) -> Room:
    judge_cases(labelled(room).order(), YES, world(saying(by_seat)))
    return room


async def test_a_rerun_asks_for_the_labels_again(judged: Room) -> None:
    room = judged
    with closing(open_desk(room.folder / "desk.db")) as desk:
        loaded = load(desk, room.report.read_bytes(), "report.jsonl")
        key = desk.find(loaded, "mixed")
        panel = str(room.folder / "panel.yaml")
        whole = ready(desk, key, panel, RerunRequest())
        await run(desk, whole, transport=saying(lambda *_: "REJECT"))
        one = ready(desk, key, panel, RerunRequest(RerunScope.JUROR, "j1"))
        await run(desk, one, transport=saying(lambda *_: "KEEP"))
        rejected, kept = (one.rerun for one in rerun_history.of_item(desk, desk.item(key)))
        assert (rejected.verdict.text("label"), rejected.assessment.decision) == ("REJECT", "fail")
        assert (kept.verdict.text("label"), kept.assessment.decision) == ("KEEP", "pass")
        assert kept.assessment.labels == {"KEEP": 3}


def test_a_panel_file_keeps_its_labels(room: Room) -> None:
    path = labelled(room).folder / "panel.yaml"
    panel = read_panel(path)
    assert panel.rule.labels == ("KEEP", "REJECT", "SPLIT")
    path.write_text(panel_text(panel))
    assert read_panel(path).rule == panel.rule
