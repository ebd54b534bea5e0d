"""Rates and their intervals: of counts, of pairs, and of runs whose labels a draw chose."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.stats.correction import RIGHT, WRONG, Cells, Z, rate_or_zero
from reviewdesk.domain.stats.distributions import beta_cdf, bisect
from reviewdesk.domain.stats.figures import ALONE, Estimate, LabelSpread, Pair, Part, Rates, Target
from reviewdesk.domain.verdict import SLACK

if TYPE_CHECKING:
    from reviewdesk.domain.stats.calibration import Clusters


class RateDifference(Struct, frozen=True):
    """The difference of two rates with its 95% interval; all ``None`` if a rate has no data."""

    diff: float | None
    low: float | None
    high: float | None


def wilson(k: float, n: float, z: float = Z) -> tuple[float, float]:
    """Return Wilson's score interval of ``k`` of ``n``, 95% by default; (0, 1) without data.

    ``(p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n)``. Source: Wilson 1927.
    """
    if n <= 0:
        return 0.0, 1.0
    p = k / n
    step = z * z / n
    centre = (p + step / 2) / (1 + step)
    half = z * math.sqrt(max(p * (1 - p), 0.0) / n + step / (4 * n)) / (1 + step)
    # At k = 0 and k = n one end is exactly 0 or 1, and rounding must not cross it.
    return (0.0 if k <= 0 else centre - half), (1.0 if k >= n else centre + half)


MANY = 200
"""With more hits and more misses than this, Wilson's interval and the mid-p interval agree."""


def midp(k: float, n: float, z: float = Z) -> tuple[float, float]:
    """Return the mid-p interval of ``k`` of ``n``, 95% by default; (0, 1) without data.

    The lower end is the rate at which ``P(X > k) + P(X = k)/2`` of a binomial X is the upper tail
    of z, the upper end likewise. Counts may be fractions: the probabilities are those of the beta
    distribution. Source: Lancaster 1961; Berry and Armitage 1995.
    """
    if n <= 0:
        return 0.0, 1.0
    if min(k, n - k) > MANY:
        return wilson(k, n, z)
    tail = math.erfc(z / math.sqrt(2)) / 2
    return _midp_low(k, n, tail), 1 - _midp_low(n - k, n, tail)


@lru_cache(1 << 14)
def _midp_low(k: float, n: float, tail: float) -> float:
    """Find by Newton's method, in logarithms, the rate with ``P(X > k) + P(X = k)/2 = tail``."""
    if k <= n * 1e-12:
        return 0.0
    misses = n - k
    if misses <= n * 1e-12:
        return math.pow(2 * tail, 1 / n)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(misses + 1)
    x = max(wilson(k, n)[0], k / n / 4)
    for _ in range(60):
        at = math.exp(ways + k * math.log(x) + misses * math.log1p(-x))
        above = beta_cdf(x, k + 1, misses) + at / 2
        # The logarithm of the tail is concave in that of x, so that the steps cannot overshoot.
        step = math.log(above / tail) * above / (at * (misses * x / (1 - x) + k) / 2)
        x = min(x * math.exp(-step), k / n)
        # With far less than one hit the end is closer to 0 than a float can be.
        if abs(step) < 1e-10 or x < 1e-300:
            break
    return x


def rate_difference(k1: float, n1: float, k2: float, n2: float) -> RateDifference:
    """Return ``k1/n1 - k2/n2`` with its 95% interval; all ``None`` if either n is 0.

    The distances of both rates from the ends of their Wilson intervals are combined by squares.
    Source: Newcombe 1998, method 10.
    """
    if n1 <= 0 or n2 <= 0:
        return RateDifference(None, None, None)
    one = k1 / n1
    two = k2 / n2
    (low1, high1) = wilson(k1, n1)
    (low2, high2) = wilson(k2, n2)
    return RateDifference(
        one - two,
        one - two - math.hypot(one - low1, high2 - two),
        one - two + math.hypot(high1 - one, two - low2),
    )


def sign_test(one: int, two: int) -> float | None:
    """Return the two-sided mid-p value for ``one`` and ``two`` being halves of their sum, if not 0.

    It is McNemar's test of paired answers in its mid-p form. Source: Fagerland and others 2013.
    """
    n = one + two
    k = max(one, two)
    if not n:
        return None
    ways = 2 * sum(math.comb(n, x) for x in range(k + 1, n + 1)) + math.comb(n, k)
    return min(1.0, ways / (1 << n))


def tango(gained: float, lost: float, n: float, z: float = Z) -> float:
    """Return an end of Tango's score interval of ``(gained - lost)/n``, paired on n items.

    It is the difference δ at which ``(gained - lost - nδ) / √(n(2q + δ(1-δ)))`` is z, with q the
    most likely share lost if the difference is δ. Source: Tango 1998.
    """

    def score(delta: float) -> float:
        b = (2 * n - gained + lost) * delta - gained - lost
        root = math.sqrt(max(b * b + 8 * n * lost * delta * (1 - delta), 0.0))
        variance = n * ((root - b) / (2 * n) + delta * (1 - delta))
        off = gained - lost - n * delta
        return off / math.sqrt(variance) if variance > 0 else off

    return bisect(lambda delta: score(delta) > z, -1.0, 1.0)


PartInterval = Callable[[Part, float], tuple[float, float]]
Interval = Callable[[float, float, float], tuple[float, float]]
UNLABELLED = "a group has no label: the bounds hold whatever its verdicts deserve"


def stratified_rate(
    parts: Sequence[Part],
    target: Target = Target.RUN,
    interval: PartInterval | None = None,
    z: float = Z,
) -> Estimate:
    """Estimate ``Σ W_h·k_h/n_h``, ``W_h = N_h/N``, with a 95% MOVER interval over the strata.

    N_h is in verdicts. ``low = estimate - √Σ(W_h(p_h - l_h))²`` and the upper end likewise; a
    stratum's ``interval`` is Wilson's at ``n(N-1)/(N-n)`` by default, and a point if it is fully
    labelled. For ``such items`` the estimate's Wilson interval at N, which takes the run as a
    sample, is combined in by squares. If a stratum has no label, the estimate is ``None`` and the
    ends are bounds: its rate set to 0 and to 1, the others at their ends. Raise ValueError for
    impossible counts. Source: Zou and Donner 2008; Imbens and Manski 2004.
    """
    held = [part for part in parts if part.size]
    for part in parts:
        if not (0 <= part.hits <= part.labelled <= part.size):
            raise ValueError(f"impossible counts: {part}")
    total = sum(part.share for part in held)
    if not total:
        return Estimate(None, 0.0, 1.0, UNLABELLED)
    known = [part for part in held if part.labelled]
    share = sum(part.share / total * _rate(part) for part in known)
    unknown = sum(part.share / total for part in held if not part.labelled)
    below = above = 0.0
    for part in known:
        low, high = (interval or part_interval)(part, z)
        below += (part.share / total * (_rate(part) - low)) ** 2
        above += (part.share / total * (high - _rate(part))) ** 2
    least = share
    most = min(share + unknown, 1.0)
    if target is Target.ITEMS:
        size = sum(part.size for part in held)
        below += (least - wilson(least * size, size, z)[0]) ** 2
        above += (wilson(most * size, size, z)[1] - most) ** 2
    ends = max(least - math.sqrt(below), 0.0), min(most + math.sqrt(above), 1.0)
    return Estimate(None, *ends, UNLABELLED) if unknown else Estimate(share, *ends)


def drawn_rate(parts: Sequence[Part], target: Target = Target.RUN, z: float = Z) -> Estimate:
    """Estimate a rate as ``stratified_rate`` does, with the mid-p interval of each stratum."""
    return stratified_rate(parts, target, midp_interval, z)


class Voted(Struct, frozen=True):
    """A rater's decisions in one stratum; the rater is the panel or a juror.

    ``counted`` are those whose label counts for the draw, ``labelled`` all with a label. ``spread``
    says how these are spread over contents, if some contents have several verdicts.
    """

    stratum: int
    passes: int
    fails: int
    counted: Cells
    labelled: Cells
    spread: LabelSpread | None = None

    @property
    def size(self) -> int:
        return self.passes + self.fails

    @property
    def labels(self) -> float:
        return self.counted.n if self.spread is None else self.spread.labels


def stratified_rates(
    found: Sequence[Voted], target: Target = Target.RUN, clusters: "Clusters | None" = None
) -> Rates:
    """Estimate a rater's rates from the labels that count, and their ``clusters`` if any."""
    if clusters is None:
        right = sensitive = specific = deserved = ALONE
    else:
        right = clusters.effect(RIGHT, WRONG, target)
        sensitive = clusters.effect((0,), (1,), target)
        specific = clusters.effect((2,), (3,), target)
        deserved = clusters.effect((0, 1), (2, 3), target)
    held = [one for one in found if one.size]
    passes = []
    fails = []
    for one in held:
        cells = one.counted
        passes.append(_pair(one, cells.tp, cells.fn, (one.passes, one.fails), sensitive.deff))
        fails.append(_pair(one, cells.tn, cells.fp, (one.fails, one.passes), specific.deff))
    parts = [part_of(one, one.counted.right, right.deff) for one in held]
    passing = [part_of(one, one.counted.deserved, deserved.deff) for one in held]
    return Rates(
        accuracy=drawn_rate(parts, target, right.z),
        sensitivity=stratified_ratio(passes, target, sensitive.z),
        specificity=stratified_ratio(fails, target, specific.z),
        should_pass=drawn_rate(passing, target, deserved.z),
    )


def part_of(found: Voted, hits: float, deff: float) -> Part:
    """Return a stratum's counts in labels, reduced by the effect of shared contents and cases."""
    spread = found.spread
    n = found.counted.n
    if spread is None:
        return Part(found.size / deff, n / deff, hits / deff, found.size)
    each = (spread.effective / spread.labels if spread.labels else 1.0) / deff
    labelled = spread.labels * each
    share = min(hits / n, 1.0) if n else 0.0
    return Part(spread.contents * each, labelled, share * labelled, spread.mass)


def _pair(found: Voted, hits: float, misses: float, most: tuple[int, int], deff: float) -> Pair:
    """Return a stratum's counts of two kinds, as ``part_of`` does; ``most`` bounds them."""
    part = part_of(found, hits, deff)
    n = found.counted.n
    return Pair(part, misses / n * part.labelled if n else 0.0, *most)


def stratified_ratio(pairs: Sequence[Pair], target: Target = Target.RUN, z: float = Z) -> Estimate:
    """Estimate ``A/(A+B)`` with 95% ends: totals ``A = Σ N_h·a_h/n_h`` of hits, B of misses.

    The lower end is the ratio R at which MOVER's lower end of ``(1-R)A - RB`` is 0: ``t = R/(1-R)``
    is the smaller root of ``(A - tB)² = Σ d² + t²Σ e² + 2tΣ rde``, with the distances d and e of a
    stratum's hits and misses from their mid-p ends, and ``r = √(pq/((1-p)(1-q)))``. The upper end
    is 1 less the lower end for the misses. Of a stratum without labels all verdicts that could be a
    miss, or a hit, are added as such. Source: Zou and Donner 2008; Donner and Zou 2012.
    """
    # Of hits and of misses: the totals, and the squared distances of their ends.
    total = [0.0, 0.0]
    squares = [[0.0, 0.0], [0.0, 0.0]]
    upper = lower = 0.0
    more_hits = more_misses = 0
    size = mass = 0.0
    for pair in pairs:
        part = pair.part
        size += part.size
        share = part.share
        mass += share
        if not part.labelled:
            more_hits += pair.most_hits
            more_misses += pair.most_misses
            continue
        off = []
        for at, count in enumerate((part.hits, pair.misses)):
            rate = count / part.labelled
            low, high = midp_interval(replace(part, hits=count), z)
            off.append((share * max(rate - low, 0.0), share * max(high - rate, 0.0)))
            total[at] += share * rate
            for end in (0, 1):
                squares[at][end] += off[at][end] ** 2
        p = part.hits / part.labelled
        q = pair.misses / part.labelled
        # All labels are of one kind or the other, so the two shares sum to 1.
        r = 1.0 if p + q >= 1 else math.sqrt(p * q / ((1 - p) * (1 - q)))
        lower += r * off[0][0] * off[1][1]
        upper += r * off[0][1] * off[1][0]
    hits, misses = total
    low = _lower_end(hits, misses + more_misses, squares[0][0], squares[1][1], lower)
    high = 1 - _lower_end(misses, hits + more_hits, squares[1][0], squares[0][1], upper)
    if hits + misses + more_hits + more_misses <= 0:
        return Estimate(None, 0.0, 1.0, "no label says what it is a rate of")
    of_least = hits + misses + more_misses
    of_most = hits + misses + more_hits
    least = rate_or_zero(hits, of_least)
    most = 1 - rate_or_zero(misses, of_most)
    if target is Target.ITEMS:
        each = size / mass
        n = of_least * each
        low = least - math.hypot(least - low, least - wilson(least * n, n, z)[0])
        n = of_most * each
        high = most + math.hypot(high - most, wilson(most * n, n, z)[1] - most)
    ends = max(min(low, least), 0.0), min(max(high, most), 1.0)
    return Estimate(None, *ends, UNLABELLED) if more_hits or more_misses else Estimate(least, *ends)


def _lower_end(a: float, b: float, below: float, above: float, cross: float) -> float:
    """Return the lower end of ``a/(a+b)``; ``below`` and ``above`` are squared distances."""
    rise = a * a - below
    if rise <= 0 or (b <= 0 and above <= 0):
        return 0.0 if rise <= 0 else 1.0
    middle = a * b + cross
    root = math.sqrt(max(middle * middle - (b * b - above) * rise, 0.0))
    odds = rise / (middle + root)
    return odds / (1 + odds)


def part_interval(part: Part, z: float = Z, interval: Interval = wilson) -> tuple[float, float]:
    """Return a stratum's interval at the sample size ``n(N-1)/(N-n)``; (0, 1) without labels."""
    if not part.labelled:
        return 0.0, 1.0
    left = part.size - part.labelled
    if left <= 0:
        return _rate(part), _rate(part)
    n = part.labelled * (part.size - 1) / left
    return interval(_rate(part) * n, n, z)


def midp_interval(part: Part, z: float = Z) -> tuple[float, float]:
    """Return the mid-p interval of one stratum, as ``part_interval`` does.

    Both ends are moved outward by n/N of one verdict, because the last verdict without a label may
    be of either kind.
    """
    low, high = part_interval(part, z, midp)
    some = 0 < part.labelled < part.size * (1 - SLACK)
    one = part.labelled / part.size**2 if some else 0.0
    return max(low - one, 0.0), min(high + one, 1.0)


def _rate(part: Part) -> float:
    return part.hits / part.labelled
