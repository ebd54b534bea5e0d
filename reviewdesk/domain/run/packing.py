"""The ballots of a run as columns of bytes, which a desk keeps to compute figures over all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from reviewdesk.domain.jury.rules import own_share
from reviewdesk.domain.verdict import Decision, Policy, Rounding, Status, Strategy

DECISIONS = (Decision.FAIL, Decision.PASS, Decision.INCONCLUSIVE, Decision.ERROR)
"""A decision is stored as its index here, so 0 is a fail and 1 a pass; -1 is no decision."""
DECISION_OF = (*DECISIONS, None)
"""The decision of each code; -1 is the last."""
STRATEGIES = tuple(Strategy)
STRATEGY_OF = (*STRATEGIES, None)
ROUNDINGS = tuple(Rounding)
NOTHING = -1
"""The code of a missing value.

Desks store indices into these tuples, so new members go at the end and no member moves,
in the enumerations as here.
"""


def code_of(decision: Decision | None) -> int:
    return NOTHING if decision is None else DECISIONS.index(decision)


FAILED = 1
UNKNOWN = 2
REPLACED = 3
NOT_ASKED = 4
ABSTAINED = 5
"""The codes of a seat in ``failed``; 0 is any other seat. Desks store them, so they never change.

``FAILED``: its call failed. ``UNKNOWN``: its answer was not understood. ``REPLACED``: its call
failed, and the panel lets the median replace any average. ``NOT_ASKED``: the panel had decided.
"""

PER_SEAT = {"scores": "d", "votes": "b", "stated": "b", "failed": "b", "weights": "d", "juror": "i"}
PER_VERDICT = {
    "seated": "i", "threshold": "d", "quorum": "i", "strategy": "b", "fraction": "d",
    "rounding": "b", "decision": "b", "score": "d",
}  # fmt: skip
COLUMNS = PER_SEAT | PER_VERDICT
"""Every column with the type code of its numbers, which are written in little-endian order.

A column in ``PER_SEAT`` has an entry for every seat, verdict after verdict; ``seated`` is the size
of each panel. Desks store these bytes, so a type code never changes.
"""

Bar: TypeAlias = float | str | tuple[float | str | None, ...]
"""A verdict's quorum, followed by the share of a supermajority and by ``min_answered`` if the
panel sets them."""
Window: TypeAlias = dict[str, bytes]
"""The columns of consecutive verdicts, each as bytes."""


class PackedRun(Struct, frozen=True):
    """The columns of a run, and the two tuples that ``juror`` and ``quorum`` index."""

    columns: Mapping[str, bytes | bytearray]
    names: tuple[str, ...]
    quorums: tuple[Bar, ...]


_MOST_PANELS = 4096
"""The number of panels that are cached."""


def seat_names(ids: Sequence[str]) -> list[str]:
    """Return the names of one panel's seats: their ids, or ``id#2`` for an id's second seat."""
    seen = Counter[str]()
    names = []
    for name in ids:
        seen[name] += 1
        names.append(f"{name}#{seen[name]}" if seen[name] > 1 else name)
    return names


class Names:
    """Numbers the jurors and the quorums of a run, in order of first appearance."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.quorums: dict[Bar, int] = {}
        self._panels: dict[tuple[str, ...], list[int]] = {}

    def seats(self, ids: tuple[str, ...]) -> list[int]:
        """Return the number of each seat's name in a panel."""
        if ids not in self._panels:
            if len(self._panels) > _MOST_PANELS:
                self._panels.clear()
            names = seat_names(ids)
            self._panels[ids] = [self.names.setdefault(name, len(self.names)) for name in names]
        return self._panels[ids]

    def quorum(self, policy: Policy) -> int:
        """Return the number of a policy's quorum and the other parts of its bar, -1 without one."""
        share = own_share(policy.supermajority)
        bar: Bar | None = policy.quorum if share is None else (policy.quorum, share)
        if policy.min_answered is not None:
            bar = policy.quorum, share, policy.min_answered
        return NOTHING if bar is None else self.quorums.setdefault(bar, len(self.quorums))


STATUS_CODES = {
    Status.OK: 0,
    Status.NOT_ASKED: NOT_ASKED,
    Status.UNKNOWN: UNKNOWN,
    Status.ABSTAINED: ABSTAINED,
}
