"""The ballots of a run as columns of bytes, which a desk keeps for arithmetic over all of them."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.canonical import CanonicalBallot
from reviewdesk.domain.jury.rule import Rule
from reviewdesk.domain.jury.supermajority import own_share
from reviewdesk.domain.verdict import Decision, Policy, Rounding, Status, Strategy, Verdict

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

FAILED, UNKNOWN, REPLACED, NOT_ASKED, ABSTAINED = 1, 2, 3, 4, 5
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

Value = TypeVar("Value")
Bar: TypeAlias = float | str | tuple[float | str | None, ...]
"""A verdict's quorum; if the panel sets them, followed by a supermajority's share and by
``min_answered``."""
Window: TypeAlias = dict[str, bytes]
"""The columns of consecutive verdicts, each as bytes."""


class PackedRun(Struct, frozen=True):
    """The columns of a run, and the two tuples that ``juror`` and ``quorum`` index."""

    columns: Mapping[str, bytes | bytearray]
    names: tuple[str, ...]
    quorums: tuple[Bar, ...]


class RuleFacts(Protocol):
    """What a window needs of the rule of one of its verdicts."""

    @property
    def bar(self) -> Bar | None:
        """The quorum."""

    @property
    def rule(self) -> Rule:
        """The strategy."""

    @property
    def fraction(self) -> float:
        """The trim fraction."""


_PER_RULE = ("quorum", "strategy", "fraction", "rounding")
_MOST_PANELS = 4096
"""How many panels are remembered."""


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
    """Packs the columns of a run's verdicts, one window at a time."""

    def __init__(self) -> None:
        """Start without verdicts and names."""
        self._names: dict[str, int] = {}
        self._quorums: dict[Bar, int] = {}
        self._panels: dict[tuple[str, ...], list[int]] = {}
        self._columns: dict[str, array[Any]] = {}
        self._starts: list[int] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The jurors of all verdicts so far, in order of first appearance."""
        return tuple(self._names)

    @property
    def quorums(self) -> tuple[Bar, ...]:
        """The quorums of all verdicts so far, in order of first appearance."""
        return tuple(self._quorums)

    def start(
        self,
        columns: Mapping[str, bytes],
        panels: Iterable[Iterable[CanonicalBallot]],
        rules: Sequence[RuleFacts],
        places: Sequence[int],
    ) -> None:
        """Start a window with the columns that are known, of panels under the rules at places."""
        self._columns = {name: array(COLUMNS[name], column) for name, column in columns.items()}
        seats = [tuple([juror["id"] for juror in panel]) for panel in panels]
        self._starts = [0, *accumulate(map(len, seats))]
        indices = chain.from_iterable([self._seats(ids) for ids in seats])
        self._columns["juror"] = array(COLUMNS["juror"], indices)
        codes = [(self._bar(one.bar), _code(one.rule.strategy), one.fraction, 0) for one in rules]
        for name, of_rule in zip(_PER_RULE, zip(*codes, strict=True), strict=True):
            self._columns[name] = array(COLUMNS[name], [of_rule[place] for place in places])

    def _seats(self, ids: tuple[str, ...]) -> list[int]:
        """Return the index of each seat's name."""
        if ids not in self._panels:
            if len(self._panels) > _MOST_PANELS:
                self._panels.clear()
            self._panels[ids] = [_index_of(self._names, name) for name in seat_names(ids)]
        return self._panels[ids]

    def _bar(self, bar: Bar | None) -> int:
        return NOTHING if bar is None else _index_of(self._quorums, bar)

    def replace(self, at: int, verdict: Verdict, made: Assessment) -> None:
        """Replace what the window holds of the verdict at a place by its assessment."""
        policy, columns, decision = verdict.policy, self._columns, made.ruled
        columns["threshold"][at] = _number(policy.threshold)
        columns["quorum"][at] = self._bar(bar_of(policy))
        columns["strategy"][at] = _code(made.replayable)
        columns["fraction"][at] = made.trim.fraction
        columns["rounding"][at] = ROUNDINGS.index(made.trim.rounding)
        columns["decision"][at] = NOTHING if decision is None else DECISIONS.index(decision)
        columns["score"][at] = _number(made.score)
        stands_in = policy.failed_jurors is Strategy.MEDIAN
        jurors, start = verdict.body["jurors"], self._starts[at]
        for seat, ballot in enumerate(verdict.ballots, start):
            columns["scores"][seat] = _number(ballot.score)
            columns["votes"][seat] = NOTHING if ballot.vote is None else int(ballot.vote)
            columns["stated"][seat] = "pass" in jurors[ballot.seat]
            columns["failed"][seat] = _failed_code(ballot.status, stands_in=stands_in)
            columns["weights"][seat] = _number(ballot.weight)

    def window(self) -> Window:
        """Return the columns of the window."""
        return {name: _little_endian(self._columns[name]) for name in COLUMNS}


def failed_ballots(window: Window) -> int:
    """Return how many ballots of a window failed."""
    return sum(window["failed"].count(code) for code in (FAILED, REPLACED))


def _code(strategy: Strategy | None) -> int:
    return NOTHING if strategy is None else STRATEGIES.index(strategy)


def bar_of(policy: Policy) -> Bar | None:
    """Return the quorum of a policy, with what else it sets of ``Bar``."""
    share = own_share(policy.supermajority)
    if policy.min_answered is not None:
        return policy.quorum, share, policy.min_answered
    return policy.quorum if share is None else (policy.quorum, share)


_CODES = {
    Status.NOT_ASKED: NOT_ASKED,
    Status.UNKNOWN: UNKNOWN,
    Status.ABSTAINED: ABSTAINED,
}


def _failed_code(status: Status, *, stands_in: bool) -> int:
    if status.failed:
        return REPLACED if stands_in else FAILED
    return _CODES.get(status, 0)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _index_of(known: dict[Value, int], value: Value) -> int:
    return known.setdefault(value, len(known))


def _little_endian(column: array[Any]) -> bytes:
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
