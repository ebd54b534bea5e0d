"""Find every place where a report disagrees with its own rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import numpy as np

from reviewdesk.domain.assessment.flag_words import Breach, Mismatch
from reviewdesk.domain.audit.stated_rule import (
    AuditedVerdict,
    against_all,
    contradictions,
    decision_mismatch,
    label_mismatch,
    pass_mismatches,
    quorum_mismatch,
    same_family_mismatch,
    stop_mismatch,
    trim_mismatch,
)
from reviewdesk.domain.jury.agreement import (
    ADR_NULL,
    UNIFORM_NULL,
    codes_of,
    levels_null,
    pairs_agreement,
    r_wg,
    share_of_pairs,
)
from reviewdesk.domain.jury.band import BANDS, LOW, band, bands
from reviewdesk.domain.jury.label_words import LABEL_RULES
from reviewdesk.domain.jury.panels import FAIL, PASS
from reviewdesk.domain.jury.records import ALPHA, R_WG
from reviewdesk.domain.jury.scores import only
from reviewdesk.domain.jury.verdicts import Verdicts
from reviewdesk.domain.run.columns import NOTHING, Bools, Ints
from reviewdesk.domain.verdict import Band, Decision, Regime, Strategy, Verdict, folded, labelled

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
    codes = bands(np.array([found[0], *near])).tolist()
    return tuple(dict.fromkeys([BANDS[code] for code in codes]))


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


def mismatches(row: AuditedVerdict) -> tuple[Mismatch, ...]:
    """Return every place where the report of a verdict disagrees with its own rule."""
    verdict = row.verdict
    found = [
        (Breach.QUORUM, quorum_mismatch(row)),
        (Breach.DECISION, decision_mismatch(row)),
        (Breach.LABEL, label_mismatch(row)),
        (Breach.BAND, band_mismatch(row)),
        (Breach.ESCALATION, escalation_mismatch(row)),
        (Breach.SAME_FAMILY, same_family_mismatch(row)),
        (Breach.TRIM, trim_mismatch(verdict)),
        (Breach.STOPPED_EARLY, stop_mismatch(row)),
        (Breach.AGAINST_ALL, against_all(row)),
        *((Breach.CONTRADICTION, text) for text in contradictions(verdict.body)),
        *((Breach.PASS_SCORE, text) for text in pass_mismatches(row)),
    ]
    return tuple(Mismatch(kind, text) for kind, text in found if text)


def breaches(found: Verdicts, read: Callable[[int], Verdict]) -> Ints:
    """Return the breaches of many verdicts as bits of ``Breach``.

    Most reports agree with their rules as columns read them; ``read`` builds those at other places,
    whose words and votes may allow more than one reading.
    """
    bits = np.where(found.rounded, int(Breach.ROUNDING), 0)
    for at in np.flatnonzero(doubtful(found)).tolist():
        for one in mismatches(AuditedVerdict(read(at), found, at)):
            bits[at] |= int(one.kind)
    return bits


def doubtful(found: Verdicts) -> Bools:
    """Return which verdicts state something that their ballots do not give at first sight."""
    marks: Bools = (
        _doubtful_decision(found)
        | _doubtful_label(found)
        | _doubtful_agreement(found)
        | _doubtful_trim(found)
        | found.stopped
        | found.sheet.contradicts.any(axis=0)
        | np.array(["contradictions" in (one.meta or ()) for one in found.sheet.verdicts], np.bool_)
    )
    return marks


def _doubtful_decision(found: Verdicts) -> Bools:
    sheet = found.sheet
    cast = found.panels.cast
    stated = sheet.claims.decision
    facts = sheet.facts
    by_quorum = sheet.of_policy([one.policy.strategy in {None, Strategy.QUORUM} for one in facts])
    quorum = found.made["quorum"]
    doubt = by_quorum & (quorum != NOTHING) & (stated != quorum)
    doubt &= stated != found.panels.quorum_answered
    ours = found.panels.decision.astype(np.int64)
    if found.counts.any():
        ours = np.where(found.counts & found.declares, found.words.decision, ours)
    # A rule that finds no vote decides nothing; but a stated trim may have more than one mean.
    trims = sheet.of_policy([one.policy.strategy is Strategy.TRIMMED_MEAN for one in facts])
    empty = (cast.answered == 0) & ~found.counts & ~trims & ~found.panels.too_few
    doubt |= ~by_quorum & (stated != ours) & ~empty
    sided = np.where(stated == PASS, cast.passes, cast.answered - cast.passes)
    against = ((stated == PASS) | (stated == FAIL)) & (sided == 0) & (cast.answered > 0)
    doubt |= against & (stated != found.panels.decision)
    marks: Bools = doubt & (stated != NOTHING)
    return marks


def _doubtful_label(found: Verdicts) -> Bools:
    sheet = found.sheet
    label = sheet.claims.label
    doubt = label != sheet.labels.words.code("")
    if not doubt.any():
        marks: Bools = doubt
        return marks
    rules = [one.policy.strategy in LABEL_RULES for one in sheet.facts]
    doubt &= sheet.of_policy(rules) & ((found.labelled > 0) | found.declares)
    other: Bools = doubt & ~(found.counts & (found.words.label == label))
    return other


def _doubtful_agreement(found: Verdicts) -> Bools:
    claims = found.sheet.claims
    own = bands(claims.value)
    ours = bands(found.whole_agreement)
    ours = np.where(claims.metric == R_WG, ours, own)
    known = np.isin(claims.metric, (R_WG, ALPHA)) & (own != NOTHING)
    doubt = (claims.band != NOTHING) & ((claims.band != own) | ((ours != NOTHING) & (ours != own)))
    doubt |= (claims.escalate == 1) & (own != LOW)
    doubt |= (claims.escalate == 0) & ((own == LOW) | (ours == LOW))
    kin = (claims.same_family != NOTHING) & (found.sheet.shared != NOTHING)
    marks: Bools = (known & doubt) | (kin & (claims.same_family != found.sheet.shared))
    return marks


def _doubtful_trim(found: Verdicts) -> Bools:
    claims = found.sheet.claims
    cut = found.cut
    if not claims.trim.any():
        return claims.trim
    low, high = found.ends
    same = ((claims.low == low) & (claims.high == high)).all(axis=0)
    same &= (claims.listed[0] == cut) & (claims.listed[1] == cut)
    per_side = (claims.per_side == NOTHING) | (claims.per_side == cut)
    marks: Bools = claims.trim & ~(per_side & (same | ~claims.named))
    return marks
