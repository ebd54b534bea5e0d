"""Keys and passwords that a foreign file leaves in clear, so that no copied text repeats them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

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
_MAY_HOLD = re.compile(r"://|[=:&?]|[Bb]earer|sk|pk|rk|xai|ghp|AIza|AKIA")
"""What a text has at least where a key is to be found in it; most texts have none of it."""

_SETTINGS = frozenset({"env", "environment", "headers", "config"})
_SHORTEST = 8
"""Shorter ones are placeholders, and would be found inside ordinary words."""

GONE = "[REDACTED]"
MOST_SECRETS = 1000
"""More than these in one record would take long to look for in all of its texts."""


def named_secrets(value: Any, skip: frozenset[str] = frozenset()) -> set[str]:
    """The texts under keys that promise a secret; what is under a key of ``skip`` is not looked at.

    They are what the texts of a report are held against, and go nowhere else.
    """
    return {
        found
        for text in _under_names(value, skip)
        if len(found := _SCHEME.sub("", text.strip(), count=1)) >= _SHORTEST
        and found != GONE
        and "{{" not in found
    }


def without_likely(text: str) -> str:
    """An error message without what looks like a key: services repeat the one they refused."""
    if not _MAY_HOLD.search(text):
        return text
    text = _LOGIN.sub(f"{GONE}@", text) if "://" in text else text
    return _AFTER_NAME.sub(rf"\g<1>{GONE}", _LOOKS_SECRET.sub(GONE, text))


def is_setting(key: str) -> bool:
    """Whether a key is that of an environment, of headers, of a configuration or of a secret."""
    return key.lower() in _SETTINGS or _promises(key)


def without_settings(value: Any) -> Any:
    """A copy without what is configuration: environments, headers, and all that promise a secret.

    Of its texts, what looks like a key is taken out.
    """
    if isinstance(value, str):
        return without_likely(value)
    if isinstance(value, list):
        return [without_settings(item) for item in value]
    if isinstance(value, dict):
        return {key: without_settings(item) for key, item in value.items() if not is_setting(key)}
    return value


class SecretRemover:
    """Takes known secrets out of values."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Longer secrets first, since a shorter one may be a part of them."""
        self._secrets = sorted(secrets, key=lambda secret: (-len(secret), secret))

    def clean(self, value: Any) -> Any:
        """The value with every secret in its texts replaced; names of keys stay."""
        if not self._secrets:
            return value
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, GONE)
            return value
        if isinstance(value, list):
            return [self.clean(item) for item in value]
        if isinstance(value, dict):
            return {key: self.clean(item) for key, item in value.items()}
        return value


def _under_names(value: Any, skip: frozenset[str]) -> Iterator[str]:
    ahead = [(value, False)]
    while ahead:
        node, named = ahead.pop()
        if isinstance(node, dict):
            ahead.extend(
                (item, named or _promises(key))
                for key, item in node.items()
                if key not in skip and (isinstance(item, dict | list) or named or _promises(key))
            )
        elif isinstance(node, list):
            ahead.extend((item, named) for item in node)
        elif named and isinstance(node, str):
            yield node


@lru_cache(maxsize=1024)
def _promises(key: str) -> bool:
    """Whether a value under this name is a secret; a name of a variable is none."""
    return bool(_NAMED.search(key)) and not _ENVIRONMENT.search(key)
