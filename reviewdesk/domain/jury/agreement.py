"""Measures of how closely the jurors of one verdict agree."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from reviewdesk.domain.jury.band import band
from reviewdesk.domain.jury.records import Spread
from reviewdesk.domain.jury.scores import Scores, one_panel, only
from reviewdesk.domain.run.packing import NOTHING
from reviewdesk.domain.stats.dense import Floats, Ints
from reviewdesk.errors import UsageError

UNIFORM_NULL = 1 / 12
"""The variance of a uniform distribution on 0..1, which random answers would show."""
ADR_NULL = 1 / 16
"""The variance that the multi-judge decision record takes for no agreement at all."""


def levels_null(levels: int) -> float:
    """Return the variance of a uniform draw from L equal steps on 0..1: ``(L+1) / (12 (L-1))``."""
    return (levels + 1) / (12 * (levels - 1))


def share_of_pairs(answers: Ints) -> Floats:
    """Return the share of juror pairs of each panel that answer alike, ``[n]``; NaN without one.

    ``answers`` are votes or labels, ``[s, n]``, -1 for none.
    """
    alike = np.zeros(answers.shape[1], np.int64)
    for seat in range(1, len(answers)):
        alike += ((answers[:seat] == answers[seat]) & (answers[seat] != NOTHING)).sum(axis=0)
    m = (answers != NOTHING).sum(axis=0)
    pairs = m * (m - 1) // 2
    return np.where(pairs > 0, alike / np.maximum(pairs, 1), np.nan)


def pairs_agreement(answers: Ints) -> Floats:
    """Return ``2P - 1``, P the share of juror pairs that give the same vote or label."""
    return 2 * share_of_pairs(answers) - 1


def scores_agreement(scores: Scores, null: float = UNIFORM_NULL) -> Floats:
    """Return the within-group agreement ``1 - s² / V0`` of each panel's scores, NaN under two."""
    return 1 - scores.variance / null


def codes_of(answers: Sequence[Hashable]) -> Ints:
    """Return the answers of one panel as numbers, the same for the same answer."""
    known: dict[Hashable, int] = {}
    found = [known.setdefault(answer, len(known)) for answer in answers]
    return np.array(found, np.int64).reshape(-1, 1)


def sample_variance(scores: Sequence[float]) -> float | None:
    """Return the variance with n - 1 in the denominator, or ``None`` for fewer than two scores."""
    return only(one_panel(scores).variance)


def spread_of(raw: float | None, n: int, reason: str = "single_juror") -> Spread:
    """Return an agreement of n answers with its band, or why there is none."""
    if raw is None:
        return Spread(None, None, None, n, reason)
    return Spread(raw, max(0.0, raw), band(raw), n)


def r_wg(scores: Sequence[float], null: float = UNIFORM_NULL) -> Spread:
    """Return the within-group agreement ``1 - s² / V0`` of scores on 0..1.

    ``V0`` is the variance of the null, ``s²`` the sample variance (n - 1). The result is undefined
    for fewer than two scores (``single_juror``). Source: James, Demaree and Wolf 1984.
    """
    if not 0 < null < math.inf:
        raise UsageError(f"null is {null!r}", "Give a variance above 0")
    return spread_of(only(scores_agreement(one_panel(scores), null)), len(scores))


def votes_agreement(votes: Sequence[bool]) -> float | None:
    """Return ``2P - 1``, P the share of juror pairs that vote alike; ``None`` under two votes."""
    for vote in votes:
        if vote not in {True, False}:
            raise UsageError(f"a vote is {vote!r}", "Give True or False")
    return only(pairs_agreement(codes_of(votes)))


def verdict_agreement(scores: Sequence[float], votes: Sequence[bool]) -> Spread:
    """Return the r_WG of one verdict's scores, or the agreement of its votes without scores.

    The votes are used if there are fewer than two scores and at least two votes.
    """
    if len(scores) >= 2 or len(votes) < 2:
        return r_wg(scores)
    return spread_of(votes_agreement(votes), len(votes))


def unit_alpha(values: Sequence[Hashable]) -> float | None:
    """Return Krippendorff's nominal alpha of one unit: 1.0 if unanimous, else 0.0.

    Return ``None`` for fewer than two values. With a single unit the observed and the expected
    disagreement coincide, so any split gives 0. It is kept for comparison with the producers that
    report it, and says nothing more.
    """
    if len(values) < 2:
        return None
    return 1.0 if len(set(values)) == 1 else 0.0


def closeness(scores: Sequence[float]) -> float | None:
    """Return the score closeness ``max(0, 1 - min(s² / (1/16), 1))``, ``None`` under two scores.

    It is never used for bands. Source: the multi-judge decision record, which gives 1.0 for a
    single judge where this function gives ``None``.
    """
    variance = sample_variance(scores)
    return None if variance is None else max(0.0, 1 - min(variance / ADR_NULL, 1.0))
