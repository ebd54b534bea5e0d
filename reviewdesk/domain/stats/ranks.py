"""Mid-ranks of ballots that may be too many to sort at once, for ordinal alpha.

The distinct values are counted from the lowest up, so many at a time; each such table gives the
ranks of its values in every block of verdicts. Blocks are ``[seats, verdicts]``, NaN where a
ballot is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
from msgspec import Struct

from reviewdesk.domain.stats.dense import Floats, Ints, given

MOST = 1 << 18
"""The distinct values in a table."""


class RankTable(Struct, frozen=True):
    """Consecutive distinct values of pairable ballots, and the mid-rank of each among all."""

    values: Floats
    middle: Floats
    below: int
    """How many ballots are no higher than the last value: where the next table goes on."""


class RankTables(Protocol):
    """Where tables are kept: a list, or what holds only one of them in memory."""

    def append(self, table: RankTable, /) -> None:
        """Keep a table."""

    def __iter__(self) -> Iterator[RankTable]:
        """Yield the tables in the order in which they came."""


def lowest(blocks: Iterable[Floats], before: RankTable | None, most: int = MOST) -> RankTable:
    """Return the table of the ``most`` lowest values that follow those of the table ``before``."""
    values: Floats = np.empty(0)
    count: Ints = np.empty(0, np.int64)
    above = -np.inf if before is None else before.values[-1]
    for block in blocks:
        found = _pairable(block)
        # A value that is dropped here is too high for the final table too, so counts are whole.
        below = values[-1] if len(values) == most else np.inf
        more, times = np.unique(found[(found > above) & (found <= below)], return_counts=True)
        values, count = _merged(values, count, more, times)
        values = values[:most]
        count = count[:most]
    start = 0 if before is None else before.below
    ends = start + np.cumsum(count)
    return RankTable(values, ends - count + (count + 1) / 2, int(ends[-1]) if len(ends) else start)


def _merged(values: Floats, count: Ints, more: Floats, times: Ints) -> tuple[Floats, Ints]:
    if not len(values):
        return more, times
    place = values.searchsorted(more)
    known = values.take(place, mode="clip") == more
    count[place[known]] += times[known]
    place = place[~known]
    more = more[~known]
    times = times[~known]
    return np.insert(values, place, more), np.insert(count, place, times)


def _pairable(block: Floats) -> Floats:
    """Return the values of the verdicts that have two or more."""
    kept = block[:, np.asarray(given(block)) >= 2]
    found: Floats = kept[~np.isnan(kept)]
    return found


def ranks(block: Floats, tables: Iterable[RankTable]) -> Floats:
    """Return the mid-rank of each ballot of a block; NaN for one that no table holds."""
    made = np.full(block.shape, np.nan)
    for table in tables:
        if not len(table.values):
            continue
        here = (block >= table.values[0]) & (block <= table.values[-1])
        place = np.searchsorted(table.values, block[here])
        found = table.values[place] == block[here]
        made[here] = np.where(found, table.middle[place], np.nan)
    return made
