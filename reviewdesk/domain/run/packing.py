"""The ballots of a run as columns of bytes: what a desk keeps for arithmetic over all of them."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.jury.supermajority import own_share
from reviewdesk.domain.verdict import Decision, Policy, Rounding, Status, Strategy, Verdict

DECISIONS = (Decision.FAIL, Decision.PASS, Decision.INCONCLUSIVE, Decision.ERROR)
"""A decision is stored as its place here, so that 0 is a fail and 1 a pass; -1 is none."""
STRATEGIES = (
    Strategy.QUORUM, Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.WEIGHTED_AVERAGE,
    Strategy.MEAN, Strategy.MEDIAN, Strategy.HIGHEST, Strategy.LOWEST, Strategy.TRIMMED_MEAN,
    Strategy.WEIGHTED_VOTE, Strategy.FIRST_DISAGREEMENT, Strategy.SINGLE, Strategy.EXTERNAL,
    Strategy.SUPERMAJORITY,
)  # fmt: skip
ROUNDINGS = (Rounding.DOWN, Rounding.NEAREST, Rounding.UP)
NOTHING = -1
"""Places in these three are stored: they grow at the end and are never renumbered."""

FAILED, UNKNOWN, REPLACED = 1, 2, 3
"""A seat's entry in ``failed``: its call failed, its answer was not understood, or its call failed
and the panel lets the median stand in for any strategy; 0 is any other. Stored, like the places.
"""

PER_SEAT = {"scores": "d", "votes": "b", "stated": "b", "failed": "b", "weights": "d", "juror": "i"}
PER_VERDICT = {
    "seated": "i", "threshold": "d", "quorum": "i", "strategy": "b", "fraction": "d",
    "rounding": "b", "decision": "b", "score": "d",
}  # fmt: skip
COLUMNS = PER_SEAT | PER_VERDICT
"""Every column with the type code of its numbers, which are written little end first.

A column of the first kind has an entry for every seat, verdict after verdict; ``seated`` says where
one panel ends. The bytes are what a desk keeps: a type code is never changed.
"""

Value = TypeVar("Value")
Bar: TypeAlias = float | str | tuple[float | str | None, str]
"""A verdict's quorum; with it, where the panel sets one, the share that a supermajority needs."""
Window: TypeAlias = dict[str, bytes]
"""The columns of some verdicts that follow one another, each as its bytes."""


@dataclass(frozen=True, slots=True)
class PackedRun:
    """The columns of a run, and the two lists that ``juror`` and ``quorum`` point into."""

    columns: Mapping[str, bytes]
    names: tuple[str, ...]
    quorums: tuple[Bar, ...]


def seat_names(ids: Sequence[str]) -> list[str]:
    """The names of one panel's seats: its ids, the second seat of an id being ``id#2``."""
    if len(set(ids)) == len(ids):
        return list(ids)
    seen: dict[str, int] = {}
    names = []
    for name in ids:
        seen[name] = seen.get(name, 0) + 1
        names.append(f"{name}#{seen[name]}" if seen[name] > 1 else name)
    return names


class Packer:
    """Gathers verdicts, and gives their columns a window at a time."""

    def __init__(self) -> None:
        """Start with no verdict and no name."""
        self._names: dict[str, int] = {}
        self._quorums: dict[Bar, int] = {}
        self._columns: dict[str, array[Any]] = {name: array(code) for name, code in COLUMNS.items()}

    def __len__(self) -> int:
        """How many verdicts wait for the next window."""
        return len(self._columns["seated"])

    @property
    def names(self) -> tuple[str, ...]:
        """The jurors of all verdicts so far, in the order in which they came."""
        return tuple(self._names)

    @property
    def quorums(self) -> tuple[Bar, ...]:
        """The bars of all verdicts so far, likewise."""
        return tuple(self._quorums)

    def add(self, verdict: Verdict, made: Assessment) -> None:
        """Take in one verdict with its assessment."""
        policy, put, decision = verdict.policy, self._columns, made.ruled
        bar, strategy = _bar(policy), made.rule.strategy
        put["seated"].append(len(verdict.ballots))
        put["threshold"].append(_number(policy.threshold))
        put["quorum"].append(NOTHING if bar is None else _place(self._quorums, bar))
        put["strategy"].append(NOTHING if strategy is None else STRATEGIES.index(strategy))
        put["fraction"].append(made.trim.fraction)
        put["rounding"].append(ROUNDINGS.index(made.trim.rounding))
        put["decision"].append(NOTHING if decision is None else DECISIONS.index(decision))
        put["score"].append(_number(made.score))
        self._seat(verdict)

    def _seat(self, verdict: Verdict) -> None:
        put, ballots = self._columns, verdict.ballots
        jurors = verdict.body.get("jurors") or ()
        put["scores"].extend([_number(ballot.score) for ballot in ballots])
        put["votes"].extend([NOTHING if b.vote is None else int(b.vote) for b in ballots])
        put["stated"].extend(["pass" in juror for juror in jurors])
        stands_in = verdict.policy.failed_jurors is Strategy.MEDIAN
        put["failed"].extend([_status(ballot.status, stands_in=stands_in) for ballot in ballots])
        put["weights"].extend([_number(ballot.weight) for ballot in ballots])
        names = seat_names([ballot.id for ballot in ballots])
        put["juror"].extend([_place(self._names, name) for name in names])

    def window(self) -> Window:
        """The columns of the verdicts taken in since the last window, which are then forgotten."""
        made = {name: _little(column) for name, column in self._columns.items()}
        for column in self._columns.values():
            del column[:]
        return made


def packed(verdicts: Iterable[tuple[Verdict, Assessment]]) -> PackedRun:
    """Pack verdicts as one window."""
    packer = Packer()
    for verdict, made in verdicts:
        packer.add(verdict, made)
    return PackedRun(packer.window(), packer.names, packer.quorums)


def _status(status: Status, *, stands_in: bool) -> int:
    if status.failed:
        return REPLACED if stands_in else FAILED
    return UNKNOWN if status is Status.UNKNOWN else 0


def _bar(policy: Policy) -> Bar | None:
    share = own_share(policy.supermajority)
    return policy.quorum if share is None else (policy.quorum, share)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _place(known: dict[Value, int], value: Value) -> int:
    return known.setdefault(value, len(known))


def _little(column: array[Any]) -> bytes:
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
