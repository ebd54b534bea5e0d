"""Measures of how closely the jurors of one verdict agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from enum import StrEnum

from msgspec import Struct

from reviewdesk.domain import arguments
from reviewdesk.domain.jury.band import band
from reviewdesk.domain.jury.label_rules import said_labels
from reviewdesk.domain.verdict import Ballot, Band, Status, Verdict, folded
from reviewdesk.errors import UsageError

UNIFORM_NULL = 1 / 12
"""The variance of a uniform distribution on 0..1, which random answers would show."""
ADR_NULL = 1 / 16
"""The variance that the multi-judge decision record takes for no agreement at all."""


def levels_null(levels: int) -> float:
    """Return the variance of a uniform draw from L equal steps on 0..1: ``(L+1) / (12 (L-1))``."""
    return (levels + 1) / (12 * (levels - 1))


STOPPED_EARLY = "stopped early"
"""The reason why a panel that did not ask every juror has no agreement, band and escalation."""

R_WG, ALPHA = "r_wg", "krippendorff_alpha"
LINED = frozenset({R_WG, ALPHA, "unknown"})
"""The metrics that the band limits apply to; an unnamed metric is assumed to be one of them.

A share of juror pairs, a share of the consensus and a variance lie on other scales.
"""


class AgreementSource(StrEnum):
    """Where an agreement and its band come from: the report, or our figures from its ballots."""

    REPORTED = "reported"
    OURS = "ours"


class AgreementPair(Struct, frozen=True):
    """An agreement and its band, of one source; ``metric`` is ``None`` for a band stated alone."""

    value: float | None
    band: Band | None
    source: AgreementSource
    metric: str | None

    @property
    def reported(self) -> bool:
        """Whether the report states the value or the band."""
        return self.source is AgreementSource.REPORTED


class Spread(Struct, frozen=True):
    """An agreement, raw and clamped at 0, with its band; ``reason`` says why they are ``None``."""

    raw: float | None
    clamped: float | None
    band: Band | None
    n: int
    reason: str | None = None


def own_band(verdict: Verdict) -> Band | None:
    """Return the band of the agreement that a report states; ``None`` if no limits apply to it."""
    stated = verdict.agreement
    return band(stated.value) if stated is not None and stated.metric in LINED else None


def agreement_pair(verdict: Verdict, ours: Spread) -> AgreementPair:
    """Return the agreement and the band of a verdict that are shown together.

    What the report states comes first, even a null value or a band alone. If it states a value
    without a band, the band follows from the value where the limits apply to its metric. If it
    states neither, both are recomputed from the ballots.
    """
    stated, source = verdict.agreement, AgreementSource.REPORTED
    if stated is not None:
        return AgreementPair(stated.value, verdict.band or own_band(verdict), source, stated.metric)
    if verdict.band is not None:
        return AgreementPair(None, verdict.band, source, None)
    return AgreementPair(ours.raw, ours.band, AgreementSource.OURS, R_WG)


def sample_variance(scores: Sequence[float]) -> float | None:
    """Return the variance with n - 1 in the denominator, or ``None`` for fewer than two scores."""
    n, total = len(scores), arguments.total("a score", scores)
    if n < 2:
        return None
    mean = total / n
    # A product is rounded alike everywhere, as a power need not be.
    gaps = [score - mean for score in scores]
    return math.fsum(gap * gap for gap in gaps) / (n - 1)


def r_wg(scores: Sequence[float], null: float = UNIFORM_NULL) -> Spread:
    """Return the within-group agreement ``1 - s² / V0`` of scores on 0..1.

    ``V0`` is the variance of the null, ``s²`` the sample variance (n - 1). The result is undefined
    for fewer than two scores (``single_juror``). Source: James, Demaree and Wolf 1984.
    """
    if not 0 < null < math.inf:
        raise UsageError(f"null is {null!r}", "Give a variance above 0")
    variance = sample_variance(scores)
    if variance is None:
        return Spread(None, None, None, len(scores), "single_juror")
    raw = 1 - variance / null
    return Spread(raw, max(0.0, raw), band(raw), len(scores))


def votes_agreement(votes: Sequence[bool]) -> float | None:
    """Return ``2P - 1``, P the share of juror pairs that vote alike; ``None`` under two votes."""
    for vote in votes:
        if vote not in {True, False}:
            raise UsageError(f"a vote is {vote!r}", "Give True or False")
    share = share_of_pairs(votes)
    return None if share is None else 2 * share - 1


def verdict_agreement(scores: Sequence[float], votes: Sequence[bool]) -> Spread:
    """Return the r_WG of one verdict's scores, or the agreement of its votes without scores.

    The votes are used if there are fewer than two scores and at least two votes.
    """
    if len(scores) >= 2 or len(votes) < 2:
        return r_wg(scores)
    return pairs_agreement(votes)


def pairs_agreement(answers: Sequence[Hashable]) -> Spread:
    """Return ``2P - 1``, P the share of juror pairs that give the same vote or label."""
    share = share_of_pairs(answers)
    if share is None:
        return Spread(None, None, None, len(answers), "single_juror")
    raw = 2 * share - 1
    return Spread(raw, max(0.0, raw), band(raw), len(answers))


def own_spread(verdict: Verdict) -> Spread:
    """Return the agreement of what the jurors of a verdict said: labels, or else scores or votes.

    It is undefined if the panel stopped before it had asked every juror, because who answered then
    depends on how they agreed.
    """
    ballots = verdict.ballots
    scores = [one.score for one in ballots if one.score is not None]
    if stopped_early(ballots):
        return Spread(None, None, None, len(scores), STOPPED_EARLY)
    if said := said_labels(verdict):
        return pairs_agreement([folded(one.label) for one in said])
    return verdict_agreement(scores, [one.vote for one in ballots if one.vote is not None])


def stopped_early(ballots: Sequence[Ballot]) -> bool:
    """Return whether a panel stopped before it had asked every juror."""
    return any(ballot.status is Status.NOT_ASKED for ballot in ballots)


def share_of_pairs(answers: Sequence[Hashable]) -> float | None:
    """Return the share of juror pairs that answer alike, or ``None`` for fewer than two answers."""
    if len(answers) < 2:
        return None
    alike = sum(math.comb(count, 2) for count in Counter(answers).values())
    return alike / math.comb(len(answers), 2)


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
