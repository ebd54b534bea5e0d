"""The address of each vendor's endpoint, the wire it speaks, and what it understands."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.errors import TransportError


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


class Endpoint(Struct, frozen=True):
    """The address of one juror's endpoint, and how to call it."""

    url: str
    host: str
    """The host, with the port if the URL has one."""
    wire: Wire
    key_env: str | None
    key_required: bool
    shape: JsonMode
    tokens: str
    key_header: str
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers, each with the variable that holds its value."""


@lru_cache(maxsize=256)
def endpoint(juror: Juror) -> Endpoint:
    """Return the endpoint of a juror.

    Raises:
        TransportError: the vendor is unknown, or the address cannot be used.
    """
    vendor = VENDORS.get(juror.vendor)
    if vendor is None:
        raise TransportError("endpoint", f"there is no vendor {juror.vendor!r}")
    base = juror.base_url or vendor.base_url
    if not base:
        raise TransportError("endpoint", f"the vendor {juror.vendor} needs a base_url")
    key_env = juror.api_key_env or vendor.key_env
    return Endpoint(
        url=_azure_url(base, juror) if juror.vendor == "azure" else _wire_url(base, vendor.wire),
        host=host_of(base),
        wire=vendor.wire,
        key_env=key_env,
        key_required=key_env is not None,
        shape=vendor.shape,
        tokens=vendor.tokens,
        key_header=vendor.key_header,
        headers=tuple(juror.headers.items()),
    )


def host_of(url: str) -> str:
    """Return the host of a URL, with the port if it has one."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _azure_url(base: str, juror: Juror) -> str:
    """Return the URL of an Azure deployment: the dated one, or without a version the newer one."""
    root = base.rstrip("/").removesuffix("/v1").removesuffix("/openai")
    if juror.api_version is None:
        return _wire_url(f"{root}/openai/v1", Wire.CHAT)
    name = quote(juror.deployment or juror.model, safe="")
    url = _wire_url(f"{root}/openai/deployments/{name}", Wire.CHAT)
    return f"{url}?{urlencode({'api-version': juror.api_version})}"


def _wire_url(base: str, wire: Wire) -> str:
    """Return the URL of the wire below a base URL.

    An error repeats nothing of a wrong URL, as it may hold a password.
    """
    try:
        parts = urlsplit(base)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise TransportError("endpoint", "the base_url is no http or https address")
    if "@" in parts.netloc:
        raise TransportError(
            "endpoint", "the base_url holds a user name or password; give a key variable"
        )
    path = parts.path.rstrip("/") + wire.value
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
