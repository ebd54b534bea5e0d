"""Decide when a call is tried again, until when, and without which parameter."""

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from msgspec import Struct

from reviewdesk.live.records import Clock, Exchange
from reviewdesk.live.replies.envelope import Envelope, Fault, Retryable, stated_error
from reviewdesk.live.wires.requests import STRUCTURE, TEMPERATURE, TOKENS

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|ns|d|h|m|s)")
_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"')
"""The form in which Google's endpoints state a wait, in the error itself."""

_EPOCH = 1e9
"""A reset above this many seconds is a point in time, in seconds or milliseconds since 1970."""


def stated_wait(exchange: Exchange) -> float | None:
    """Return the seconds, from the exchange on, that the endpoint asked to wait, or ``None``."""
    try:
        return asked_wait(exchange, datetime.fromisoformat(exchange.at))
    except ValueError:
        return None


def asked_wait(exchange: Exchange, now: datetime) -> float | None:
    """Return the seconds that a refusal asks to wait, or ``None`` if it names no time.

    ``retry-after-ms`` is the most exact, then ``retry-after``, then the delay in Google's 429, and
    then the budgets that a 429 shows as spent. LiteLLM's proxy prefixes the vendor's headers.
    """
    named = []
    for prefix in ("", "llm_provider-"):
        milliseconds = _number(exchange.headers.get(f"{prefix}retry-after-ms", ""))
        seconds = None if milliseconds is None else max(0.0, milliseconds / 1000)
        if seconds is None:
            text = exchange.headers.get(f"{prefix}retry-after", "")
            seconds = _seconds(text, _server_time(exchange, now))
        if seconds is not None:
            named.append(seconds)
    if named or exchange.status != 429:
        return max(named, default=None)
    delay = _RETRY_DELAY.search(exchange.body)
    return float(delay[1]) if delay else budget_wait(exchange, now)


def budget_wait(exchange: Exchange, now: datetime) -> float | None:
    """Return the seconds until all spent budgets are refilled; ``None`` without a spent budget.

    A budget is a pair of headers that differ only in ``remaining`` and ``reset``.
    """
    now = _server_time(exchange, now)
    waits = []
    for name, value in exchange.headers.items():
        if "ratelimit" not in name or "remaining" not in name:
            continue
        left = _number(value)
        if left is None or left > 0:
            continue
        reset = exchange.headers.get(name.replace("remaining", "reset"), "")
        number = _number(reset)
        if number is not None and number > _EPOCH:
            then = number / 1000 if number > 100 * _EPOCH else number
            waits.append(max(0.0, then - now.timestamp()))
        elif (seconds := _seconds(reset, now)) is not None:
            waits.append(seconds)
    return max(waits, default=None)


def _server_time(exchange: Exchange, now: datetime) -> datetime:
    """Return the time of the endpoint's own clock if it states it, because its dates use it."""
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


DEADLINE = 600.0
"""Seconds of trying that a ballot has, unless a juror's ``timeout`` or the user sets others."""

UNREACHABLE = 20.0
"""Seconds for which a host that is unknown or refuses connections is tried, and the least that the
attempts take after which a juror that never answered stops."""

FEW = 3
"""Retries of answers that hold no reply."""

LONGEST_WAIT = 8.0

_NAMES = {
    TEMPERATURE: re.compile(r"\btemperature\b", re.IGNORECASE),
    STRUCTURE: re.compile(
        r"response_?format|output_config|output_format|response_schema|json_schema|json_object"
        r"|structured output|\bjson mode\b|\btools?\b|requested parameters",
        re.IGNORECASE,
    ),
    TOKENS: re.compile(r"\bmax_(?:completion_)?tokens\b", re.IGNORECASE),
}
_REFUSING = re.compile(
    r"un(?:supported|recogni[sz]ed|known|expected|available)|(?:not|n't|no longer) "
    r"(?:be |currently |yet )?(?:support|permit|allow|accept|recogni|available|compatible)"
    r"|does ?n[o']t (?:support|accept|allow)|deprecated|only the default|extra inputs"
    r"|incompatible|use '?max_|instead|no endpoints found",
    re.IGNORECASE,
)


class Retry(Struct, frozen=True):
    """Another attempt: after some seconds, and without the ``refused`` parameter if any."""

    after: float = 0.0
    refused: str | None = None


def backoff(failures: int, clock: Clock) -> float:
    """Return the random seconds to wait after failures in a row; the bound doubles each time."""
    bound = min(LONGEST_WAIT, 0.5 * 2.0 ** min(failures - 1, 10))
    return bound * (1 + clock.random()) / 2


@dataclass(slots=True)
class Trying:
    """The part of its ``deadline`` that a ballot has used: seconds of sending and of waits."""

    deadline: float
    spent: float = 0.0
    waits: int = 0
    unusable: int = 0
    unreachable: float | None = None
    """The seconds spent when the host first became unreachable; ``None`` once it answers."""

    @property
    def left(self) -> float:
        return self.deadline - self.spent

    def next_attempt(
        self, exchange: Exchange, found: Envelope | Fault, sent: frozenset[str], clock: Clock
    ) -> Retry | None:
        """Return the next attempt of a call, or ``None``; ``sent`` names its optional parts."""
        if not isinstance(found, Fault):
            return None
        refused = refused_parameter(exchange, sent)
        if refused is not None:
            return Retry(refused=refused)
        left = self.left if found.again else 0.0
        if found.again is Retryable.PAUSED:
            self.unreachable = None
            return Retry() if left > 0 else None  # once the model's limit admits it
        if found.again is Retryable.UNREACHABLE:
            self.unreachable = self.spent if self.unreachable is None else self.unreachable
            left = min(left, self.unreachable + UNREACHABLE - self.spent)
        else:
            self.unreachable = None
            self.unusable += found.again is Retryable.FEW
            left = left if self.unusable <= FEW else 0.0
        asked = asked_wait(exchange, clock.now()) or 0.0
        self.waits += 1
        wait = max(asked, backoff(self.waits, clock))
        if wait >= left:
            return None
        self.spent += wait
        return Retry(wait)


def refused_parameter(exchange: Exchange, sent: frozenset[str]) -> str | None:
    """Return the optional part that the endpoint's error says it does not support, or ``None``."""
    # A router answers 404 if no provider of a model supports all parts.
    if exchange.status not in {400, 404, 422}:
        return None
    error = stated_error(exchange.body)
    if exchange.status == 404 and "no endpoints found" not in error.message.lower():
        return None
    if _REFUSING.search(error.whole) is None:
        return None
    for name, pattern in _NAMES.items():
        if name in sent and (pattern.search(error.param) or pattern.search(error.message)):
            return name
    return None
