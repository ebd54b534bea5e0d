"""The ballots of a run as columns of bytes, which a desk keeps to compute figures over all."""

from collections import Counter
from collections.abc import Mapping, Sequence

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
"""The code of a missing value. Desks store indices into these tuples, so no member moves."""


def code_of(decision: Decision | None) -> int:
    return NOTHING if decision is None else DECISIONS.index(decision)


FAILED = 1
UNKNOWN = 2
REPLACED = 3
NOT_ASKED = 4
ABSTAINED = 5
"""The codes of a seat in ``failed``, which desks store; 0 is any other seat.

``REPLACED``: its call failed, and the panel lets the median replace any average.
"""

PER_SEAT = {"scores": "d", "votes": "b", "stated": "b", "failed": "b", "weights": "d", "juror": "i"}
PER_VERDICT = {
    "seated": "i", "threshold": "d", "quorum": "i", "strategy": "b", "fraction": "d",
    "rounding": "b", "decision": "b", "score": "d",
}  # fmt: skip
COLUMNS = PER_SEAT | PER_VERDICT
"""Every column with the type code of its numbers, which desks store in little-endian order."""

Bar = float | str | tuple[float | str | None, ...]
"""A verdict's quorum, or also the share of a supermajority, or also ``min_answered``."""
Window = dict[str, bytes]
"""The columns of consecutive verdicts, each as bytes."""


class PackedRun(Struct, frozen=True):
    """The columns of a run, and the two tuples that ``juror`` and ``quorum`` index."""

    columns: Mapping[str, bytes | bytearray]
    names: tuple[str, ...]
    quorums: tuple[Bar, ...]


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

    def seats(self, ids: Sequence[str]) -> list[int]:
        """Return the number of each seat's name in a panel."""
        known = self.names
        names = ids if len(set(ids)) == len(ids) else seat_names(ids)
        return [known.setdefault(name, len(known)) for name in names]

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
