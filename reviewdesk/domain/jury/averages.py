"""The averages of a panel's scores that the strategies on scores use."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from reviewdesk.domain import arguments


def mean(scores: Sequence[float | None]) -> float | None:
    """Return ``Σ s / m`` over the m scores that were given; ``None`` without a score."""
    given = [score for score in scores if score is not None]
    return arguments.total("a score", given) / len(given) if given else None


def median(scores: Sequence[float | None]) -> float | None:
    """Return the median of the given scores, of an even number the mean of the middle two.

    Return ``None`` without a score.
    """
    given = [score for score in scores if score is not None]
    arguments.total("a score", given)
    return statistics.median(given) if given else None


def weighted_average(
    scores: Sequence[float | None], weights: Sequence[float | None]
) -> float | None:
    """Return ``Σ s·w / Σ w`` over the jurors that answered; a missing weight is 1.0.

    The weight of a juror without a score is left out of both sums. Return ``None`` without a score;
    raise UsageError unless the weights are finite and above 0. Source: the multi-judge decision
    record.
    """
    pairs = [
        (score, 1.0 if weight is None else weight)
        for score, weight in zip(scores, weights, strict=True)
        if score is not None
    ]
    if not pairs:
        return None
    given, heavy = zip(*pairs, strict=True)
    arguments.total("a score", given)
    # Weights are divided by the heaviest, so that no sum of finite weights overflows.
    heaviest, lightest = max(heavy), min(heavy)
    total = math.fsum([weight / heaviest for weight in heavy]) if lightest > 0 else math.nan
    if not math.isfinite(total):
        for weight in heavy:
            arguments.weight("a weight", weight)
    return math.fsum(score * (weight / heaviest) for score, weight in pairs) / total
