"""What moves from run to run: one dimension while the others hold, and the score of one case."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from msgspec import Struct

from reviewdesk.domain.stats.rates import t_quantile
from reviewdesk.domain.verdict import SLACK, Decision

FEWEST = 3
"""The fewest earlier runs from which a usual level is learned."""
FEW = 20
"""With fewer labels the accuracy of a run cannot be seen."""
RISK = 0.05
"""The share of calm runs in which any dimension lies outside what was expected."""
CALM = 0.01
"""The share of calm runs in which one dimension by itself does not count as holding."""


class RunMean(Struct, frozen=True):
    """The mean of ``n`` values of one run, and the sum of their squared distances from it."""

    n: int
    mean: float
    squares: float


class RunMeans(Struct, frozen=True):
    """The mean panel score of each dimension of a run, and the share of verdicts voted alike."""

    jurors: tuple[str, ...]
    dimensions: Mapping[str, RunMean]
    alike: RunMean


class EarlierRange(Struct, frozen=True):
    """A run's mean against ``runs`` earlier ones, whose usual level is ``before``.

    ``low`` and ``high`` are where the mean of a further run would lie in 95% of calm runs, all
    series together; ``holds`` says whether it lies where it would in 99% for this series alone.
    """

    name: str
    runs: int
    n: int
    before: float
    now: float
    low: float
    high: float
    holds: bool

    @property
    def outside(self) -> bool:
        return not self.low - SLACK <= self.now <= self.high + SLACK


def against_earlier(series: Mapping[str, Sequence[RunMean]]) -> tuple[EarlierRange, ...]:
    """Compare the newest mean of each series, its last, with the earlier ones.

    A series needs three earlier runs. With the variance s² of single values, pooled over its runs
    and one value of each kind added, and the weighted mean m of M earlier values, the newest mean
    of n values is expected within ``m ± t·√(φ·s²(1/n + 1/M))``. φ is how far the earlier means
    vary beyond what so many values explain, ``Σ n(x - m)²/s²`` over its degrees of freedom, pooled
    over the series and at least 1; t has these degrees of freedom, at 5% over the number of series
    (Bonferroni). Source: the prediction interval of a further observation; McCullagh and Nelder
    1989 for the dispersion φ.
    """
    usable = {name: runs for name, runs in series.items() if len(runs) > FEWEST}
    spread: dict[str, tuple[float, float, float]] = {}
    excess = 0.0
    df = 0
    for name, (*earlier, newest) in usable.items():
        every = [*earlier, newest]
        values = sum(one.n - 1 for one in every)
        variance = (math.fsum(one.squares for one in every) + 0.25) / (values + 1)
        count = sum(one.n for one in earlier)
        mean = math.fsum(one.n * one.mean for one in earlier) / count
        excess += math.fsum(one.n * (one.mean - mean) ** 2 for one in earlier) / variance
        df += len(earlier) - 1
        spread[name] = mean, variance, variance * (1 / newest.n + 1 / count)
    if not usable:
        return ()
    dispersion = max(excess / df, 1.0)
    t = t_quantile(1 - RISK / 2 / len(usable), df)
    alone = t_quantile(1 - CALM / 2, df)
    made = []
    for name, (*earlier, newest) in usable.items():
        mean, _, squared = spread[name]
        sd = math.sqrt(dispersion * squared)
        holds = abs(newest.mean - mean) <= alone * sd + SLACK
        ends = mean - t * sd, mean + t * sd
        made.append(EarlierRange(name, len(earlier), newest.n, mean, newest.mean, *ends, holds))
    return tuple(made)


def swinging(found: Sequence[EarlierRange]) -> EarlierRange | None:
    """Return the one series that lies outside while all others hold; it takes two or more."""
    first = next((one for one in found if one.outside), None)
    others = [one for one in found if one is not first]
    return first if others and all(one.holds for one in others) else None


class UnanimityWatch(Struct, frozen=True):
    """The share of verdicts on which all votes are the same, against earlier runs.

    ``labels`` are those of the newest run: with ``FEW`` nobody knows if its jurors became right
    more often, or only more alike.
    """

    share: EarlierRange
    labels: int

    @property
    def warns(self) -> bool:
        """Whether it rose beyond what was expected while accuracy cannot be seen."""
        return self.share.now > self.share.high + SLACK and self.labels < FEW


class AgainstEarlier(Struct, frozen=True):
    """A run against the earlier runs of the same jurors; empty where these are under three."""

    dimensions: tuple[EarlierRange, ...] = ()
    """The mean panel score of each dimension."""
    unanimity: UnanimityWatch | None = None

    @property
    def swings(self) -> EarlierRange | None:
        return swinging(self.dimensions)


class VolatileCase(Struct, frozen=True):
    """A case whose panel score changed between runs: ``scores`` by run, the oldest first.

    ``sd`` is the sample standard deviation, ``swing`` the largest difference of two runs;
    ``turned`` says whether one run passed it and another failed it.
    """

    key: int
    id: str
    scores: tuple[tuple[str, float], ...]
    sd: float
    swing: float
    turned: bool


def volatile(
    key: int, name: str, seen: Sequence[tuple[str, float, Decision | None]]
) -> VolatileCase | None:
    """Build the record of one case from its scores by run, oldest first; ``None`` under two."""
    if len(seen) < 2:
        return None
    scores = [score for _, score, _ in seen]
    decided = {made for _, _, made in seen}
    return VolatileCase(
        key=key,
        id=name,
        scores=tuple((run, score) for run, score, _ in seen),
        sd=statistics.stdev(scores),
        swing=max(scores) - min(scores),
        turned={Decision.PASS, Decision.FAIL} <= decided,
    )
