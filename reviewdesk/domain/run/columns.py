"""The ballots of a run as columns, and the ids of its verdicts."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.run import packing
from reviewdesk.domain.stats.dense import Bools, Column, Floats, Ints, Small

_MOST = 1 << 16
"""The number of ids that are kept as texts."""


class IdSet:
    """The ids seen so far: the newest as texts, earlier ones as sorted hashes of 64 bits."""

    def __init__(self) -> None:
        self._new: set[str] = set()
        self._old: Ints = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def __contains__(self, name: str) -> bool:
        return not self.isdisjoint((name,))

    def isdisjoint(self, names: Collection[str]) -> bool:
        """Return True if all of the ids are new; False is wrong once in 10 million long files."""
        if not self._new.isdisjoint(names):
            return False
        hashes = id_hashes(names)
        start, end = (np.searchsorted(self._old, hashes, side) for side in ("left", "right"))
        return bool((start == end).all())

    def update(self, names: Collection[str]) -> None:
        self._new.update(names)
        if len(self._new) >= _MOST:
            self._old = np.sort(np.concatenate([self._old, id_hashes(self._new)]))
            self._new.clear()


def id_hashes(names: Collection[str]) -> Ints:
    """Return a hash of each id, which is the same within one process only."""
    return np.fromiter(map(hash, names), np.int64, len(names))


def counted_keys(keys: "array[int]", items: "array[int]") -> tuple[int, dict[int, int], set[int]]:
    """Count hashes of the keys of items: the distinct, the repeated, items with several."""
    total = len(keys)
    repeated: dict[int, int] = {}
    of_keys = np.frombuffer(items, np.int64)
    # In most files no key and no item is repeated, which a sort in place shows.
    if _repeats(np.frombuffer(keys, np.int64)):
        found, first, counts = np.unique(
            np.frombuffer(keys, np.int64), return_index=True, return_counts=True
        )
        again = counts > 1
        repeated = dict(zip(found[again].tolist(), counts[again].tolist(), strict=True))
        of_keys = of_keys[first]
        total = len(found)
    if not _repeats(of_keys):
        return total, repeated, set()
    named, keys_of = np.unique(of_keys, return_counts=True)
    return total, repeated, set(named[keys_of > 1].tolist())


def _repeats(hashes: Ints) -> bool:
    ordered = np.sort(hashes)
    return bool((ordered[1:] == ordered[:-1]).any())


class Columns(Struct, frozen=True):
    """The ballots of n verdicts of at most s seats, in file order.

    Values per seat are juror-major, ``[s, n]``, values per verdict ``[n]``. A missing score, weight
    or threshold is NaN; a missing code is -1. ``votes`` are 1, 0, or -1 if no vote was cast.
    ``failed`` marks seats whose call failed, and ``replaced`` those of them in panels that let
    the median replace any average.
    """

    key: Ints
    scores: Floats
    votes: Small
    withheld: Bools
    """The seats whose juror states that it casts no vote; no threshold changes that."""
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
    """Indices into ``shares``, for supermajorities; -1 points to ``None``, which means 2/3."""
    minimum: Ints
    """Indices into ``minima``, the required numbers of answers; -1 points to ``None``."""
    strategy: Small
    """The strategy set for each verdict, as an index into ``STRATEGIES``."""
    fraction: Floats
    rounding: Small
    decision: Small
    """The decision of the report or else ours, as an index into ``DECISIONS``."""
    score: Floats
    names: tuple[str, ...]
    quorums: tuple[float | str, ...]
    shares: tuple[float | str | None, ...]
    minima: tuple[float | str | None, ...]

    def __len__(self) -> int:
        return len(self.key)

    def at(self, rows: Ints) -> "Columns":
        return rows_of(self, rows)


Record = TypeVar("Record", bound=Struct)


def rows_of(record: Record, rows: Ints) -> Record:
    """Return a record of columns with only these verdicts, in its lists and records too."""
    taken: dict[str, Any] = {}
    for name in record.__struct_fields__:
        column = getattr(record, name)
        if isinstance(column, np.ndarray):
            taken[name] = column[..., rows]
        elif isinstance(column, Struct):
            taken[name] = rows_of(column, rows)
        elif isinstance(column, list) and column:
            taken[name] = [column[row] for row in rows.tolist()]
    return replace(record, **taken)


def unpacked(found: packing.PackedRun, keys: Sequence[int]) -> Columns:
    """Unpack columns; raise ValueError unless there is one key for each verdict."""
    flat = {name: _column(found, name) for name in packing.COLUMNS}
    if len(flat["seated"]) != len(keys):
        raise ValueError(f"{len(keys)} keys for the columns of {len(flat['seated'])} verdicts")
    flat["withheld"] = (flat["stated"] != 0) & (flat["votes"] == packing.NOTHING)
    whole = [(bar,) if isinstance(bar, float | int | str) else bar for bar in found.quorums]
    return columns_of(flat, keys, [(*bar, None, None)[:3] for bar in whole], found.names)


def columns_of(
    flat: Mapping[str, Column],
    keys: Sequence[int],
    bars: Sequence[Any],
    names: tuple[str, ...] = (),
) -> Columns:
    """Return ballots, verdict after verdict, as columns; ``bars`` are what ``quorum`` numbers."""
    seats = {
        name: by_seat(flat[name], flat["seated"], empty)
        for name, empty in (
            ("scores", np.nan), ("votes", packing.NOTHING), ("withheld", False), ("failed", 0),
            ("weights", np.nan), ("juror", packing.NOTHING),
        )
    }  # fmt: skip
    failed = seats.pop("failed")
    scores = seats.pop("scores")
    votes = seats.pop("votes")
    place = flat["quorum"]
    known = np.array([*(quorum is not None for quorum, _, _ in bars), False])
    rest = seats | {
        **{name: flat[name] for name in packing.PER_VERDICT},
        "failed": (failed == packing.FAILED) | (failed == packing.REPLACED),
        "replaced": failed == packing.REPLACED,
        "not_asked": failed == packing.NOT_ASKED,
        "unknown": failed == packing.UNKNOWN,
        "missing": (failed != 0) & (failed != packing.NOT_ASKED),
        "quorum": np.where(known[place], place, np.int32(packing.NOTHING)),
        "share": place,
        "minimum": place,
    }
    return Columns(
        key=np.asarray(keys, np.int64),
        scores=scores,
        votes=votes,
        names=names,
        # A bar without a quorum is never looked up; its entry only keeps the other indices valid.
        quorums=tuple(1.0 if quorum is None else quorum for quorum, _, _ in bars),
        shares=(*(share for _, share, _ in bars), None),
        minima=(*(minimum for _, _, minimum in bars), None),
        **{name: lean(column) for name, column in rest.items()},
    )


def lean(column: Column) -> Column:
    """Return a column that takes no memory if all verdicts have the same, as panels often do."""
    if column.shape[-1] < 2 or not column.size:
        return column
    first = column[..., :1]
    same = (column == first) | ((column != column) & (first != first))  # noqa: PLR0124 - NaN
    return np.broadcast_to(first.copy(), column.shape) if bool(same.all()) else column


def score_units(found: packing.PackedRun) -> Floats:
    """Return the scores of packed verdicts, ``[seats, verdicts]``; a missing score is NaN."""
    return by_seat(_column(found, "scores"), _column(found, "seated"), np.nan)


def vote_units(found: packing.PackedRun) -> Floats:
    """Return the votes of packed verdicts, ``[seats, verdicts]``: 1, 0, or NaN without a vote."""
    votes = by_seat(_column(found, "votes"), _column(found, "seated"), packing.NOTHING)
    return np.where(votes == packing.NOTHING, np.nan, votes)


def by_seat(flat: Column, seated: Ints, empty: float) -> Column:
    """Return values, verdict after verdict, as ``[seats, verdicts]``; no seat is ``empty``."""
    seats = int(seated.max(initial=0))
    if len(flat) == seats * len(seated):
        return np.ascontiguousarray(flat.reshape(len(seated), seats).T)
    made = np.full((seats, len(seated)), empty, flat.dtype)
    made.T[np.arange(seats) < seated[:, None]] = flat
    return made


def _column(found: packing.PackedRun, name: str) -> Column:
    kind = np.dtype(packing.COLUMNS[name])
    return np.frombuffer(found.columns[name], kind.newbyteorder("<")).astype(kind, copy=False)
