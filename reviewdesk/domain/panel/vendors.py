"""The vendors that a juror can be asked at, by the names that panel files use."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from reviewdesk.domain.jury.family import family


class Vendor(StrEnum):
    """Where a juror is asked; endpoints and wires belong to ``live``."""

    OPENAI = "openai"
    DEEPSEEK = "deepseek"
    OPENROUTER = "openrouter"
    GEMINI = "gemini"
    ANTHROPIC = "anthropic"
    MISTRAL = "mistral"
    OLLAMA = "ollama"
    VLLM = "vllm"
    CUSTOM = "custom"


LOCAL: Mapping[Vendor, str | None] = {
    Vendor.OLLAMA: "http://127.0.0.1:11434/v1",
    Vendor.VLLM: "http://127.0.0.1:8000/v1",
    Vendor.CUSTOM: None,
}
"""Servers of one's own, with the address they listen at by default; they may need no key."""


def key_variable(vendor: str, named: str | None = None) -> str | None:
    """The variable that holds the key: the one a juror names, else the vendor's own.

    ``None`` where a server of one's own is asked without a key.
    """
    if named is not None:
        return named
    return None if vendor in LOCAL else f"{vendor.upper()}_API_KEY"


def likely_vendor(model: str) -> Vendor | None:
    """The vendor that a model's name points to, for a hint; ``None`` where nothing does."""
    if "/" in model:
        return Vendor.OPENROUTER
    found = family(model)
    names = {vendor.value for vendor in Vendor}
    return Vendor(found.name) if found is not None and found.name in names else None
