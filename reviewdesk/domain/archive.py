"""How the parts of an archive are joined: repeated ids, the draw and the windows."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from reviewdesk.domain.labels.draw import draw_keys
from reviewdesk.domain.labels.sampling import FIRST_REST, STRATA
from reviewdesk.domain.run.columns import id_hashes
from reviewdesk.domain.run.packing import NOTHING, Bar, Names
from reviewdesk.domain.run.window import VerdictWindow

BUCKETS = 64
"""Rows are compared within buckets, few at a time; those of contents follow the draw."""
_SHIFT = np.uint64(64 - 6)
_ID = np.dtype([("first", "i8"), ("second", "i8"), ("part", "i4"), ("place", "i4")])
_CONTENT = np.dtype([("key", "u8", 2), ("part", "i4"), ("place", "i4"), ("side", "u1")])


def id_rows(part: int, ids: Sequence[str]) -> Iterator[tuple[int, bytes]]:
    """Yield the hashes of a part's ids by bucket, each with its part and its place there."""
    rows: npt.NDArray[np.void] = np.empty(len(ids), _ID)
    rows["first"], rows["second"] = id_hashes(ids)
    return _bucketed(part, rows, rows["first"].view(np.uint64) % np.uint64(BUCKETS))


def content_rows(
    part: int, names: Sequence[str], strata: bytes, seed: str
) -> Iterator[tuple[int, bytes]]:
    """Yield the verdicts of a part by bucket: key in the draw, place and the verdict's stratum."""
    rows: npt.NDArray[np.void] = np.empty(len(names), _CONTENT)
    rows["key"] = draw_keys(names, seed)
    rows["side"] = np.frombuffer(strata, np.uint8)
    return _bucketed(part, rows, rows["key"][:, 0] >> _SHIFT)


def _bucketed(
    part: int, rows: npt.NDArray[np.void], bucket: npt.NDArray[np.uint64]
) -> Iterator[tuple[int, bytes]]:
    rows["part"] = part
    rows["place"] = np.arange(len(rows))
    for number in np.unique(bucket).tolist():
        yield number, rows[bucket == number].tobytes()


def repeated(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the part and the place of every id that a bucket holds more than once."""
    rows = np.frombuffer(data, _ID)
    order = np.lexsort((rows["second"], rows["first"]))
    first = rows["first"][order]
    second = rows["second"][order]
    pairs = np.flatnonzero((first[1:] == first[:-1]) & (second[1:] == second[:-1]))
    found = order[np.union1d(pairs, pairs + 1)]
    yield from zip(rows["part"][found].tolist(), rows["place"][found].tolist(), strict=True)


class _Bucket:
    """The verdicts of a bucket in the order of the draw; the first flagged leads its content."""

    def __init__(self, data: bytes) -> None:
        rows = np.frombuffer(data, _CONTENT)
        rest = rows["side"] >= FIRST_REST
        low = rows["key"][:, 1]
        high = rows["key"][:, 0]
        self.rows = rows = rows[np.lexsort((rows["place"], rows["part"], rest, low, high))]
        changed = (rows["key"][1:] != rows["key"][:-1]).any(axis=1)
        leads = np.concatenate([np.ones(min(len(rows), 1), np.bool_), changed])
        self.strata = rows["side"][leads]
        """The stratum of each content."""
        self.content = np.cumsum(leads) - 1


def drawn_sizes(buckets: Iterable[bytes]) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """Return by stratum the number of contents, and the numbers of verdicts that pass and fail."""
    sizes = np.zeros(len(STRATA), np.int64)
    decided = np.zeros((len(STRATA), 3), np.int64)
    for data in buckets:
        found = _Bucket(data)
        sizes += np.bincount(found.strata, minlength=len(STRATA))
        np.add.at(decided, (found.strata[found.content], found.rows["side"] % FIRST_REST), 1)
    known = {h: int(n) for h, n in enumerate(sizes) if n}
    return known, {h: (int(decided[h, 0]), int(decided[h, 1])) for h in known}


def kept_verdicts(
    buckets: Iterable[bytes], audited: Mapping[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Yield part, place and own stratum of each verdict on a flagged or an audited content."""
    seen = Counter[int]()
    for data in buckets:
        found = _Bucket(data)
        kept = found.strata < FIRST_REST
        for h in range(FIRST_REST, len(STRATA)):
            mine = np.flatnonzero(found.strata == h)
            kept[mine[: max(audited.get(h, 0) - seen[h], 0)]] = True
            seen[h] += len(mine)
        rows = found.rows[kept[found.content]]
        yield from zip(*(rows[name].tolist() for name in ("part", "place", "side")), strict=True)


Name = TypeVar("Name", str, Bar)


class JoinedWindows:
    """Renumbers the jurors, quorums and verdicts of windows in the order of their appearance."""

    def __init__(self) -> None:
        self.known = Names()
        self.verdicts = 0
        self.flags = array("i")

    def add(
        self, window: VerdictWindow, names: Sequence[str], quorums: Sequence[Bar]
    ) -> VerdictWindow:
        """Return the window as the next of the run; its columns index ``names`` and ``quorums``."""
        packed = dict(window.packed)
        packed["juror"] = _renumbered(packed["juror"], names, self.known.names)
        packed["quorum"] = _renumbered(packed["quorum"], quorums, self.known.quorums)
        shift = self.verdicts - window.first
        made = replace(
            window,
            first=self.verdicts,
            tags=[(place + shift, tag) for place, tag in window.tags],
            packed=packed,
        )
        self.verdicts += len(window.flags)
        self.flags.extend(window.flags)
        return made


def _renumbered(column: bytes, names: Sequence[Name], known: dict[Name, int]) -> bytes:
    found = np.frombuffer(column, "<i4")
    table = np.full(len(names) + 1, NOTHING, "<i4")  # the last is for the index -1
    for place in np.unique(found[found >= 0]).tolist():
        table[place] = known.setdefault(names[place], len(known))
    return bytes(table[found].tobytes())
