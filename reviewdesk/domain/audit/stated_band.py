"""Check a report's band and escalation against the agreement that the report itself states.

The stated *value* is taken, under the metric that the report names. A stated r_WG is also checked
against the ballots. A stated alpha is not: within one verdict, observed and expected disagreement
coincide, so that its ballots would give 0 for any split.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from reviewdesk.domain.audit.stated_rule import AuditedVerdict
from reviewdesk.domain.jury.agreement import (
    ADR_NULL,
    UNIFORM_NULL,
    codes_of,
    levels_null,
    pairs_agreement,
    r_wg,
    share_of_pairs,
)
from reviewdesk.domain.jury.band import band
from reviewdesk.domain.jury.records import ALPHA, R_WG
from reviewdesk.domain.jury.scores import only
from reviewdesk.domain.verdict import Band, Decision, Regime, Verdict, folded, labelled

NOT_DERIVABLE = "not derivable"
_BANDED_METRICS = frozenset({ALPHA, R_WG})
"""The metrics that a report can name and that have published bands."""
_ROUNDING_SLACK = 0.005
"""How far a stated figure may differ from ours because it was rounded."""
_NULLS = (ADR_NULL, *(levels_null(levels) for levels in range(2, 12)))


def derivable(verdict: Verdict) -> bool:
    """Return False for a stated alpha: the ballots of one verdict cannot give it."""
    return verdict.agreement is None or verdict.agreement.metric != ALPHA


def restated(verdict: Verdict, *, labels: bool) -> float | None:
    """Return the agreement recomputed under the report's metric; ``None`` for an unclear metric.

    ``r_wg`` uses the uniform null, and ``pairwise`` is the share of juror pairs that answer alike.
    ``labels`` says whether labels are what the jurors said.
    """
    metric = verdict.agreement.metric if verdict.agreement else None
    answers: list[Hashable] = [folded(one.label) for one in labelled(verdict.ballots)]
    if not labels:
        answers = [one.vote for one in verdict.ballots if one.vote is not None]
    if metric == "pairwise":
        return only(share_of_pairs(codes_of(answers)))
    if metric == R_WG and labels:
        return only(pairs_agreement(codes_of(answers)))
    if metric == R_WG:
        return r_wg([one.score for one in verdict.ballots if one.score is not None]).raw
    return None


def band_mismatch(row: AuditedVerdict) -> str | None:
    """Return a text if the stated band is not that of the stated value, or of the ballots' r_WG."""
    verdict = row.verdict
    own = _expected_band(verdict)
    if own is None or verdict.band is None:
        return None
    if verdict.band is not own:
        return f"band: reported {verdict.band}, but {_stated_text(verdict)} is {own}"
    given = _ballot_bands(row)
    if not given or own in given:
        return None
    return f"band: reported {own} for {_stated_text(verdict)}, but the ballots give {given[0]}"


def escalation_mismatch(row: AuditedVerdict) -> str | None:
    """Return a text if the stated agreement contradicts the stated escalation.

    A low agreement must escalate. Otherwise alpha allows no escalation, and r_WG allows one on a
    split alone. Stated reasons, a dispute, or a decision of inconclusive or error allow one under
    both.
    """
    verdict = row.verdict
    own = _expected_band(verdict)
    given = _ballot_bands(row)
    if own is None or verdict.escalate is None:
        return None
    if not verdict.escalate:
        if own is Band.LOW:
            return f"escalation: not reported, but {_stated_text(verdict)} is low"
        missed = set(given) == {Band.LOW}
        return "escalation: not reported, but r_wg of the ballots is low" if missed else None
    if own is Band.LOW or Band.LOW in given or _has_other_reason(verdict):
        return None
    if not derivable(verdict):
        return f"escalation: reported, but {_stated_text(verdict)} is {own}"
    if _may_be_split(verdict):
        return None
    return f"escalation: reported, but {_stated_text(verdict)} is {own} and the votes agree"


def _expected_band(verdict: Verdict) -> Band | None:
    """Return the band of the stated value if its metric has published bands, else ``None``."""
    stated = verdict.agreement
    return band(stated.value) if stated is not None and stated.metric in _BANDED_METRICS else None


def _stated_text(verdict: Verdict) -> str:
    """Return the stated agreement in words; call it only for a verdict that states one."""
    stated = verdict.agreement
    return "" if stated is None else f"{stated.metric} {stated.value:g}"


def _ballot_bands(row: AuditedVerdict) -> tuple[Band, ...]:
    """Return the bands that the ballots give under a stated r_WG, that of the uniform null first.

    The bands under other nulls are added if those nulls give the stated figure.
    """
    stated = row.verdict.agreement
    if stated is None or stated.metric != R_WG:
        return ()
    if said := row.said:
        ours = band(only(pairs_agreement(codes_of(said))))
        return () if ours is None else (ours,)
    variance = float(row.found.panels.scores.variance[row.at])
    if math.isnan(variance):
        return ()
    found = [1 - variance / null for null in (UNIFORM_NULL, *_NULLS)]
    near = [raw for raw in found[1:] if _equal_when_rounded(raw, stated.value)]
    return tuple(dict.fromkeys(filter(None, map(band, [found[0], *near]))))


def _equal_when_rounded(ours: float, stated: float | None) -> bool:
    if stated is None:
        return False
    return min(abs(ours - stated), abs(max(0.0, ours) - stated)) <= _ROUNDING_SLACK


def _may_be_split(verdict: Verdict) -> bool:
    """Return True if votes or labels differ, or if a vote depends on an unknown threshold."""
    votes = {ballot.vote for ballot in verdict.ballots if ballot.vote is not None}
    labels = {folded(ballot.label) for ballot in labelled(verdict.ballots)}
    waiting = any(ballot.undetermined for ballot in verdict.ballots)
    return waiting or len(votes) > 1 or len(labels) > 1 or "threshold" in verdict.set_by_you


def _has_other_reason(verdict: Verdict) -> bool:
    undecided = verdict.decision in {Decision.INCONCLUSIVE, Decision.ERROR}
    reasons = verdict.body.get("escalation_reasons")
    return undecided or bool(reasons) or verdict.regime == Regime.DISPUTE
