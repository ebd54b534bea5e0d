"""The vendors that can serve a juror, by the names that panel files use."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from reviewdesk.domain.jury.family import family


class Vendor(StrEnum):
    """The vendor that serves a juror."""

    OPENAI = "openai"
    DEEPSEEK = "deepseek"
    OPENROUTER = "openrouter"
    GEMINI = "gemini"
    ANTHROPIC = "anthropic"
    MISTRAL = "mistral"
    GROQ = "groq"
    TOGETHER = "together"
    XAI = "xai"
    FIREWORKS = "fireworks"
    AZURE = "azure"
    OLLAMA = "ollama"
    VLLM = "vllm"
    CUSTOM = "custom"


class Wire(StrEnum):
    """The two supported protocols; the value is the path below the base URL."""

    CHAT = "/chat/completions"
    MESSAGES = "/messages"


class JsonMode(StrEnum):
    """The way to request a JSON object from an endpoint."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    NONE = "none"


class VendorWire(Struct, frozen=True):
    """One row of the vendor table; ``tokens`` is the endpoint's name for the token limit.

    ``key_header`` is the header of the key; in ``authorization`` the key follows ``Bearer``.
    """

    base_url: str | None
    key_env: str | None
    wire: Wire = Wire.CHAT
    shape: JsonMode = JsonMode.SCHEMA
    tokens: str = "max_tokens"
    key_header: str = "authorization"


VENDORS = {
    "openai": VendorWire(
        "https://api.openai.com/v1", "OPENAI_API_KEY", tokens="max_completion_tokens"
    ),
    "deepseek": VendorWire(
        "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", shape=JsonMode.OBJECT
    ),
    "openrouter": VendorWire("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "gemini": VendorWire(
        "https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY"
    ),
    "anthropic": VendorWire(
        "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY",
        wire=Wire.MESSAGES, key_header="x-api-key",
    ),
    "mistral": VendorWire("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": VendorWire(
        "https://api.groq.com/openai/v1", "GROQ_API_KEY", tokens="max_completion_tokens"
    ),
    "together": VendorWire("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "xai": VendorWire("https://api.x.ai/v1", "XAI_API_KEY"),
    "fireworks": VendorWire("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "azure": VendorWire(
        None, "AZURE_OPENAI_API_KEY", tokens="max_completion_tokens", key_header="api-key"
    ),
    "ollama": VendorWire("http://127.0.0.1:11434/v1", None),
    "vllm": VendorWire("http://127.0.0.1:8000/v1", None),
    "custom": VendorWire(None, None, shape=JsonMode.NONE),
}  # fmt: skip
"""The known vendors. Without a key variable no key is sent unless the juror names one."""

ADDRESSED: Mapping[str, str] = {
    Vendor.AZURE: "https://NAME.openai.azure.com",
    Vendor.CUSTOM: "http://127.0.0.1:8080/v1",
}
"""The vendors whose jurors need a ``base_url``, each with an example."""

SUGGESTED: Mapping[Vendor, tuple[str, ...]] = {
    Vendor.ANTHROPIC: ("claude-sonnet-5-5",),
    Vendor.OPENAI: ("gpt-6.1-sol",),
    Vendor.GEMINI: ("gemini-3.8-flash",),
    Vendor.MISTRAL: ("mistral-medium-3-5",),
    Vendor.DEEPSEEK: ("deepseek-flash",),
    Vendor.XAI: ("grok-4.7",),
    Vendor.OPENROUTER: (
        "anthropic/claude-sonnet-5.5",
        "openai/gpt-6.1-sol",
        "google/gemini-3.8-flash",
        "mistralai/mistral-medium-3-5",
        "deepseek/deepseek-v4-pro",
    ),
    Vendor.GROQ: ("openai/gpt-oss-120b",),
    Vendor.TOGETHER: ("Qwen/Qwen3.8-Flash",),
    Vendor.FIREWORKS: ("accounts/fireworks/models/glm-5p3-flash",),
}
"""Models of each vendor for a new panel, looked up in November 2026."""

ROUTED_AS: Mapping[str, str] = {
    "anthropic": "anthropic", "openai": "openai", "gemini": "google", "mistral": "mistralai",
    "deepseek": "deepseek", "qwen": "qwen", "meta": "meta-llama", "moonshot": "moonshotai",
    "xai": "x-ai", "cohere": "cohere", "zhipu": "z-ai", "minimax": "minimax",
}  # fmt: skip
"""The name under which OpenRouter serves each family."""

OTHER_NAMES: Mapping[str, Vendor] = {"google": Vendor.GEMINI}
"""Other names that vendors are known by."""


def key_variable(vendor: str, named: str | None = None) -> str | None:
    """Return the variable that holds the key: the one that a juror names, else the vendor's.

    Return ``None`` for a self-hosted server if the juror names no variable.
    """
    return named or VENDORS[vendor].key_env


def likely_vendor(model: str) -> Vendor | None:
    """Return the vendor that a model's name suggests, for use in a hint, or ``None``."""
    if "/" in model:
        return Vendor.OPENROUTER
    found = family(model)
    names = {vendor.value for vendor in Vendor}
    return Vendor(found.name) if found is not None and found.name in names else None
