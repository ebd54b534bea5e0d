"""The ballots of many verdicts as columns, for arithmetic over a whole run at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.run.packing import COLUMNS as PACKED
from reviewdesk.domain.run.packing import (
    DECISIONS,
    FAILED,
    NOTHING,
    PER_VERDICT,
    REPLACED,
    ROUNDINGS,
    STRATEGIES,
    PackedRun,
    packed,
    seat_names,
)
from reviewdesk.domain.verdict import Verdict

__all__ = [
    "DECISIONS", "NOTHING", "ROUNDINGS", "STRATEGIES", "Columns", "columns", "score_units",
    "seat_names", "unpacked", "vote_units",
]  # fmt: skip

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Small: TypeAlias = npt.NDArray[np.int8]
Bools: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Columns:
    """n verdicts of at most s seats: matrices are ``[n, s]``, the rest ``[n]``, in file order.

    A missing score, weight or threshold is NaN; a missing code is -1. ``votes`` are 1, 0, or -1
    where none was cast; ``stated`` marks votes that the juror gave itself, an explicitly withheld
    one included, and that no threshold changes. ``failed`` seats are those whose call failed, and
    ``replaced`` those of them whose panel lets the median stand in for any strategy.
    """

    key: Ints
    scores: Floats
    votes: Small
    stated: Bools
    failed: Bools
    replaced: Bools
    weights: Floats
    juror: Ints
    """Index into ``names``; -1 where nobody sat."""
    seated: Ints
    threshold: Floats
    quorum: Ints
    """Index into ``quorums``."""
    share: Ints
    """Index into ``shares``: what a supermajority needs; ``None``, which -1 finds, is 2/3."""
    strategy: Small
    """The rule that was asked for, as an index into ``STRATEGIES``."""
    fraction: Floats
    rounding: Small
    decision: Small
    """As it stands: the report's own, else ours; an index into ``DECISIONS``."""
    score: Floats
    names: tuple[str, ...]
    quorums: tuple[float | str, ...]
    shares: tuple[str | None, ...]

    def __len__(self) -> int:
        """How many verdicts there are."""
        return len(self.key)


def columns(verdicts: Iterable[tuple[int, Verdict, Assessment]]) -> Columns:
    """Lay out verdicts, each with its key and its assessment, as columns."""
    rows = list(verdicts)
    return unpacked(
        packed((verdict, made) for _, verdict, made in rows), [key for key, _, _ in rows]
    )


def unpacked(found: PackedRun, keys: Sequence[int]) -> Columns:
    """Lay out packed columns, the verdicts named by their keys; ``ValueError`` at other keys."""
    seated = _column(found, "seated").astype(np.int64)
    if len(seated) != len(keys):
        raise ValueError(f"{len(keys)} keys for the columns of {len(seated)} verdicts")
    quorum, quorums, shares = _bars(found)
    failed = _matrix(found, "failed", 0)
    rest = {name: _column(found, name) for name in PER_VERDICT if name not in {"seated", "quorum"}}
    return Columns(
        key=np.asarray(keys, np.int64),
        scores=_matrix(found, "scores", np.nan),
        votes=_matrix(found, "votes", NOTHING),
        stated=_matrix(found, "stated", 0).astype(np.bool_),
        failed=(failed == FAILED) | (failed == REPLACED),
        replaced=failed == REPLACED,
        weights=_matrix(found, "weights", np.nan),
        juror=_matrix(found, "juror", NOTHING).astype(np.int64),
        seated=seated,
        quorum=quorum,
        share=_column(found, "quorum").astype(np.int64),
        names=found.names,
        quorums=quorums,
        shares=shares,
        **rest,
    )


def _bars(found: PackedRun) -> tuple[Ints, tuple[float | str, ...], tuple[str | None, ...]]:
    """Which quorum each verdict has, the quorums, and the shares of a supermajority beside them."""
    bars = [(bar, None) if isinstance(bar, float | int | str) else bar for bar in found.quorums]
    place = _column(found, "quorum").astype(np.int64)
    known = np.array([*(quorum is not None for quorum, _ in bars), False])
    # A bar without a quorum is never looked up, and keeps the places of the others.
    quorums = tuple(1.0 if quorum is None else quorum for quorum, _ in bars)
    return np.where(known[place], place, NOTHING), quorums, (*(share for _, share in bars), None)


def score_units(found: PackedRun) -> Floats:
    """The scores of packed verdicts, ``[verdicts, seats]``, NaN where one is missing."""
    return _matrix(found, "scores", np.nan)


def vote_units(found: PackedRun) -> Floats:
    """The votes of packed verdicts, ``[verdicts, seats]``: 1, 0, or NaN where none was cast."""
    votes = _matrix(found, "votes", NOTHING)
    return np.where(votes == NOTHING, np.nan, votes)


def _matrix(found: PackedRun, name: str, empty: float) -> npt.NDArray[Any]:
    """A column of the seats as ``[verdicts, seats]``, ``empty`` where nobody sat."""
    seated, column = _column(found, "seated"), _column(found, name)
    made = np.full((len(seated), seated.max(initial=0)), empty, column.dtype)
    made[np.arange(made.shape[1]) < seated[:, None]] = column
    return made


def _column(found: PackedRun, name: str) -> npt.NDArray[Any]:
    kind = np.dtype(PACKED[name])
    return np.frombuffer(found.columns[name], kind.newbyteorder("<")).astype(kind)
