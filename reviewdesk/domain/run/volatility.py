"""Changes between runs: of one dimension while the others are stable, and of one case."""

import math
import statistics
from collections.abc import Mapping, Sequence

from msgspec import Struct

from reviewdesk.domain.stats.distributions import t_quantile
from reviewdesk.domain.verdict import SLACK, Decision

FEWEST = 3
"""The fewest earlier runs that give a usual level."""
FEW = 20
"""The fewest labels that show the accuracy of a run."""
RISK = 0.05
"""The share of calm runs in which any dimension is outside its expected range."""
CALM = 0.01
"""The share of calm runs in which a single dimension does not count as stable."""


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
    """A run's mean compared with ``runs`` earlier ones, whose usual level is ``before``.

    ``low`` and ``high`` bound the mean of a further run in 95% of calm runs, over all series
    together; ``holds`` says whether the mean is within the 99% range of this series alone.
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
    """Compare the newest (last) mean of each series with the earlier ones.

    A series needs three earlier runs. With the variance s² of single values, pooled over its runs
    and one value of each kind added, and the weighted mean m of M earlier values, the newest mean
    of n values is expected within ``m ± t·√(φ·s²(1/n + 1/M))``, cut to 0..1. φ is how far the
    earlier means vary beyond what so many values explain, ``Σ n(x - m)²/s²`` over its degrees of
    freedom, pooled over the series and at least 1; t has these degrees of freedom, at 5% over the
    number of series (Bonferroni). Source: the prediction interval of a further observation;
    McCullagh and Nelder 1989 for the dispersion φ.
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
        ends = max(mean - t * sd, 0.0), min(mean + t * sd, 1.0)
        made.append(EarlierRange(name, len(earlier), newest.n, mean, newest.mean, *ends, holds))
    return tuple(made)


class UnanimityWatch(Struct, frozen=True):
    """The share of unanimous verdicts against earlier runs, and how many labels there are."""

    share: EarlierRange
    labels: int

    @property
    def warns(self) -> bool:
        """Whether the share rose above its expected range while the accuracy is unknown."""
        return self.share.now > self.share.high + SLACK and self.labels < FEW


class AgainstEarlier(Struct, frozen=True):
    """A run compared with earlier runs of the same jurors; empty if these are fewer than three."""

    dimensions: tuple[EarlierRange, ...] = ()
    """The mean panel score of each dimension."""
    unanimity: UnanimityWatch | None = None

    @property
    def swings(self) -> EarlierRange | None:
        """The one dimension that is outside its range while all others, at least one, hold."""
        first = next((one for one in self.dimensions if one.outside), None)
        others = [one for one in self.dimensions if one is not first]
        return first if others and all(one.holds for one in others) else None


class VolatileCase(Struct, frozen=True):
    """A case whose panel score changed: ``scores`` by run, oldest first.

    ``swing`` is the largest difference; ``turned`` says whether one run passed it and another
    failed it.
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
