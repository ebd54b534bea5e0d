"""What a report's band and escalation are held to: the agreement that it states itself.

A report is held to the *value* it states, under the metric that it names, and a stated r_WG to its
ballots too. A stated alpha is not: of one verdict, observed and expected disagreement coincide, so
that its ballots would give 0 for any split.
"""

from __future__ import annotations

from reviewdesk.domain.jury.agreement import (
    ADR_NULL,
    ALPHA,
    R_WG,
    levels_null,
    own_band,
    r_wg,
    share_of_pairs,
)
from reviewdesk.domain.jury.label_votes import labelled
from reviewdesk.domain.verdict import Band, Decision, Regime, Verdict, folded

NOT_DERIVABLE = "not derivable"
_NAMED = frozenset({ALPHA, R_WG})
"""The metrics with published bands that a report can name."""
_ROUNDED = 0.005
"""How far a stated figure may stand from the one it was rounded from."""
_NULLS = (ADR_NULL, *(levels_null(levels) for levels in range(2, 12)))


def derivable(verdict: Verdict) -> bool:
    """Return False for a stated alpha: the ballots of one verdict cannot give it."""
    return verdict.agreement is None or verdict.agreement.metric != ALPHA


def restated(verdict: Verdict) -> float | None:
    """The agreement recomputed under the metric that the report names, where its meaning is sure.

    ``r_wg`` has the uniform null, and ``pairwise`` is the share of juror pairs that vote alike.
    """
    metric = verdict.agreement.metric if verdict.agreement else None
    if metric == "pairwise":
        return share_of_pairs([one.vote for one in verdict.ballots if one.vote is not None])
    if metric == R_WG:
        return r_wg([one.score for one in verdict.ballots if one.score is not None]).raw
    return None


def band_mismatch(verdict: Verdict) -> str | None:
    """A stated band that is not the one of the stated value, or of the ballots under r_WG."""
    own = _held_to(verdict)
    if own is None or verdict.band is None:
        return None
    if verdict.band is not own:
        return f"band: reported {verdict.band}, but {_stated(verdict)} is {own}"
    given = _given(verdict)
    if not given or own in given:
        return None
    return f"band: reported {own} for {_stated(verdict)}, but the ballots give {given[0]}"


def escalation_mismatch(verdict: Verdict) -> str | None:
    """A low agreement must escalate; nothing else does under alpha, and under r_WG a split alone.

    Reasons that the report states itself may be any.
    """
    own, given = _held_to(verdict), _given(verdict)
    if own is None or verdict.escalate is None:
        return None
    if not verdict.escalate:
        if own is Band.LOW:
            return f"escalation: not reported, but {_stated(verdict)} is low"
        missed = set(given) == {Band.LOW}
        return "escalation: not reported, but r_wg of the ballots is low" if missed else None
    if own is Band.LOW or Band.LOW in given or _other_reason(verdict):
        return None
    if not derivable(verdict):
        return f"escalation: reported, but {_stated(verdict)} is {own}"
    if _may_be_split(verdict):
        return None
    return f"escalation: reported, but {_stated(verdict)} is {own} and the votes agree"


def _held_to(verdict: Verdict) -> Band | None:
    """The band of the stated value, where its metric is one with published bands."""
    stated = verdict.agreement
    return own_band(verdict) if stated is not None and stated.metric in _NAMED else None


def _stated(verdict: Verdict) -> str:
    """The stated agreement in words; only for a verdict that states one."""
    stated = verdict.agreement
    return "" if stated is None else f"{stated.metric} {stated.value:g}"


def _given(verdict: Verdict) -> tuple[Band, ...]:
    """The bands that the ballots give a stated r_WG, that of the uniform null first.

    It is also read under the other nulls, where one of them gives the figure that is stated.
    """
    stated = verdict.agreement
    if stated is None or stated.metric != R_WG:
        return ()
    scores = [ballot.score for ballot in verdict.ballots if ballot.score is not None]
    others = (r_wg(scores, null) for null in _NULLS)
    found = [r_wg(scores), *(one for one in others if _same(one.raw, stated.value))]
    return tuple(dict.fromkeys(one.band for one in found if one.band is not None))


def _same(ours: float | None, stated: float | None) -> bool:
    if ours is None or stated is None:
        return False
    return min(abs(ours - stated), abs(max(0.0, ours) - stated)) <= _ROUNDED


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
