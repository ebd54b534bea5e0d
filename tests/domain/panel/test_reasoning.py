"""How much a juror thinks is said in its vendor's words; what a vendor ignores is not said."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from reviewdesk.domain.panel.juror import Juror, seat_body
from reviewdesk.domain.panel.price import Price
from reviewdesk.domain.panel.reasoning import Effort, default_max_tokens, reasoning_body, thinks
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.errors import UsageError

ADAPTIVE = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}


@pytest.mark.parametrize(
    ("vendor", "model", "reasoning", "said"),
    [
        ("openai", "gpt-6.1-sol", Effort.LOW, {"reasoning_effort": "low"}),
        ("openai", "gpt-5.2", Effort.NONE, {"reasoning_effort": "none"}),
        ("anthropic", "claude-sonnet-5-5", Effort.LOW, ADAPTIVE),
        ("anthropic", "claude-opus-4-6", Effort.LOW, ADAPTIVE),
        ("anthropic", "claude-sonnet-5-5", Effort.NONE, {"thinking": {"type": "between_tools"}}),
        ("anthropic", "claude-haiku-5-5", Effort.NONE, {"thinking": {"type": "disabled"}}),
        (
            "anthropic", "claude-haiku-4-5", Effort.HIGH,
            {"thinking": {"type": "enabled", "budget_tokens": 16384}},
        ),
        (
            "anthropic", "claude-sonnet-4-6", 2000,
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        ),
        ("openrouter", "anthropic/claude-opus-5.5", Effort.HIGH, {"reasoning": {"effort": "high"}}),
        ("openrouter", "google/gemini-2.5-pro", 900, {"reasoning": {"max_tokens": 900}}),
        ("gemini", "gemini-3.8-flash", Effort.MEDIUM, {"reasoning_effort": "medium"}),
        (
            "gemini", "gemini-2.5-flash", 900,
            {"extra_body": {"google": {"thinking_config": {"thinking_budget": 900}}}},
        ),
        ("deepseek", "deepseek-flash", Effort.NONE, {"thinking": {"type": "disabled"}}),
        (
            "deepseek", "deepseek-flash", Effort.HIGH,
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        ),
        ("together", "openai/gpt-oss-120b", Effort.NONE, {"reasoning": {"enabled": False}}),
        ("custom", "any", None, {}),
    ],
)  # fmt: skip
def test_each_vendor_is_told_in_its_own_words(
    vendor: str, model: str, reasoning: Any, said: dict[str, Any]
) -> None:
    assert reasoning_body(vendor, model, reasoning) == said


@pytest.mark.parametrize(
    ("vendor", "model", "reasoning", "problem"),
    [
        ("custom", "any", Effort.LOW, "custom has no known way"),
        ("openai", "gpt-6.1-sol", 2000, "openai takes no budget"),
        ("anthropic", "claude-sonnet-5-5", 2000, "claude-sonnet-5-5 takes no budget"),
        ("anthropic", "claude-opus-5-5", Effort.NONE, "claude-opus-5-5 always thinks"),
        ("anthropic", "claude-haiku-4-5", 500, "a budget of 500 tokens is under 1024"),
        ("deepseek", "deepseek-flash", Effort.MEDIUM, "deepseek takes a medium effort for a high"),
    ],
)
def test_what_a_vendor_cannot_be_told_is_refused_by_name(
    vendor: str, model: str, reasoning: Any, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        Juror("a", model, vendor, reasoning=reasoning, max_tokens=50_000)


def test_a_budget_leaves_room_for_the_answer() -> None:
    # 2000 of thinking and 512 for the answer.
    with pytest.raises(UsageError, match="max_tokens is 2048, and thinking may take 2000 of them"):
        Juror("a", "claude-haiku-4-5", "anthropic", reasoning=2000, max_tokens=2048)
    assert Juror("a", "claude-haiku-4-5", "anthropic", reasoning=2000).max_tokens == 4048
    assert Juror("a", "claude-haiku-4-5", "anthropic", reasoning=2000, max_tokens=2512)
    assert default_max_tokens("anthropic", "claude-haiku-4-5", 2000) == 2000 + 2048
    assert default_max_tokens("anthropic", "claude-sonnet-5-5", None) == 8192
    assert default_max_tokens("anthropic", "claude-sonnet-5-5", Effort.NONE) == 2048
    assert default_max_tokens("openai", "gpt-4.1", None) == 2048


@pytest.mark.parametrize(
    ("vendor", "model", "reasoning", "applies"),
    [
        ("openai", "gpt-4.1", None, True),
        ("openai", "gpt-5-mini", None, False),
        ("openai", "o3", None, False),
        ("openai", "gpt-5.2", None, True),
        ("openai", "gpt-5.2", Effort.HIGH, False),
        ("openai", "gpt-5-chat-latest", None, True),
        ("anthropic", "claude-haiku-4-5", None, True),
        ("anthropic", "claude-haiku-4-5", Effort.LOW, False),
        ("anthropic", "claude-sonnet-5-5", None, False),
        ("anthropic", "claude-sonnet-5-5", Effort.NONE, False),
        ("openrouter", "anthropic/claude-sonnet-5.5", None, False),
        ("gemini", "gemini-2.5-flash", None, True),
        ("gemini", "gemini-3.8-flash", None, False),
        ("deepseek", "deepseek-flash", None, False),
        ("deepseek", "deepseek-flash", Effort.NONE, True),
        ("ollama", "deepseek-r1:8b", None, True),
        ("groq", "openai/gpt-oss-120b", None, True),
        ("mistral", "mistral-medium-3-5", Effort.HIGH, True),
    ],
)
def test_a_temperature_that_is_ignored_is_not_stated_as_applied(
    vendor: str, model: str, reasoning: Any, applies: bool
) -> None:
    one = Juror("a", model, vendor, temperature=0.0, reasoning=reasoning, max_tokens=50_000)
    assert one.acting_temperature == (0.0 if applies else None)
    # What was configured stays; the ballot says beside it that it had no effect.
    assert seat_body(one)["temperature"] == 0.0
    assert seat_body(one).get("not_applied") == (None if applies else ["temperature"])


def test_reasoning_and_extra_are_part_of_the_hash_only_where_set() -> None:
    plain = PanelSpec("p", (Juror("a", "gpt-5.2", "openai"),), PanelRule())
    one = plain.jurors[0]
    hashes = {
        dataclasses.replace(plain, jurors=(changed,)).hash(None)
        for changed in (
            one,
            dataclasses.replace(one, reasoning=Effort.LOW),
            dataclasses.replace(one, reasoning=Effort.HIGH),
            dataclasses.replace(one, extra={"seed": 7}),
        )
    }
    assert len(hashes) == 4
    assert plain.hash(None) in hashes
    assert dataclasses.replace(plain, jurors=(dataclasses.replace(one, extra={}),)).hash(
        None
    ) == plain.hash(None)
    assert "meta" not in seat_body(one)


def test_google_is_gemini() -> None:
    assert Juror("a", "gemini-3.8-flash", "google").vendor == "gemini"


@pytest.mark.parametrize(("key", "reasoning"), [("model", None), ("reasoning_effort", Effort.LOW)])
def test_extra_never_overrides_what_the_program_writes(key: str, reasoning: Any) -> None:
    with pytest.raises(UsageError, match=f"extra sets {key}"):
        Juror("a", "gpt-5.2", "openai", extra={key: 1}, reasoning=reasoning)


def test_cached_tokens_cost_their_own_price_and_written_ones_a_quarter_more() -> None:
    # 200 read as usual, 100 written at 1.25, 700 from the cache at 0.5, 10 written out at 20:
    # 200 * 4 + 100 * 5 + 700 * 0.5 + 10 * 20 = 1850 per million.
    assert Price(4, 20, 0.5).cost(1000, 10, cached=700, written=100) == pytest.approx(1850e-6)
    # Without a price of its own, what was cached costs as the rest.
    assert Price(4, 20).cost(1000, 10, cached=700) == pytest.approx(4200e-6)


def test_models_known_to_think() -> None:
    known = ["gpt-6.1-sol", "o4-mini", "claude-sonnet-5-5", "gemini-3.8-flash", "deepseek-flash"]
    assert all(map(thinks, known))
    assert not any(map(thinks, ["gpt-4.1", "gpt-5.2", "claude-haiku-4-5", "mistral-medium-3-5"]))
