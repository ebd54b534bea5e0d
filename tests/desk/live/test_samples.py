"""Jurors that answer more than once: samples, both orders of a pair, and two rounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.desk.live.batch import BatchListener, judge_cases, preview
from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.verdict import Generator, Policy, verdict_from_body
from reviewdesk.live.records import Response
from reviewdesk.views.json.panel import batch
from reviewdesk.views.words import answers
from tests.judgekit import CUT, PRICE, YES, Consent, Jurors, Room, of_whom, reply, world


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def in_turn(*said: tuple[bool | None, float | None]) -> Jurors:
    """Jurors that give these votes and scores, one after the other."""
    waiting = iter(said)

    def answer(body: Any) -> Response:
        vote, score = next(waiting)
        return Response(200, {}, reply(body, vote=vote, score=score, reason=f"said {score}"))

    return Jurors(answer)


def judged(room: Room, jurors: Jurors, **how: Any) -> dict[str, Any]:
    room.put(("c0",), count=1, **how)
    judge_cases(room.order(), YES, world(jurors))
    found: dict[str, Any] = room.verdicts()[0]
    return found


def checked(body: Any) -> Any:
    """The verdict read back; its panel hash has to be the committed one."""
    verdict = verdict_from_body(body, Policy(), Generator())
    assert panel_hash_status(verdict) is HashStatus.VERIFIED
    return assess(verdict)


@pytest.mark.parametrize(
    ("said", "status", "vote", "score"),
    [
        # Median 0.8, two of three pass.
        ([(True, 0.9), (False, 0.2), (True, 0.8)], "ok", True, 0.8),
        ([(False, 0.2), (False, 0.9), (True, 0.8)], "ok", False, 0.8),
        ([(True, 0.9), (False, 0.2)], "abstained", None, None),  # a tie
        ([(True, 0.9), (None, None), (True, 0.7)], "ok", True, 0.8),
        ([(None, None), (None, None), (True, 0.7)], "abstained", None, None),
    ],
)
def test_samples_come_to_one_ballot(
    room: Room, said: list[Any], status: str, vote: bool | None, score: float | None
) -> None:
    body = judged(room, in_turn(*said), juror=f", samples: {len(said)}")
    (ballot,) = body["jurors"]
    assert (ballot["status"], ballot["pass"], ballot.get("score")) == (
        status,
        vote,
        pytest.approx(score) if score else None,
    )
    assert [one["pass"] for one in ballot["samples"]] == [vote for vote, _ in said]
    assert ballot["tokens_in"] == 100 * len(said)
    assert "id" not in ballot["samples"][0]
    found = checked(body)
    assert found.votes.seated == 1


def test_every_call_of_a_sample_is_counted_and_stored(room: Room) -> None:
    room.put(("c0", "c1"), count=2, juror=f", samples: 3{PRICE}")
    consent = Consent()
    jurors = Jurors(
        lambda body: Response(200, {}, CUT if of_whom(body) == ("c1", "m1") else reply(body))
    )
    found = judge_cases(room.order(), replace_agreed(consent), world(jurors))
    assert consent.plans[0].calls == found.calls == jurors.asked.total() == 12
    assert found.turnouts.by_juror["j0"].flips == (0, 6)  # three pairs in each of two cases
    assert batch(found)["jurors"][0]["repeated_pairs"] == 6
    again = Jurors()
    found = judge_cases(room.order(resume=True), YES, world(again))
    assert again.asked == {("c1", "m1"): 3}
    assert found.problem is None
    assert len(list(preview(room.order().cases, room.order().panel, {})[1])) == 12


def replace_agreed(consent: Consent) -> BatchListener:
    return replace(YES, agreed=consent)


def first_wins(body: Any) -> Response:
    """A juror that passes whichever response it reads first."""
    text = body["messages"][1]["content"]
    passes = text.index("answer c0") < text.index("the other")
    return Response(200, {}, reply(body, vote=passes, score=0.9 if passes else 0.1))


def test_orders_that_disagree_abstain_and_are_flagged(room: Room) -> None:
    body = judged(room, Jurors(first_wins), more="swap: true\n", alternative="the other")
    (ballot,) = body["jurors"]
    assert (ballot["status"], ballot["pass"], ballot["score"]) == ("abstained", None, None)
    assert [(one["pass"], one.get("swapped", False)) for one in ballot["samples"]] == [
        (True, False), (False, True),
    ]  # fmt: skip
    found = checked(body)
    assert Flag.POSITION_FLIP in found.flags
    assert "j0" in next(one.reason for one in found.notes if one.flag is Flag.POSITION_FLIP)


def test_orders_that_agree_are_one_vote(room: Room) -> None:
    jurors = in_turn((True, 0.8), (True, 0.6))
    body = judged(room, jurors, more="swap: true\n", alternative="the other")
    (ballot,) = body["jurors"]
    assert (ballot["pass"], ballot["score"]) == (True, pytest.approx(0.7))
    assert Flag.POSITION_FLIP not in checked(body).flags


def test_a_case_without_an_alternative_is_asked_in_one_order(room: Room) -> None:
    jurors = in_turn((True, 0.8))
    body = judged(room, jurors, more="swap: true\n")
    assert "samples" not in body["jurors"][0]
    checked(body)


def test_samples_that_nobody_can_read_are_passed_over() -> None:
    odd: list[Any] = [{"status": "x"}, {"round": "two"}, {"pass": "yes"}, {"label": 3}, {}]
    body: Any = {
        "id": "v",
        "case": {"test": "v"},
        "threshold": 0.7,
        "strategy": "quorum",
        "quorum": 0.5,
        "jurors": [{"id": "j", "score": 0.9, "samples": [*odd, {"score": "9", "swapped": True}]}],
    }
    found = assess(verdict_from_body(body, Policy(), Generator()))
    assert found.decision == "pass"
    assert answers(body["jurors"][0], 0.7).startswith("2 answers: ")


def test_the_item_shows_every_answer_and_the_flip_rate(room: Room) -> None:
    body = judged(room, in_turn((True, 0.9), (False, 0.2), (True, 0.8)), juror=", samples: 3")
    # Two of the three pairs differ.
    assert (
        answers(body["jurors"][0], 0.7)
        == "3 answers: pass 0.900, fail 0.200, pass 0.800; flip rate 67%"
    )
