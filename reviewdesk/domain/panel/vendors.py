"""The vendors of models: their addresses, wires, key variables, and models for a new panel."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from reviewdesk.domain.jury.family import family


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
    "azure": "https://NAME.openai.azure.com",
    "custom": "http://127.0.0.1:8080/v1",
}
"""The vendors whose jurors need a ``base_url``, each with an example."""

SUGGESTED: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("claude-sonnet-5-5",),
    "openai": ("gpt-6.1-sol",),
    "gemini": ("gemini-3.8-flash",),
    "mistral": ("mistral-medium-3-5",),
    "deepseek": ("deepseek-flash",),
    "xai": ("grok-4.7",),
    "openrouter": (
        "anthropic/claude-sonnet-5.5",
        "openai/gpt-6.1-sol",
        "google/gemini-3.8-flash",
        "mistralai/mistral-medium-3-5",
        "deepseek/deepseek-v4-pro",
    ),
    "groq": ("openai/gpt-oss-120b",),
    "together": ("Qwen/Qwen3.8-Flash",),
    "fireworks": ("accounts/fireworks/models/glm-5p3-flash",),
}
"""Models of each vendor for a new panel, looked up in November 2026."""

ROUTED_AS: Mapping[str, str] = {
    "anthropic": "anthropic", "openai": "openai", "gemini": "google", "mistral": "mistralai",
    "deepseek": "deepseek", "qwen": "qwen", "meta": "meta-llama", "moonshot": "moonshotai",
    "xai": "x-ai", "cohere": "cohere", "zhipu": "z-ai", "minimax": "minimax",
}  # fmt: skip
"""The name under which OpenRouter serves each family."""

OTHER_NAMES: Mapping[str, str] = {"google": "gemini"}


def key_variable(vendor: str, named: str | None = None) -> str | None:
    """Return the variable that holds the key: the juror's, else the vendor's, which may be none."""
    return named or VENDORS[vendor].key_env


def likely_vendor(model: str) -> str | None:
    if "/" in model:
        return "openrouter"
    found = family(model)
    return found.name if found is not None and found.name in VENDORS else None
