"""API keys: read from the environment or by reference, and checked before anything is sent."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.live.references import MARK, UNKNOWN, KeyReferenceError
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.live.wires.vendors import VENDORS, Endpoint

_USABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Key:
    """A key that can be sent, or the problem with it; neither if no key is set or needed."""

    value: str | None = field(default=None, repr=False)
    problem: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further headers of the juror, whose values are secrets as well."""

    @property
    def secrets(self) -> tuple[str | None, ...]:
        """The key, if any, and the values of all further headers."""
        return self.value, *self.headers.values()


def key_of(place: Endpoint, environment: Mapping[str, str]) -> Key:
    """Return the key and headers of an endpoint, or the first problem with them."""
    headers = {}
    for header, name in place.headers:
        found = _value(name, environment, required=True)
        if found.problem is not None:
            return found
        headers[header] = found.value or ""
    if place.key_env is None:
        return Key(headers=headers)
    found = _value(place.key_env, environment, required=place.key_required)
    return dataclasses.replace(found, headers=headers)


def _value(name: str, environment: Mapping[str, str], *, required: bool) -> Key:
    try:
        value = environment[name].strip()
    except KeyReferenceError as error:
        return Key(problem=error.problem)
    except KeyError:
        value = ""
    if not value:
        return Key(problem=f"{name} is not set") if required else Key()
    if _USABLE.fullmatch(value) is None:
        return Key(problem=f"{name} holds characters that no key has")
    return Key(value)


def key_problem(place: Endpoint, environment: Mapping[str, str]) -> str | None:
    """Return what is wrong with a key or header as far as it is known before references are read.

    The result begins with the name of the variable.
    """
    named = key_names(place)
    unknown = [name for name in named if name.startswith(MARK) and name not in environment]
    if unknown:
        return f"{unknown[0]} {UNKNOWN}"
    if any(name.startswith(MARK) for name in named):
        return None
    return key_of(place, environment).problem


def key_names(place: Endpoint) -> tuple[str, ...]:
    """Return the variables and references whose values are sent to an endpoint."""
    own = () if place.key_env is None else (place.key_env,)
    return (*own, *(name for _, name in place.headers))


async def read_key(place: Endpoint, environment: Mapping[str, str]) -> Key:
    """Return the key of an endpoint; a reference is read in a thread, because it may take long."""
    if any(name.startswith(MARK) for name in key_names(place)):
        return await asyncio.to_thread(key_of, place, environment)
    return key_of(place, environment)


def is_malformed(value: str) -> bool:
    """Return True if a variable has a value that cannot be a key."""
    return bool(value.strip()) and _USABLE.fullmatch(value.strip()) is None


def known_keys(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the keys of all known vendors in the environment, used by the panel or not."""
    names = {vendor.key_env for vendor in VENDORS.values() if vendor.key_env}
    return frozenset(filter(None, (environment.get(name, "").strip() for name in names)))


def redactor(jurors: Iterable[Juror], environment: Mapping[str, str]) -> Redactor:
    """Return a redactor for the keys of a panel's jurors and of every known vendor."""
    named = {name for one in jurors for name in (one.api_key_env, *one.headers.values()) if name}
    return Redactor(known_keys(environment) | {environment.get(name, "") for name in named})
