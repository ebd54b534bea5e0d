"""Find every place where a report disagrees with its own rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reviewdesk.domain.assessment.flag_words import Breach, Mismatch
from reviewdesk.domain.audit.stated_band import band_mismatch, escalation_mismatch
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
)
from reviewdesk.domain.audit.stated_trim import trim_mismatch
from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.jury.band import LOW, bands
from reviewdesk.domain.jury.label_words import LABEL_RULES
from reviewdesk.domain.jury.panels import FAIL, PASS
from reviewdesk.domain.jury.records import ALPHA, R_WG
from reviewdesk.domain.jury.verdicts import Verdicts
from reviewdesk.domain.run.columns import NOTHING, Bools, Ints
from reviewdesk.domain.verdict import Strategy, Verdict


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


def breaches(found: Verdicts, read: Callable[[CanonicalVerdict], Verdict]) -> Ints:
    """Return the breaches of many verdicts as bits of ``Breach``.

    Most reports agree with their rules as columns read them; ``read`` builds the others, whose
    words and votes may allow more than one reading.
    """
    bits = np.where(found.rounded, int(Breach.ROUNDING), 0)
    for at in np.flatnonzero(doubtful(found)).tolist():
        for one in mismatches(AuditedVerdict(read(found.sheet.bodies[at]), found, at)):
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
        | np.array(["contradictions" in (one.get("meta") or ()) for one in found.sheet.bodies])
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
