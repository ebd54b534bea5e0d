"""How closely the jurors of one verdict agree."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from reviewdesk.domain.verdict import SLACK, Band

UNIFORM_NULL = 1 / 12
"""Variance of a uniform distribution on 0..1: what jurors who answer at random would show."""


@dataclass(frozen=True, slots=True)
class Spread:
    """r_WG, signed and clamped, with its band; ``reason`` says why they are ``None``."""

    raw: float | None
    clamped: float | None
    band: Band | None
    n: int
    reason: str | None = None


def band(value: float | None) -> Band | None:
    """Band of a raw agreement: high from 0.8, medium from 0.667, else low; ``None`` stays so."""
    if value is None:
        return None
    if value >= 0.8 - SLACK:
        return Band.HIGH
    return Band.MEDIUM if value >= 0.667 - SLACK else Band.LOW


def sample_variance(scores: Sequence[float]) -> float | None:
    """Variance with n - 1 in the denominator; ``None`` under two scores."""
    n = len(scores)
    if n < 2:
        return None
    mean = math.fsum(scores) / n
    return math.fsum((score - mean) ** 2 for score in scores) / (n - 1)


def r_wg(scores: Sequence[float]) -> Spread:
    """Within-group agreement ``1 - s² / V0`` of scores on 0..1, with the uniform null V0 = 1/12.

    ``s²`` is the sample variance (n - 1); undefined under two scores (``single_juror``).
    Source: James, Demaree and Wolf 1984.
    """
    variance = sample_variance(scores)
    if variance is None:
        return Spread(None, None, None, len(scores), "single_juror")
    raw = 1 - variance / UNIFORM_NULL
    return Spread(raw, max(0.0, raw), band(raw), len(scores))


def votes_agreement(votes: Sequence[bool]) -> float | None:
    """``2P - 1``, P the share of juror pairs that vote alike; ``None`` under two votes."""
    n, passes = len(votes), sum(votes)
    if n < 2:
        return None
    alike = math.comb(passes, 2) + math.comb(n - passes, 2)
    return 2 * alike / math.comb(n, 2) - 1


def verdict_agreement(scores: Sequence[float], votes: Sequence[bool]) -> Spread:
    """Agreement of one verdict: r_WG on the scores, or on the votes where scores are missing."""
    if len(scores) >= 2 or len(votes) < 2:
        return r_wg(scores)
    raw = votes_agreement(votes)
    return Spread(raw, None if raw is None else max(0.0, raw), band(raw), len(votes))


def unit_alpha(values: Sequence[Hashable]) -> float | None:
    """Krippendorff's nominal alpha of one unit: 1.0 if unanimous, else 0.0; ``None`` under two.

    With a single unit the observed and the expected disagreement coincide, so any split gives 0.
    It is kept for parity with the producers that report it, and says nothing more.
    """
    if len(values) < 2:
        return None
    return 1.0 if len(set(values)) == 1 else 0.0


def closeness(scores: Sequence[float]) -> float | None:
    """Score closeness ``max(0, 1 - min(s² / (1/16), 1))``; ``None`` under two scores.

    Never used for bands. Source: the multi-judge decision record, with ``None`` for its 1.0 of a
    single judge.
    """
    variance = sample_variance(scores)
    return None if variance is None else max(0.0, 1 - min(variance * 16, 1.0))
