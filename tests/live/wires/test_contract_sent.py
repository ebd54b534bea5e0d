"""The bytes that jurors are sent on each wire, and how a reply is held to the schema in them."""

import json
import re
from typing import Any

import pytest

from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.prompt import schema
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.live.records import calls_for
from reviewdesk.live.wires.transport import HttpTransport
from tests.live.builders import ask, ask_panel, call, juror, session
from tests.live.server import Seen, Server, answer, envelope

KEYS_IN_ORDER = ["reason", "pass", "score", "confidence", "nonce"]
VENDORS = ["openai", "openrouter", "gemini", "mistral", "ollama", "vllm", "deepseek", "custom"]


def structure(body: Any) -> Any:
    """The schema in a body, by the wire that it went by; ``None`` where it has none."""
    if "output_config" in body:
        return body["output_config"]["format"]["schema"]
    return body.get("response_format", {}).get("json_schema", {}).get("schema")


async def sent(vendor: str, **server: Any) -> tuple[list[Seen], list[Any]]:
    panel_of = PanelRule(strategy="median")
    async with Server(**server) as there:
        panel = PanelSpec("p", (juror(there.url, vendor),), panel_of, "Is it right?")
        transport, ballots = HttpTransport(), []
        asking = session(transport, concurrency=1)
        for name in ("one", "two"):
            case = Case(name, f"answer {name}", input=f"question {name}")
            ballots += [got async for _, got in ask_panel(calls_for(case, panel), asking)]
        await transport.close()
    return there.calls, ballots


@pytest.mark.parametrize("vendor", [*VENDORS, "anthropic"])
async def test_the_bytes_on_each_wire_hold_the_one_schema_in_its_order(vendor: str) -> None:
    calls, ballots = await sent(vendor)
    assert [ballot["status"] for ballot in ballots] == ["ok", "ok"]
    for seen in calls:
        found = structure(json.loads(seen.body))
        if vendor in {"deepseek", "custom"}:  # no schema on these endpoints
            assert found is None
        else:
            assert json.dumps(found) == json.dumps(schema())
            assert list(found["properties"]) == found["required"] == KEYS_IN_ORDER
        told = seen.user.rpartition("Answer in this form:\n")[2]
        assert re.findall(r'"(\w+)": ', told) == KEYS_IN_ORDER
        assert told.endswith(f'"nonce": "{seen.nonce}"}}')
    first, second = calls
    assert first.system == second.system
    assert first.nonce != second.nonce
    shared = first.user.index(first.nonce)
    assert "Is it right?" in first.user[:shared]
    assert second.user[:shared] == first.user[:shared]


def _in_other_words(seen: Seen) -> str:
    return json.dumps({"verdict": "PASS", "rationale": "r", "score": 0.8, "nonce": seen.nonce})


@pytest.mark.parametrize(
    ("vendor", "status"),
    [("openai", "parse_fail"), ("anthropic", "parse_fail"), ("custom", "ok"), ("deepseek", "ok")],
)
async def test_synonyms_are_for_endpoints_without_a_schema(vendor: str, status: str) -> None:
    _, ballots = await sent(vendor, reply=_in_other_words)
    assert {ballot["status"] for ballot in ballots} == {status}


async def test_an_endpoint_without_the_schema_may_use_other_words(transport: HttpTransport) -> None:
    told = {"error": {"message": "response_format is not supported"}}

    async def fault(seen: Seen, out: Any) -> None:
        refused = "response_format" in seen.payload
        body = told if refused else envelope(seen, _in_other_words(seen))
        out.write(answer(400 if refused else 200, body))

    async with Server(fault=fault) as server:
        asked = call(juror(server.url, "openai"))
        ballot: Any = await ask(asked, session(transport))
    assert (ballot["status"], ballot["pass"], ballot["reason"]) == ("ok", True, "r")
    assert ballot["meta"]["left_out"] == ["structure"]
