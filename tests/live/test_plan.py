"""What somebody consents to: hosts, proxies, models, cost at most, and the hash of what is sent."""

from __future__ import annotations

import dataclasses
import json

import pytest
from msgspec.structs import replace

from reviewdesk.domain.panel.juror import Juror, Price
from reviewdesk.domain.panel.turnout import Host
from reviewdesk.errors import TransportError
from reviewdesk.live.plan import payloads, plan
from reviewdesk.live.wires.requests import encoded, payload
from reviewdesk.live.wires.vendors import address_text, endpoint, proxy_for
from tests.live.builders import KEY, KEYS, call, juror

NEAR = juror("http://127.0.0.1:9/v1")
FAR = dataclasses.replace(
    NEAR, name="bea", model="model-2", base_url="https://far.test/v1", vendor="anthropic"
)


def proxied(url: str) -> str | None:
    return "http://me:secret@proxy.test:3128" if "far" in url else None


def test_a_plan_adds_up_what_is_asked() -> None:
    calls = [call(NEAR, "one"), call(FAR, "one"), call(NEAR, "two")]
    found = plan(calls, KEYS, proxied)
    assert found.hosts == (
        Host("127.0.0.1:9", 2, ("TEST_KEY",), None, is_encrypted=False),
        Host("far.test", 1, ("TEST_KEY",), "http://proxy.test:3128", is_encrypted=True),
    )
    assert (found.calls, found.models, found.missing_keys) == (3, ("model-1", "model-2"), ())
    assert found.worst_usd is None
    assert KEY not in repr(found)
    assert "secret" not in repr(found)


def test_the_worst_case_is_a_token_for_every_byte_and_the_longest_answer() -> None:
    one = call(dataclasses.replace(NEAR, price=Price(2.0, 10.0), max_tokens=1000))
    size = len(encoded(payload(one, endpoint(one.juror))))
    found = plan([one, one], KEYS, proxied)
    assert found.worst_usd == pytest.approx(2 * (size * 2 + 1000 * 10) / 1e6)


def test_a_key_that_is_missing_is_named_once() -> None:
    assert plan([call(NEAR), call(FAR)], {}, proxied).missing_keys == ("TEST_KEY",)
    local = call(Juror("a", "m", "ollama"))
    assert plan([local], {}, proxied).missing_keys == ()


def test_the_hash_is_of_the_payloads_without_their_nonces() -> None:
    one = call(NEAR)
    nonce = "0a0b0c0d"
    system = one.prompt.system.replace(one.prompt.nonce, nonce)
    user = one.prompt.user.replace(one.prompt.nonce, nonce)
    other = replace(one, prompt=replace(one.prompt, system=system, user=user, nonce=nonce))
    first = plan([one], KEYS, proxied).payload_sha256
    assert plan([other], KEYS, proxied).payload_sha256 == first
    changed = replace(one, prompt=replace(one.prompt, user=one.prompt.user + "."))
    assert plan([changed], KEYS, proxied).payload_sha256 != first
    moved = replace(one, juror=dataclasses.replace(NEAR, base_url="http://127.0.0.1:8/v1"))
    assert plan([moved], KEYS, proxied).payload_sha256 != first


def test_payloads_are_what_is_sent() -> None:
    one = call(FAR)
    (told,) = payloads([one])
    assert told["url"] == "https://far.test/v1/messages"
    assert told["payload"] == payload(one, endpoint(FAR))
    assert KEY not in json.dumps(told)


def test_an_address_that_cannot_be_used_is_said_before_anything_is_sent() -> None:
    with pytest.raises(TransportError, match="base_url"):
        plan([call(dataclasses.replace(NEAR, base_url=None))], KEYS, proxied)


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
def test_the_proxy_of_the_environment_is_used_but_for_this_machine(
    url: str, proxy: str | None
) -> None:
    assert proxy_for(url) == proxy
    assert "secret" not in address_text(proxy or "")


@pytest.mark.usefixtures("behind_a_proxy")
@pytest.mark.parametrize("variable", ["https_proxy", "all_proxy"])
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("https_proxy")
    monkeypatch.setenv(variable, "socks5://me:secret@proxy.test:1080")
    with pytest.raises(TransportError, match=f"^{variable.upper()} names a socks5 proxy") as error:
        proxy_for("https://far.test/v1")
    assert "secret" not in str(error.value)
    assert proxy_for("http://127.0.0.1:1/v1") is None
