"""What a juror says beyond the common keys reaches its endpoint, and the secrets among it nothing
else."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.domain.panel.juror import Juror, Price
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.live.keys import key_problem
from reviewdesk.live.limits import worst
from reviewdesk.live.plan import plan
from reviewdesk.live.records import Response, calls_for
from reviewdesk.live.session import CallSession
from reviewdesk.live.wires.requests import payload
from reviewdesk.live.wires.transport import HttpTransport
from reviewdesk.live.wires.vendors import endpoint
from tests.live.builders import KEY, KEYS, FakeClock, FakeTransport, Kept, ask, call, juror
from tests.live.server import Seen, Server, answer, envelope, verdict

SECRET = "cf-token/Zz9+sentinel=77"
ENVIRONMENT = {**KEYS, "CF_TOKEN": SECRET}


def body(one: Juror) -> dict[str, Any]:
    return payload(call(one), endpoint(one))


async def test_headers_of_the_environment_are_sent_and_hidden_everywhere() -> None:
    async def echo(seen: Seen, out: Any) -> None:
        # A server that repeats the header, in its reply and in a header of its own.
        said = seen.headers["cf-access-token"]
        text = verdict(seen, reason=f"I saw {said} and {seen.key}")
        out.write(answer(200, envelope(seen, text), {"x-request-id": said}))

    kept, transport = Kept(), HttpTransport()
    async with Server(fault=echo) as server:
        one = dataclasses.replace(juror(server.url), headers={"cf-access-token": "CF_TOKEN"})
        asking = CallSession(transport, kept, environment=ENVIRONMENT, clock=FakeClock())
        ballot = await ask(call(one), asking)
    await transport.close()
    assert server.calls[0].headers["cf-access-token"] == SECRET
    assert ballot["status"] == "ok"
    stored = json.dumps([str(one) for one in kept.exchanges]) + json.dumps(ballot)
    for secret in (SECRET, KEY):
        assert secret not in stored
        assert secret not in server.calls[0].body.decode()


async def test_a_header_without_its_variable_is_a_ballot_that_names_it() -> None:
    one = dataclasses.replace(juror("http://127.0.0.1:9/v1"), headers={"x-team": "CF_TOKEN"})
    asking = CallSession(FakeTransport([]), Kept(), environment=KEYS, clock=FakeClock())
    ballot: Any = await ask(call(one), asking)
    assert (ballot["status"], ballot["error"]["message"]) == ("missing_key", "CF_TOKEN is not set")
    assert key_problem(endpoint(one), KEYS) == "CF_TOKEN is not set"
    planned = plan([call(one)], KEYS)
    assert planned.missing_keys == ("CF_TOKEN",)
    assert planned.hosts[0].key_env == ("TEST_KEY", "CF_TOKEN")


def test_extra_keys_come_last_and_are_merged_into_mappings() -> None:
    one = Juror(
        "a", "openai/gpt-5.2", "openrouter", extra={"seed": 7, "provider": {"sort": "price"}}
    )
    made = body(one)
    assert made["seed"] == 7
    assert made["provider"] == {"require_parameters": True, "sort": "price"}
    assert list(made)[-1] == "seed"


def test_a_temperature_that_would_be_ignored_is_not_sent() -> None:
    one = Juror("a", "deepseek-flash", "deepseek", temperature=0.0)
    assert "temperature" not in body(one)
    assert (
        body(dataclasses.replace(one, extra={"thinking": {"type": "disabled"}}))["temperature"]
        == 0.0
    )


@pytest.mark.parametrize(
    ("version", "base", "url"),
    [
        (None, "https://x.test", "https://x.test/openai/v1/chat/completions"),
        (None, "https://x.test/openai/v1/", "https://x.test/openai/v1/chat/completions"),
        (
            "2026-10-21", "https://x.test",
            "https://x.test/openai/deployments/my%20gpt/chat/completions?api-version=2026-10-21",
        ),
    ],
)  # fmt: skip
def test_azure_is_asked_by_deployment(version: str | None, base: str, url: str) -> None:
    one = Juror("a", "gpt-5.2", "azure", base_url=base, deployment="my gpt", api_version=version)
    place = endpoint(one)
    assert (place.url, place.key_env, place.key_header) == (url, "AZURE_OPENAI_API_KEY", "api-key")
    assert body(one)["model"] == "my gpt"


def marked(made: Any) -> list[str]:
    """The texts that end in a mark for the vendor's cache."""
    turns = [made.get("system"), *(turn["content"] for turn in made["messages"])]
    parts = [part for turn in turns if isinstance(turn, list) for part in turn]
    return [part["text"] for part in parts if "cache_control" in part]


@pytest.mark.parametrize(
    ("vendor", "model"),
    [("anthropic", "claude-sonnet-5-5"), ("openrouter", "anthropic/claude-sonnet-5.5")],
)
def test_what_all_calls_share_is_marked_for_the_cache(vendor: str, model: str) -> None:
    from reviewdesk.domain.panel.case import Case

    panel = PanelSpec("p", (Juror("a", model, vendor),), PanelRule(), "Is it right?")
    made = []
    for name in ("one", "two"):
        (asked,) = calls_for(Case(name, f"answer {name}", input=f"question {name}"), panel)
        made.append(payload(asked, endpoint(asked.juror)))
        (common,) = marked(made[-1])
        assert common == "Rubric:\nIs it right?\n\nInput:\n"
        turn = made[-1]["messages"][-1]["content"]
        assert "".join(part["text"] for part in turn) == asked.prompt.user
        assert asked.prompt.nonce not in common
    assert made[0]["messages"][0] == made[1]["messages"][0] or vendor == "anthropic"
    assert marked(made[0]) == marked(made[1])


def test_without_a_common_beginning_the_system_prompt_is_marked() -> None:
    one = Juror("a", "claude-sonnet-5-5", "anthropic", prompt="{output} {rubric}")
    asked = replace(call(one), prompt=replace(call(one).prompt, common=0))
    assert marked(payload(asked, endpoint(one))) == [asked.prompt.system]


async def test_a_router_without_a_provider_for_the_schema_is_asked_without_it() -> None:
    told = {"error": {"message": "No endpoints found that can handle the requested parameters."}}
    refused = Response(404, {"content-type": "application/json"}, json.dumps(told).encode())
    one = Juror("a", "x/y", "openrouter", base_url="http://x.test/v1", api_key_env="TEST_KEY")
    said = {"pass": True, "score": 1, "nonce": call(one).prompt.nonce}
    chat = {"choices": [{"message": {"content": json.dumps(said)}}]}
    answered = Response(200, {"content-type": "application/json"}, json.dumps(chat).encode())
    there = FakeTransport([refused, answered])
    ballot: Any = await ask(
        call(one), CallSession(there, Kept(), environment=KEYS, clock=FakeClock())
    )
    assert ballot["status"] == "ok"
    assert ballot["meta"]["left_out"] == ["structure"]
    assert "response_format" in json.loads(there.sent[0].body)
    assert "response_format" not in json.loads(there.sent[1].body)


async def test_thoughts_and_cached_tokens_are_in_ballot_and_cost() -> None:
    one = dataclasses.replace(juror("http://x.test/v1"), price=Price(4, 20, 0.5))
    said = {"pass": True, "score": 1, "nonce": call(one).prompt.nonce}
    usage = {
        "prompt_tokens": 1000, "completion_tokens": 40, "total_tokens": 1340,
        "prompt_tokens_details": {"cached_tokens": 800},
        "completion_tokens_details": {"reasoning_tokens": 300},
    }  # fmt: skip
    chat = {"choices": [{"message": {"content": json.dumps(said)}}], "usage": usage}
    there = FakeTransport([Response(200, {}, json.dumps(chat).encode())])
    ballot: Any = await ask(
        call(one), CallSession(there, Kept(), environment=KEYS, clock=FakeClock())
    )
    # The total says that 340 tokens were written: this endpoint leaves thoughts out of 40.
    assert (ballot["tokens_in"], ballot["tokens_out"]) == (1000, 340)
    assert ballot["meta"] == {"tokens_cached": 800, "tokens_thinking": 300}
    # 200 at 4, 800 at 0.5 and 340 at 20 per million.
    assert ballot["cost_usd"] == pytest.approx((800 + 400 + 6800) / 1e6)


def test_the_worst_case_counts_what_is_written_to_the_cache() -> None:
    one = Juror("a", "claude-sonnet-5-5", "anthropic", price=Price(2, 10), max_tokens=100)
    sent = len(json.dumps(body(one), ensure_ascii=False, separators=(",", ":")).encode())
    assert worst(call(one)) == pytest.approx((sent * 1.25 * 2 + 100 * 10) / 1e6)
