"""Finds ids that several parts of an archive have, by their hashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.run.ids import id_hashes

ROW = np.dtype([("first", "i8"), ("second", "i8"), ("part", "i4"), ("place", "i4")])
BUCKETS = 64
"""Ids are compared within buckets, so that few of them are in memory at a time."""


def bucket_rows(part: int, ids: Sequence[str]) -> Iterator[tuple[int, bytes]]:
    """Yield the hashes of a part's ids by bucket, each with its part and its place there."""
    rows: npt.NDArray[np.void] = np.empty(len(ids), ROW)
    rows["first"], rows["second"] = id_hashes(ids)
    rows["part"] = part
    rows["place"] = np.arange(len(ids))
    bucket = rows["first"].view(np.uint64) % np.uint64(BUCKETS)
    for number in np.unique(bucket).tolist():
        yield number, rows[bucket == number].tobytes()


def repeated(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield part and place of every id in a bucket that is there more than once."""
    rows = np.frombuffer(data, ROW)
    order = np.lexsort((rows["second"], rows["first"]))
    first = rows["first"][order]
    second = rows["second"][order]
    pairs = np.flatnonzero((first[1:] == first[:-1]) & (second[1:] == second[:-1]))
    found = order[np.union1d(pairs, pairs + 1)]
    yield from zip(rows["part"][found].tolist(), rows["place"][found].tolist(), strict=True)
