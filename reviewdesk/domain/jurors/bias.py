"""Tests what a panel's answers should not depend on: a response's length, the order of a pair."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.stats.rates import wilson

FEWEST = 10
"""The fewest labels, at their effective number, that give a correlation."""


class BiasProbe(Struct, frozen=True):
    """One association, from -1 to 1, over ``n`` labels or votes.

    For length it is the rank correlation of score and length. For position it is, of the votes that
    turn with the order, the share that goes to the response in the first place less the share that
    goes to the second; ``turned`` is how many of all votes turn.
    """

    probe: str
    n: int
    found: Estimate
    turned: Estimate | None = None

    @property
    def shown(self) -> bool:
        """Whether the interval excludes 0."""
        return self.found.low > 0 or self.found.high < 0


def length_probe(probe: str, rows: Sequence[tuple[object, float, float, int]]) -> BiasProbe:
    """Return how scores relate to length; a row is content, weight, score and length.

    Spearman's correlation of weighted ranks. Its interval is Fisher's, with the variance
    ``(1 + r²/2)/(n - 3)``, n Kish's effective number of contents. Source: Bonett and Wright 2000.
    """
    import numpy as np

    mass = defaultdict[object, float](float)
    for content, weight, _, _ in rows:
        mass[content] += weight
    n = sum(mass.values()) ** 2 / sum(one**2 for one in mass.values()) if mass else 0.0
    if n < FEWEST:
        return BiasProbe(probe, len(mass), Estimate(None, reason=f"count as under {FEWEST} labels"))
    _, weights, *columns = zip(*rows, strict=True)
    ranks = []
    for values in columns:
        place = np.unique(values, return_inverse=True)[1]
        held = np.bincount(place, weights)
        ranks.append((np.cumsum(held) - held / 2)[place])
    found = np.cov(ranks, aweights=weights, ddof=0)
    spread = float(found[0, 0] * found[1, 1])
    if spread <= 0:
        return BiasProbe(probe, len(mass), Estimate(None, reason="all scores or lengths are alike"))
    r = float(found[0, 1]) / math.sqrt(spread)
    middle = math.atanh(min(max(r, -1 + 1e-9), 1 - 1e-9))
    off = Z * math.sqrt((1 + r * r / 2) / (n - 3))
    return BiasProbe(
        probe, len(mass), Estimate(r, math.tanh(middle - off), math.tanh(middle + off))
    )


def position_probe(votes: Sequence[tuple[int, bool, bool]]) -> BiasProbe | None:
    """Return how votes turn with the order of a pair; ``None`` if nothing was asked both ways.

    A vote is an item, and whether a response passes in the first and in the second place.
    Intervals are Wilson's at an effective number.
    """
    if not votes:
        return None
    turned = Counter(unit for unit, first, second in votes if first is not second)
    share = _clustered(turned, Counter(unit for unit, _, _ in votes))
    if not turned:
        found = Estimate(None, reason="no vote turns with the order")
    else:
        to_first = Counter(unit for unit, first, second in votes if first and not second)
        rate = _clustered(to_first, turned)
        less = None if rate.estimate is None else 2 * rate.estimate - 1
        found = Estimate(less, 2 * rate.low - 1, 2 * rate.high - 1)
    return BiasProbe("position", len(votes), found, share)


def _clustered(hits: Mapping[int, int], of: Mapping[int, int]) -> Estimate:
    """Return a share of votes with its interval; ``of`` is how many votes each item has."""
    total = sum(of.values())
    rate = sum(hits.values()) / total
    off = sum((hits.get(unit, 0) - rate * count) ** 2 for unit, count in of.items())
    m = len(of)
    n = float(m)
    if off > 0 and m > 1:
        n = min(rate * (1 - rate) * total**2 * (m - 1) / m / off, total)
    return Estimate(rate, *wilson(rate * n, n))
