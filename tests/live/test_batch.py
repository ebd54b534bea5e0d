"""Many cases within a ceiling: what may be begun, and what a stop leaves."""

import dataclasses
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reviewdesk.desk.live.judge import PendingCase, judge_cases
from reviewdesk.domain.panel.asking import ConsentPlan, Host, Listener
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.juror import Price
from reviewdesk.errors import Cancelled, CeilingError, TransportError
from reviewdesk.live.asking import Asking, CaseCalls, Unstored, plan
from reviewdesk.live.limits import Meter, RunLimits, booked, worst
from reviewdesk.live.records import Exchange, Response
from reviewdesk.live.wires.endpoints import address_text, endpoint, proxy_for
from reviewdesk.live.wires.requests import encoded, payload
from reviewdesk.reports.panels.panel_file import read_panel
from tests.judgekit import PRICE, URL, YES, Consent, Jurors, Room, of_whom, reply, silent, world
from tests.live.builders import KEY, KEYS, call, juror

NAMES = ("c0", "c1", "c2", "c3")


def spent(room: Room) -> float:
    return float(sum(line["usd"] for line in room.stored()))


@pytest.mark.slow
@given(
    ceiling=st.floats(0, 25),
    tokens=st.lists(st.tuples(st.integers(0, 900), st.integers(0, 2048)), min_size=1, max_size=5),
    faults=st.lists(st.sampled_from([None, 0, 404, 429, 503]), min_size=1, max_size=7),
    concurrency=st.integers(1, 9),
)
def test_what_is_spent_never_passes_the_ceiling_and_nothing_is_paid_twice(
    ceiling: float, tokens: list[tuple[int, int]], faults: list[int | None], concurrency: int
) -> None:
    paid: Counter[tuple[str, str]] = Counter()
    made = 0

    def answer(body: dict[str, Any]) -> Response:
        nonlocal made
        made += 1
        fault = faults[made % len(faults)]
        if fault == 0:
            raise TransportError("reset", "the connection broke")
        if fault is not None:
            return Response(fault, {}, b"{}")
        paid[of_whom(body)] += 1
        return Response(200, {}, reply(body, tokens=tokens[made % len(tokens)]))

    with tempfile.TemporaryDirectory() as folder:
        room = Room(Path(folder)).put(NAMES, juror=PRICE)
        order = room.order(max_cost=ceiling, concurrency=concurrency, deadline=3)
        try:
            judge_cases(order, YES, world(Jurors(answer)))
        except CeilingError:
            assert not room.report.exists()
        else:
            assert len(room.verdicts()) == len(NAMES)
        assert spent(room) <= ceiling + 1e-9
        answered = [line["call"] for line in room.stored() if line["status"] == 200]
        assert len(answered) == len(set(answered)) == len(paid)
        assert set(paid.values()) <= {1}
        again = Jurors()
        judge_cases(room.order(resume=True), YES, world(again))
        assert not set(paid) & set(again.asked)
        assert len(room.verdicts()) == len(NAMES)


def test_the_ceiling_says_how_far_the_run_came_and_how_to_go_on(room: Room) -> None:
    room.put(NAMES, juror=PRICE)
    # A call costs 110 tokens of a tenth of a cent, 0.11, and at its worst over 2 dollars.
    with pytest.raises(CeilingError) as error:
        judge_cases(room.order(max_cost=4, concurrency=1), YES, world(Jurors()))
    told = str(error.value)
    assert "stopped before the ceiling of $4: " in told
    done = len(room.stored())
    assert f"${0.11 * done:.4f} is spent" in told
    assert f"{done // 5} of 4 cases are complete" in told
    assert "--resume" in told
    assert 0 < done < 20
    # What was spent before counts: the same ceiling lets no further call through.
    with pytest.raises(CeilingError):
        judge_cases(room.order(max_cost=4, resume=True), YES, world(silent()))
    found = judge_cases(room.order(max_cost=40, resume=True), YES, world(Jurors()))
    assert (found.calls, found.reused) == (20 - done, done)
    # Twenty calls of 0.11.
    assert found.spent_usd == pytest.approx(2.2)


def test_open_calls_wait_for_one_another_before_the_ceiling_stops_them(room: Room) -> None:
    """The worst case of one call fits, that of two does not; what calls cost in truth fits all."""
    no = Consent(agrees=False)
    with pytest.raises(Cancelled):
        judge_cases(room.put(NAMES, juror=PRICE).order(), Listener(no), world(silent()))
    worst = (no.plans[0].worst_usd or 0) / 20
    # Nineteen calls of 0.11 and the worst case of the last one.
    assert 19 * 0.11 + worst < 1.99 * worst
    jurors = Jurors()
    found = judge_cases(room.order(max_cost=1.99 * worst, concurrency=8), YES, world(jurors))
    assert (found.calls, found.done) == (20, 4)
    assert jurors.most == 1


async def test_no_more_cases_are_drawn_than_can_be_open(room: Room) -> None:
    drawn = 0
    finished: list[PendingCase] = []
    panel = read_panel(room.put().order().panel)

    def cases() -> Iterator[tuple[PendingCase, CaseCalls]]:
        nonlocal drawn
        for place in range(40):
            drawn += 1
            # Four calls may be open, of five to a case, and the next case waits for its first.
            assert drawn - len(finished) <= 3
            case = Case(f"c{place}", "an answer", input=f"question c{place}.")
            pending = PendingCase(place, case, panel)
            yield pending, pending.begin()

    def done(pending: PendingCase, _found: CaseCalls) -> None:
        finished.append(pending)

    limits = RunLimits(concurrency=4)
    asking = Asking[PendingCase](
        Meter(Unstored()), limits, world(Jurors()), Listener(), ConsentPlan()
    )
    await asking.run(cases(), done)
    assert (len(finished), drawn, asking.counts.calls) == (40, 40, 200)


@pytest.mark.parametrize(
    ("status", "problem", "share"),
    [
        *[(status, None, 0.0) for status in (302, 400, 404, 429, 499, 500, 503, 529)],
        # A 200 or 201 without a count of tokens may have cost all that it can.
        (200, None, 1.0),
        (299, None, 1.0),
        *[(None, f"{kind}: so", 0.0) for kind in ("connection", "dns", "tls", "proxy", "endpoint")],
        *[(None, f"{kind}: so", 1.0) for kind in ("timeout", "reset", "protocol")],
        (None, None, 1.0),
    ],
)
def test_a_request_costs_its_worst_case_unless_it_was_refused_or_never_arrived(
    status: int | None, problem: str | None, share: float
) -> None:
    one = call(dataclasses.replace(juror(URL), price=Price(1000, 1000)))
    most = worst(one)
    assert most is not None
    assert booked(one, Exchange("k", 0, "n", "t", 1.0, status, "{}", {}, problem)) == share * most


def test_a_request_reserves_its_worst_case_until_its_cost_is_known() -> None:
    first, second, third = (
        call(dataclasses.replace(juror(URL), price=Price(1000, 1000)), f"c{n}") for n in range(3)
    )
    most = worst(first)
    assert most is not None

    def cost(share: float) -> Exchange:
        body = {"choices": [{"message": {"content": "x"}}], "usage": {"cost": share * most}}
        return Exchange("k", 0, "n", "t", 1.0, 200, json.dumps(body))

    meter = Meter(Unstored(), 1.7 * most)
    assert meter.reserve(first)
    assert not meter.reserve(second)
    # It cost a tenth of what was reserved: 0.1 + 1 fits in 1.7.
    meter.keep(first, cost(0.1))
    assert meter.reserve(second)
    # 0.1 + 1 + 1 does not fit in 1.7, and neither does it once the second has cost all of it.
    assert not meter.reserve(third)
    meter.keep(second, cost(1))
    assert not meter.reserve(third)


NEAR = juror("http://127.0.0.1:9/v1")
FAR = dataclasses.replace(
    NEAR, name="bea", model="model-2", base_url="https://far.test/v1", vendor="anthropic"
)


@pytest.mark.usefixtures("behind_a_proxy")
def test_a_plan_adds_up_what_is_asked() -> None:
    calls = [call(NEAR, "one"), call(FAR, "one"), call(NEAR, "two")]
    found = plan(calls, KEYS)
    assert found.hosts == (
        Host("127.0.0.1:9", 2, ("TEST_KEY",), None, False, ("ada (model-1)",)),
        Host("far.test", 1, ("TEST_KEY",), "http://proxy.test:3128", True, ("bea (model-2)",)),
    )
    assert (found.calls, found.models, found.missing_keys) == (3, ("model-1", "model-2"), ())
    assert found.worst_usd is None
    assert KEY not in repr(found)
    assert "secret" not in repr(found)


def test_the_worst_case_is_a_token_for_every_byte_and_the_longest_answer() -> None:
    one = call(dataclasses.replace(NEAR, price=Price(2.0, 10.0), max_tokens=1000))
    size = len(encoded(payload(one, endpoint(one.juror))))
    assert plan([one, one], KEYS).worst_usd == pytest.approx(2 * (size * 2 + 1000 * 10) / 1e6)


def test_the_hash_is_of_the_payloads_without_their_nonces() -> None:
    one = call(NEAR)
    nonce = "0a0b0c0d"
    system = one.prompt.system.replace(one.prompt.nonce, nonce)
    user = one.prompt.user.replace(one.prompt.nonce, nonce)
    other = replace(one, prompt=replace(one.prompt, system=system, user=user, nonce=nonce))
    first = plan([one], KEYS).payload_sha256
    assert plan([other], KEYS).payload_sha256 == first
    changed = replace(one, prompt=replace(one.prompt, user=one.prompt.user + "."))
    assert plan([changed], KEYS).payload_sha256 != first
    moved = replace(one, juror=dataclasses.replace(NEAR, base_url="http://127.0.0.1:8/v1"))
    assert plan([moved], KEYS).payload_sha256 != first


def test_an_address_that_cannot_be_used_is_said_before_anything_is_sent() -> None:
    with pytest.raises(TransportError, match="base_url"):
        plan([call(dataclasses.replace(NEAR, base_url=None))], KEYS)


@pytest.fixture
def behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("https_proxy", "http://me:secret@proxy.test:3128")
    monkeypatch.setenv("http_proxy", "plain.test:80")
    monkeypatch.setenv("no_proxy", "inside.test")


@pytest.mark.usefixtures("behind_a_proxy")
@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://far.test/v1", "http://me:secret@proxy.test:3128"),
        ("http://far.test/v1", "http://plain.test:80"),
        ("https://inside.test/v1", None),
        ("http://127.0.0.1:11434/v1", None),
        ("http://localhost:8000/v1", None),
        ("http://[::1]:8000/v1", None),
    ],
)
def test_the_proxy_of_the_environment_is_used_but_for_this_machine(url: str, proxy: Any) -> None:
    assert proxy_for(url) == proxy
    assert "secret" not in address_text(proxy or "")


@pytest.mark.usefixtures("behind_a_proxy")
@pytest.mark.parametrize("variable", ["https_proxy", "all_proxy"])
def test_a_bad_proxy_is_named_by_a_variable(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.delenv("https_proxy")
    monkeypatch.setenv(variable, "socks5://me:secret@proxy.test:1080")
    with pytest.raises(TransportError, match=f"^{variable.upper()} names a socks5 proxy") as error:
        proxy_for("https://far.test/v1")
    assert "secret" not in str(error.value)
    assert proxy_for("http://127.0.0.1:1/v1") is None
