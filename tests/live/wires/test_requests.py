"""What goes out on both wires, where to, and what is read from an answer."""

import dataclasses
import json
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.juror import Juror, Price
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.domain.panel.vendors import Wire
from reviewdesk.domain.verdict import Status
from reviewdesk.errors import TransportError
from reviewdesk.live.asking import hosts
from reviewdesk.live.keys import Key, key_problem
from reviewdesk.live.limits import worst
from reviewdesk.live.records import Response, calls_for
from reviewdesk.live.replies.envelope import Fault, opened, stated_error
from reviewdesk.live.wires.endpoints import endpoint
from reviewdesk.live.wires.requests import payload, request
from reviewdesk.live.wires.transport import HttpTransport
from tests.live.builders import KEY, KEYS, FakeClock, FakeTransport, Kept, ask, call, juror, session
from tests.live.server import Seen, Server, answer, envelope, verdict
from tests.live.test_retry import GOOD, refusing

NO = frozenset[str]()


@pytest.mark.parametrize(
    ("vendor", "base", "key"),
    [
        ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
        ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
        ("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
        ("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
        ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        ("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        ("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
        ("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
        ("ollama", "http://127.0.0.1:11434/v1", None),
        ("vllm", "http://127.0.0.1:8000/v1", None),
    ],
)
def test_the_table_of_vendors(vendor: str, base: str, key: str | None) -> None:
    place = endpoint(Juror("a", "m", vendor))
    path = "messages" if vendor == "anthropic" else "chat/completions"
    assert (place.url, place.key_env) == (f"{base}/{path}", key)
    assert place.host == base.split("/")[2]


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1/chat/completions"),
        ("http://127.0.0.1:1234/v1/", "http://127.0.0.1:1234/v1/chat/completions"),
        ("https://x.test", "https://x.test/chat/completions"),
        ("https://x.test/a?version=2", "https://x.test/a/chat/completions?version=2"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
    ],
)
def test_a_base_url_is_extended(base: str, url: str) -> None:
    assert endpoint(Juror("a", "m", "custom", base_url=base)).url == url


@pytest.mark.parametrize(
    "base",
    ["x.test/v1", "ftp://x.test", "https://", "http://[::1", "http://x:port", "https://u:secret@x"],
)
def test_a_base_url_that_cannot_be_used_is_not_repeated(base: str) -> None:
    with pytest.raises(TransportError) as error:
        endpoint(Juror("a", "m", "custom", base_url=base))
    assert error.value.kind == "endpoint"
    assert base not in str(error.value)
    assert "secret" not in str(error.value)


def sent(vendor: str, dropped: frozenset[str] = NO, **changed: Any) -> dict[str, Any]:
    one = dataclasses.replace(juror("http://x.test/v1", vendor), **changed)
    return payload(call(one), endpoint(one), dropped)


@pytest.mark.parametrize(
    ("vendor", "tokens", "structure"),
    [
        ("openai", "max_completion_tokens", "json_schema"),
        ("openrouter", "max_tokens", "json_schema"),
        ("gemini", "max_tokens", "json_schema"),
        ("mistral", "max_tokens", "json_schema"),
        ("ollama", "max_tokens", "json_schema"),
        ("vllm", "max_tokens", "json_schema"),
        ("deepseek", "max_tokens", "json_object"),
        ("custom", "max_tokens", None),
    ],
)
def test_chat_completions_by_vendor(vendor: str, tokens: str, structure: str | None) -> None:
    made = sent(vendor)
    assert made[tokens] == 2048
    assert [turn["role"] for turn in made["messages"]] == ["system", "user"]
    assert made.get("response_format", {}).get("type") == structure
    assert "temperature" not in made
    assert sent(vendor, temperature=0.0)["temperature"] == 0.0


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_the_key_is_in_its_header_alone(vendor: str) -> None:
    one = juror("http://x.test/v1", vendor)
    made = request(call(one), endpoint(one), Key(KEY), NO)
    name, value = (
        ("x-api-key", KEY) if vendor == "anthropic" else ("authorization", f"Bearer {KEY}")
    )
    assert made.headers[name] == value
    assert made.headers["accept-encoding"] == "identity"
    assert KEY.encode() not in made.body
    assert KEY not in repr(made)
    bare = request(call(one), endpoint(one), Key(), NO)
    assert not {"x-api-key", "authorization"} & bare.headers.keys()


def test_a_broken_character_of_a_case_does_not_keep_it_from_being_sent() -> None:
    one = juror("http://x.test/v1")
    asked = replace(call(one), prompt=replace(call(one).prompt, user="\ud800 and \0"))
    body = json.loads(request(asked, endpoint(one), Key(), NO).body)
    assert body["messages"][1]["content"] == "? and \0"


def read(found: Any, wire: Wire = Wire.CHAT, kind: str | None = "application/json") -> Any:
    return opened(json.dumps(found), kind, wire)


def choice(message: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, **more}]}


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (choice({"content": "yes"}), "yes"),
        (
            choice({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            "a\nb",
        ),
        (choice({"content": None}), ""),
        (choice({"content": 7}), ""),
        (choice({"content": [7, None, {"text": 7}]}), ""),
        (choice(None), ""),
        (choice({"content": "\ud83d"}), "\ufffd"),
    ],
)
def test_the_text_of_a_choice(found: Any, text: str) -> None:
    assert read(found).text == text


def test_a_reply_is_the_text_of_a_native_message_or_a_refusal() -> None:
    thinking = {"type": "thinking", "thinking": "hm"}
    said = {"type": "text", "text": "yes"}
    assert read({"content": [thinking, said]}, Wire.MESSAGES).text == "yes"
    assert read({"content": None}, Wire.MESSAGES).text == ""
    assert read(choice({"content": None, "refusal": "no"})).refusal == "no"
    assert read(choice({"content": ""}, finish_reason="content_filter")).refusal
    assert read({"content": [], "stop_reason": "refusal"}, Wire.MESSAGES).refusal
    assert read(choice({"content": "x", "refusal": None}, finish_reason="stop")).refusal is None


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4)),
        ({"prompt_tokens": 3}, (3, None)),
        ({"prompt_tokens": "3", "completion_tokens": 4.5}, (None, None)),
        ({"prompt_tokens": True, "completion_tokens": -4}, (None, None)),
        (None, (None, None)),
        ([], (None, None)),
    ],
)
def test_tokens_are_counts_or_unknown(usage: Any, tokens: tuple[int | None, int | None]) -> None:
    found = read(choice({"content": "x"}) | {"usage": usage})
    assert (found.tokens_in, found.tokens_out) == tokens


@pytest.mark.parametrize(
    ("cost", "told"), [(0.5, 0.5), (0, 0.0), (-1, None), (True, None), ("1", None), (1e99, None)]
)
def test_a_stated_cost_is_kept_if_it_can_be_one(cost: Any, told: float | None) -> None:
    assert read(choice({"content": "x"}) | {"usage": {"cost": cost}}).cost == told


@pytest.mark.parametrize(
    ("found", "status", "kind"),
    [
        ({"error": {"message": "no"}}, Status.ERROR, "error_in_200"),
        ({"error": "no"}, Status.ERROR, "error_in_200"),
        ({"type": "error", "error": {"message": "no"}}, Status.ERROR, "error_in_200"),
        ({"choices": [{"error": {"message": "no"}}]}, Status.ERROR, "error_in_200"),
        ({"choices": []}, Status.EMPTY, "empty"),
        ({"choices": {}}, Status.PARSE_FAIL, "not_an_answer"),
        ({}, Status.PARSE_FAIL, "not_an_answer"),
        ({"choices": [{"finish_reason": "error"}]}, Status.ERROR, "error_in_200"),
        ({"detail": "no"}, Status.ERROR, "error_in_200"),
        ([], Status.PARSE_FAIL, "not_an_answer"),
        ("x", Status.PARSE_FAIL, "not_an_answer"),
    ],
)
def test_a_200_that_is_no_answer(found: Any, status: Status, kind: str) -> None:
    unusable = read(found)
    assert isinstance(unusable, Fault)
    assert (unusable.status, unusable.kind) == (status, kind)


@pytest.mark.parametrize(
    "body",
    [
        '{"error": {"message": "m", "code": 7}}',
        '{"error": "m"}', '[{"error": {"message": "m"}}]', '{"message": "m"}', '{"detail": "m"}',
    ],
)  # fmt: skip
def test_an_error_is_read_in_every_shape(body: str) -> None:
    assert stated_error(body).message == "m"


def test_a_panel_makes_a_call_for_each_juror_with_a_nonce_of_its_own() -> None:
    jurors = (juror("http://a.test"), juror("http://b.test", "anthropic", "bea"))
    panel = PanelSpec("p", jurors, PanelRule(), rubric="Is it right?")
    made = calls_for(Case("c1", "42", input="6 x 7?"), panel)
    assert [(one.case, one.seat, one.juror.name) for one in made] == [
        ("c1", 0, "ada"),
        ("c1", 1, "bea"),
    ]
    assert made[0].prompt.nonce != made[1].prompt.nonce
    assert "Is it right?" in made[0].prompt.user
    # A case's own rubric is another case; the nonce is no part of what a reply is found by.
    again = calls_for(Case("c1", "42", input="6 x 7?"), panel)
    assert [one.key for one in again] == [one.key for one in made]
    own = calls_for(Case("c1", "42", input="6 x 7?", rubric="Is it short?"), panel)
    assert own[0].key != made[0].key


@pytest.mark.parametrize(("strategy", "answer"), [("weighted_vote", "label"), ("median", "pass")])
def test_a_panel_that_counts_labels_asks_for_a_word(strategy: str, answer: str) -> None:
    panel = PanelSpec(
        "p", (juror("http://a.test", "openai"),), PanelRule(strategy), rubric="Right?"
    )
    (made,) = calls_for(Case("c1", "42"), panel)
    body = payload(made, endpoint(made.juror))
    keys = ["reason", answer, "score", "confidence", "nonce"]
    assert body["response_format"]["json_schema"]["schema"]["required"] == keys
    assert f'"{answer}": ' in made.prompt.user


SECRET = "cf-token/Zz9+sentinel=77"


def body(one: Juror) -> dict[str, Any]:
    return payload(call(one), endpoint(one))


async def test_headers_of_the_environment_are_sent_and_hidden(transport: HttpTransport) -> None:
    async def echo(seen: Seen, out: Any) -> None:
        # A server that repeats the header, in its reply and in a header of its own.
        said = seen.headers["cf-access-token"]
        text = verdict(seen, reason=f"I saw {said} and {seen.key}")
        out.write(answer(200, envelope(seen, text), {"x-request-id": said}))

    kept = Kept()
    async with Server(fault=echo) as server:
        one = dataclasses.replace(juror(server.url), headers={"cf-access-token": "CF_TOKEN"})
        asking = session(transport, kept, FakeClock(), {**KEYS, "CF_TOKEN": SECRET})
        ballot = await ask(call(one), asking)
    assert server.calls[0].headers["cf-access-token"] == SECRET
    assert ballot["status"] == "ok"
    stored = json.dumps([str(one) for one in kept.exchanges]) + json.dumps(ballot)
    for secret in (SECRET, KEY):
        assert secret not in stored
        assert secret not in server.calls[0].body.decode()


async def test_a_header_without_its_variable_is_a_ballot_that_names_it() -> None:
    one = dataclasses.replace(juror("http://127.0.0.1:9/v1"), headers={"x-team": "CF_TOKEN"})
    asking = session(FakeTransport([]))
    ballot: Any = await ask(call(one), asking)
    assert (ballot["status"], ballot["error"]["message"]) == ("missing_key", "CF_TOKEN is not set")
    assert key_problem(endpoint(one), KEYS) == "CF_TOKEN is not set"
    planned = hosts({one: 1}, KEYS)
    assert planned.missing_keys == ("CF_TOKEN",)
    assert planned.hosts[0].key_env == ("TEST_KEY", "CF_TOKEN")


def test_extra_keys_are_merged_and_a_temperature_that_would_be_ignored_is_not_sent() -> None:
    one = Juror(
        "a", "openai/gpt-5.2", "openrouter", extra={"seed": 7, "provider": {"sort": "price"}}
    )
    made = body(one)
    assert made["seed"] == 7
    assert made["provider"] == {"require_parameters": True, "sort": "price"}
    assert list(made)[-1] == "seed"
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
    turns = [made.get("system"), *(turn["content"] for turn in made["messages"])]
    parts = [part for turn in turns if isinstance(turn, list) for part in turn]
    return [part["text"] for part in parts if "cache_control" in part]


@pytest.mark.parametrize(
    ("vendor", "model"),
    [("anthropic", "claude-sonnet-5-5"), ("openrouter", "anthropic/claude-sonnet-5.5")],
)
def test_what_all_calls_share_is_marked_for_the_cache(vendor: str, model: str) -> None:
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
    refused = refusing(404, "No endpoints found that can handle the requested parameters.")
    one = Juror("a", "x/y", "openrouter", base_url="http://x.test/v1", api_key_env="TEST_KEY")
    there = FakeTransport([refused, GOOD])
    ballot: Any = await ask(call(one), session(there))
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
    ballot: Any = await ask(call(one), session(there))
    # The total says that 340 tokens were written: this endpoint leaves thoughts out of 40.
    assert (ballot["tokens_in"], ballot["tokens_out"]) == (1000, 340)
    assert ballot["meta"] == {"tokens_cached": 800, "tokens_thinking": 300}
    # 200 at 4, 800 at 0.5 and 340 at 20 per million.
    assert ballot["cost_usd"] == pytest.approx((800 + 400 + 6800) / 1e6)


def test_the_worst_case_counts_what_is_written_to_the_cache() -> None:
    one = Juror("a", "claude-sonnet-5-5", "anthropic", price=Price(2, 10), max_tokens=100)
    sent = len(json.dumps(body(one), ensure_ascii=False, separators=(",", ":")).encode())
    assert worst(call(one)) == pytest.approx((sent * 1.25 * 2 + 100 * 10) / 1e6)
