"""Columns of scores: which are trimmed, the values of the rules, and the agreement of jurors."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from statistics import fmean, quantiles, stdev

import numpy as np

from reviewdesk.domain import values
from reviewdesk.domain.jury.rules import Spread, Trim, trim_count
from reviewdesk.domain.run.packing import NOTHING, ROUNDINGS
from reviewdesk.domain.stats.dense import Bools, Floats, Ints, cases, dense, given, parts
from reviewdesk.domain.verdict import DEFAULT_TRIM_FRACTION, SLACK, Band, Rounding, Strategy
from reviewdesk.errors import UsageError

HIGH_FROM = 0.8
MEDIUM_FROM = 0.667
"""The lowest agreement of the bands high and medium."""
BANDS = (Band.LOW, Band.MEDIUM, Band.HIGH)
"""The code of a band is its index here; -1 means no band."""
BAND_OF = (*BANDS, None)
LOW, MEDIUM, HIGH = range(3)


def bands(values: Floats) -> Ints:
    """Return the codes of the bands of raw agreements; NaN has none."""
    found = np.where(values >= MEDIUM_FROM - SLACK, MEDIUM, LOW)
    found = np.where(values >= HIGH_FROM - SLACK, HIGH, found)
    return np.where(np.isnan(values), NOTHING, found)


def band(value: float | None) -> Band | None:
    """Return the band of a raw agreement: high from 0.8, medium from 0.667, else low.

    Return ``None`` for ``None``; raise UsageError if the value is not finite.
    """
    number = math.nan if value is None else values.finite("agreement", value)
    return BAND_OF[bands(np.array([number]))[0]]


UNIFORM_NULL = 1 / 12
"""The variance of a uniform distribution on 0..1, which random answers would show."""
ADR_NULL = 1 / 16
"""The variance that means no agreement at all in the multi-judge decision record."""


def levels_null(levels: int) -> float:
    """Return the variance of a uniform draw from L equal steps on 0..1: ``(L+1) / (12 (L-1))``."""
    return (levels + 1) / (12 * (levels - 1))


def share_of_pairs(answers: Ints) -> Floats:
    """Return the share of juror pairs with equal codes ``[s, n]``; NaN without a pair."""
    alike = np.zeros(answers.shape[1], np.int64)
    for seat in range(1, len(answers)):
        alike += ((answers[:seat] == answers[seat]) & (answers[seat] != NOTHING)).sum(axis=0)
    m = (answers != NOTHING).sum(axis=0)
    pairs = m * (m - 1) // 2
    return np.where(pairs > 0, alike / np.maximum(pairs, 1), np.nan)


def pairs_agreement(answers: Ints) -> Floats:
    """Return ``2P - 1``, where P is the share of juror pairs that agree."""
    return 2 * share_of_pairs(answers) - 1


def scores_agreement(scores: "Scores", null: float = UNIFORM_NULL) -> Floats:
    """Return the within-group agreement ``1 - s² / V0`` of each panel; NaN under two scores."""
    return 1 - scores.variance / null


def codes_of(answers: Sequence[Hashable]) -> Ints:
    known = list(dict.fromkeys(answers))
    return np.array([known.index(answer) for answer in answers], np.int64).reshape(-1, 1)


def spread_of(raw: float | None, n: int, reason: str = "single_juror") -> Spread:
    """Return the agreement of n answers with its band, or the reason why it is undefined."""
    if raw is None:
        return Spread(None, None, None, n, reason)
    return Spread(raw, max(0.0, raw), band(raw), n)


def r_wg(scores: Sequence[float], null: float = UNIFORM_NULL) -> Spread:
    """Return the within-group agreement ``1 - s² / V0`` of scores on 0..1.

    ``V0`` is the variance of the null, ``s²`` the sample variance (n - 1). Undefined for fewer than
    two scores (``single_juror``). Source: James, Demaree and Wolf 1984.
    """
    if not 0 < null < math.inf:
        raise UsageError(f"null is {null!r}", "Give a variance above 0")
    return spread_of(only(scores_agreement(one_panel(scores), null)), len(scores))


def votes_agreement(votes: Sequence[bool]) -> float | None:
    """Return ``2P - 1``, P being the share of juror pairs that agree; ``None`` under two votes."""
    for vote in votes:
        if vote not in {True, False}:
            raise UsageError(f"a vote is {vote!r}", "Give True or False")
    return only(pairs_agreement(codes_of(votes)))


def verdict_agreement(scores: Sequence[float], votes: Sequence[bool]) -> Spread:
    """Return the r_WG of a verdict's scores; the agreement of its votes if only these are two."""
    by_votes = len(scores) < 2 <= len(votes)
    return spread_of(votes_agreement(votes), len(votes)) if by_votes else r_wg(scores)


def unit_alpha(values: Sequence[Hashable]) -> float | None:
    """Return Krippendorff's nominal alpha of one unit: 1.0 if unanimous, else 0.0.

    ``None`` for fewer than two values. In one unit the observed and the expected disagreement
    coincide, so any split gives 0: it serves only for comparison with producers that report it.
    """
    return float(len(set(values)) == 1) if len(values) > 1 else None


def closeness(scores: Sequence[float]) -> float | None:
    """Return the score closeness ``max(0, 1 - min(s² / (1/16), 1))``; ``None`` under two scores.

    Never used for bands. Source: the multi-judge decision record, where one judge has 1.0.
    """
    return closeness_of(only(one_panel(scores).variance))


def closeness_of(variance: float | None) -> float | None:
    return None if variance is None else max(0.0, 1 - min(variance / ADR_NULL, 1.0))


def sigma(scores: Sequence[float], k: float = 2.0) -> float:
    """Return the mean of the scores within ``k`` sample standard deviations (n - 1) of the mean."""
    middle = fmean(scores)
    reach = k * stdev(scores) + SLACK if len(scores) > 1 else math.inf
    return fmean(one for one in scores if abs(one - middle) <= reach)


def tukey(scores: Sequence[float], fence: float = 1.5) -> float:
    """Return the mean of the scores within ``fence`` interquartile ranges of the quartiles.

    Quartiles are interpolated linearly, as by default in numpy and R (type 7). Source: Tukey 1977.
    """
    if len(scores) < 2:
        return fmean(scores)
    low, _, high = quantiles(scores, n=4, method="inclusive")
    reach = fence * (high - low) + SLACK
    return fmean(one for one in scores if low - reach <= one <= high + reach)


def winsorised(scores: Sequence[float]) -> float:
    """Return the mean after scores that the default trim drops are set to the nearest kept one."""
    ranked = sorted(scores)
    cut = trim_count(len(scores))
    kept = ranked[cut : len(ranked) - cut]
    return fmean([kept[0]] * cut + kept + [kept[-1]] * cut)


OUTLIERS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sigma": sigma, "tukey": tukey, "winsorised": winsorised,
}  # fmt: skip
"""The treatments of outlying scores before the mean is computed."""


class Scores:
    """The scores of n panels, ``[s, n]``; figures ``[n]`` are NaN for a panel without scores.

    If ``exact``, a sum is rounded once, as ``math.fsum`` rounds it; else after each term.
    """

    def __init__(self, scores: Floats, weights: Floats, *, exact: bool = False) -> None:
        """Keep scores and weights; a missing weight counts as 1."""
        self.scores = scores
        self._weights = weights
        self._sum: Callable[..., Floats] = np.add.reduce
        if exact:
            self._sum = lambda terms: np.array(list(map(math.fsum, terms.T.tolist())))
        self.count = given(scores)

    def value(self, strategy: Strategy | None, fraction: Floats, rounding: Ints) -> Floats:
        """Return the panel score of a rule on scores; the mean for any other rule."""
        if strategy is Strategy.TRIMMED_MEAN:
            return self.trimmed(self.cuts(fraction, rounding))
        own = {Strategy.WEIGHTED_AVERAGE, Strategy.MEDIAN, Strategy.HIGHEST, Strategy.LOWEST}
        return np.asarray(getattr(self, strategy if strategy in own else "mean"))

    @cached_property
    def mean(self) -> Floats:
        return self._by_count(self._kept_mean)

    @cached_property
    def median(self) -> Floats:
        """The median; for an even number of scores, the mean of the two in the middle."""
        return self._by_count(
            lambda block: np.sort(block, axis=0)[[(len(block) - 1) // 2, len(block) // 2]].mean(0)
        )

    @cached_property
    def lowest(self) -> Floats:
        return self._by_count(np.minimum.reduce)

    @cached_property
    def highest(self) -> Floats:
        return self._by_count(np.maximum.reduce)

    @cached_property
    def variance(self) -> Floats:
        """The variance with n - 1 in the denominator; NaN under two scores."""

        def spread(block: Floats) -> Floats:
            if len(block) < 2:
                return np.full(block.shape[1], np.nan)
            # A product is rounded alike everywhere, as a power need not be.
            gaps = block - self._sum(block) / len(block)
            return self._sum(gaps * gaps) / (len(block) - 1)

        return self._by_count(spread)

    @cached_property
    def weighted_average(self) -> Floats:
        found = np.full(len(self.count), np.nan)
        for here in parts(len(found)):
            weights = self._weights[:, here]
            block = np.where(np.isnan(weights), 1.0, weights)
            for (m,), rows in cases(self.count[here]):
                if m:
                    scores, heavy = dense(rows, m, self.scores[:, here], block)
                    # Weights are divided by the heaviest, so that no sum of them overflows.
                    shares = heavy / np.maximum.reduce(heavy, axis=0)
                    found[here][rows] = self._sum(scores * shares) / self._sum(shares)
        return found

    def cuts(self, fraction: Floats, rounding: Ints) -> Ints:
        """Return how many scores a trim leaves out at each end, ``[n]``."""
        found = np.zeros(len(self.count), np.int64)
        for (m, share, way), rows in cases(self.count, fraction, rounding):
            found[rows] = trim_count(m, share, ROUNDINGS[way])
        return found

    def trimmed(self, cut: Ints) -> Floats:
        """Return the mean of the scores without the ``cut`` lowest and the ``cut`` highest."""
        return self._by_count(self._kept_mean, cut)

    def ends(self, cut: Ints) -> tuple[Bools, Bools]:
        """Return the seats, ``[s, n]``, that a trim leaves out below and above."""
        # Of equal scores the one of the lower seat comes first; seats without a score come last.
        order = np.argsort(self.scores, axis=0, kind="stable")
        before = np.empty(order.shape, np.int16)
        np.put_along_axis(before, order, np.arange(len(order), dtype=np.int16)[:, None], axis=0)
        there = ~np.isnan(self.scores)
        return there & (before < cut), there & (before >= self.count - cut)

    def _kept_mean(self, block: Floats, cut: int = 0) -> Floats:
        kept = np.sort(block, axis=0)[cut : len(block) - cut] if cut else block
        return self._sum(kept) / len(kept)

    def _by_count(self, figure: Callable[..., Floats], *more: Ints) -> Floats:
        found = np.full(len(self.count), np.nan)
        for (m, *rest), rows in cases(self.count, *more):
            if m:
                (scores,) = dense(rows, m, self.scores)
                for here in parts(scores.shape[1]):
                    at = here if isinstance(rows, slice) else rows[here]
                    found[at] = figure(scores[:, here], *rest)
        return found


def one_panel(
    scores: Sequence[float | None], weights: Sequence[float | None] | None = None
) -> Scores:
    """Return the scores of one panel; raise UsageError if one is not finite."""
    values.total("a score", [score for score in scores if score is not None])
    column = np.array(scores, np.float64).reshape(-1, 1)
    heavy = np.array(weights or [None] * len(scores), np.float64).reshape(-1, 1)
    return Scores(column, heavy, exact=True)


def only(values: Floats) -> float | None:
    """Return the figure of the only panel, ``None`` for NaN."""
    found = float(values[0])
    return None if math.isnan(found) else found


def mean(scores: Sequence[float | None]) -> float | None:
    """Return the mean ``Σ s / m`` of the m given scores; ``None`` without a score."""
    return only(one_panel(scores).mean)


def median(scores: Sequence[float | None]) -> float | None:
    """Return the median of the given scores (mean of the middle two); ``None`` without a score."""
    return only(one_panel(scores).median)


def weighted_average(
    scores: Sequence[float | None], weights: Sequence[float | None]
) -> float | None:
    """Return ``Σ s·w / Σ w`` over the jurors that gave a score; a missing weight is 1.0.

    ``None`` without a score; UsageError unless weights are above 0. Source: the decision record.
    """
    for score, weight in zip(scores, weights, strict=True):
        if score is not None and weight is not None:
            values.weight("a weight", weight)
    return only(one_panel(scores, weights).weighted_average)


def trim(
    scores: Sequence[float | None],
    fraction: float = DEFAULT_TRIM_FRACTION,
    rounding: Rounding | str = Rounding.DOWN,
) -> Trim:
    """Drop the lowest and highest scores by (score, seat); ``None`` is a seat without a score."""
    return trim_of(one_panel(scores), fraction, rounding)


def trim_of(panel: Scores, fraction: float, rounding: Rounding | str) -> Trim:
    cut = trim_count(int(panel.count[0]), fraction, rounding)
    ends = panel.ends(np.array([cut]))
    scores = panel.scores[:, 0].tolist()
    low, high = (
        tuple(sorted(np.flatnonzero(end[:, 0]).tolist(), key=lambda seat: (scores[seat], seat)))
        for end in ends
    )
    kept = {score for seat, score in enumerate(scores) if seat not in (*low, *high)}
    tied = frozenset(seat for seat in (*low, *high) if scores[seat] in kept)
    return Trim(fraction, Rounding(rounding), cut, low, high, tied)


def trimmed_mean(
    scores: Sequence[float | None],
    fraction: float = DEFAULT_TRIM_FRACTION,
    rounding: Rounding | str = Rounding.DOWN,
) -> float | None:
    """Trim the scores and return the mean of those kept; ``None`` without a score."""
    panel = one_panel(scores)
    cut = trim_count(int(panel.count[0]), fraction, rounding)
    return only(panel.trimmed(np.array([cut])))
