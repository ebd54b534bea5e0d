"""Where a report disagrees with its own rule, and how its verdict was reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from datetime import UTC, datetime

import numpy as np
from msgspec import Struct

from reviewdesk.domain.assessment.result import Assessment, Breach, Mismatch, State
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
from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.panels import FAIL, PASS
from reviewdesk.domain.jury.rules import ALPHA, R_WG, Breakdown
from reviewdesk.domain.jury.scores import (
    ADR_NULL,
    BANDS,
    LOW,
    UNIFORM_NULL,
    band,
    bands,
    codes_of,
    levels_null,
    only,
    pairs_agreement,
    r_wg,
    share_of_pairs,
)
from reviewdesk.domain.jury.verdicts import Verdicts
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.run.columns import Bools, Ints
from reviewdesk.domain.run.packing import NOTHING
from reviewdesk.domain.values import LABEL_RULES
from reviewdesk.domain.verdict import (
    Band,
    Decision,
    Regime,
    Status,
    Strategy,
    Verdict,
    folded,
    labelled,
)

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

    ``r_wg`` uses the uniform null, and ``pairwise`` is the share of juror pairs that agree.
    ``labels`` says whether the jurors answered by label.
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
    """Return a text if the stated band does not match the stated value or the ballots' r_WG."""
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

    A low agreement must escalate. Otherwise alpha allows no escalation, and r_WG allows one only
    on a split. Stated reasons, a dispute, or a decision of inconclusive or error allow one under
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
    undecided = verdict.decision in {Decision.INCONCLUSIVE, Decision.ERROR}
    reasons = verdict.body.get("escalation_reasons")
    other = undecided or bool(reasons) or verdict.regime == Regime.DISPUTE
    if own is Band.LOW or Band.LOW in given or other:
        return None
    if not derivable(verdict):
        return f"escalation: reported, but {_stated_text(verdict)} is {own}"
    votes = {ballot.vote for ballot in verdict.ballots if ballot.vote is not None}
    labels = {folded(ballot.label) for ballot in labelled(verdict.ballots)}
    # A vote that depends on an unknown threshold may have split the panel too.
    waiting = any(ballot.undetermined for ballot in verdict.ballots)
    if waiting or len(votes) > 1 or len(labels) > 1 or "threshold" in verdict.set_by_you:
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
    """Return the bands of the ballots under a stated r_WG, that of the uniform null first.

    Bands under other nulls are added if these nulls give the stated figure.
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
    near = [
        raw
        for raw in found[1:]
        if stated.value is not None
        and min(abs(raw - stated.value), abs(max(0.0, raw) - stated.value)) <= _ROUNDING_SLACK
    ]
    codes = bands(np.array([found[0], *near])).tolist()
    return tuple(dict.fromkeys([BANDS[code] for code in codes]))


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

    Columns show that most reports agree with their rules. ``read`` builds the other verdicts by
    their places, because their words and votes may allow more than one reading.
    """
    rounded = found.panels.by(Strategy.QUORUM) != found.panels.quorum_strictly
    bits = np.where(rounded, int(Breach.ROUNDING), 0)
    for at in np.flatnonzero(doubtful(found)).tolist():
        for one in mismatches(AuditedVerdict(read(at), found, at)):
            bits[at] |= int(one.kind)
    return bits


def doubtful(found: Verdicts) -> Bools:
    """Return which verdicts state something that their ballots do not give at first sight."""
    sheet = found.sheet
    claims = sheet.claims
    cast = found.panels.cast
    policies = [one.policy for one in sheet.facts]
    # The decision, by the quorum or by another rule, and against every vote.
    stated = claims.decision
    by_quorum = sheet.of_policy([one.strategy in {None, Strategy.QUORUM} for one in policies])
    quorum = found.panels.by(Strategy.QUORUM)
    decision = by_quorum & (quorum != NOTHING) & (stated != quorum)
    decision &= stated != found.panels.quorum_answered
    ours = found.panels.decision.astype(np.int64)
    if found.counts.any():
        ours = np.where(found.counts & found.declares, found.words.decision, ours)
    # A rule that finds no vote decides nothing; but a stated trim may have more than one mean.
    trims = sheet.of_policy([one.strategy is Strategy.TRIMMED_MEAN for one in policies])
    empty = (cast.answered == 0) & ~found.counts & ~trims & ~found.panels.too_few
    decision |= ~by_quorum & (stated != ours) & ~empty
    sided = np.where(stated == PASS, cast.passes, cast.answered - cast.passes)
    against = ((stated == PASS) | (stated == FAIL)) & (sided == 0) & (cast.answered > 0)
    decision |= against & (stated != found.panels.decision)
    # The consensus label.
    label = claims.label != sheet.labels.words.code("")
    label &= sheet.of_policy([one.strategy in LABEL_RULES for one in policies])
    label &= (found.labelled > 0) | found.declares
    label &= ~(found.counts & (found.words.label == claims.label))
    # Band, escalation and family, beside the agreement.
    own = bands(claims.value)
    raw = np.where(claims.metric == R_WG, bands(found.whole_agreement), own)
    known = np.isin(claims.metric, (R_WG, ALPHA)) & (own != NOTHING)
    agreement = (claims.band != own) | ((raw != NOTHING) & (raw != own))
    agreement &= claims.band != NOTHING
    agreement |= (claims.escalate == 1) & (own != LOW)
    agreement |= (claims.escalate == 0) & ((own == LOW) | (raw == LOW))
    kin = (claims.same_family != NOTHING) & (sheet.shared != NOTHING)
    kin &= claims.same_family != sheet.shared
    # The trim.
    low, high = found.ends
    same = ((claims.low == low) & (claims.high == high)).all(axis=0)
    same &= (claims.listed == found.cut).all(axis=0)
    per_side = (claims.per_side == NOTHING) | (claims.per_side == found.cut)
    trim = claims.trim & ~(per_side & (same | ~claims.named))
    noted = ["contradictions" in (one.meta or ()) for one in sheet.verdicts]
    marks: Bools = (decision & (stated != NOTHING)) | label | (known & agreement) | kin | trim
    return marks | found.stopped | sheet.contradicts.any(axis=0) | np.array(noted, np.bool_)


# how a verdict was reached


class Trail(Struct, frozen=True):
    """The steps from the ballots to the decision; ``None`` if the report does not state a step.

    Scores and times are in seat order. ``agreement`` is the recomputed metric of the report;
    ``agreement_reason`` says why the ballots of one verdict cannot give it.
    """

    pre_trim: tuple[float | None, ...]
    post_trim: float | None
    rule_version: str | None
    strategy: Strategy | None
    strategy_used: Strategy | None
    fallback_reason: str | None
    panel_hash: str | None
    panel_hash_status: HashStatus | None
    committed_at: str | None
    ballots_at: tuple[str | None, ...]
    agreement: float | None
    agreement_reason: str | None

    @property
    def span(self) -> tuple[str, str] | None:
        """The earliest and the latest time of a ballot; ``None`` if no ballot has a time."""
        given = sorted((text for text in self.ballots_at if text), key=_comparable_time)
        return (given[0], given[-1]) if given else None


def trail(verdict: Verdict, found: Assessment) -> Trail:
    """Collect the audit trail of one verdict."""
    provenance = verdict.body.get("provenance") or {}
    post_trim = found.values.trimmed_mean
    if verdict.trim.low is not None:
        # The report's own trim names its jurors.
        scores = [seat.ballot.score for seat in found.seats if not seat.trimmed]
        kept = [score for score in scores if score is not None]
        post_trim = math.fsum(kept) / len(kept) if kept else None
    return Trail(
        pre_trim=tuple(ballot.score for ballot in verdict.ballots),
        post_trim=post_trim,
        rule_version=(verdict.body.get("trim") or {}).get("rule_version"),
        strategy=found.rule.strategy,
        strategy_used=found.rule.used,
        fallback_reason=found.rule.reason,
        panel_hash=provenance.get("panel_hash") or None,
        panel_hash_status=panel_hash_status(verdict),
        committed_at=provenance.get("committed_at") or None,
        ballots_at=tuple(juror.get("at") for juror in verdict.body["jurors"]),
        agreement=restated(verdict, labels=bool(found.labels)),
        agreement_reason=None if derivable(verdict) else "not derivable",
    )


_UNREADABLE = datetime.max.replace(tzinfo=UTC)


def _comparable_time(text: str) -> datetime:
    """Parse a time for comparison: UTC if it has no zone, the latest possible if unreadable."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return _UNREADABLE
    return found if found.tzinfo else found.replace(tzinfo=UTC)


PANEL_SIZE = 5
PANEL_FAMILIES = 3
"""The smallest panel, and its fewest model families, for which the trim rule is designed."""


def remarks(verdict: Verdict, found: Assessment) -> tuple[str, ...]:
    """Return the notes on rounding, weights, the trim and its price, the panel and unanimity."""
    made = found.decisions
    votes = found.votes
    rounding = (
        f"{Breach.ROUNDING.label}: {votes.passes} of {votes.seated} against "
        f"{verdict.policy.quorum} is {made.quorum} as written, {made.quorum_strict} to the letter"
    )
    ballots = [seat.ballot for seat in found.seats if seat.ballot.usable]
    without = [ballot.id for ballot in ballots if ballot.weight is None]
    weights = "weight 1 assumed for every juror" if found.assumed_weights else None
    if without and len(without) < len(ballots):
        weights = f"weight 1 assumed for {', '.join(without)}"
    strange = [seat.ballot.id for seat in found.seats if seat.ballot.status is Status.UNKNOWN]
    answers = "1 answer" if len(strange) == 1 else f"{len(strange)} answers"
    committed = (verdict.body.get("provenance") or {}).get("committed_at") or ""
    times = [_comparable_time(at) for one in verdict.body["jurors"] if (at := one.get("at"))]
    late = bool(times) and min(times) < _comparable_time(committed) < _UNREADABLE
    texts = (
        rounding if Breach.ROUNDING in found.marks else None,
        weights,
        *_trimming(verdict, found),
        *_panel(found),
        "unanimous: equal scores" if found.unanimous_scores else None,
        "unanimous: equal votes" if found.unanimous_votes else None,
        strange and f"{answers} not understood, and so not counted: {', '.join(strange)}",
        _distant_kin(verdict, found),
        "the panel was committed after its first ballot" if late else None,
    )
    return tuple(str(text) for text in texts if text)


def _trimming(verdict: Verdict, found: Assessment) -> Iterator[str]:
    scored = sum(seat.ballot.score is not None for seat in found.seats)
    if 0 < scored < 3:
        yield "untrimmed: one or two scores have no ends"
    kept = {seat.ballot.score for seat in found.seats if seat.state is State.COUNTED} - {None}
    tied = ", ".join(
        seat.ballot.id for seat in found.seats if seat.trimmed and seat.ballot.score in kept
    )
    if tied:
        yield f"trimmed (tie): {tied} scored as much as a juror that was kept"
    named = verdict.trim.low
    if not scored or (found.rule.used is not Strategy.TRIMMED_MEAN and not named):
        return
    tolerated = found.trim.per_side if named is None else len(named)
    point = Breakdown(scored, tolerated, None)
    subject = "" if found.rule.used is Strategy.TRIMMED_MEAN else " of the stated trim"
    yield f"breakdown{subject}: {point}"
    bodies = verdict.body["jurors"]
    costs = [
        bodies[seat.ballot.seat].get("cost_usd")
        for seat in found.seats
        if seat.ballot.score is not None
    ]
    prices = [cost for cost in costs if cost is not None]
    if len(prices) == scored >= point.breaks_at:
        cost = sum(sorted(prices)[: point.breaks_at])
        yield f"bribe cost: {point.breaks_at} jurors, at least ${cost:.6g} at the ballots' prices"


def _panel(found: Assessment) -> Iterator[str]:
    """Yield notes on a panel with too few jurors or families to withstand its own members."""
    seated = len(found.seats)
    if not seated:
        return
    if seated < PANEL_SIZE:
        yield f"panel of {seated}: under five jurors"
    families = {seat.family.name for seat in found.seats if seat.family}
    unknown = sum(seat.family is None for seat in found.seats)
    if len(families) < PANEL_FAMILIES:
        known = f"{len(families)} known model families"
        yield f"panel of {known}, {unknown} of {seated} jurors unknown: under three"


def _distant_kin(verdict: Verdict, found: Assessment) -> str | None:
    """Return a note if the report denies a shared family that only the extended list shows."""
    if found.same_family is not False:
        return None
    names = ", ".join(one.id for one in family.relatives(verdict.ballots, verdict.generator))
    if not names or family.plain_kin(verdict.ballots, verdict.generator):
        return None
    return f"same model family by the extended list, which the report need not know: {names}"
