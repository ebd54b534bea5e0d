"""A juror of a live panel, as a panel states it and as its ballots do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reviewdesk.domain.canonical import CanonicalBallot, without_nulls
from reviewdesk.domain.panel.price import Price
from reviewdesk.domain.panel.prompt import contract_of, prompt_sha256
from reviewdesk.domain.panel.reasoning import (
    PLAIN_MAX_TOKENS,
    default_max_tokens,
    reserved_key,
    takes_temperature,
)
from reviewdesk.domain.panel.vendors import OTHER_NAMES, Vendor
from reviewdesk.domain.verdict import Status
from reviewdesk.errors import UsageError

DEFAULT_TIMEOUT = 120.0
"""Seconds for one attempt at a ballot, from sending the request."""

DEFAULT_MAX_TOKENS = PLAIN_MAX_TOKENS


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
    """The most tokens of a reply, thoughts among them; 0 becomes the default of the model."""
    system_prompt: str | None = None
    prompt: str | None = None
    """The template of the user's turn, with slots such as ``{output}``."""
    prompt_version: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    price: Price | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further keys of the request's body, such as the vendor's own for how much a model thinks."""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The variables that hold the values of further headers, by header."""
    deployment: str | None = None
    """The name under which Azure serves the model."""
    api_version: str | None = None
    samples: int = 1
    """How often the juror is asked; its answers come to one ballot."""
    order: int | None = None
    """The place among the jurors of a panel that stops when decided; equal places ask together."""

    rpm: int | None = None
    """The most requests a minute, kept from the first one on."""
    tpm: int | None = None
    """The most tokens a minute, sent and answered."""

    def __post_init__(self) -> None:
        """Raise UsageError for what the juror's vendor cannot be told."""
        object.__setattr__(self, "vendor", OTHER_NAMES.get(self.vendor, self.vendor))
        if self.vendor not in set(Vendor):
            known = ", ".join(Vendor)
            raise UsageError(f"{self.name}: no vendor {self.vendor!r}", f"Known: {known}")
        if not self.max_tokens:
            object.__setattr__(self, "max_tokens", default_max_tokens(self.model, self.extra))
        if taken := reserved_key(self.extra):
            raise UsageError(f"extra sets {taken}", "Leave it out; the juror has keys for it.")

    @property
    def acting_temperature(self) -> float | None:
        """The temperature as it is sent; ``None`` if the model is known to ignore it."""
        applies = takes_temperature(self.vendor, self.model, self.extra)
        return self.temperature if applies else None

    @property
    def options(self) -> dict[str, Any]:
        """The settings beyond the common ones that a panel's hash counts, where they are set."""
        return {"extra": dict(self.extra)} if self.extra else {}

    @property
    def prompt_sha256(self) -> str:
        """The hash of this juror's prompt, without the case."""
        return prompt_sha256(self.system_prompt, self.prompt)

    def contract_of(self, stated: str) -> int | None:
        """Return the contract's version under which this juror's prompt has the stated hash."""
        return contract_of(stated, self.system_prompt, self.prompt)


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
    if asked := {**juror.options, **without_nulls(own)}:
        body["meta"] = asked
    return without_nulls(body)


def not_asked(juror: Juror) -> CanonicalBallot:
    """Return the ballot of a juror that the panel did not need to ask."""
    return {**seat_body(juror), "status": Status.NOT_ASKED.value}
