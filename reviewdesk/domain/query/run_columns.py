"""The columns of one run in memory, which filters and orders of its queue read."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.labels.marks import TRUTH, TRUTHS
from reviewdesk.domain.query.columns import CODES, NOT_TOLD
from reviewdesk.domain.query.filter import Term
from reviewdesk.domain.query.masks import Column, Mask, Rows
from reviewdesk.domain.query.words import NUMBERS
from reviewdesk.domain.run.packing import COLUMNS

_FIXED = frozenset({"text", "juror", "failed", "abstained", "unknown", "run", "flip"})
"""Terms that hold of the same verdicts for as long as the same runs are loaded."""
_MOST_MASKS = 16
_TRUTHS = np.array([CODES["truth"].index(one) if one else -1 for one in TRUTHS], np.int8)
"""The code of a truth by its bits in the byte of a label."""


@dataclass(slots=True)
class RunColumns:
    """What has been read of a run; the verdict of row 0 has the key ``first``.

    Arrays are never changed, so that threads may share them.
    """

    run: int
    first: int
    size: int
    columns: dict[str, Column] = field(default_factory=dict)
    masks: dict[Term, npt.NDArray[np.uint8]] = field(default_factory=dict)
    """The newest masks of fixed terms, as bits."""
    memo: dict[str, Any] = field(default_factory=dict)
    """What the desk read of the run to find terms, and need not read again."""

    def add(self, name: str, values: array[Any]) -> None:
        """Keep a column; infinity stands for a number that a verdict does not have."""
        self.columns[name] = _column(name, values)

    def stretch(
        self, rows: array[int], held: Iterable[str], read: Mapping[str, array[Any]]
    ) -> StretchFacts:
        """Return columns of some rows: those named that are ``held``, and those that were read."""
        places = np.frombuffer(rows, np.int32)
        found = {name: self.columns[name][places] for name in held}
        return StretchFacts(len(rows), found | {name: _column(name, read[name]) for name in read})

    def forget_other_runs(self) -> None:
        """Drop what depends on which other runs are loaded."""
        self.columns.pop("swing", None)
        self.masks.clear()

    def add_labels(self, marks: bytearray, not_told: Iterable[int] = ()) -> None:
        """Keep the truths in the bytes of all labels; the keys ``not_told`` have one untold."""
        held = np.frombuffer(marks, np.uint8)
        truth = _TRUTHS[held & TRUTH]
        truth[self.mask(not_told)] = CODES["truth"].index(NOT_TOLD)
        self.columns["truth"] = truth

    def mask(self, keys: Iterable[int]) -> Mask:
        """Return where the verdicts of these keys lie; keys of other runs are left out."""
        rows = np.fromiter(keys, dtype=np.int64) - self.first
        found = np.zeros(self.size, dtype=bool)
        found[rows[(rows >= 0) & (rows < self.size)]] = True
        return found

    def keys(self, rows: Rows) -> array[int]:
        """Return the keys of rows."""
        made = array("q")
        made.frombytes((rows.astype(np.int64) + self.first).tobytes())
        return made

    @property
    def bytes(self) -> int:
        """The memory that the columns take."""
        every = (*self.columns.values(), *self.masks.values())
        return sum(column.nbytes for column in every)


def _column(name: str, values: array[Any]) -> Column:
    column = np.frombuffer(values, dtype=values.typecode)
    if name in NUMBERS:
        column[np.isinf(column)] = np.nan
    return column


class RunFacts(Struct, frozen=True):
    """The columns of a run, and ``find``, which returns the keys that match any other term."""

    columns: RunColumns
    find: Callable[[Term], Iterable[int]]

    @property
    def size(self) -> int:
        """The number of verdicts."""
        return self.columns.size

    def column(self, name: str) -> Column:
        """Return a column that has been read."""
        return self.columns.columns[name]

    def matching(self, term: Term) -> Mask:
        """Return where a term holds that columns cannot tell; keep it if it cannot change."""
        known = self.columns.masks.pop(term, None)
        if known is not None:
            self.columns.masks[term] = known
            return np.unpackbits(known, count=self.size).astype(bool)
        found = self.columns.mask(self.find(term))
        if not {term.kind, term.name}.isdisjoint(_FIXED):
            self.columns.masks[term] = np.packbits(found)
            for oldest in list(self.columns.masks)[:-_MOST_MASKS]:
                self.columns.masks.pop(oldest, None)
        return found


class StretchFacts(Struct, frozen=True):
    """What columns say of some verdicts of a run, in the order of the stretch."""

    size: int
    columns: Mapping[str, Column]

    def column(self, name: str) -> Column:
        """Return a column."""
        return self.columns[name]

    def matching(self, term: Term) -> Mask:
        """Raise LookupError: only terms that columns can tell are asked of a stretch."""
        raise LookupError(term.name)


def rows_with_seat(
    windows: Iterator[tuple[int, Mapping[str, bytes]]], name: str, codes: Iterable[int]
) -> Iterator[int]:
    """Yield the rows of the verdicts with a seat that has one of the codes in a packed column.

    Each window is its first row, and the columns ``name`` and ``seated`` of its verdicts.
    """
    wanted = list(codes)
    for first, window in windows:
        seats = np.frombuffer(window[name], dtype=np.dtype(COLUMNS[name]).newbyteorder("<"))
        seated = np.frombuffer(window["seated"], dtype=np.dtype("i").newbyteorder("<"))
        rows = np.repeat(np.arange(first, first + len(seated)), seated)
        yield from np.unique(rows[np.isin(seats, wanted)]).tolist()
