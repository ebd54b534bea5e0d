"""What a report's band and escalation may be held to: the metric of agreement that it names."""

from __future__ import annotations

from collections.abc import Iterator

from reviewdesk.domain.agreement import (
    ADR_NULL,
    UNIFORM_NULL,
    band,
    levels_null,
    r_wg,
    share_of_pairs,
    unit_alpha,
)
from reviewdesk.domain.labelvotes import labelled
from reviewdesk.domain.verdict import Agreement, Band, Decision, Regime, Verdict, folded

_ALPHA = "krippendorff_alpha"
_ROUNDED = 0.005
"""How far a stated figure may stand from the one it was rounded from."""
_NULLS = (ADR_NULL, *(levels_null(levels) for levels in range(2, 12)))


def restated(verdict: Verdict) -> float | None:
    """The agreement recomputed under the metric that the report names, where its meaning is sure.

    ``krippendorff_alpha`` is unit alpha, ``r_wg`` has the uniform null, and ``pairwise`` is the
    share of juror pairs that vote alike, which has no bands of its own.
    """
    stated = verdict.agreement
    if stated is None:
        return None
    votes = [ballot.vote for ballot in verdict.ballots if ballot.vote is not None]
    if stated.metric == "pairwise":
        return share_of_pairs(votes)
    return next(_readings(verdict, stated), None)


def band_mismatch(verdict: Verdict) -> str | None:
    """A band that the ballots do not give under the named metric."""
    own, stated = _bands(verdict), verdict.agreement
    if not own or stated is None or verdict.band is None or verdict.band in own:
        return None
    return f"band: reported {verdict.band}, but {stated.metric} gives {own[0]}"


def escalation_mismatch(verdict: Verdict) -> str | None:
    """A low band must escalate; nothing else does under alpha, and under r_WG a split alone.

    Reasons that the report states itself may be any.
    """
    own, stated = _bands(verdict), verdict.agreement
    if not own or stated is None or verdict.escalate is None:
        return None
    if not verdict.escalate:
        missed = set(own) == {Band.LOW}
        return f"escalation: not reported, but {stated.metric} is low" if missed else None
    if Band.LOW in own or _other_reason(verdict):
        return None
    if stated.metric == _ALPHA:
        return f"escalation: reported, but {stated.metric} is {own[0]}"
    if _may_be_split(verdict):
        return None
    return f"escalation: reported, but {stated.metric} is {own[0]} and the votes agree"


def _may_be_split(verdict: Verdict) -> bool:
    """Whether the votes or the labels differ, or a vote hangs on a threshold nobody knows."""
    votes = {ballot.vote for ballot in verdict.ballots if ballot.vote is not None}
    labels = {folded(ballot.label) for ballot in labelled(verdict.ballots)}
    waiting = any(ballot.undetermined for ballot in verdict.ballots)
    return waiting or len(votes) > 1 or len(labels) > 1 or "threshold" in verdict.set_by_you


def _other_reason(verdict: Verdict) -> bool:
    undecided = verdict.decision in {Decision.INCONCLUSIVE, Decision.ERROR}
    reasons = verdict.body.get("escalation_reasons")
    return undecided or bool(reasons) or verdict.regime == Regime.DISPUTE


def _bands(verdict: Verdict) -> tuple[Band, ...]:
    """The bands that the ballots give; none where the report states no figure to read them from."""
    stated = verdict.agreement
    if stated is None or stated.value is None:
        return ()
    found = (band(value) for value in _readings(verdict, stated))
    return tuple(dict.fromkeys(named for named in found if named))


def _readings(verdict: Verdict, stated: Agreement) -> Iterator[float]:
    """What the named metric may come to, the plainest reading first.

    Alpha may be taken over the votes or over the labels. r_WG is also read under the other nulls,
    where one of them gives the figure that is stated.
    """
    ballots = [ballot for ballot in verdict.ballots if ballot.usable]
    found: list[float | None] = []
    if stated.metric == _ALPHA:
        votes = [ballot.vote for ballot in ballots if ballot.vote is not None]
        labels = [folded(ballot.label) for ballot in labelled(ballots)]
        found = [unit_alpha(votes), unit_alpha(labels)]
    elif stated.metric == "r_wg":
        scores = [ballot.score for ballot in ballots if ballot.score is not None]
        others = [r_wg(scores, null).raw for null in _NULLS]
        found = [r_wg(scores, UNIFORM_NULL).raw, *(x for x in others if _same(x, stated.value))]
    yield from (value for value in found if value is not None)


def _same(ours: float | None, stated: float | None) -> bool:
    if ours is None or stated is None:
        return False
    return min(abs(ours - stated), abs(max(0.0, ours) - stated)) <= _ROUNDED
