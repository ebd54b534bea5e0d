"""Jurors for whom nobody answers are stopped by name; those in trouble for a while are not."""

import json
from itertools import cycle
from typing import Any

import pytest

from reviewdesk.cli.plain import section_text
from reviewdesk.desk.live.batch import judge_cases
from reviewdesk.domain.panel.asking import STOPPED, BatchSummary, Listener
from reviewdesk.errors import TransportError
from reviewdesk.live.records import Request, Response
from reviewdesk.views.document import Section
from reviewdesk.views.json.figures import batch
from reviewdesk.views.panel import turnout
from tests.helpers import mostly_slow
from tests.judgekit import Answer, Jurors, Room, fine, of_whom, world
from tests.live.limiters import VirtualClock

CASES = [f"c{at}" for at in range(12)]


def judged(
    room: Room, answer: Answer, concurrency: int = 1, **how: Any
) -> tuple[BatchSummary, Jurors, list[str]]:
    notes: list[str] = []
    jurors = Jurors(answer)
    listener = Listener(lambda _: True, noted=notes.append)
    order = room.put(CASES, count=3).order(concurrency=concurrency, **how)
    return judge_cases(order, listener, world(jurors, clock=VirtualClock())), jurors, notes


def only_m1(says: Answer) -> Answer:
    return lambda body: says(body) if of_whom(body)[1] == "m1" else fine(body)


def refusal(status: int) -> Response:
    return Response(status, {}, b'{"error": {"message": "as I said"}}')


@pytest.mark.parametrize(
    ("status", "kind"),
    mostly_slow(
        [(401, "unauthorized"), (402, "spent_credit"), (403, "forbidden"), (404, "not_found")]
    ),
)
def test_a_juror_that_is_refused_five_times_alike_is_stopped_by_name(
    room: Room, status: int, kind: str
) -> None:
    found, jurors, notes = judged(room, only_m1(lambda _: refusal(status)))
    assert found.calls == jurors.asked.total() == 12 + 5 + 12
    stopped = found.turnouts.by_juror["j1"]
    assert dict(stopped.why) == {kind: 5, STOPPED: 7}
    assert notes == [stopped.stopped]
    assert notes[0].startswith("juror j1 is stopped for this run: 5 calls in a row ended alike: ")
    assert "as I said" in notes[0]
    assert batch(found)["jurors"][1]["stopped"] == notes[0]
    assert [one.answered for one in found.turnouts.by_juror.values()] == [12, 0, 12]
    assert found.problem is not None
    lines = section_text(Section("", turnout(found.turnouts))).splitlines()
    named = kind.replace("_", " ")
    counts = f"juror j1: 0 answered, 12 failed (5 {named}, 7 juror stopped); {notes[0]}"
    assert " ".join(" ".join(lines).split()).startswith(f"juror j0: 12 answered {counts}")
    # What was not sent is asked on resume, and nothing else.
    again = Jurors()
    order = room.order(resume=True, concurrency=1)
    second = judge_cases(order, Listener(lambda _: True), world(again))
    assert (second.calls, second.reused, second.turnouts.failed) == (12, 24, 0)


@pytest.mark.parametrize("statuses", [(403, 403, 403, 403, 200), (401, 403), (400,), (413,)])
def test_refusals_that_differ_or_are_broken_by_an_answer_stop_nobody(
    room: Room, statuses: tuple[int, ...]
) -> None:
    coming = cycle(statuses)

    def answer(body: Any) -> Response:
        status = next(coming)
        return fine(body) if status == 200 else refusal(status)

    found, jurors, notes = judged(room, only_m1(answer))
    assert sum(count for (_, model), count in jurors.asked.items() if model == "m1") == 12
    assert notes == []
    assert STOPPED not in found.turnouts.why


@pytest.mark.parametrize("trouble", [500, 503, "reset", "error in 200"])
def test_a_juror_that_never_answers_is_stopped_after_ten_attempts(
    room: Room, trouble: int | str
) -> None:
    def answer(_body: Any) -> Response:
        if trouble == "reset":
            raise TransportError("reset", "it broke")
        if isinstance(trouble, int):
            return Response(trouble, {}, b"")
        return Response(200, {}, b'{"error": {"message": "upstream"}}')

    found, jurors, (note,) = judged(room, only_m1(answer))
    assert sum(count for (_, model), count in jurors.asked.items() if model == "m1") == 10
    assert note.startswith(
        "juror j1 is stopped for this run: it has not answered, and its last 10 attempts failed: "
    )
    assert dict(found.turnouts.by_juror["j1"].why) == {STOPPED: 12}
    assert [one.answered for one in found.turnouts.by_juror.values()] == [12, 0, 12]


def test_a_panel_of_which_every_juror_is_stopped_says_why(room: Room) -> None:
    found, _, notes = judged(room, lambda _: refusal(401))
    assert len(notes) == 3
    assert found.problem == (f"no juror answered any case: {notes[0]} (21 of 36 ballots)")


def test_an_outage_at_the_start_stops_nobody_and_loses_nothing(room: Room) -> None:
    """64 calls at once fail ten times as one: for 15 seconds the host refuses connections."""
    clock = VirtualClock()

    def answer(body: Any) -> Response:
        if clock.time < 15:
            raise TransportError("connection", "the host does not accept the connection")
        return fine(body)

    order = room.put([f"c{at}" for at in range(30)], count=3).order(concurrency=64)
    found = judge_cases(order, Listener(lambda _: True), world(Jurors(answer), clock=clock))
    assert (found.turnouts.failed, found.problem) == (0, None)


def test_a_juror_that_has_answered_is_tried_to_the_deadline(room: Room) -> None:
    def answer(body: Any) -> Response:
        return Response(500, {}, b"") if of_whom(body) == ("c9", "m1") else fine(body)

    found, jurors, notes = judged(room, answer)
    assert dict(found.turnouts.why) == {"server_error": 1}
    assert notes == []
    # 0.375 + 0.75 + 1.5 + 3 s, and 99 waits of 6 s: 599.6 of 600.
    assert jurors.asked["c9", "m1"] == 104


def test_requests_that_are_put_in_other_words_stop_nobody(room: Room) -> None:
    """A router's 404 says that no provider takes a parameter; every open call runs into it."""

    def answer(body: Any) -> Response:
        if "temperature" not in body:
            return fine(body)
        message = "No endpoints found: temperature is not supported"
        return Response(404, {}, json.dumps({"error": {"message": message}}).encode())

    jurors, notes = Jurors(answer), list[str]()
    order = room.put(CASES, count=3, juror=", temperature: 0.5").order(concurrency=16)
    listener = Listener(lambda _: True, noted=notes.append)
    found = judge_cases(order, listener, world(jurors, clock=VirtualClock()))
    assert (found.turnouts.failed, notes) == (0, [])


def test_a_pause_that_is_long_is_told(room: Room) -> None:
    clock, notes = VirtualClock(), list[str]()
    sent: list[str] = []

    class Host(Jurors):
        async def send(self, request: Request) -> Response:
            sent.append(request.url)
            if len(sent) == 4:
                return Response(429, {"retry-after": "42"}, b"{}")
            if len(sent) == 9:
                return Response(429, {"retry-after": "3"}, b"{}")
            return await super().send(request)

    listener = Listener(lambda _: True, noted=notes.append)
    judge_cases(room.put(CASES, count=3).order(concurrency=1), listener, world(Host(), clock=clock))
    assert notes == ["m0 at 127.0.0.1:1 answers 429: paused for 42 s"]
    assert json.loads(room.report.read_bytes().splitlines()[1])["decision"] == "pass"
