"""Draws a run: every stratum's permanent order, the audit, and the order of the queue."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.labels.sampling import AUDIT_SHARE, FIRST_REST, audit_shares
from reviewdesk.frozen import Frozen

Ints: TypeAlias = npt.NDArray[np.int32]

_SOME = 4096
_KEY = 16
"""Bytes of a verdict's sha256 that are compared: equal ones of two ids are not to be found."""


class Draw(Frozen):
    """The draw of a run, one entry per verdict in file order."""

    rank: Ints
    """Each verdict's position within its stratum."""
    audit: npt.NDArray[np.bool_]
    order: Ints
    """Each verdict's position in the queue: flagged and audit interleaved, then the rest."""
    mixed: Ints
    """Each verdict's position in the blind queue, which reveals nothing of the strata."""
    sizes: dict[int, int]
    audited: dict[int, int]


def draw(ids: Iterable[str], strata: npt.ArrayLike, seed: str, share: float = AUDIT_SHARE) -> Draw:
    """Permute every stratum by the seed and order the queue; ``share`` of the rest is audited.

    The permutation sorts by the sha256 of the seed followed by the id. One covers all verdicts, and
    each stratum takes its order from it, so that a blind queue in that order extends every
    stratum's labelled prefix as it goes.
    """
    strata = np.asarray(strata, np.int8)
    mixed = _permutation(ids, len(strata), seed)
    drawn = strata[mixed]
    rank = np.zeros(len(strata), np.int32)
    sizes: dict[int, int] = {}
    for h in np.unique(strata).tolist():
        members = mixed[drawn == h]
        rank[members] = np.arange(len(members), dtype=np.int32)
        sizes[h] = len(members)
    audited = audit_shares(sizes, share)
    most = np.array([audited.get(h, 0) for h in range(max(sizes, default=0) + 1)], np.int32)
    audit = rank < most[strata]
    checked = audit[mixed]
    flagged = drawn < FIRST_REST
    queue = _interleave(mixed[flagged], mixed[checked])
    queue = np.concatenate([queue, mixed[~flagged & ~checked]])
    return Draw(rank, audit, places(queue), places(mixed), sizes, audited)


def _permutation(ids: Iterable[str], count: int, seed: str) -> Ints:
    """Return the verdicts' places in file order, in the order of the draw."""
    # Sorted as texts, which takes the room of neither a column for each half nor a copy.
    keys = np.frombuffer(_keys(ids, count, seed), f"S{_KEY}")
    return np.argsort(keys).astype(np.int32)


def draw_keys(ids: Sequence[str], seed: str) -> npt.NDArray[np.uint64]:
    """Return what the draw sorts verdicts by, as two numbers each: ``[n, 2]``."""
    made = np.frombuffer(_keys(ids, len(ids), seed), np.uint64).reshape(-1, 2)
    # In their place, as a copy would take as much room again.
    return made.byteswap(inplace=True) if sys.byteorder == "little" else made


def _keys(ids: Iterable[str], count: int, seed: str) -> bytearray:
    """Return the first bytes of the hash of each of ``count`` verdicts, joined."""
    start = hashlib.sha256(seed.encode())

    def key(name: str) -> bytes:
        digest = start.copy()
        digest.update(name.encode())
        return digest.digest()[:_KEY]

    # A few at a time, because a million of them as objects take four times the room.
    keys, given = bytearray(_KEY * count), iter(ids)
    for at in range(0, len(keys), _KEY * _SOME):
        keys[at : at + _KEY * _SOME] = b"".join(map(key, islice(given, _SOME)))
    return keys


def _interleave(first: Ints, second: Ints) -> Ints:
    """Merge both, each spread evenly over the result and kept in order; ``first`` wins a tie."""
    spread = [(np.arange(len(part)) + 0.5) / max(1, len(part)) for part in (first, second)]
    return np.concatenate([first, second])[np.argsort(np.concatenate(spread), kind="stable")]


def places(order: Ints) -> Ints:
    """Return the place of each verdict in an order; given the places, return the order."""
    found = np.empty(len(order), np.int32)
    found[order] = np.arange(len(order), dtype=np.int32)
    return found
