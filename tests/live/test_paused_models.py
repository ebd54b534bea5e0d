"""A model that is limited waits alone: the others go on, and it is set aside after a while."""

import asyncio
import dataclasses
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk import Juror, Panel
from reviewdesk.cli.plain import section_text
from reviewdesk.desk.live.judge import PendingCase, judge_cases
from reviewdesk.domain.panel.asking import (
    BatchSummary,
    ConsentPlan,
    Listener,
    LiveProgress,
    ModelPause,
    Turnouts,
)
from reviewdesk.domain.panel.case import Case
from reviewdesk.errors import Cancelled
from reviewdesk.live.asking import Asking, CaseCalls, Unstored
from reviewdesk.live.limits import HELD, MINUTE, Meter, ModelLimits, RunLimits, World
from reviewdesk.live.records import Call, Request, Response, calls_for
from reviewdesk.live.replies.envelope import Envelope
from reviewdesk.live.runner import MOST_WAITING
from reviewdesk.views.document import Section
from reviewdesk.views.panel import live_text, turnout
from tests.helpers import mostly_slow
from tests.judgekit import PRICE, URL, Consent, Room, fine, of_whom, world
from tests.live.builders import FakeClock, ask_panel, juror, session
from tests.live.limiters import BEGAN, VirtualClock
from tests.live.test_limits import REFUSAL, entered
from tests.live.test_limits import limited as exchange

CASES = [f"c{at}" for at in range(40)]
LATENCY = 0.05
JURORS = [Juror(f"j{at}", f"m{at}", "custom", base_url=URL) for at in range(3)]

Answer = Callable[[float, int], tuple[int, Mapping[str, str]]]
"""Says by the time and by how often a model was asked before how it answers."""


def _answers(_now: float, _before: int) -> tuple[int, Mapping[str, str]]:
    return 200, {}


@dataclass
class Host:
    """A transport on which some models are limited and the others answer after 50 ms."""

    clock: VirtualClock
    limited: Mapping[str, Answer] = field(default_factory=dict)
    sent: list[tuple[float, str]] = field(default_factory=list)
    answered: list[tuple[float, str]] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        body: dict[str, Any] = json.loads(request.body)
        model = of_whom(body)[1]
        before = sum(other == model for _, other in self.sent)
        self.sent.append((self.clock.time, model))
        status, headers = self.limited.get(model, _answers)(self.clock.time, before)
        await self.clock.sleep(LATENCY)
        if status != 200:
            return Response(status, headers, b'{"error": {"message": "slow down"}}')
        self.answered.append((self.clock.time, model))
        found = fine(body)
        return Response(200, {**found.headers, **headers}, found.body)

    async def close(self) -> None:
        """Nothing is open."""

    def count(self, model: str) -> int:
        return sum(other == model for _, other in self.sent)


def always(headers: Mapping[str, str]) -> Answer:
    return lambda _now, _before: (429, headers)


def until(end: float) -> Answer:
    """A model that names the seconds that are left until then, and answers after that."""
    return lambda now, _: (429, {"retry-after": f"{end - now:.3f}"}) if now < end else (200, {})


@dataclass
class Asked:
    """What became of 40 cases before three jurors."""

    host: Host
    turnouts: Turnouts = field(default_factory=Turnouts)
    notes: list[str] = field(default_factory=list)
    states: list[LiveProgress] = field(default_factory=list)

    @property
    def outcome(self) -> dict[str, tuple[int, dict[str, int]]]:
        """The answered ballots of each juror, and why others were lost."""
        found = self.turnouts.by_juror
        return {name: (one.answered, dict(one.why)) for name, one in found.items()}

    def last(self, *models: str) -> float:
        """When the last of these models answered for the last time."""
        return max(at for at, model in self.host.answered if model in models)


def asked(limited: Mapping[str, Answer], **how: Any) -> Asked:
    clock = VirtualClock()
    found = Asked(Host(clock, limited))

    def finished(_pending: PendingCase, calls: CaseCalls) -> None:
        found.turnouts.add(calls.answers.values())

    def told(counts: LiveProgress) -> None:
        found.states.append(replace(counts, seconds=clock.time))

    plan = ConsentPlan(calls=3 * len(CASES), cases=len(CASES))
    listener = Listener(told=told, noted=found.notes.append)
    there = World({}, clock, lambda: found.host)
    asking = Asking[PendingCase](Meter(Unstored()), RunLimits(**how), there, listener, plan)
    panel = Panel("mean", jurors=JURORS, rubric="is right")
    cases = (
        PendingCase(at, Case(name, "an answer", input=f"question {name}."), panel)
        for at, name in enumerate(CASES)
    )
    asyncio.run(asking.run(((one, one.begin()) for one in cases), finished))
    return found


def judged(
    room: Room,
    limited: Mapping[str, Answer],
    told: Callable[[LiveProgress], None] = lambda _: None,
    **how: Any,
) -> tuple[BatchSummary, Host]:  # fmt: skip
    """Judge 40 cases by three jurors, with journal and report."""
    clock = VirtualClock()
    host = Host(clock, limited)
    if not room.folder.joinpath("cases.jsonl").exists():
        room.put(CASES, count=3)
    listener = Listener(lambda _: True, told)
    return judge_cases(room.order(**how), listener, world(host, clock=clock)), host


HOUR = {"retry-after": "3600"}
NAMED = {
    "seconds": HOUR,
    "milliseconds": {"retry-after-ms": "3600000"},
    "a date": {"retry-after": format_datetime(BEGAN + timedelta(hours=1), usegmt=True)},
    "a vendor behind a proxy": {"llm_provider-retry-after": "3600"},
    "a spent budget": {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1h0m0s",
    },
}
LOST = {"rate_limited": 40}


@pytest.mark.parametrize(
    ("name", "limited", "concurrency"),
    mostly_slow(
        [
            *((name, "m1", 2) for name in NAMED),
            ("seconds", "m0", 1), ("seconds", "m2", 16), ("no time", "m0", 16),
            ("no time", "m2", 1),
        ]
    ),
)  # fmt: skip
def test_one_limited_model_costs_others_nothing(name: str, limited: str, concurrency: int) -> None:
    found = asked({limited: always(NAMED.get(name, {}))}, concurrency=concurrency)
    juror_name, others = f"j{limited[1]}", [f"m{at}" for at in range(3) if f"m{at}" != limited]
    healthy: dict[str, Any] = {f"j{other[1]}": (40, {}) for other in others}
    assert found.outcome == healthy | {juror_name: (0, LOST)}
    # 80 calls of 50 ms, so many at once.
    assert found.last(*others) <= 1.5 * 80 * LATENCY / concurrency
    aside = found.turnouts.by_juror[juror_name].stopped
    assert aside is not None
    assert found.notes[-1] == aside
    text = " ".join(section_text(Section("", turnout(found.turnouts))).split())
    assert text.count(f"40 rate limited); {aside}") == text.count(aside) == 1
    assert f"juror {juror_name} is set aside for this run" in aside
    if name in NAMED:
        assert f"{limited} at 127.0.0.1:1 asks to wait 3600 s, and max-wait is 600 s" in aside
        # Those that were open when the first refusal came, at most.
        assert found.host.count(limited) <= concurrency
        assert found.host.clock.time < 10
    else:
        assert "has answered nothing but 429 for 600 s, and max-wait is 600 s" in aside
        assert 600 <= found.host.clock.time < 610


@pytest.mark.parametrize(
    ("healthy", "headers", "concurrency"), [(0, HOUR, 1), (1, HOUR, 16), (2, {}, 2)]
)
def test_of_three_models_two_may_be_limited(healthy: int, headers: Any, concurrency: int) -> None:
    limited = {f"m{at}": always(headers) for at in range(3) if at != healthy}
    found = asked(limited, concurrency=concurrency)
    assert found.outcome == {f"j{at}": (40, {}) if at == healthy else (0, LOST) for at in range(3)}
    # 40 calls in rounds of so many, and one for the refusals of the first.
    rounds = -(-40 // concurrency) + 1
    assert found.last(f"m{healthy}") <= 1.5 * rounds * LATENCY


@pytest.mark.parametrize("concurrency", [1, 2, 16])
def test_host_that_refuses_all_models_is_asked_again_at_the_time_it_names(concurrency: int) -> None:
    found = asked(dict.fromkeys(["m0", "m1", "m2"], until(30)), concurrency=concurrency)
    assert found.outcome == {f"j{at}": (40, {}) for at in range(3)}
    # What was open at the first refusals, and an attempt of each further model.
    assert sum(at < 30 for at, _ in found.host.sent) <= concurrency + 3
    assert found.host.clock.time < 30 + 2 * 120 * LATENCY


def test_the_longest_wait_ends_what_is_refused_for_good_and_named_waits() -> None:
    found = asked(dict.fromkeys(["m0", "m1", "m2"], always({})), max_wait=90)
    assert found.outcome == {f"j{at}": (0, LOST) for at in range(3)}
    assert 90 <= found.host.clock.time < 100
    found = asked({"m1": always({"retry-after": "400"})})
    assert found.outcome["j1"] == (0, LOST)
    assert 600 <= found.host.clock.time < 601


def test_while_two_models_refuse_and_none_answers_a_third_sends_one_call_at_a_time() -> None:
    limits, one = ModelLimits(FakeClock()), juror("http://h/v1")
    first, second, third = (limits.of("h", None, model) for model in "abc")

    turns = entered(first, one), entered(second, one)
    first.note(turns[0], exchange({}), REFUSAL)
    # The refusals of one model say nothing of another.
    for _ in range(3):
        entered(third, one)
    for _ in range(3):
        third.leave()
    second.note(turns[1], exchange({}), REFUSAL)
    turn = entered(third, one)
    assert third.enter(one, 0) == HELD
    third.note(turn, exchange({}, status=200), Envelope())
    entered(third, one)


def test_a_model_that_refuses_every_other_call_loses_nothing() -> None:
    def every_other(_now: float, before: int) -> tuple[int, Mapping[str, str]]:
        return (429, {}) if before % 2 == 0 else (200, {})

    found = asked({"m1": every_other}, concurrency=4)
    assert found.outcome == {f"j{at}": (40, {}) for at in range(3)}
    assert found.last("m0", "m2") <= 1.5 * 80 * LATENCY / 4


def test_a_wait_beyond_a_ballot_s_deadline_loses_that_ballot_at_once() -> None:
    found = asked({"m1": always({"retry-after": "50"})}, deadline=49)
    assert found.outcome == {"j0": (40, {}), "j1": (0, LOST), "j2": (40, {})}
    assert found.host.clock.time < 10
    told = found.turnouts.by_juror["j1"].stopped
    assert "m1 at 127.0.0.1:1 asks to wait 50 s, and the ballot's deadline leaves 49 s" in str(told)
    assert not any("set aside" in note for note in found.notes)


@pytest.mark.parametrize(
    ("wait", "until", "limits", "took"),
    [
        # A pause is no part of a deadline.
        ("40", 100, {"deadline": 49}, range(120, 130)),
        # A longest wait above the usual deadline is waited.
        ("1800", 1800, {"max_wait": 3600}, range(1800, 1810)),
    ],
)
def test_pauses_are_waited(wait: str, until: int, limits: dict[str, Any], took: range) -> None:
    def paused(now: float, _before: int) -> tuple[int, Mapping[str, str]]:
        return (429, {"retry-after": wait}) if now < until else (200, {})

    found = asked({"m1": paused}, **limits)
    assert found.turnouts.failed == 0
    assert int(found.host.clock.time) in took


def test_a_budget_that_an_answer_shows_to_be_spent_pauses_that_model() -> None:
    spent = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20s"}

    def ten_then_a_pause(_now: float, before: int) -> tuple[int, Mapping[str, str]]:
        return 200, spent if before % 10 == 9 else {}

    found = asked({"m1": ten_then_a_pause}, concurrency=1)
    assert found.turnouts.failed == 0
    assert found.last("m0", "m2") <= 1.5 * 80 * LATENCY
    # Three pauses lie between four times ten answers, and nobody waits for the last one.
    assert 60 <= found.host.clock.time < 70
    assert found.notes == ["m1 at 127.0.0.1:1 has spent its budget: paused for 20 s"] * 4


def test_a_rate_that_the_panel_states_is_no_pause() -> None:
    """Two a minute for 40 cases take 20 minutes, in which nobody is set aside."""
    clock = VirtualClock()
    asking = session(Host(clock), clock=clock, environment={})
    slow = dataclasses.replace(JURORS[0], rpm=2)

    async def ballots() -> list[str]:
        prompts = [
            calls_for(Case(name, "an answer", input=f"question {name}."), panel)[0]
            for name in CASES
        ]
        return [ballot["status"] async for _, ballot in ask_panel(prompts, asking)]

    panel = Panel("mean", jurors=[slow], rubric="is right")
    assert asyncio.run(ballots()) == ["ok"] * 40
    assert clock.time == pytest.approx(19 * MINUTE, abs=1)


def test_a_failing_model_takes_no_places_while_it_waits_for_its_next_attempts() -> None:
    def for_100(now: float, _before: int) -> tuple[int, Mapping[str, str]]:
        return (503, {}) if 0 < now < 100 else (200, {})

    found = asked({"m1": for_100}, concurrency=4)
    assert found.turnouts.failed == 0
    assert found.last("m0", "m2") < 10
    # While four calls wait no other call to the model begins, so that no more than eight, four of
    # them open, share the 100 seconds at 4.5 to 8 s each. Without that bound it would be 40.
    assert found.host.count("m1") < 40 + 8 * 25


def test_progress_names_pauses_and_its_time_left_includes_them() -> None:
    states = asked({"m1": until(60)}).states
    waiting = next(one for one in states if one.seconds >= 20)
    at = waiting.seconds
    text = live_text(waiting)
    assert text.startswith(f"0/40 · paused: m1, 429, {math.ceil(60 - at)} s left · ")
    # 80 calls took about 0.3 s, so 40 more take 0.15 s after the pause.
    assert waiting.left == pytest.approx(60 - at + 0.15, abs=0.1)
    # While all wait, a person sees the time pass.
    shown = {live_text(one) for one in states if 20 <= one.seconds < 30}
    assert len(shown) >= 9
    assert "paused" not in live_text(states[-1])


def test_the_line_names_the_longest_pauses_first() -> None:
    pauses = tuple(
        (ModelPause(model, "429", left), 3)
        for model, left in [("a", 3.0), ("gpt-x", 41.0), ("b\x1b[2J\n", 7.5)]
    )
    text = live_text(LiveProgress(12, 40, 60, 200, seconds=10, idle=4, pauses=pauses))
    # 140 calls at 6 s for 60 take 14 s; the pause of 41 s and 3 calls after it 41.3 s.
    assert text == (
        "12/40 · paused: gpt-x, 429, 41 s left; b␛[2J⏎, 429, 8 s left; 1 more · 6/s calls · ETA 42s"
    )


@pytest.mark.slow
def test_what_was_set_aside_is_asked_again_by_a_resumed_run_and_nothing_else(room: Room) -> None:
    found, _ = judged(room, {"m1": always({})}, max_wait=45)
    assert dict(found.turnouts.by_juror["j1"].why) == LOST
    assert "--resume asks for them again" in str(found.problem)
    ballots = [verdict["jurors"][1] for verdict in room.verdicts()]
    assert {(one["status"], one["error"]["type"]) for one in ballots} == {("error", "rate_limited")}
    again, host = judged(room, {}, resume=True)
    assert [one.answered for one in again.turnouts.by_juror.values()] == [40, 40, 40]
    assert Counter(model for _, model in host.sent) == {"m1": 40}


def test_a_call_that_waits_reserves_no_money(room: Room) -> None:
    """The ceiling lets one worst case be open, and a paused call must not be that one."""
    asked = Consent(agrees=False)
    room.put(CASES[:8], count=3, juror=PRICE)
    with pytest.raises(Cancelled):
        judge_cases(room.order(), Listener(asked), world(Host(VirtualClock())))
    worst = (asked.plans[0].worst_usd or 0.0) / 24
    # 16 answers of 0.11, and one worst case besides.
    ceiling = 16 * 0.11 + 1.5 * worst
    found, host = judged(room, {"m0": always({"retry-after": "500"})}, max_cost=ceiling)
    assert [one.answered for one in found.turnouts.by_juror.values()] == [0, 8, 8]
    assert host.clock.time >= 600


@pytest.mark.slow
def test_stopping_while_a_model_is_paused_keeps_what_came(room: Room) -> None:
    def stop(state: LiveProgress) -> None:
        if state.pauses and state.calls == 80:
            raise KeyboardInterrupt

    with pytest.raises(Cancelled, match="0 of 40 cases are complete"):
        judged(room, {"m1": always({"retry-after": "500"})}, stop)
    again, host = judged(room, {}, resume=True)
    assert (again.turnouts.failed, again.reused) == (0, 80)
    assert Counter(model for _, model in host.sent) == {"m1": 40}


async def test_a_panel_of_the_library_waits_no_longer_than_it_is_told() -> None:
    clock = VirtualClock()
    panel = Panel("mean", jurors=JURORS, rubric="is right")
    case = {"id": "c", "input": "question c0.", "output": "answer"}
    host = Host(clock, {"m1": always(HOUR)})
    found = await panel.judge(case, transport=host, clock=clock, max_wait=30)
    assert [ballot.status for ballot in found.ballots] == ["ok", "error", "ok"]
    error = found.verdict["jurors"][1]["error"]
    assert error is not None
    assert error["type"] == "rate_limited"
    assert "max-wait is 30 s" in error["message"]
    assert clock.time < 1


async def test_so_many_calls_wait_and_no_more_are_drawn() -> None:
    """The first of two jurors is paused, and the second has nothing to do."""
    clock = VirtualClock()
    drawn = 0
    asking = session(Host(clock), clock=clock, environment={})
    states = [await asking.state(one) for one in JURORS[:2]]
    paused = states[0].limit
    assert paused is not None
    paused.note(entered(paused, JURORS[0]), exchange({"retry-after": "500"}), REFUSAL)
    paused.leave()
    panel = Panel("mean", jurors=JURORS[:2], rubric="is right")

    def calls() -> Iterator[Call]:
        nonlocal drawn
        first, *others = calls_for(Case("c", "an answer", input="question c."), panel)
        yield from others
        while True:
            drawn += 1
            yield first

    async with aclosing(ask_panel(calls(), asking)) as ballots:
        await anext(ballots)
        waiting = asyncio.ensure_future(anext(ballots))
        for _ in range(2000):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert MOST_WAITING <= drawn < MOST_WAITING + 16
