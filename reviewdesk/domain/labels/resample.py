"""Draws rows by their weights, for programs that read a file without weights."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def resample(weights: Sequence[float], count: int, seed: str) -> list[int]:
    """Draw ``count`` row numbers by weight, repeats included: systematic sampling.

    Row i is drawn ``floor(count·w_i/W)`` times or once more, on average over the seeds exactly
    ``count·w_i/W`` times, so that a plain mean over the drawn rows estimates the weighted mean
    without bias. The points ``(k + u)·W/count`` with one u in [0, 1) from the seed are looked up
    in the running sum of the weights. Weights must be finite and 0 or more; without a positive one
    the list is empty. Source: Madow (1949), "On the theory of systematic sampling, II".
    """
    heavy = [at for at, weight in enumerate(weights) if weight > 0]
    if not heavy:
        return []
    total = math.fsum(weights)
    sums = list(accumulate(weights[at] for at in heavy))
    start = _uniform(seed)
    last = len(heavy) - 1
    # The running sum may end a rounding error short of the total.
    places = (bisect_right(sums, (k + start) * total / count) for k in range(count))
    return [heavy[min(place, last)] for place in places]


def _uniform(seed: str) -> float:
    """Return a number in [0, 1) that depends on the seed alone, on every platform."""
    digest = hashlib.sha256(seed.encode(errors="surrogatepass")).digest()
    return float((int.from_bytes(digest[:8]) >> 11) / (1 << 53))
