"""Repeats: which labelled items come back for a second label, and how far both labels agree."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.rates import cohen_kappa, wilson

OTHERS = 50
"""The fewest labels of other items between the two labels of one item."""
_SPREAD = 25
"""A keyed hash adds fewer than this to ``OTHERS``, so that nobody can count to a repeat."""


def next_repeat(
    labelled: Sequence[bytes], used: Collection[bytes], rest: int, seed: str, share: float
) -> list[bytes]:
    """Return the items that may come back now, the one that waits longest first.

    ``labelled`` are the contents that the reviewer labelled blind or otherwise, each once, by their
    newest labels, oldest first; ``used`` came back already. A content is drawn if its keyed hash,
    read as a number from 0 to 1, is below ``share``, and may come back after ``OTHERS`` other
    labels and some more, which the hash tells. ``rest`` is the number of labels since the last
    repeat: with too few, nothing comes back, so that a share that was raised late brings no burst.
    """
    if share <= 0 or rest < math.ceil(1 / (2 * share)):
        return []
    found = []
    for place, item in enumerate(labelled[: max(len(labelled) - OTHERS, 0)]):
        digest = hashlib.sha256(f"{seed}\n{item.hex()}".encode()).digest()
        due = place + OTHERS + digest[8] % _SPREAD
        drawn = int.from_bytes(digest[:8]) < share * 2**64
        if drawn and due < len(labelled) and item not in used:
            found.append((due, item))
    return [item for _, item in sorted(found)]


@dataclass(frozen=True, slots=True)
class LabelPair:
    """Both labels of one item; ``unseen`` if no panel answer was seen before the second."""

    first: Truth
    second: Truth
    unseen: bool


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """How often a reviewer's second label equals the first.

    ``rate`` is ``same`` / ``n``, between the ends of Wilson's interval; ``kappa`` is Cohen's, over
    the words pass, fail and unsure. ``None`` without repeats; ``kappa`` also if chance alone would
    agree on every one.
    """

    n: int
    same: int
    rate: float | None
    low: float | None
    high: float | None
    kappa: float | None


def self_agreement(pairs: Sequence[LabelPair]) -> SelfAgreement:
    """Measure a reviewer's agreement with themselves over pairs of labels."""
    n, same = len(pairs), sum(pair.first is pair.second for pair in pairs)
    if not n:
        return SelfAgreement(0, 0, None, None, None, None)
    kappa = cohen_kappa([pair.first for pair in pairs], [pair.second for pair in pairs])
    return SelfAgreement(n, same, same / n, *wilson(same, n), kappa)
