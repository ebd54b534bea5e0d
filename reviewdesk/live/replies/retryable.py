"""Say which failures of a call are tried again: by transport error, and by HTTP status."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

_STATUSES: Final = frozenset({408, 409, 425})
"""HTTP statuses below 500 that are tried again, beside 429; an endpoint would repeat any other
refusal."""

_LASTING: Final = frozenset({"too_large", "encoding", "tls", "request", "endpoint"})
"""Transport errors that another attempt would not fix."""

_UNREACHABLE: Final = frozenset({"connection", "dns"})
"""Transport errors of a host that is unknown or refuses connections."""


class Retryable(IntEnum):
    """Whether, and how long, a call that failed is tried again; ``NO`` is false."""

    NO = 0
    FEW = 1
    """A few times: a 200 that holds no reply, and may have been paid for."""
    UNREACHABLE = 2
    """For seconds: a host that is unknown or refuses connections."""
    YES = 3
    """Until the ballot's deadline."""
    PAUSED = 4
    """Once the model's limit lets it go: a 429."""


def after_problem(kind: str) -> Retryable:
    """Return whether a call is tried again that ended in a transport error of this kind."""
    if kind in _LASTING:
        return Retryable.NO
    return Retryable.UNREACHABLE if kind in _UNREACHABLE else Retryable.YES


def after_status(status: int) -> Retryable:
    """Return whether a call is tried again that was refused with this HTTP status."""
    if status == 429:
        return Retryable.PAUSED
    return Retryable.YES if status in _STATUSES or status >= 500 else Retryable.NO
