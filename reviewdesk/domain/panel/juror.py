"""A juror of a live panel, as a panel states it and as its ballots do."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from reviewdesk.domain.panel.prompt import VERSION, prompt_sha256
from reviewdesk.domain.panel.vendors import OTHER_NAMES, VENDORS
from reviewdesk.domain.verdict import CanonicalBallot, without_nulls
from reviewdesk.errors import UsageError

BATCH_SHARE = 0.5
"""The cost of a call in a batch as a share of the usual, at every vendor whose batches are used."""


class Price(Struct, frozen=True):
    """The price of a model, in US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """The price of tokens read from a vendor's cache; ``None`` is the usual one."""
    as_of: str | None = None
    """The date of the table that it comes from; ``None`` if the panel states it."""

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0) -> float:
        """Return the cost of one call in US dollars; ``tokens_in`` counts all tokens read.

        A token is at least one byte, so the bytes sent and the token limit give the highest cost.
        """
        rest = max(0, tokens_in - cached - written)
        # Anthropic and OpenAI charge more for tokens that are written to the cache.
        read = (rest + 1.25 * written) * self.input
        read += cached * (self.input if self.cached is None else self.cached)
        return (read + tokens_out * self.output) / 1_000_000


SHORT_LIMIT = 4096
"""The token limit below which a thinking model may be cut off before it answers."""

PLAIN_MAX_TOKENS = 2048
THINKING_MAX_TOKENS = 8192
"""The default token limits, for jurors that set no limit."""

_RESERVED_KEYS = frozenset({
    "model", "messages", "system", "stream", "n", "response_format", "max_tokens",
    "max_completion_tokens", "temperature",
})  # fmt: skip
"""The keys of a request's body that ``extra`` must not set."""

_THINKING_KEYS = ("reasoning_effort", "thinking", "reasoning")
"""The keys that tell the vendors how much a model should think."""

_OFF = ("none", "disabled", "between_tools", False)

_CLAUDE_5 = r"claude-(?:(?:opus|sonnet|haiku)-5|fable|mythos)"
_NO_TEMPERATURE = re.compile(
    rf"{_CLAUDE_5}|claude-opus-4[.-][78]|gemini-(?:3\.5-flash-lite|3\.[6-9]|[4-9])"
)
_OPENAI = re.compile(r"gpt-(?!oss)|o[134](?:-|$)")
_THINKS = re.compile(
    rf"{_CLAUDE_5}|o[134](?:-|$)|gpt-5(?:-(?:mini|nano|pro))?(?:-\d|$)|gpt-5\.[5-9]|gpt-[6-9]"
    r"|deepseek-(?:v4|flash|reasoner|r1)|gemini-(?:2\.5-pro|2\.5-flash(?!-lite)|[3-9])|gpt-oss"
    r"|magistral|qwen3|kimi-k2-th|grok-(?:3-mini|4(?!.*non-reasoning))"
)


def reserved_key(extra: Mapping[str, Any]) -> str | None:
    """Return a key that ``extra`` sets although only the program may write it, or ``None``."""
    output = extra.get("output_config")
    formed = isinstance(output, Mapping) and "format" in output
    return "output_config" if formed else min(_RESERVED_KEYS & extra.keys(), default=None)


def told_to_think(extra: Mapping[str, Any]) -> bool | None:
    """Return whether body keys turn a model's thinking on or off; ``None`` if they do neither."""
    told = [extra[key] for key in _THINKING_KEYS if key in extra]
    if not told:
        return None
    words = [word for one in told for word in (one.values() if isinstance(one, Mapping) else [one])]
    return not any(word in _OFF for word in words)


def thinks(model: str, extra: Mapping[str, Any]) -> bool:
    """Return True if a model thinks before it answers, by itself or as its settings say."""
    told = told_to_think(extra)
    return bool(_THINKS.match(_bare(model))) if told is None else told


def default_max_tokens(model: str, extra: Mapping[str, Any]) -> int:
    thinking = extra.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    if isinstance(budget, int):
        return budget + PLAIN_MAX_TOKENS
    return THINKING_MAX_TOKENS if thinks(model, extra) else PLAIN_MAX_TOKENS


def low_effort(vendor: str, model: str) -> dict[str, Any]:
    """Return the body keys that make a thinking model think briefly, since a verdict is short."""
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


DEFAULT_TIMEOUT = 120.0
"""Seconds for one attempt at a ballot, from sending the request."""


@dataclass(frozen=True, slots=True)
class Juror:
    """One seat of a live panel. ``name`` is the ballot's id; ``vendor`` picks endpoint and wire."""

    name: str
    model: str
    vendor: str
    base_url: str | None = None
    """The address used instead of the vendor's, for local servers and proxies."""
    api_key_env: str | None = None
    """The variable that holds the key, instead of the vendor's, or a reference ``@NAME``."""
    weight: float | None = None
    temperature: float | None = None
    """The sampling temperature; it is sent only if it is set."""
    max_tokens: int = 0
    """The maximum number of tokens in a reply, thoughts included; 0 becomes the model's default."""
    system_prompt: str | None = None
    prompt: str | None = None
    """The template of the user's turn, with slots such as ``{output}``."""
    prompt_version: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    price: Price | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further keys of the request's body, such as the vendor's key for how much a model thinks."""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The variables that hold the values of further headers, by header."""
    deployment: str | None = None
    """The name under which Azure serves the model."""
    api_version: str | None = None
    samples: int = 1
    """How often the juror is asked; its answers are combined into one ballot."""
    order: int | None = None
    """The place among the jurors of a panel that stops when decided; equal places ask together."""

    rpm: int | None = None
    """The maximum number of requests a minute, enforced from the first request."""
    tpm: int | None = None
    """The maximum number of tokens a minute, in requests and replies together."""

    def __post_init__(self) -> None:
        """Raise UsageError for an unknown vendor or a reserved key in ``extra``."""
        object.__setattr__(self, "vendor", OTHER_NAMES.get(self.vendor, self.vendor))
        if self.vendor not in VENDORS:
            known = ", ".join(VENDORS)
            raise UsageError(f"{self.name}: no vendor {self.vendor!r}", f"Known: {known}")
        if not self.max_tokens:
            object.__setattr__(self, "max_tokens", default_max_tokens(self.model, self.extra))
        if taken := reserved_key(self.extra):
            raise UsageError(f"extra sets {taken}", "Leave it out; the juror has keys for it.")

    @property
    def acting_temperature(self) -> float | None:
        """The temperature; ``None`` if the model is known to ignore or refuse one."""
        bare = _bare(self.model)
        refuses = bool(_NO_TEMPERATURE.match(bare))
        if bare.startswith("claude"):
            refuses |= bool(told_to_think(self.extra))
        elif self.vendor == "deepseek" or _OPENAI.match(bare):
            refuses |= thinks(self.model, self.extra)
        return None if refuses else self.temperature

    @property
    def options(self) -> dict[str, Any]:
        return {"extra": dict(self.extra)} if self.extra else {}

    @property
    def prompt_sha256(self) -> str:
        return prompt_sha256(self.system_prompt, self.prompt)

    def contract_of(self, stated: str) -> int | None:
        """Return the version of the contract under which its prompt has the stated hash, if any."""
        prompt = self.system_prompt, self.prompt
        known = (one for one in range(VERSION, 0, -1) if stated == prompt_sha256(*prompt, one))
        return next(known, None)


def seat_body(juror: Juror) -> CanonicalBallot:
    """Return a juror as its ballots and the panel hash state it, without null values."""
    body: CanonicalBallot = {
        "id": juror.name,
        "model": juror.model,
        "vendor": juror.vendor,
        "weight": juror.weight,
        "temperature": juror.temperature,
        "prompt_sha256": juror.prompt_sha256,
        "not_applied": None if juror.temperature == juror.acting_temperature else ["temperature"],
    }
    own = {"samples": None if juror.samples == 1 else juror.samples, "order": juror.order}
    body["meta"] = {**juror.options, **without_nulls(own)} or None
    return without_nulls(body)
