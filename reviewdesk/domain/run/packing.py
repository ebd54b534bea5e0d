"""The ballots of a run as columns of bytes, which a desk keeps for arithmetic over all of them."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.jury.supermajority import own_share
from reviewdesk.domain.verdict import Decision, Rounding, Status, Strategy, Verdict

DECISIONS = (Decision.FAIL, Decision.PASS, Decision.INCONCLUSIVE, Decision.ERROR)
"""A decision is stored as its index here, so 0 is a fail and 1 a pass; -1 is no decision."""
STRATEGIES = (
    Strategy.QUORUM, Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.WEIGHTED_AVERAGE,
    Strategy.MEAN, Strategy.MEDIAN, Strategy.HIGHEST, Strategy.LOWEST, Strategy.TRIMMED_MEAN,
    Strategy.WEIGHTED_VOTE, Strategy.FIRST_DISAGREEMENT, Strategy.SINGLE, Strategy.EXTERNAL,
    Strategy.SUPERMAJORITY,
)  # fmt: skip
ROUNDINGS = (Rounding.DOWN, Rounding.NEAREST, Rounding.UP)
NOTHING = -1
"""The code of a missing value.

Desks store indices into the three tuples above, so new members go at the end and none is moved.
"""

FAILED, UNKNOWN, REPLACED = 1, 2, 3
"""The codes of a seat in ``failed``; 0 is any other seat. Desks store them, so they never change.

``FAILED``: its call failed. ``UNKNOWN``: its answer was not understood. ``REPLACED``: its call
failed, and the panel lets the median replace any strategy.
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

Value = TypeVar("Value")
Bar: TypeAlias = float | str | tuple[float | str | None, str]
"""A verdict's quorum, paired with the share that a supermajority needs if the panel sets one."""
Window: TypeAlias = dict[str, bytes]
"""The columns of consecutive verdicts, each as bytes."""


@dataclass(frozen=True, slots=True)
class PackedRun:
    """The columns of a run, and the two tuples that ``juror`` and ``quorum`` index."""

    columns: Mapping[str, bytes]
    names: tuple[str, ...]
    quorums: tuple[Bar, ...]


def seat_names(ids: Sequence[str]) -> list[str]:
    """Return the names of one panel's seats: their ids, but ``id#2`` for an id's second seat."""
    if len(set(ids)) == len(ids):
        return list(ids)
    seen: dict[str, int] = {}
    names = []
    for name in ids:
        seen[name] = seen.get(name, 0) + 1
        names.append(f"{name}#{seen[name]}" if seen[name] > 1 else name)
    return names


class Packer:
    """Collects verdicts and packs their columns, one window at a time."""

    def __init__(self) -> None:
        """Start without verdicts and names."""
        self._names: dict[str, int] = {}
        self._quorums: dict[Bar, int] = {}
        self._columns: dict[str, array[Any]] = {name: array(code) for name, code in COLUMNS.items()}

    def __len__(self) -> int:
        """Return how many verdicts wait for the next window."""
        return len(self._columns["seated"])

    @property
    def names(self) -> tuple[str, ...]:
        """The jurors of all verdicts so far, in order of first appearance."""
        return tuple(self._names)

    @property
    def quorums(self) -> tuple[Bar, ...]:
        """The quorums of all verdicts so far, in order of first appearance."""
        return tuple(self._quorums)

    def add(self, verdict: Verdict, made: Assessment) -> None:
        """Add one verdict with its assessment."""
        policy, columns, decision = verdict.policy, self._columns, made.ruled
        share, strategy = own_share(policy.supermajority), made.rule.strategy
        bar: Bar | None = policy.quorum if share is None else (policy.quorum, share)
        columns["seated"].append(len(verdict.ballots))
        columns["threshold"].append(_number(policy.threshold))
        columns["quorum"].append(NOTHING if bar is None else _index_of(self._quorums, bar))
        columns["strategy"].append(NOTHING if strategy is None else STRATEGIES.index(strategy))
        columns["fraction"].append(made.trim.fraction)
        columns["rounding"].append(ROUNDINGS.index(made.trim.rounding))
        columns["decision"].append(NOTHING if decision is None else DECISIONS.index(decision))
        columns["score"].append(_number(made.score))
        self._add_seats(verdict)

    def _add_seats(self, verdict: Verdict) -> None:
        columns, ballots = self._columns, verdict.ballots
        jurors = verdict.body["jurors"]
        columns["scores"].extend([_number(ballot.score) for ballot in ballots])
        columns["votes"].extend([NOTHING if b.vote is None else int(b.vote) for b in ballots])
        columns["stated"].extend(["pass" in juror for juror in jurors])
        stands_in = verdict.policy.failed_jurors is Strategy.MEDIAN
        columns["failed"].extend(
            [_failed_code(ballot.status, stands_in=stands_in) for ballot in ballots]
        )
        columns["weights"].extend([_number(ballot.weight) for ballot in ballots])
        names = seat_names([ballot.id for ballot in ballots])
        columns["juror"].extend([_index_of(self._names, name) for name in names])

    def window(self) -> Window:
        """Return the columns of the verdicts added since the last window, and forget them."""
        made = {name: _little_endian(column) for name, column in self._columns.items()}
        for column in self._columns.values():
            del column[:]
        return made


def _failed_code(status: Status, *, stands_in: bool) -> int:
    if status.failed:
        return REPLACED if stands_in else FAILED
    return UNKNOWN if status is Status.UNKNOWN else 0


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _index_of(known: dict[Value, int], value: Value) -> int:
    return known.setdefault(value, len(known))


def _little_endian(column: array[Any]) -> bytes:
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
