"""The ballots of many verdicts as columns, for arithmetic over a whole run at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.run.packing import COLUMNS as PACKED
from reviewdesk.domain.run.packing import (
    DECISIONS,
    FAILED,
    NOT_ASKED,
    NOTHING,
    PER_VERDICT,
    REPLACED,
    ROUNDINGS,
    STRATEGIES,
    UNKNOWN,
    Bar,
    PackedRun,
)
from reviewdesk.domain.stats.dense import Bools, Floats, Ints

__all__ = [
    "DECISIONS", "NOTHING", "ROUNDINGS", "STRATEGIES", "Bools", "Columns", "Floats", "Ints",
    "Small", "lean", "score_units", "silent_seats", "unpacked", "vote_units",
]  # fmt: skip

Small: TypeAlias = npt.NDArray[np.int8]


class Columns(Struct, frozen=True):
    """The ballots of n verdicts of at most s seats, in file order.

    Values per seat are juror-major, ``[s, n]``, values per verdict ``[n]``. A missing score, weight
    or threshold is NaN; a missing code is -1. ``votes`` are 1, 0, or -1 if none was cast.
    ``failed`` marks seats whose call failed, and ``replaced`` those of them whose panel lets the
    median replace any average.
    """

    key: npt.NDArray[np.int64]
    scores: Floats
    votes: Small
    withheld: Bools
    """The seats whose juror states that it casts no vote, which no threshold changes."""
    failed: Bools
    replaced: Bools
    not_asked: Bools
    """The seats whose juror the panel did not need to ask."""
    unknown: Bools
    """The seats whose answer was not understood."""
    missing: Bools
    """The seats that gave no answer: failed, not understood, or abstained."""
    weights: Floats
    juror: Ints
    """Indices into ``names``; -1 where a panel has no such seat."""
    seated: Ints
    threshold: Floats
    quorum: Ints
    """Indices into ``quorums``; -1 for a verdict without a quorum."""
    share: Ints
    """Indices into ``shares``, which a supermajority needs; ``None``, found by -1, means 2/3."""
    minimum: Ints
    """Indices into ``minima``, how many must answer; ``None`` is found by -1."""
    strategy: Small
    """The strategy that each verdict asks for, as an index into ``STRATEGIES``."""
    fraction: Floats
    rounding: Small
    decision: Small
    """The report's decision, else ours, as an index into ``DECISIONS``."""
    score: Floats
    names: tuple[str, ...]
    quorums: tuple[float | str, ...]
    shares: tuple[float | str | None, ...]
    minima: tuple[float | str | None, ...]
    most: float
    """The largest size of a score, which bounds the rounding errors of their sums."""

    def __len__(self) -> int:
        return len(self.key)

    def at(self, rows: Ints) -> Columns:
        """Return the columns of some verdicts alone."""
        taken = {
            name: column[..., rows]
            for name in self.__struct_fields__
            if isinstance(column := getattr(self, name), np.ndarray)
        }
        return replace(self, **taken)


def unpacked(found: PackedRun, keys: Sequence[int]) -> Columns:
    """Unpack columns; raise ValueError unless there is one key for each verdict."""
    seated = _column(found, "seated")
    if len(seated) != len(keys):
        raise ValueError(f"{len(keys)} keys for the columns of {len(seated)} verdicts")
    seat = partial(_matrix, found, seated)
    place = _column(found, "quorum")
    quorum, quorums, shares, minima = _bars(found.quorums, place)
    failed = seat("failed", 0)
    rest = {
        name: lean(_column(found, name)) for name in PER_VERDICT if name not in {"seated", "quorum"}
    }
    scores = seat("scores", np.nan)
    votes = seat("votes", NOTHING)
    ends = (np.fmin.reduce(scores, None, initial=0), np.fmax.reduce(scores, None, initial=0))
    return Columns(
        key=np.asarray(keys, np.int64),
        scores=scores,
        votes=votes,
        withheld=lean((seat("stated", 0) != 0) & (votes == NOTHING)),
        **{name: lean(marks) for name, marks in silent_seats(failed).items()},
        weights=lean(seat("weights", np.nan)),
        juror=lean(seat("juror", NOTHING)),
        seated=lean(seated),
        quorum=lean(quorum),
        share=lean(place),
        minimum=lean(place),
        names=found.names,
        quorums=quorums,
        shares=shares,
        minima=minima,
        most=float(np.abs(ends).max()),
        **rest,
    )


def silent_seats(failed: Small) -> dict[str, Bools]:
    """Return the columns that mark seats without an answer, by how their calls ended."""
    return {
        "failed": (failed == FAILED) | (failed == REPLACED),
        "replaced": failed == REPLACED,
        "not_asked": failed == NOT_ASKED,
        "unknown": failed == UNKNOWN,
        "missing": (failed != 0) & (failed != NOT_ASKED),
    }


def lean(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column, ``[n]`` or ``[s, n]``, which takes no memory if every verdict has the same.

    What a panel is made of seldom changes within a run.
    """
    if not column.shape[-1] or not column.size:
        return column
    first = column[..., :1]
    same = (column == first) | ((column != column) & (first != first))  # noqa: PLR0124 - NaN
    return np.broadcast_to(first.copy(), column.shape) if bool(same.all()) else column


def _bars(
    bars: Sequence[Bar], place: Ints
) -> tuple[Ints, tuple[float | str, ...], tuple[str | None, ...], tuple[float | str | None, ...]]:
    """Return each verdict's index into the quorums, the quorums, the shares and the minima."""
    whole = [(bar,) if isinstance(bar, float | int | str) else bar for bar in bars]
    filled: list[Any] = [(*bar, None, None)[:3] for bar in whole]
    known = np.array([*(quorum is not None for quorum, _, _ in filled), False])
    # A bar without a quorum is never looked up; its entry only keeps the other indices valid.
    quorums = tuple(1.0 if quorum is None else quorum for quorum, _, _ in filled)
    return (
        np.where(known[place], place, np.int32(NOTHING)),
        quorums,
        (*(share for _, share, _ in filled), None),
        (*(minimum for _, _, minimum in filled), None),
    )


def score_units(found: PackedRun) -> Floats:
    """Return the scores of packed verdicts, ``[seats, verdicts]``; a missing score is NaN."""
    return _matrix(found, _column(found, "seated"), "scores", np.nan)


def vote_units(found: PackedRun) -> Floats:
    """Return the votes of packed verdicts, ``[seats, verdicts]``: 1, 0, or NaN if none was cast."""
    votes = _matrix(found, _column(found, "seated"), "votes", NOTHING)
    return np.where(votes == NOTHING, np.nan, votes)


def _matrix(found: PackedRun, seated: Ints, name: str, empty: float) -> npt.NDArray[Any]:
    """Return a per-seat column as ``[seats, verdicts]``, with ``empty`` where there is no seat."""
    column = _column(found, name)
    seats = int(seated.max(initial=0))
    if len(column) == seats * len(seated):
        return np.ascontiguousarray(column.reshape(len(seated), seats).T)
    made = np.full((seats, len(seated)), empty, column.dtype)
    made.T[np.arange(seats) < seated[:, None]] = column
    return made


def _column(found: PackedRun, name: str) -> npt.NDArray[Any]:
    kind = np.dtype(PACKED[name])
    return np.frombuffer(found.columns[name], kind.newbyteorder("<")).astype(kind, copy=False)
