"""Draws the contents of a run, or of all parts of an archive."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.labels.sampling import AUDIT_SHARE, FIRST_REST, audit_shares
from reviewdesk.domain.run.columns import id_hashes
from reviewdesk.domain.stats.dense import Bools, Ints, Small

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


# The parts of an archive


def repeated(parts: Iterable[Sequence[str]]) -> list[frozenset[int]]:
    """Return the places, in each part, of the ids that occur more than once in all parts."""
    hashes = list(map(id_hashes, parts))
    _, place, times = np.unique(np.concatenate(hashes), return_inverse=True, return_counts=True)
    return _by_part(times[place] > 1, map(len, hashes))


def asked(drawn: Draw, sizes: Iterable[int]) -> list[frozenset[int]]:
    """Return the places of the flagged and the audited verdicts in each part of so many."""
    return _by_part((drawn.stratum < FIRST_REST) | drawn.audit, sizes)


def _by_part(marked: Bools, sizes: Iterable[int]) -> list[frozenset[int]]:
    ends = np.cumsum(list(sizes))[:-1]
    return [frozenset(np.flatnonzero(part).tolist()) for part in np.split(marked, ends)]
