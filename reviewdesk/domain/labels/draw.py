"""Draws the contents of a run: the order in each stratum, the audit, and that of the queue."""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.labels.sampling import AUDIT_SHARE, FIRST_REST, audit_shares

Ints = npt.NDArray[np.int32]

_SOME = 4096
_KEY = 16
"""The bytes of a sha256 that are compared; it is infeasible to find two contents that match."""


class Draw(Struct, frozen=True):
    """The draw of a run, one entry per verdict in file order.

    Contents are drawn. Each verdict on a content has its stratum, rank and audit; the first of them
    in the order of the queue stands for it, and the others are its ``copies``.
    """

    stratum: npt.NDArray[np.int8]
    """The stratum of each verdict's content: that of its first flagged verdict, else its first."""
    rank: Ints
    """The position of each verdict's content within its stratum."""
    audit: npt.NDArray[np.bool_]
    copies: npt.NDArray[np.bool_]
    order: Ints
    """Each verdict's position in the queue: flagged and audit interleaved, then the rest."""
    mixed: Ints
    """Each verdict's position in the blind queue, which reveals nothing of the strata."""
    sizes: dict[int, int]
    """The number of contents in each stratum."""
    audited: dict[int, int]
    decided: dict[int, tuple[int, int]]
    """How many verdicts of each stratum were decided as a pass, and as a fail."""


def draw(
    names: Iterable[str], strata: npt.ArrayLike, seed: str, share: float = AUDIT_SHARE
) -> Draw:
    """Permute every stratum by the seed and order the queue; ``share`` of the rest is audited.

    ``names`` holds the content of each verdict, and ``strata`` the stratum of the verdict by
    itself. The permutation sorts contents by the sha256 of the seed followed by the name. It
    covers all contents, and each stratum takes its order from it, so that a blind queue in that
    order extends every stratum's labelled prefix as it goes. Given ids instead of contents, it
    draws verdicts.
    """
    own = np.asarray(strata, np.int8)
    mixed, first, stratum = _contents(names, own, seed)
    drawn = stratum[mixed]
    rank = np.zeros(len(own), np.int32)
    sizes: dict[int, int] = {}
    for h in np.flatnonzero(np.bincount(stratum)).tolist():
        inside = drawn == h
        ranks = np.cumsum(first[inside], dtype=np.int32)
        rank[mixed[inside]] = ranks - 1
        sizes[h] = int(ranks[-1])
    audited = audit_shares(sizes, share)
    most = np.array([audited.get(h, 0) for h in range(max(sizes, default=0) + 1)], np.int32)
    audit = rank < most[stratum]
    copies = np.zeros(len(own), np.bool_)
    copies[mixed] = ~first
    queue = _queue(mixed, first, drawn < FIRST_REST, audit[mixed])
    decided = {}
    for h in sizes:
        sides = own[stratum == h] % FIRST_REST
        decided[h] = int((sides == 0).sum()), int((sides == 1).sum())
    return Draw(stratum, rank, audit, copies, places(queue), places(mixed), sizes, audited, decided)


def _contents(
    names: Iterable[str], own: npt.NDArray[np.int8], seed: str
) -> tuple[Ints, npt.NDArray[np.bool_], npt.NDArray[np.int8]]:
    """Return the verdicts' places in the order of the draw, and the strata in file order.

    Verdicts on one content are adjacent: the first flagged one, or else the first, leads them, and
    the second column marks these leaders in the order of the draw.
    """
    # Sorted as texts, which needs no memory for a copy or for a column of each half.
    keys = np.frombuffer(_keys(names, len(own), seed), f"S{_KEY}")
    order = np.argsort(keys).astype(np.int32)
    first = np.ones(len(own), np.bool_)
    for at in range(1, len(own), _SOME):
        some = keys[order[at - 1 : at + _SOME]]
        first[at : at + _SOME] = some[1:] != some[:-1]
    if first.all():
        return order, first, own
    content = np.cumsum(first, dtype=np.int32)
    order = order[np.lexsort((order, own[order] >= FIRST_REST, content))]
    stratum = np.empty_like(own)
    stratum[order] = own[order[np.flatnonzero(first)]][content - 1]
    return order, first, stratum


def _queue(
    mixed: Ints,
    first: npt.NDArray[np.bool_],
    flagged: npt.NDArray[np.bool_],
    checked: npt.NDArray[np.bool_],
) -> Ints:
    """Return the verdicts' places in the order of the queue; all but ``mixed`` are in its order."""
    content = np.arange(len(mixed)) if first.all() else np.cumsum(first) - 1
    leads = np.flatnonzero(first).astype(np.int32)
    here = flagged[leads]
    asked = checked[leads]
    every = np.arange(len(leads), dtype=np.int32)
    # Both are spread evenly over the beginning and kept in order; the flagged win a tie.
    first_two = (every[here], every[asked])
    spread = [(np.arange(len(part)) + 0.5) / max(1, len(part)) for part in first_two]
    merged: Ints = np.concatenate(first_two)[np.argsort(np.concatenate(spread), kind="stable")]
    queue: Ints = np.concatenate([merged, every[~here & ~asked]])
    if len(queue) == len(mixed):
        return mixed[queue]
    return mixed[np.argsort(places(queue)[content], kind="stable")]


def draw_keys(names: Sequence[str], seed: str) -> npt.NDArray[np.uint64]:
    made = np.frombuffer(_keys(names, len(names), seed), np.uint64).reshape(-1, 2)
    # Sorted in place, as a copy would double the memory.
    return made.byteswap(inplace=True) if sys.byteorder == "little" else made


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
