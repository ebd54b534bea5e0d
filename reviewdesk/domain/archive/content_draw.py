"""Draws the contents of an archive, whose verdicts on one content may be in several parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.labels.draw import draw_keys
from reviewdesk.domain.labels.sampling import FIRST_REST, STRATA

ROW = np.dtype([("key", "u8", 2), ("part", "i4"), ("place", "i4"), ("side", "u1")])
BUCKETS = 64
"""Contents are grouped within buckets, so that few are in memory at a time. The buckets follow each
other in the order of the draw."""
_SHIFT = np.uint64(64 - 6)


def bucket_rows(
    part: int, names: Sequence[str], strata: bytes, seed: str
) -> Iterator[tuple[int, bytes]]:
    """Yield the verdicts of a part by bucket: what is drawn, where it is, and its own stratum."""
    rows: npt.NDArray[np.void] = np.empty(len(names), ROW)
    rows["key"] = draw_keys(names, seed)
    rows["part"] = part
    rows["place"] = np.arange(len(names))
    rows["side"] = np.frombuffer(strata, np.uint8)
    bucket = rows["key"][:, 0] >> _SHIFT
    for number in np.unique(bucket).tolist():
        yield number, rows[bucket == number].tobytes()


class _Bucket:
    """The verdicts of a bucket in the order of the draw, those on one content together.

    The first flagged verdict of a content, or else its first, leads the others.
    """

    def __init__(self, data: bytes) -> None:
        rows = np.frombuffer(data, ROW)
        rest = rows["side"] >= FIRST_REST
        low = rows["key"][:, 1]
        high = rows["key"][:, 0]
        self.rows = rows = rows[np.lexsort((rows["place"], rows["part"], rest, low, high))]
        changed = (rows["key"][1:] != rows["key"][:-1]).any(axis=1)
        self.leads = np.flatnonzero(np.concatenate([np.ones(min(len(rows), 1), np.bool_), changed]))
        self.strata = rows["side"][self.leads]
        """The stratum of each content."""
        self.content = np.zeros(len(rows), np.int64)
        self.content[self.leads[1:]] = 1
        self.content = np.cumsum(self.content)


class DrawnSizes:
    """The number of contents in each stratum, and of its verdicts decided as a pass or a fail."""

    def __init__(self, buckets: Iterable[bytes]) -> None:
        """Count the contents of all buckets."""
        sizes = np.zeros(len(STRATA), np.int64)
        decided = np.zeros((len(STRATA), 3), np.int64)
        for data in buckets:
            found = _Bucket(data)
            sizes += np.bincount(found.strata, minlength=len(STRATA))
            np.add.at(decided, (found.strata[found.content], found.rows["side"] % FIRST_REST), 1)
        self.sizes = {h: int(n) for h, n in enumerate(sizes) if n}
        self.decided = {h: (int(decided[h, 0]), int(decided[h, 1])) for h in self.sizes}


def kept_verdicts(
    buckets: Iterable[bytes], audited: Mapping[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Yield part, place and own stratum of each verdict on a flagged or an audited content.

    The buckets come in ascending order; of each stratum of the rest, the first contents are
    audited.
    """
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
