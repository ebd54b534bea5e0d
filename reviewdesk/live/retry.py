"""Decide after how long a call is tried again, until when, and without which parameter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from reviewdesk.live.records import Clock, Exchange
from reviewdesk.live.replies.faults import Fault, Retryable
from reviewdesk.live.waits import asked_wait
from reviewdesk.live.wires.envelope import Envelope, stated_error
from reviewdesk.live.wires.requests import STRUCTURE, TEMPERATURE, TOKENS

DEADLINE: Final = 600.0
"""Seconds of trying that a ballot has, unless a juror's ``timeout`` or the user gives it others."""

UNREACHABLE: Final = 20.0
"""Seconds for which a host that is unknown or refuses connections is tried."""

FEW: Final = 3
"""Retries of answers that hold no reply."""

FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 8.0

REWORDED: Final = frozenset({400, 404, 422})
"""Statuses after which a call may be repeated without what the endpoint does not understand; 404 is
how a router says that no provider of a model understands all of it."""

_NAMES: Final = {
    TEMPERATURE: re.compile(r"\btemperature\b", re.IGNORECASE),
    STRUCTURE: re.compile(
        r"response_?format|output_config|output_format|response_schema|json_schema|json_object"
        r"|structured output|\bjson mode\b|\btools?\b|requested parameters",
        re.IGNORECASE,
    ),
    TOKENS: re.compile(r"\bmax_(?:completion_)?tokens\b", re.IGNORECASE),
}
_REFUSING: Final = re.compile(
    r"un(?:supported|recogni[sz]ed|known|expected|available)|(?:not|n't|no longer) "
    r"(?:be |currently |yet )?(?:support|permit|allow|accept|recogni|available|compatible)"
    r"|does ?n[o']t (?:support|accept|allow)|deprecated|only the default|extra inputs"
    r"|incompatible|use '?max_|instead|no endpoints found",
    re.IGNORECASE,
)


class Retry(Struct, frozen=True):
    """Another attempt: after so many seconds, and without the ``refused`` parameter if any."""

    after: float = 0.0
    refused: str | None = None


def backoff(failures: int, clock: Clock) -> float:
    """Return the seconds to wait after so many failures in a row.

    The bound doubles up to ``LONGEST_WAIT``; chance picks from its upper half, to spread calls.
    """
    bound = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures - 1, 10))
    return bound * (1 + clock.random()) / 2


@dataclass(slots=True)
class Trying:
    """What a ballot has used of its ``deadline``: seconds of sending and of waits between."""

    deadline: float
    spent: float = 0.0
    waits: int = 0
    unusable: int = 0
    unreachable: float | None = None
    """What was spent when the host could first not be reached, unless it answered since."""

    @property
    def left(self) -> float:
        """The seconds left of the deadline."""
        return self.deadline - self.spent

    def next_attempt(
        self, exchange: Exchange, found: Envelope | Fault, sent: frozenset[str], clock: Clock
    ) -> Retry | None:
        """Return the attempt that follows an exchange, or ``None`` if none does.

        ``sent`` names the optional parts of the request, which an endpoint may not understand.
        """
        if not isinstance(found, Fault):
            return None
        refused = refused_parameter(exchange, sent)
        if refused is not None:
            return Retry(refused=refused)
        left = self._left_for(found.again)
        if found.again is Retryable.PAUSED:
            return Retry() if left > 0 else None  # once the model's limit lets it go
        asked = asked_wait(exchange, clock.now()) or 0.0
        self.waits += 1
        wait = max(asked, backoff(self.waits, clock))
        if wait >= left:
            return None
        self.spent += wait
        return Retry(wait)

    def _left_for(self, again: Retryable) -> float:
        """Return the seconds that are left for a failure of this kind; 0 if there is no retry."""
        if again is not Retryable.UNREACHABLE:
            self.unreachable = None
        if again is Retryable.UNREACHABLE:
            self.unreachable = self.spent if self.unreachable is None else self.unreachable
            return min(self.left, self.unreachable + UNREACHABLE - self.spent)
        if again is Retryable.FEW:
            self.unusable += 1
        return 0.0 if not again or self.unusable > FEW else self.left


def refused_parameter(exchange: Exchange, sent: frozenset[str]) -> str | None:
    """Return the optional part that the endpoint's error says it does not support, or ``None``."""
    if exchange.status not in REWORDED:
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
