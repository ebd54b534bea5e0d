"""Draws the contents of a run, also in the parts of an archive, whose joins are here too."""

import hashlib
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.labels.sampling import AUDIT_SHARE, FIRST_REST, STRATA, audit_shares
from reviewdesk.domain.run.columns import id_hashes
from reviewdesk.domain.run.packing import NOTHING, Bar, Names
from reviewdesk.domain.run.window import VerdictWindow
from reviewdesk.domain.stats.dense import Bools, Column, Ints, Small

_SOME = 4096
_KEY = 16
"""The bytes of a sha256 that are compared; it is infeasible to find two contents that match."""


class Draw(Struct, frozen=True):
    """The draw of a run, one entry per verdict in file order; ``copies`` share a drawn content."""

    stratum: Small
    """The stratum of each verdict's content: that of its first flagged verdict, else its first."""
    rank: Ints
    audit: Bools
    copies: Bools
    order: Ints
    """Each verdict's position in the queue: flagged and audit interleaved, then the rest."""
    mixed: Ints
    """Each verdict's position in the blind queue, which reveals nothing of the strata."""
    sizes: dict[int, int]
    audited: dict[int, int]
    decided: dict[int, tuple[int, int]]


def draw(
    names: Iterable[str], strata: npt.ArrayLike, seed: str, share: float = AUDIT_SHARE
) -> Draw:
    """Permute every stratum by the seed and order the queue; ``share`` of the rest is audited.

    ``names`` holds each verdict's content (or id, to draw verdicts), ``strata`` its own stratum.
    All contents are sorted by the sha256 of the seed and the name, and each stratum takes its order
    from this, so that a blind queue extends every stratum's labelled prefix as it goes.
    """
    own = np.asarray(strata, np.int8)
    n = len(own)
    # Sorted as texts, which needs no memory for a copy or for a column of each half.
    keys = np.frombuffer(_keys(names, n, seed), f"S{_KEY}")
    mixed = np.argsort(keys).astype(np.int32)
    first = np.ones(n, np.bool_)
    for at in range(1, n, _SOME):
        some = keys[mixed[at - 1 : at + _SOME]]
        first[at : at + _SOME] = some[1:] != some[:-1]
    del keys  # a million of them take 16 MB
    stratum = own
    content = None
    if not first.all():
        # Verdicts on one content are adjacent: its first flagged one, or else its first, leads.
        content = np.cumsum(first, dtype=np.int32) - 1
        mixed = mixed[np.lexsort((mixed, own[mixed] >= FIRST_REST, content))]
        stratum = np.empty_like(own)
        stratum[mixed] = own[mixed[first]][content]
    drawn = stratum[mixed]
    rank = np.zeros(n, np.int32)
    sizes: dict[int, int] = {}
    decided = {}
    for h in np.flatnonzero(np.bincount(stratum)).tolist():
        inside = drawn == h
        ranks = np.cumsum(first[inside], dtype=np.int32)
        rank[mixed[inside]] = ranks - 1
        sizes[h] = int(ranks[-1])
        sides = own[stratum == h] % FIRST_REST
        decided[h] = int((sides == 0).sum()), int((sides == 1).sum())
    audited = audit_shares(sizes, share)
    most = np.array([audited.get(h, 0) for h in range(max(sizes, default=0) + 1)], np.int32)
    audit = rank < most[stratum]
    copies = np.zeros(n, np.bool_)
    copies[mixed] = ~first
    # Flagged and audited contents are spread evenly over the beginning of the queue and kept in
    # order; the flagged win a tie. The queue has places in the order of the draw.
    leads = mixed[first]
    flagged = stratum[leads] < FIRST_REST
    every = np.arange(len(leads), dtype=np.int32)
    groups = (every[flagged], every[audit[leads]])
    spread = [(np.arange(len(group)) + 0.5) / max(1, len(group)) for group in groups]
    merged = np.concatenate(groups)[np.argsort(np.concatenate(spread), kind="stable")]
    queue: Ints = np.concatenate([merged, every[~flagged & ~audit[leads]]])
    if content is not None:
        queue = np.argsort(places(queue)[content], kind="stable").astype(np.int32)
    order = mixed[queue]
    return Draw(stratum, rank, audit, copies, places(order), places(mixed), sizes, audited, decided)


def _keys(names: Iterable[str], count: int, seed: str) -> bytearray:
    """Return the first bytes of the hash of each of ``count`` names, joined."""
    start = hashlib.sha256(seed.encode())

    def key(name: str) -> bytes:
        digest = start.copy()
        digest.update(name.encode())
        return digest.digest()[:_KEY]

    # A few at a time, because a million of them as objects take four times the memory.
    keys = bytearray(_KEY * count)
    given = iter(names)
    for at in range(0, len(keys), _KEY * _SOME):
        keys[at : at + _KEY * _SOME] = b"".join(map(key, islice(given, _SOME)))
    return keys


def places(order: Ints) -> Ints:
    """Return the place of each verdict in an order; given the places, return the order."""
    found = np.empty(len(order), np.int32)
    found[order] = np.arange(len(order), dtype=np.int32)
    return found


BUCKETS = 64
"""Rows are compared within buckets, few at a time; those of contents follow the draw."""
_ID = np.dtype([("first", "i8"), ("second", "i8"), ("part", "i4"), ("place", "i4")])
_CONTENT = np.dtype([("key", "u8", 2), ("part", "i4"), ("place", "i4"), ("side", "u1")])


def id_rows(part: int, ids: Sequence[str]) -> Iterator[tuple[int, bytes]]:
    """Yield the hashes of a part's ids by bucket, each with its part and its place there."""
    rows: Column = np.empty(len(ids), _ID)
    rows["first"], rows["second"] = id_hashes(ids)
    return _bucketed(part, rows, rows["first"].view(np.uint64) % np.uint64(BUCKETS))


def content_rows(
    part: int, names: Sequence[str], strata: bytes, seed: str
) -> Iterator[tuple[int, bytes]]:
    """Yield the verdicts of a part by bucket: key in the draw, place and the verdict's stratum."""
    rows: Column = np.empty(len(names), _CONTENT)
    keys = np.frombuffer(_keys(names, len(names), seed), np.uint64).reshape(-1, 2)
    # Swapped in place, as a copy would double the memory.
    rows["key"] = keys.byteswap(inplace=True) if sys.byteorder == "little" else keys
    rows["side"] = np.frombuffer(strata, np.uint8)
    return _bucketed(part, rows, rows["key"][:, 0] >> np.uint64(64 - 6))


def _bucketed(part: int, rows: Column, bucket: Ints) -> Iterator[tuple[int, bytes]]:
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


def _in_order(data: bytes) -> tuple[Column, Ints, Column]:
    """Return a bucket's verdicts in the order of the draw, its contents' strata, their contents."""
    rows = np.frombuffer(data, _CONTENT)
    rest = rows["side"] >= FIRST_REST
    high, low = rows["key"].T
    rows = rows[np.lexsort((rows["place"], rows["part"], rest, low, high))]
    changed = (rows["key"][1:] != rows["key"][:-1]).any(axis=1)
    leads = np.concatenate([np.ones(min(len(rows), 1), np.bool_), changed])
    return rows, rows["side"][leads], np.cumsum(leads) - 1


def drawn_sizes(buckets: Iterable[bytes]) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """Return by stratum the number of contents, and the numbers of verdicts that pass and fail."""
    sizes = np.zeros(len(STRATA), np.int64)
    decided = np.zeros((len(STRATA), 3), np.int64)
    for data in buckets:
        rows, strata, content = _in_order(data)
        sizes += np.bincount(strata, minlength=len(STRATA))
        np.add.at(decided, (strata[content], rows["side"] % FIRST_REST), 1)
    known = {h: int(n) for h, n in enumerate(sizes) if n}
    return known, {h: (int(decided[h, 0]), int(decided[h, 1])) for h in known}


def kept_verdicts(
    buckets: Iterable[bytes], audited: Mapping[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Yield part, place and own stratum of each verdict on a flagged or an audited content."""
    seen = Counter[int]()
    for data in buckets:
        rows, strata, content = _in_order(data)
        kept = strata < FIRST_REST
        for h in range(FIRST_REST, len(STRATA)):
            mine = np.flatnonzero(strata == h)
            kept[mine[: max(audited.get(h, 0) - seen[h], 0)]] = True
            seen[h] += len(mine)
        rows = rows[kept[content]]
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
