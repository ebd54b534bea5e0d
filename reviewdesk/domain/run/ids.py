"""The ids of a run's verdicts, each of which may occur once."""

from __future__ import annotations

from array import array
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

_MOST = 1 << 16
"""How many ids are held as texts."""
_Hashes = npt.NDArray[np.int64]


class IdSet:
    """Ids that were met: the newest as texts, those before by two hashes of 64 bits each.

    Different ids with the same 128 bits are not to be found. A million ids take 16 MB, and as a set
    of texts seven times as much.
    """

    def __init__(self) -> None:
        """Start without ids."""
        self._new: set[str] = set()
        self._first = np.empty(0, np.int64)
        self._second = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._new) + len(self._first)

    def __contains__(self, name: str) -> bool:
        return not self.isdisjoint((name,))

    def isdisjoint(self, names: Collection[str]) -> bool:
        """Return True if none of the ids was met."""
        if not self._new.isdisjoint(names):
            return False
        first, second = id_hashes(names)
        start, end = (np.searchsorted(self._first, first, side) for side in ("left", "right"))
        return not any(
            second[at] in self._second[start[at] : end[at]] for at in np.flatnonzero(start < end)
        )

    def update(self, names: Collection[str]) -> None:
        """Add ids."""
        self._new.update(names)
        if len(self._new) >= _MOST:
            first, second = id_hashes(self._new)
            self._new.clear()
            # One column at a time, as each step takes the room of a column again.
            self._first = np.concatenate([self._first, first])
            order = np.argsort(self._first, kind="stable").astype(np.uint32)
            self._first = self._first[order]
            self._second = np.concatenate([self._second, second])
            self._second = self._second[order]


def id_hashes(names: Collection[str]) -> tuple[_Hashes, _Hashes]:
    """Return two hashes of each id, which are the same within one process only."""
    first = np.fromiter(map(hash, names), np.int64, len(names))
    return first, np.fromiter((hash(f"{name}\0") for name in names), np.int64, len(names))


def counted_keys(keys: array[int], items: array[int]) -> tuple[int, dict[int, int], frozenset[int]]:
    """Count the hashes of keys, each of which belongs to an item.

    Returns how many differ, how often those occur that occur again, and the items with several.
    """
    found, first, counts = np.unique(
        np.frombuffer(keys, np.int64), return_index=True, return_counts=True
    )
    again = counts > 1
    repeated = dict(zip(found[again].tolist(), counts[again].tolist(), strict=True))
    of_keys = np.frombuffer(items, np.int64)[first]
    named, keys_of = np.unique(of_keys, return_counts=True)
    return len(found), repeated, frozenset(named[keys_of > 1].tolist())
