"""Kernels over juror-major matrices, ``[s, n]``: one contiguous row per juror, a column per unit.

Sums, ranks and counts are then a few passes over long rows. Units with the same number of values
form a matrix without gaps, so that no arithmetic has to skip a missing value.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]
Small = npt.NDArray[np.int8]
Column = npt.NDArray[Any]
Rows = Ints | slice
"""A selection of units: their indices, or a slice of all."""

BLOCK = 8192
"""Units processed at a time, so that intermediate rows stay in the processor's cache."""
_MOST_CODES = 1 << 16


class Moments(Struct, frozen=True):
    """The number of values, their mean, and the sum of their squared distances from it."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @staticmethod
    def of(values: Sequence[float] | Floats) -> "Moments":
        given = np.asarray(values, dtype=np.float64)
        if not len(given):
            return Moments()
        mean = float(given.mean())
        off = given - mean
        return Moments(len(given), mean, float(off @ off))

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both; associative and commutative up to rounding."""
        if not self.n or not other.n:
            return self if self.n else other
        n = self.n + other.n
        step = other.mean - self.mean
        return Moments(
            n,
            self.mean + step * (other.n / n),
            self.squares + other.squares + step * step * (self.n * (other.n / n)),
        )

    @property
    def sd(self) -> float | None:
        return math.sqrt(self.squares / (self.n - 1)) if self.n > 1 else None


_LONG = 8192


def occurrences(data: bytes, byte: bytes) -> int:
    """Count a byte, in long data in a tenth of the time that ``bytes.count`` takes."""
    if len(data) < _LONG:
        return data.count(byte)
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(byte)))


def characters(data: bytes) -> int:
    """Count the characters of UTF-8, in a fraction of the time that decoding takes."""
    return len(data) - int(np.count_nonzero(np.frombuffer(data, np.int8) < -64))


def escaped(data: bytes, byte: bytes) -> int:
    """Count a byte behind an odd number of backslashes; the data does not end in a backslash."""
    letters = np.frombuffer(data, np.uint8)
    at = np.flatnonzero(letters == ord("\\"))
    last = np.flatnonzero(np.diff(at, append=-1) != 1)
    odd = np.diff(last, prepend=-1) % 2 == 1
    return int(np.count_nonzero(letters[at[last[odd]] + 1] == ord(byte)))


def counted(marks: Bools) -> Ints:
    """Count the marks ``[s, n]`` of each unit: ``[n]``, in the smallest type that holds s."""
    kind = np.min_scalar_type(len(marks))
    return np.asarray(np.add.reduce(marks.view(np.uint8), axis=0, dtype=kind))


def given(values: Floats) -> Ints:
    """Count the values of each unit that are not NaN: ``[n]``."""
    return counted(~np.isnan(values))


def cases(*columns: Column) -> Iterator[tuple[tuple[Any, ...], Rows]]:
    """Yield each distinct combination of values in columns ``[n]``, with the units that have it."""
    n = len(columns[0])
    if not n:
        return
    # Most columns of a run hold one value, which is detected without sorting.
    # A broadcast column has no memory for each unit.
    mixed = [
        one
        for one in (columns if n > 1 else ())
        if one.strides[0] and not bool((one == one[0]).all())
    ]
    if not mixed:
        yield tuple(column[0].item() for column in columns), slice(None)
        return
    code = np.zeros(n, np.int64)
    size = 1
    for column in mixed:
        place, room = _places(column)
        code = code * room + place
        size = size * room
        if size > _MOST_CODES:
            distinct, code = np.unique(code, return_inverse=True)
            size = len(distinct)
    # Codes of two bytes are sorted by counting.
    code = code.astype(np.uint16) if size <= _MOST_CODES else code
    order = np.argsort(code, kind="stable")
    ends = [*(np.flatnonzero(np.diff(code[order])) + 1).tolist(), n]
    starts = [0, *ends[:-1]]
    values = zip(*(column[order[starts]].tolist() for column in columns), strict=True)
    for one, start, end in zip(values, starts, ends, strict=True):
        yield one, order[start:end]


def looked_up(figure: Callable[..., int], *columns: Ints) -> Small:
    """Return a figure (-128..127) of each unit, computed once for each combination, ``[n]``."""
    found = np.empty(len(columns[0]), np.int8)
    for values, rows in cases(*columns) if len(found) else ():
        found[rows] = figure(*values)
    return found


def _places(column: Column) -> tuple[Ints, int]:
    """Return each value's place among the distinct ones, or among all integers of their range."""
    if column.dtype.kind in "iu" and len(column):
        low = int(column.min())
        high = int(column.max())
        if high - low < _MOST_CODES:
            return column.astype(np.int64) - low, high - low + 1
    distinct, place = np.unique(column, return_inverse=True)
    return place, len(distinct)


def dense(rows: Rows, m: int, values: Floats, *more: Floats) -> list[Floats]:
    """Return each unit's m values without NaN in seat order, ``[m, k]``; likewise for ``more``."""
    if isinstance(rows, slice) and m == len(values):
        return [values, *more]
    # Unit by unit, the values that are not missing come out in seat order.
    here = ~np.isnan(values[:, rows]).T
    return [np.ascontiguousarray(one[:, rows].T[here].reshape(-1, m).T) for one in (values, *more)]


def parts(n: int) -> Iterator[slice]:
    for start in range(0, n, BLOCK):
        yield slice(start, start + BLOCK)
