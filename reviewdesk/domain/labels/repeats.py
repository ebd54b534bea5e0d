"""Repeats: which labelled items come back for a second label, and how far both labels agree."""

import hashlib
import math
from collections import deque
from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from msgspec import Struct

from reviewdesk.domain.records import Pace, Truth

_SEED = b"second opinion\n"
MOST_OPINIONS = 9


def is_double(item: bytes, share: float) -> bool:
    """Return True if an item is among the ``share`` of all that two people or more label.

    A hash of the content decides, so that the choice is the same on every desk and in every run,
    and a larger share adds items and removes none.
    """
    digest = hashlib.sha256(_SEED + item.hex().encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


OTHERS = 50
"""The fewest labels of other items between the two labels of one item."""
_SPREAD = 25
"""A keyed hash adds fewer than this to ``OTHERS``, so that nobody can count to a repeat."""


def repeats_due(
    newest: Mapping[bytes, int], offered: Container[bytes], rest: int, seed: str, share: float
) -> list[bytes]:
    """Return the items that may come back after one more label, the longest waiting first.

    ``newest`` has the key of each item's newest label. A keyed hash decides if one of the
    ``offered`` items is among the ``share``, and how long after ``OTHERS`` other labels it may come
    back. ``rest`` counts the labels since the last repeat, so that a raised share brings no burst.
    """
    if share <= 0 or rest < math.ceil(1 / (2 * share)):
        return []
    found = []
    for place, item in enumerate(sorted(newest, key=newest.__getitem__)):
        digest = _digest(seed, item)
        due = place + OTHERS + digest[8] % _SPREAD
        drawn = int.from_bytes(digest[:8]) < share * 2**64
        if drawn and due <= len(newest) and item in offered:
            found.append((due, item))
    return [item for _, item in sorted(found)]


@lru_cache(1 << 16)
def _digest(seed: str, item: bytes) -> bytes:
    return hashlib.sha256(f"{seed}\n{item.hex()}".encode()).digest()


class LabelPair(Struct, frozen=True):
    """Both labels of one item; ``unseen`` if no panel answer was seen before the second."""

    first: Truth
    second: Truth
    unseen: bool


class SelfAgreement(Struct, frozen=True):
    """How often a reviewer's second label equals the first, with Wilson's interval.

    ``kappa`` is Cohen's, over pass, fail and unsure. ``None`` without repeats, and if chance alone
    would agree on every one.
    """

    n: int
    same: int
    rate: float | None
    low: float | None
    high: float | None
    kappa: float | None


def self_agreement(pairs: Sequence[LabelPair]) -> SelfAgreement:
    n = len(pairs)
    same = sum(pair.first is pair.second for pair in pairs)
    if not n:
        return SelfAgreement(0, 0, None, None, None, None)
    from reviewdesk.domain.stats.kappa import cohen_kappa
    from reviewdesk.domain.stats.rates import wilson

    kappa = cohen_kappa([pair.first for pair in pairs], [pair.second for pair in pairs])
    return SelfAgreement(n, same, same / n, *wilson(same, n), kappa)


AWAY = timedelta(minutes=5)
"""A longer gap between two events does not count as work on the item."""

_ENDS = frozenset({"label", "defer", "repeat"})


_NEWEST = 2_000
"""How many events a pace is taken from, so that it costs the same however long a run is."""


class Pacing:
    """The pace of a reviewer's newest events in a run.

    The dwell of a label is the sum of the gaps between events since the previous standing label,
    repeat or defer, in seconds. A label has no dwell if there is none before it, or if a gap is
    over ``AWAY`` or negative. An undone event ends no dwell, so its time goes to the next label.
    """

    def __init__(self) -> None:
        self._steps = deque[tuple[datetime, str, int]](maxlen=_NEWEST)
        self._undone = set[int]()

    def add(self, at: datetime, kind: str, action: int) -> None:
        """Add the newest event, and the number of the action that it belongs to."""
        self._steps.append((at, kind, action))

    def turn(self, action: int, *, stands: bool) -> None:
        (self._undone.discard if stands else self._undone.add)(action)

    def pace(self) -> Pace:
        """Return the pace so far: the number of dwells / their sum * 3600, unless that sum is 0."""
        dwells = []
        before = None
        spent: timedelta | None = None
        for at, kind, action in self._steps:
            if before is not None and spent is not None:
                gap = at - before
                spent = spent + gap if timedelta() <= gap <= AWAY else None
            if kind in _ENDS and action not in self._undone:
                if kind == "label" and spent is not None:
                    dwells.append(spent.total_seconds())
                spent = timedelta()
            before = at
        worked = math.fsum(dwells)
        return Pace(len(dwells) / worked * 3600 if worked else None, len(dwells))
