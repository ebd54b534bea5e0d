"""Which models think before they answer, and what follows for their temperature and token limit.

A model that thinks spends its token limit on thoughts too, and most of these models take no
temperature. How much a model thinks is said by the vendor's own keys under ``extra``. What the
vendors document about theirs was looked up in November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

SHORT_LIMIT: Final = 4096
"""The token limit below which a model that thinks may be cut off before it answers."""

PLAIN_MAX_TOKENS: Final = 2048
THINKING_MAX_TOKENS: Final = 8192
"""The token limits of jurors that state none."""

_RESERVED_KEYS: Final = frozenset({
    "model", "messages", "system", "stream", "n", "response_format", "max_tokens",
    "max_completion_tokens", "temperature",
})  # fmt: skip
"""The keys of a request's body that ``extra`` must not set."""

_THINKING_KEYS: Final = ("reasoning_effort", "thinking", "reasoning")
"""The keys under which the vendors are told how much to think."""

_OFF: Final = ("none", "disabled", "between_tools", False)

_CLAUDE_5 = r"claude-(?:(?:opus|sonnet|haiku)-5|fable|mythos)"
_CLAUDE_WITHOUT_BUDGET = re.compile(rf"{_CLAUDE_5}|claude-opus-4[.-][78]")
_OPENAI_THINKS = re.compile(
    r"(?:o[134](?:-|$)|gpt-5(?:-(?:mini|nano|pro))?(?:-\d|$)|gpt-5\.[5-9]|gpt-[6-9])"
)
_OPENAI = re.compile(r"gpt-|o[134](?:-|$)")
_DEEPSEEK_THINKS = re.compile(r"deepseek-(?:v4|flash|reasoner|r1)")
_GEMINI_WITHOUT_TEMPERATURE = re.compile(r"gemini-(?:3\.5-flash-lite|3\.[6-9]|[4-9])")
_OTHERS_THINK = re.compile(
    rf"{_CLAUDE_5}|gemini-(?:2\.5-pro|2\.5-flash(?!-lite)|[3-9])|gpt-oss|magistral|qwen3|kimi-k2-th"
    r"|grok-(?:3-mini|4(?!.*non-reasoning))"
)


def reserved_key(extra: Mapping[str, Any]) -> str | None:
    """Return a key that ``extra`` must not set because the program writes it, if there is one."""
    output = extra.get("output_config")
    if isinstance(output, Mapping) and "format" in output:
        return "output_config"
    return min(_RESERVED_KEYS & extra.keys(), default=None)


def told_to_think(extra: Mapping[str, Any]) -> bool | None:
    """Return whether body keys turn a model's thinking on or off; ``None`` if they say nothing."""
    told = [extra[key] for key in _THINKING_KEYS if key in extra]
    if not told:
        return None
    words = [word for one in told for word in (one.values() if isinstance(one, Mapping) else [one])]
    return not any(word in _OFF for word in words)


def thinks(model: str, extra: Mapping[str, Any]) -> bool:
    """Return True if a model is known to think before it answers, or is told to."""
    told = told_to_think(extra)
    if told is not None:
        return told
    bare = _bare(model)
    return any(known.match(bare) for known in (_OPENAI_THINKS, _DEEPSEEK_THINKS, _OTHERS_THINK))


def takes_temperature(vendor: str, model: str, extra: Mapping[str, Any]) -> bool:
    """Return False if a model is known to ignore or refuse a temperature."""
    bare = _bare(model)
    if _CLAUDE_WITHOUT_BUDGET.match(bare) or _GEMINI_WITHOUT_TEMPERATURE.match(bare):
        return False
    if bare.startswith("claude"):
        return not told_to_think(extra)
    if vendor == "deepseek" or (_OPENAI.match(bare) and not bare.startswith("gpt-oss")):
        return not thinks(model, extra)
    return True


def default_max_tokens(model: str, extra: Mapping[str, Any]) -> int:
    """Return the token limit of a juror that states none, with room for its thoughts."""
    thinking = extra.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    if isinstance(budget, int):
        return budget + PLAIN_MAX_TOKENS
    return THINKING_MAX_TOKENS if thinks(model, extra) else PLAIN_MAX_TOKENS


def low_effort(vendor: str, model: str) -> dict[str, Any]:
    """Return the body keys by which a model that thinks does so briefly, as a verdict is short."""
    if not thinks(model, {}):
        return {}
    if vendor == "anthropic":
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
    if vendor == "openrouter":
        return {"reasoning": {"effort": "low"}}
    said: dict[str, Any] = {"thinking": {"type": "enabled"}} if vendor == "deepseek" else {}
    return said | {"reasoning_effort": "low"}


def _bare(model: str) -> str:
    """Return a model's name in lower case, without the vendor that a router puts before it."""
    return model.lower().rpartition("/")[2]
