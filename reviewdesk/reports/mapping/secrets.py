"""Find API keys and passwords in a foreign file, and remove them from every copied text."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from reviewdesk.domain.report_model import json_of
from reviewdesk.domain.safetext import MaskedKeys
from reviewdesk.reports.bytes.strict_json import HOLDERS
from reviewdesk.reports.mapping.values import unused

_NAMED = re.compile(
    r"api[-_]?key|secret|passw(?:or)?d|authorization|credential|cookie|private[-_]?key"
    r"|(?:access|api|auth|refresh|bearer|session)[-_]?token|^x-.*(?:key|token)$",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"env(?:ar|iron)?$", re.IGNORECASE)
"""``apiKeyEnvar`` names a variable and holds no key."""

_SCHEME = re.compile(r"(?:bearer|basic|token)\s+", re.IGNORECASE)
_LOOKS_SECRET = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|ghp|AIza|AKIA)[-_]?[A-Za-z0-9_-]{16,}"
    r"|(?<=[?&]key=)[^&\s\"']+|(?<=[Bb]earer )\S{8,}"
)
_LOGIN = re.compile(r"(?<=://)[^/@\s\"']*@")
_AFTER_NAME = re.compile(
    r"((?:api[-_]?key|authorization|secret|passw(?:or)?d|(?:access|auth)[-_]?token|[?&](?:key|token|sig"
    r"|signature))[\"']*\s*[:=]\s*[\"']*(?:bearer\s+|basic\s+)?)(?=[^\s\"'&]*\d)[^\s\"'&,;}]{8,}",
    re.IGNORECASE,
)
_LONG_WORD = b"w" * 18
_WORDS = bytes(ord("w") if chr(at).isascii() and (chr(at).isalnum() or chr(at) in "_-") else 32
               for at in range(256))  # fmt: skip
"""Maps the letters, digits and signs of a key to ``w``, and other bytes to a blank."""
_MARKS = (
    b"://", b"key", b"bearer", b"authori", b"secret", b"passw", b"token", b"&sig", b"?sig",
    "\N{KELVIN SIGN}".encode(),
)  # fmt: skip
"""A text without a long word and without any of these holds no key. Most texts have none.

The Kelvin sign is a ``k`` to a pattern that ignores case.
"""

_SETTINGS = frozenset({"env", "environment", "headers", "config"})
_SHORTEST = 8
"""The shortest secret; shorter texts are placeholders and occur inside ordinary words."""

_NAMES = frozenset({"model", "vendor", "generator"})
_GUARDED = frozenset({"meta", "raw", "error"}) | _NAMES
"""The keys of verdicts and ballots whose texts may repeat a key that a service refused."""

GONE = "[REDACTED]"
MOST_SECRETS = 1000
"""The most secrets beside one verdict; searching its texts for more would take too long."""


def named_secrets(value: Any, skip: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the texts under keys that name a secret, except below the keys in ``skip``."""
    texts: list[Any] = []
    ahead = [value]
    while ahead:
        node = ahead.pop()
        if type(node) is dict:
            secret = _secret_names(tuple(node))
            if skip and not skip.isdisjoint(node):
                node = {key: one for key, one in node.items() if key not in skip}
            for key in secret:
                if key in node:
                    texts += _values_in(node[key], skip)
            node = node.values()
        elif type(node) is not list:
            continue
        if not HOLDERS.isdisjoint(map(type, node)):
            ahead += [item for item in node if type(item) in HOLDERS]
    if not texts:
        return frozenset()
    found = {_SCHEME.sub("", one.strip(), count=1) for one in texts if isinstance(one, str)}
    kept = (one for one in found if len(one) >= _SHORTEST and one != GONE and "{{" not in one)
    return frozenset(kept)


def _values_in(value: Any, skip: frozenset[str]) -> list[Any]:
    """Return the values at any depth that are neither lists nor objects, except below ``skip``."""
    if type(value) is dict:
        value = [one for key, one in value.items() if key not in skip]
    if type(value) is list:
        return [one for item in value for one in _values_in(item, skip)]
    return [value]


def _may_hold_key(text: bytes) -> bool:
    """Return False if no part of a text looks like a key."""
    lower = text.lower()
    for mark in _MARKS:
        if mark in lower:
            return True
    return _LONG_WORD in text.translate(_WORDS)


def without_likely(text: str) -> str:
    """Redact anything like a key in a text, because errors of services repeat refused keys."""
    if not _may_hold_key(text.encode(errors="replace")):
        return text
    text = _LOGIN.sub(f"{GONE}@", text) if "://" in text else text
    return _AFTER_NAME.sub(rf"\g<1>{GONE}", _LOOKS_SECRET.sub(GONE, text))


_without_likely_name = lru_cache(maxsize=4096)(without_likely)


@lru_cache(maxsize=4096)
def is_setting(key: str) -> bool:
    """Return True if a key names an environment, headers, a configuration or a secret."""
    return key.lower() in _SETTINGS or _names_secret(key)


@lru_cache(maxsize=4096)
def settings_among(keys: tuple[str, ...]) -> frozenset[str]:
    """Return those of an object's keys that name settings; most objects have one of a few sets."""
    return frozenset(filter(is_setting, keys))


def without_settings(value: Any) -> Any:
    """Return a value without environments, headers, configurations and keys that name a secret.

    Texts that look like keys stay. Objects and lists that lose nothing are shared.
    """
    if type(value) is list:
        return [without_settings(item) for item in value]
    if type(value) is dict:
        left = settings_among(tuple(value))
        if not left and HOLDERS.isdisjoint(map(type, value.values())):
            return value
        return {
            key: without_settings(item) if type(item) in HOLDERS else item
            for key, item in value.items()
            if key not in left
        }
    return value


def changed(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of a value with every text in it changed; keys are kept."""
    kind = type(value)
    if kind is str:
        return change(value)
    if kind is list:
        return [changed(item, change) for item in value]
    if kind is dict:
        return {
            key: changed(item, change) if type(item) in _TEXT_OR_HOLDER else item
            for key, item in value.items()
        }
    return value


_TEXT_OR_HOLDER = HOLDERS | {str}


def without_secrets(value: Any, secrets: frozenset[str]) -> Any:
    """Return a copy of a value with these secrets redacted in its texts: whole, masked or cut off.

    A reader cuts long names, so a text may end inside a secret.
    """
    if not secrets:
        return value
    ordered, masked = _ordered(secrets)

    def redacted(text: str) -> str:
        for secret in ordered:
            text = text.replace(secret, GONE)
            at = text.rfind(secret[:_SHORTEST])
            if at >= 0 and secret.startswith(text[at:]):
                text = text[:at] + GONE
        return masked.without(text, GONE)

    return changed(value, redacted)


@lru_cache(maxsize=16)
def _ordered(secrets: frozenset[str]) -> tuple[list[str], MaskedKeys]:
    """Return secrets, longest first, because a shorter one may be a part of a longer one."""
    ordered = sorted(secrets, key=lambda secret: (-len(secret), secret))
    return ordered, MaskedKeys(ordered)


def guard(body: dict[str, Any]) -> bool:
    """Remove anything like a key from a valid body; return True if something was removed.

    Its errors, names, addresses and raw answers are changed in place, but not the judged texts and
    the reasons.
    """
    jurors = body["jurors"]
    found = addressed = False
    for record in (body, *jurors):
        for key in _GUARDED.intersection(record):
            stated = record[key]
            is_name = key in _NAMES
            if not is_name and type(stated) in HOLDERS and not _may_hold_key(json_of(stated)):
                continue
            kept = changed(stated, _without_likely_name if is_name else without_likely)
            if kept != stated:
                record[key] = kept
                found = True
        addressed = addressed or "://" in record["id"]
    if addressed and any("://" in juror["id"] for juror in jurors):
        found = True
        taken: dict[str, int] = {}
        # Ids that differed only in their logins get a counter. Verdicts may share a ballot.
        body["jurors"] = [
            {**juror, "id": unused(without_likely(juror["id"]), taken)} for juror in jurors
        ]
    return found


@lru_cache(maxsize=4096)
def _secret_names(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of an object that name a secret; most objects have one of a few sets."""
    return tuple(filter(_names_secret, keys))


@lru_cache(maxsize=1024)
def _names_secret(key: str) -> bool:
    return bool(_NAMED.search(key)) and not _ENVIRONMENT.search(key)
