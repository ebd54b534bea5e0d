"""API keys: from the environment only, checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reviewdesk.domain.panel.spec import Juror
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.live.wires.vendors import VENDORS, Endpoint

_USABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Key:
    """A key that can be sent, or the sentence that says why there is none where one is needed."""

    value: str | None = field(default=None, repr=False)
    problem: str | None = None


def key_of(place: Endpoint, environment: Mapping[str, str]) -> Key:
    """The key of an endpoint; where it needs none, there is neither key nor problem."""
    if place.key_env is None:
        return Key()
    value = environment.get(place.key_env, "").strip()
    if not value:
        return Key(problem=f"{place.key_env} is not set") if place.key_required else Key()
    if _USABLE.fullmatch(value) is None:
        return Key(problem=f"{place.key_env} holds characters that no key has")
    return Key(value)


def is_malformed(value: str) -> bool:
    """Whether a variable is set to something that cannot be a key."""
    return bool(value.strip()) and _USABLE.fullmatch(value.strip()) is None


def known_keys(environment: Mapping[str, str]) -> frozenset[str]:
    """The keys of all vendors that the environment holds, asked or not."""
    names = {vendor.key_env for vendor in VENDORS.values() if vendor.key_env}
    return frozenset(filter(None, (environment.get(name, "").strip() for name in names)))


def redactor(jurors: Iterable[Juror], environment: Mapping[str, str]) -> Redactor:
    """What hides the keys of a whole panel, and those of every vendor that is known."""
    named = {juror.api_key_env for juror in jurors if juror.api_key_env}
    return Redactor(known_keys(environment) | {environment.get(name, "") for name in named})
