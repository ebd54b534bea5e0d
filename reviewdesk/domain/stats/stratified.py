"""A rate over a whole run from labels that were drawn stratum by stratum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from reviewdesk.domain.stats.correction import Z, rate_or_zero
from reviewdesk.domain.stats.figures import (
    Estimate,
    Pair,
    Part,
    Target,
)
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.domain.verdict import SLACK

TAIL = 0.025
UNLABELLED = "a stratum has no label: the bounds hold whatever its verdicts deserve"


def stratified_rate(
    parts: Sequence[Part],
    target: Target = Target.RUN,
    interval: Callable[[Part], tuple[float, float]] | None = None,
) -> Estimate:
    """``Σ N_h/N · k_h/n_h`` with the 95% interval of MOVER over intervals per stratum.

    ``low = estimate - √Σ(W_h(p_h - l_h))²`` and the upper end likewise; a stratum's ``interval`` is
    Wilson's at ``n(N-1)/(N-n)`` unless another is given, and a point if labelled to its end. For
    ``such items`` Wilson's of the estimate at N, which holds the run as a sample, is combined in by
    squares. Where a stratum has no label the estimate is ``None`` and the ends are bounds: its rate
    set to 0 and to 1, the others at their ends. Raises ValueError for impossible counts. Source:
    Zou and Donner 2008; Imbens and Manski 2004.
    """
    held = [part for part in parts if part.size]
    for part in parts:
        if not (0 <= part.hits <= part.labelled <= part.size):
            raise ValueError(f"impossible counts: {part}")
    total = sum(part.size for part in held)
    if not total:
        return Estimate(None, 0.0, 1.0, UNLABELLED)
    known = [part for part in held if part.labelled]
    share = sum(part.size / total * _rate(part) for part in known)
    unknown = sum(part.size / total for part in held if not part.labelled)
    below = above = 0.0
    for part in known:
        low, high = (interval or part_interval)(part)
        below += (part.size / total * (_rate(part) - low)) ** 2
        above += (part.size / total * (high - _rate(part))) ** 2
    least, most = share, min(share + unknown, 1.0)
    if target is Target.ITEMS:
        below += (least - wilson(least * total, total)[0]) ** 2
        above += (wilson(most * total, total)[1] - most) ** 2
    ends = max(least - math.sqrt(below), 0.0), min(most + math.sqrt(above), 1.0)
    return Estimate(None, *ends, UNLABELLED) if unknown else Estimate(share, *ends)


def stratified_ratio(pairs: Sequence[Pair], target: Target = Target.RUN) -> Estimate:
    """``A/(A+B)`` of two totals, ``A = Σ N_h·a_h/n_h`` of hits and ``B`` of misses, with 95% ends.

    The lower end is the ratio R at which MOVER's lower end of ``(1-R)A - RB`` is 0: with ``t =
    R/(1-R)`` the smaller root of ``(A - tB)² = Σ d² + t²Σ e² + 2tΣ rde``, where d and e are the
    distances of a stratum's hits from the lower and its misses from the upper end of their Wilson
    intervals, and ``r = √(pq/((1-p)(1-q)))`` is less their correlation as shares p and q of one
    sample. The upper end is one less that of the misses. Without hits and
    misses the estimate is ``None`` within 0..1. Where a stratum has no label it is ``None`` too,
    and the ends are those with all that could be a miss there, or a hit, added. Source: Zou and
    Donner 2008; Donner and Zou 2012; Imbens and Manski 2004.
    """
    hits, misses = _Total(), _Total()
    upper = lower = 0.0
    more_hits = more_misses = 0
    for pair in pairs:
        if not pair.labelled:
            more_hits += pair.most_hits
            more_misses += pair.most_misses
            continue
        p, q = pair.hits / pair.labelled, pair.misses / pair.labelled
        one = hits.add(Part(pair.size, pair.labelled, pair.hits))
        two = misses.add(Part(pair.size, pair.labelled, pair.misses))
        # All labels are one or the other kind: the two shares are one share.
        r = 1.0 if p + q >= 1 else math.sqrt(p * q / ((1 - p) * (1 - q)))
        lower += r * one[0] * two[1]
        upper += r * one[1] * two[0]
    low = _least(hits.value, misses.value + more_misses, hits.below, misses.above, lower)
    high = 1 - _least(misses.value, hits.value + more_hits, misses.below, hits.above, upper)
    total = hits.value + misses.value
    if total + more_hits + more_misses <= 0:
        return Estimate(None, 0.0, 1.0, "no label says what it is a rate of")
    least = rate_or_zero(hits.value, total + more_misses)
    most = 1 - rate_or_zero(misses.value, total + more_hits)
    if target is Target.ITEMS:
        low -= _wider(least - low, least, total + more_misses, 0)
        high += _wider(high - most, most, total + more_hits, 1)
    ends = max(min(low, least), 0.0), min(max(high, most), 1.0)
    return Estimate(None, *ends, UNLABELLED) if more_hits or more_misses else Estimate(least, *ends)


def _wider(off: float, rate: float, n: float, end: int) -> float:
    """How much further an end lies that is ``off`` its rate for the run, for such items."""
    return math.hypot(off, rate - wilson(rate * n, n)[end]) - off


class _Total:
    """A stratified total, with the squared distances to the ends of its strata's intervals."""

    def __init__(self) -> None:
        self.value = self.below = self.above = 0.0

    def add(self, part: Part) -> tuple[float, float]:
        """Add a stratum; gives how far below and above its total its interval ends."""
        low, high = part_interval(part)
        below, above = (part.size * max(d, 0.0) for d in (_rate(part) - low, high - _rate(part)))
        self.value += part.size * _rate(part)
        self.below += below**2
        self.above += above**2
        return below, above


def _least(a: float, b: float, below: float, above: float, cross: float) -> float:
    """The lower end of ``a/(a+b)``; ``below`` and ``above`` are squared distances."""
    rise = a * a - below
    if rise <= 0 or (b <= 0 and above <= 0):
        return 0.0 if rise <= 0 else 1.0
    middle = a * b + cross
    root = math.sqrt(max(middle * middle - (b * b - above) * rise, 0.0))
    odds = rise / (middle + root)
    return odds / (1 + odds)


def part_interval(part: Part, z: float = Z) -> tuple[float, float]:
    """Wilson's interval of one stratum with its finite population, at ``n(N-1)/(N-n)``.

    A stratum labelled to its end is a point, one without labels 0..1.
    """
    left = part.size - part.labelled
    if left <= 0:
        return _rate(part), _rate(part)
    if not part.labelled:
        return 0.0, 1.0
    n = part.labelled * (part.size - 1) / left
    return wilson(_rate(part) * n, n, z)


def midp_interval(part: Part) -> tuple[float, float]:
    """The rates of one stratum that a mid-p test keeps at 95%; hits are whole numbers.

    Of N verdicts K hits are kept where ``P(X > k) + P(X = k)/2`` and ``P(X < k) + P(X = k)/2`` are
    both over 2.5%, X hypergeometric with n draws. Rates of a juror are nearer 95% with it than with
    Wilson's, which miss low where a stratum has a dozen labels and few misses. A stratum labelled
    to its end is a point, one without labels 0..1. Source: Lancaster 1961; Berry and Armitage 1995.
    """
    size, n, k = part.size, int(part.labelled), int(part.hits)
    if not n:
        return 0.0, 1.0
    return _least_hits(size, n, k) / size, 1 - _least_hits(size, n, n - k) / size


@lru_cache(1 << 14)
def _least_hits(size: int, n: int, k: int) -> int:
    """The fewest hits among ``size`` that keep k or more of n, the k itself by half, likely."""
    low, high = k - 1, math.ceil(size * k / n)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _beyond(size, middle, n, k) > TAIL else (middle, high)
    return high


def _beyond(size: int, hits: int, n: int, k: int) -> float:
    """``P(X > k) + P(X = k)/2`` of a hypergeometric X whose mean is at most about k."""
    if n - k > size - hits:
        return 1.0
    term = math.exp(_ways(hits, k) + _ways(size - hits, n - k) - _ways(size, n))
    total = term / 2
    for x in range(k, min(n, hits)):
        term *= (hits - x) * (n - x) / ((x + 1) * (size - hits - n + x + 1))
        total += term
        if term < total * 1e-12:
            break
    return total


def _ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def more_audits(parts: Sequence[Part], limit: float, op: Literal["<=", ">="]) -> int | None:
    """How many more labels bring the whole interval within the limit, if the rates stay.

    With ``<=`` the upper end must come down to ``limit``, with ``>=`` the lower end up to it. The
    labels fall on what is unlabelled, in proportion. 0 where the limit is met already; ``None``
    where the estimate itself is beyond the limit, or a stratum has no label to take a rate from.
    """
    estimate = stratified_rate(parts).estimate
    if estimate is None or not _within(estimate, estimate, limit, op):
        return None
    low, high = -1, math.ceil(sum(part.size - part.labelled for part in parts))
    # The interval narrows with every label and is a point once all are labelled.
    while high - low > 1:
        middle = (low + high) // 2
        made = stratified_rate(_with_more(parts, middle))
        low, high = (low, middle) if _within(made.low, made.high, limit, op) else (middle, high)
    return high


def _within(low: float, high: float, limit: float, op: Literal["<=", ">="]) -> bool:
    return high <= limit + SLACK if op == "<=" else low >= limit - SLACK


def _with_more(parts: Sequence[Part], more: int) -> list[Part]:
    """The strata after so many more labels at the present rates; fractions of labels are kept."""
    left = sum(part.size - part.labelled for part in parts)
    made = []
    for part in parts:
        if not part.size or not left:
            made.append(part)
            continue
        n = min(part.labelled + (part.size - part.labelled) * more / left, float(part.size))
        made.append(replace(part, labelled=n, hits=min(_rate(part) * n, n)))
    return made


def _rate(part: Part) -> float:
    return part.hits / part.labelled
