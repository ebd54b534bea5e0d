"""Which calls are tried again and when, and which jurors are stopped as nobody answers."""

import json
from datetime import timedelta
from email.utils import format_datetime
from itertools import cycle
from typing import Any

import pytest

from reviewdesk.cli.plain import section_text
from reviewdesk.desk.live.judge import judge_cases
from reviewdesk.domain.panel.asking import STOPPED, BatchSummary, Listener
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.errors import TransportError
from reviewdesk.live.records import Request, Response
from reviewdesk.views.document import Section
from reviewdesk.views.json.figures import batch
from reviewdesk.views.panel import turnout
from tests.helpers import START, mostly_slow
from tests.judgekit import Answer, Jurors, Room, fine, of_whom, world
from tests.live.builders import NONCE, FakeClock, FakeTransport, ask, call, juror, session
from tests.live.limiters import VirtualClock

URL = "http://127.0.0.1:9/v1"
JSON = {"content-type": "application/json"}
SAID = json.dumps({"nonce": NONCE, "pass": True, "score": 0.75, "reason": "It fits."})
GOOD = Response(200, JSON, json.dumps({"choices": [{"message": {"content": SAID}}]}).encode())


def refusing(status: int, message: str = "no", **said: Any) -> Response:
    """An answer with an error in it; keywords with an underscore are headers."""
    headers = {name.replace("_", "-"): said.pop(name) for name in list(said) if "_" in name}
    error = {"error": {"message": message, **said}}
    return Response(status, JSON | headers, json.dumps(error).encode())


async def asked(
    answers: list[Response | TransportError],
    one: Juror | None = None,
    chance: float = 0.5,
    deadline: float | None = None,
) -> tuple[Any, FakeTransport, FakeClock]:
    transport, clock = FakeTransport(answers), FakeClock(chance)
    asking = session(transport, clock=clock, deadline=deadline)
    return await ask(call(one or juror(URL)), asking), transport, clock


@pytest.mark.parametrize(
    ("status", "passes"),
    [
        *((status, True) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529, 599)),
        *((status, False) for status in (301, 307, 400, 401, 402, 403, 404, 405, 413, 422, 451)),
    ],
)
async def test_what_may_pass_is_tried_again(status: int, passes: bool) -> None:
    ballot, transport, clock = await asked([refusing(status), GOOD])
    assert (ballot["status"], len(transport.sent)) == (("ok", 2) if passes else ("error", 1))
    # Half a second at most, and half of that at least.
    assert clock.slept == ([0.375] if passes else [])


@pytest.mark.parametrize(
    ("kind", "passes"),
    [
        *((kind, True) for kind in ("connection", "reset", "dns", "proxy")),
        *((kind, False) for kind in ("too_large", "encoding", "tls", "request")),
    ],
)
async def test_fault_of_connection_that_may_pass_is_tried_again(kind: str, passes: bool) -> None:
    ballot, transport, _ = await asked([TransportError(kind, "it is so"), GOOD])
    assert ballot.get("error") == (None if passes else {"type": kind, "message": "it is so"})
    assert len(transport.sent) == 1 + passes


async def test_a_call_is_tried_until_its_deadline_of_600_seconds_or_its_own() -> None:
    # Bounds of 0.5, 1, 2, 4 and 8 seconds, of each of which three quarters are waited; the next
    # wait of 6 s would end at 23.625 s.
    ballot, transport, clock = await asked([refusing(408)], deadline=23.6)
    assert ballot["error"]["type"] == "request_timeout"
    assert clock.slept == [0.375, 0.75, 1.5, 3.0, 6.0, 6.0]
    assert len(transport.sent) == 7
    _, _, clock = await asked([refusing(408)])
    assert 590 < sum(clock.slept) < 600
    _, _, clock = await asked([refusing(408)], juror(URL, timeout=900))
    assert 890 < sum(clock.slept) < 900


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 0.25), (0.999, 0.49975)])
async def test_chance_spreads_wait_over_upper_half_of_its_bound(chance: float, wait: float) -> None:
    _, _, clock = await asked([refusing(500), GOOD], chance=chance)
    assert clock.slept == [pytest.approx(wait)]


@pytest.mark.parametrize("kind", ["connection", "dns"])
async def test_a_host_that_cannot_be_reached_is_tried_for_20_seconds(kind: str) -> None:
    ballot, transport, clock = await asked([TransportError(kind, "it is so")])
    assert ballot["error"] == {"type": kind, "message": "it is so"}
    # 0.375 + 0.75 + 1.5 + 3 + 6 + 6 = 17.625, and 6 more pass 20.
    assert (sum(clock.slept), len(transport.sent)) == (17.625, 7)


async def test_a_server_that_starts_anew_has_its_20_seconds_and_a_quota_is_no_spent_credit() -> (
    None
):
    down: list[Response | TransportError] = [TransportError("connection", "no")] * 4
    ballot, _, clock = await asked([*down, refusing(503), *down[:3], GOOD])
    # 0.375 + 0.75 + 1.5 + 3, then 6 after the 503, and three times 6.
    assert (ballot["status"], sum(clock.slept)) == ("ok", 29.625)
    body = {"error": {"message": "check your billing", "details": [{"retryDelay": "3s"}]}}
    ballot, transport, _ = await asked([Response(429, JSON, json.dumps(body).encode()), GOOD])
    assert (ballot["status"], len(transport.sent)) == ("ok", 2)


@pytest.mark.parametrize(
    ("after", "slept"),
    [
        ("7", [7.0]), ("600", [600.0]), ("0", [0.375]), ("-3", [0.375]), ("1.5", [1.5]),
        ("soon", [0.375]), ("nan", [0.375]), ("inf", [0.375]), ("Wed, 99 Foo", [0.375]),
        (format_datetime(START + timedelta(seconds=30), usegmt=True), [30.0]),
        (format_datetime(START - timedelta(days=1), usegmt=True), [0.375]),
    ],
)  # fmt: skip
async def test_a_retry_after_is_waited(after: str, slept: list[float]) -> None:
    # Without a time it would be 0.375 s, and it is never less than that.
    ballot, _, clock = await asked([refusing(429, retry_after=after), GOOD])
    assert ballot["status"] == "ok"
    assert clock.slept == slept


@pytest.mark.parametrize(
    ("status", "after", "deadline"),
    [
        (429, "601", None),
        (429, "1e9", None),
        (429, format_datetime(START + timedelta(hours=1), usegmt=True), None),
        (429, "50", 49),
        (503, "50", 49),
    ],
)
async def test_waits_beyond_a_deadline_end(status: int, after: str, deadline: float | None) -> None:
    answers: list[Response | TransportError] = [refusing(status, retry_after=after), GOOD]
    ballot, transport, clock = await asked(answers, deadline=deadline)
    assert ballot["error"]["type"] == ("rate_limited" if status == 429 else "unavailable")
    assert "asks to wait" in ballot["error"]["message"]
    assert (len(transport.sent), clock.slept) == (1, [])


@pytest.mark.parametrize(
    "refusal",
    [
        refusing(429, "no", type="insufficient_quota"),
        refusing(403, "billing is not enabled for this project"),
        refusing(429, "Insufficient Balance"),
    ],
)
async def test_spent_credit_is_not_tried_again(refusal: Response) -> None:
    ballot, transport, _ = await asked([refusal, GOOD])
    assert ballot["error"]["type"] == "spent_credit"
    assert len(transport.sent) == 1


WARM = Juror("ada", "m", "openai", base_url=URL, api_key_env="TEST_KEY", temperature=0.2)
NATIVE = Juror("ada", "m", "anthropic", base_url=URL, api_key_env="TEST_KEY", temperature=0.2)


@pytest.mark.parametrize(
    ("one", "gone", "status", "message"),
    [
        (WARM, "temperature", 400, "Unsupported value: 'temperature' does not support 0.2"),
        (WARM, "temperature", 400, "Unsupported"),
        (WARM, "temperature", 422, "temperature: extra inputs are not permitted"),
        (WARM, "response_format", 400, "'response_format' of type 'json_schema' is not supported"),
        (
            WARM,
            "max_completion_tokens",
            400,
            "'max_completion_tokens' is unknown: use 'max_tokens' instead",
        ),
        (NATIVE, "output_config", 400, "output_config.format: Extra inputs are not permitted"),
        (NATIVE, "temperature", 400, "`temperature` is deprecated"),
    ],
)
async def test_what_an_endpoint_does_not_understand_is_left_out(
    one: Juror, gone: str, status: int, message: str
) -> None:
    named = {"param": gone, "code": "x"} if message == "Unsupported" else {}
    _, transport, clock = await asked([refusing(status, message, **named), refusing(401)], one)
    first, second = (json.loads(request.body) for request in transport.sent)
    assert gone in first
    assert gone not in second
    assert gone != "max_completion_tokens" or second["max_tokens"] == first[gone]
    kept = first.keys() - {gone}
    assert {key: second[key] for key in kept} == {key: first[key] for key in kept}
    assert clock.slept == []


async def test_a_wrong_value_stays_and_an_endpoint_that_refuses_everything_is_left() -> None:
    ballot, transport, _ = await asked(
        [refusing(400, "temperature must be between 0 and 2"), GOOD], WARM
    )
    assert (ballot["error"]["type"], len(transport.sent)) == ("bad_request", 1)
    refusal = refusing(400, "temperature, response_format and max_tokens are unsupported")
    ballot, transport, _ = await asked([refusal], WARM)
    assert ballot["error"]["type"] == "bad_request"
    # All of it, then without each of the three.
    assert len(transport.sent) == 4
    assert json.loads(transport.sent[-1].body).keys() == {"model", "messages", "max_tokens"}


async def test_what_was_refused_is_remembered_for_the_model_and_noted() -> None:
    transport = FakeTransport([refusing(400, "temperature is not supported"), GOOD])
    asking = session(transport)
    for case in ("one", "two"):
        ballot = await ask(call(WARM, case), asking)
        assert ballot["meta"] == {"left_out": ["temperature"]}
    # Only the first call runs into it.
    assert ["temperature" in json.loads(one.body) for one in transport.sent] == [True, False, False]


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
def test_a_juror_refused_five_times_alike_is_stopped(room: Room, status: int, kind: str) -> None:
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
def test_refusals_that_differ_or_end_stop_nobody(room: Room, statuses: tuple[int, ...]) -> None:
    coming = cycle(statuses)

    def answer(body: Any) -> Response:
        status = next(coming)
        return fine(body) if status == 200 else refusal(status)

    found, jurors, notes = judged(room, only_m1(answer))
    assert sum(count for (_, model), count in jurors.asked.items() if model == "m1") == 12
    assert notes == []
    assert STOPPED not in found.turnouts.why


@pytest.mark.parametrize("trouble", [500, 503, "reset", "error in 200"])
def test_a_juror_that_never_answers_is_stopped_after_ten_attempts(room: Room, trouble: Any) -> None:
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
