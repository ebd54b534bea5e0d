"""Read how long an endpoint asks to wait, from its headers or from the error that it states."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from reviewdesk.live.records import Exchange

_UNITS: Final = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|us|ns|d|h|m|s)")
_RETRY_DELAY: Final = re.compile(r'"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"')
"""How Google's endpoints name a wait, in the error itself."""

PROXIED: Final = "llm_provider-"
"""What LiteLLM's proxy puts before the name of a header of the vendor behind it."""

_EPOCH: Final = 1e9
"""A reset above this many seconds is a point in time, in seconds or milliseconds since 1970."""


def stated_wait(exchange: Exchange) -> float | None:
    """Return the seconds, from the exchange on, that the endpoint asked to wait, or ``None``."""
    try:
        return asked_wait(exchange, datetime.fromisoformat(exchange.at))
    except ValueError:
        return None


def asked_wait(exchange: Exchange, now: datetime) -> float | None:
    """Return the seconds that a refusal asks to wait, or ``None`` if it names no time.

    ``retry-after-ms`` is the most exact, then ``retry-after`` in seconds or as a date, then the
    delay in a 429 of Google's, and then the budgets that a 429 shows to be spent. LiteLLM's proxy
    passes on the headers of the vendor behind it with a prefix; the longer of two waits counts.
    """
    waits = [_retry_after(exchange, prefix, now) for prefix in ("", PROXIED)]
    named = [seconds for seconds in waits if seconds is not None]
    if named or exchange.status != 429:
        return max(named, default=None)
    delay = _RETRY_DELAY.search(exchange.body)
    return float(delay[1]) if delay else budget_wait(exchange, now)


def _retry_after(exchange: Exchange, prefix: str, now: datetime) -> float | None:
    """Return the seconds that the headers with a prefix ask to wait."""
    milliseconds = _number(exchange.headers.get(f"{prefix}retry-after-ms", ""))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    text = exchange.headers.get(f"{prefix}retry-after", "")
    return _seconds(text, _server_time(exchange, now))


def budget_wait(exchange: Exchange, now: datetime) -> float | None:
    """Return the seconds until the last spent budget is filled again; ``None`` if none is spent.

    A budget is a pair of headers that differ only in ``remaining`` and ``reset``, such as
    ``x-ratelimit-remaining-requests`` or ``anthropic-ratelimit-tokens-remaining``.
    """
    waits = list(_resets(exchange, _server_time(exchange, now)))
    return max(waits) if waits else None


def _resets(exchange: Exchange, now: datetime) -> Iterator[float]:
    for name, value in exchange.headers.items():
        if "ratelimit" not in name or "remaining" not in name:
            continue
        left = _number(value)
        reset = exchange.headers.get(name.replace("remaining", "reset"), "")
        if left is None or left > 0:
            continue
        number = _number(reset)
        if number is not None and number > _EPOCH:
            then = number / 1000 if number > 100 * _EPOCH else number
            yield max(0.0, then - now.timestamp())
        elif (seconds := _seconds(reset, now)) is not None:
            yield seconds


def _server_time(exchange: Exchange, now: datetime) -> datetime:
    """Return the time by the endpoint's own clock if it states it, since its dates go by that."""
    try:
        told = parsedate_to_datetime(exchange.headers.get("date", ""))
    except (ValueError, TypeError, OverflowError):
        return now
    return told if told.tzinfo else told.replace(tzinfo=UTC)


def _seconds(text: str, now: datetime) -> float | None:
    """Read ``7``, ``1.5``, ``6m0s``, an HTTP date or an RFC 3339 time as seconds from ``now``."""
    text = text.strip()
    number = _number(text)
    if number is not None:
        return max(0.0, number)
    parts = _PART.findall(text)
    if parts and "".join(count + unit for count, unit in parts) == text:
        return sum(float(count) * _UNITS[unit] for count, unit in parts)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            then = read(text)
            then = then if then.tzinfo else then.replace(tzinfo=UTC)
            return max(0.0, (then - now).total_seconds())
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
