"""How much a juror thinks is said in its vendor's words; what a vendor ignores is not said."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import pytest

from reviewdesk.domain.panel.hash import panel_hash
from reviewdesk.domain.panel.juror import (
    Juror,
    Price,
    default_max_tokens,
    low_effort,
    seat_body,
    thinks,
)
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.errors import UsageError

LOW = {"reasoning_effort": "low"}
OFF: dict[str, Any] = {"thinking": {"type": "disabled"}}


@pytest.mark.parametrize(
    ("vendor", "model", "said"),
    [
        ("openai", "gpt-6.1-sol", LOW),
        ("gemini", "gemini-3.8-flash", LOW),
        (
            "anthropic", "claude-sonnet-5-5",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
        ("openrouter", "anthropic/claude-opus-5.5", {"reasoning": {"effort": "low"}}),
        ("deepseek", "deepseek-flash", {"thinking": {"type": "enabled"}, **LOW}),
        ("mistral", "mistral-medium-3-5", {}),
    ],
)  # fmt: skip
def test_a_model_that_thinks_is_told_to_think_little(
    vendor: str, model: str, said: dict[str, Any]
) -> None:
    assert low_effort(vendor, model) == said
    assert Juror("a", model, vendor, extra=said).max_tokens == (8192 if said else 2048)


def test_a_budget_leaves_room_for_the_answer() -> None:
    budget = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    assert default_max_tokens("claude-haiku-4-5", budget) == 2000 + 2048
    assert default_max_tokens("claude-sonnet-5-5", {}) == 8192
    assert default_max_tokens("claude-sonnet-5-5", OFF) == 2048
    assert default_max_tokens("gpt-4.1", {}) == 2048


@pytest.mark.parametrize(
    ("vendor", "model", "extra", "applies"),
    [
        ("openai", "gpt-4.1", {}, True),
        ("openai", "gpt-5-mini", {}, False),
        ("openai", "o3", {}, False),
        ("openai", "gpt-5.2", {}, True),
        ("openai", "gpt-5.2", {"reasoning_effort": "high"}, False),
        ("openai", "gpt-5-chat-latest", {}, True),
        ("anthropic", "claude-haiku-4-5", {}, True),
        ("anthropic", "claude-haiku-4-5", {"thinking": {"type": "adaptive"}}, False),
        ("anthropic", "claude-sonnet-5-5", {}, False),
        ("anthropic", "claude-sonnet-5-5", {"thinking": {"type": "between_tools"}}, False),
        ("openrouter", "anthropic/claude-sonnet-5.5", {}, False),
        ("gemini", "gemini-2.5-flash", {}, True),
        ("gemini", "gemini-3.8-flash", {}, False),
        ("deepseek", "deepseek-flash", {}, False),
        ("deepseek", "deepseek-flash", OFF, True),
        ("ollama", "deepseek-r1:8b", {}, True),
        ("groq", "openai/gpt-oss-120b", {}, True),
        ("mistral", "mistral-medium-3-5", {"reasoning_effort": "high"}, True),
    ],
)
def test_a_temperature_that_is_ignored_is_not_stated_as_applied(
    vendor: str, model: str, extra: Any, applies: bool
) -> None:
    one = Juror("a", model, vendor, temperature=0.0, extra=extra)
    assert one.acting_temperature == (0.0 if applies else None)
    # What was configured stays; the ballot says beside it that it had no effect.
    assert seat_body(one)["temperature"] == 0.0
    assert seat_body(one).get("not_applied") == (None if applies else ["temperature"])


def test_extra_is_part_of_the_hash_only_where_set() -> None:
    plain = PanelSpec("p", (Juror("a", "gpt-5.2", "openai"),), PanelRule())
    one = plain.jurors[0]
    hashes = {
        dataclasses.replace(plain, jurors=(changed,)).hash(None)
        for changed in (
            one,
            dataclasses.replace(one, extra={"seed": 7}),
        )
    }
    assert len(hashes) == 2
    assert plain.hash(None) in hashes
    assert dataclasses.replace(plain, jurors=(dataclasses.replace(one, extra={}),)).hash(
        None
    ) == plain.hash(None)
    assert "meta" not in seat_body(one)


def test_google_is_gemini() -> None:
    assert Juror("a", "gemini-3.8-flash", "google").vendor == "gemini"


@pytest.mark.parametrize(
    "extra", [{"model": 1}, {"output_config": {"format": {}}}, {"temperature": 1}]
)
def test_extra_never_overrides_what_the_program_writes(extra: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"extra sets {next(iter(extra))}"):
        Juror("a", "gpt-5.2", "openai", extra=extra)


def test_the_hash_still_counts_reasoning_and_rounds_of_earlier_reports() -> None:
    # The canonical JSON that earlier versions hashed, written out.
    rule = '"quorum":null,"rounding":null,"rounds":2,"rubric_sha256":null,"strategy":"median"'
    seat = '"id":"a","model":"m","prompt_sha256":null,"reasoning":"low","temperature":null'
    text = (
        f'[[{{{seat},"vendor":"openai","weight":null}}],'
        f'{{{rule},"threshold":null,"trim_fraction":null}}]'
    )
    seats = [{"id": "a", "model": "m", "vendor": "openai", "meta": {"reasoning": "low"}}]
    stated = hashlib.sha256(text.encode()).hexdigest()
    assert panel_hash(seats, {"strategy": "median", "rounds": 2}) == stated


def test_cached_tokens_cost_their_own_price_and_written_ones_a_quarter_more() -> None:
    # 200 read as usual, 100 written at 1.25, 700 from the cache at 0.5, 10 written out at 20:
    # 200 * 4 + 100 * 5 + 700 * 0.5 + 10 * 20 = 1850 per million.
    assert Price(4, 20, 0.5).cost(1000, 10, cached=700, written=100) == pytest.approx(1850e-6)
    # Without a price of its own, what was cached costs as the rest.
    assert Price(4, 20).cost(1000, 10, cached=700) == pytest.approx(4200e-6)


def test_models_known_to_think() -> None:
    known = ["gpt-6.1-sol", "o4-mini", "claude-sonnet-5-5", "gemini-3.8-flash", "deepseek-flash"]
    assert all(thinks(model, {}) for model in known)
    others = ["gpt-4.1", "gpt-5.2", "claude-haiku-4-5", "mistral-medium-3-5"]
    assert not any(thinks(model, {}) for model in others)
