"""The canonical verdict, built from a case, a panel and its ballots."""

from collections.abc import Sequence
from typing import Any

from reviewdesk.domain.jury import stopping
from reviewdesk.domain.jury.rules import STRATEGIES
from reviewdesk.domain.panel.case import Case, CheckResult
from reviewdesk.domain.panel.hash import panel_hash
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.run.packing import DECISION_OF
from reviewdesk.domain.values import Decision, Status, Strategy
from reviewdesk.domain.verdict import (
    CanonicalBallot,
    CanonicalCheck,
    CanonicalVerdict,
    own_facts,
    verdict_from_body,
    without_nulls,
)


def verdict_body(
    case: Case,
    panel: PanelSpec,
    jurors: Sequence[CanonicalBallot],
    *,
    committed_at: str | None = None,
    checks: Sequence[CanonicalCheck] = (),
    run_id: str | None = None,
) -> CanonicalVerdict:
    """Return the verdict of a panel; ``jurors`` are its canonical ballots in seat order.

    Read back, it gives the same decision, score, trim and panel hash. Raise NoJurorsError if no
    juror answered, and the caller's own rule has nothing to count.
    """
    # Imported here because it loads numpy.
    from reviewdesk.domain.assessment.assess import assess

    case = case.under(panel.rubric)
    body = panel.body(case, jurors, checks)
    body["provenance"] = without_nulls(
        {
            "panel_hash": panel_hash(jurors, panel.rule_body(case.rubric, case.tags)),
            "committed_at": committed_at,
            "run_id": run_id,
        }
    )
    verdict = verdict_from_body(body)
    found = assess(verdict, escalation_stated=False)
    pair = found.pair
    stopped = found.stopped_early
    decision = found.decision
    cautious = found.rule.used is not None and STRATEGIES[found.rule.used].cautious
    if cautious and decision is not Decision.ERROR and stopping.can_turn(verdict):
        # A re-run of some jurors does not ask the jurors that the first panel did not need.
        decision = Decision.INCONCLUSIVE
    trim: dict[str, Any] = verdict.body.get("trim") or {}
    if found.rule.used is Strategy.TRIMMED_MEAN:
        names = [ballot.id for ballot in verdict.ballots]
        trim = {
            **trim,
            "per_side": found.trim.per_side,
            "dropped_low": [names[seat] for seat in found.trim.low],
            "dropped_high": [names[seat] for seat in found.trim.high],
            "degraded": bool(found.degraded),
            "rule_version": "reviewdesk/1",
        }
    stated = pair.metric is not None and not stopped
    made = {
        **verdict.body,
        "decision": None if decision is None else decision.value,
        "label": None if found.label_vote is None else found.label_vote.label,
        "score": found.score,
        "agreement": {"value": pair.value, "metric": pair.metric} if stated else None,
        "band": None if pair.band is None else pair.band.value,
        "escalate_for_review": bool(found.escalation) or (None if stopped else False),
        "escalation_reasons": list(found.escalation) or None,
        "same_family": found.same_family,
        "bias_warning": found.bias_warning,
        "trim": trim,
    }
    if panel.counts_itself(case.tags):
        own = panel.aggregate(jurors, tags=case.tags, generator=case.generator, case=case.id)
        made["decision"] = own.decision and own.decision.value
        made["label"] = None if own.label_vote is None else own.label_vote.label
    return without_nulls(made)


def can_turn(case: Case, panel: PanelSpec, jurors: Sequence[CanonicalBallot]) -> bool:
    return stopping.can_turn(verdict_from_body(panel.body(case, jurors)))


def passes(
    panel: PanelSpec, given: Sequence[tuple[Case, Sequence[CanonicalBallot]]]
) -> list[bool | None]:
    """Return whether ``verdict_body`` would pass each case; ``None`` if it does not decide."""
    from reviewdesk.domain.jury.verdicts import verdicts_of

    bodies = [panel.body(case.under(panel.rubric), held) for case, held in given]
    verdicts = [verdict_from_body(body) for body in bodies]
    sides = {Decision.PASS: True, Decision.FAIL: False}
    made = []
    for (case, held), code in zip(given, verdicts_of(verdicts).decision, strict=True):
        found = DECISION_OF[code]
        if any(one.get("status") == Status.NOT_ASKED for one in held):
            found = Decision(verdict_body(case, panel, held)["decision"] or Decision.ERROR)
        made.append(sides.get(found) if found else None)
    return made


def failed_check_body(
    case: Case, panel: PanelSpec, checks: Sequence[CheckResult]
) -> CanonicalVerdict:
    failed = next(one for one in checks if one.failed)
    reason = f"the check {failed.name} failed: {failed.reason}"
    case = case.under(panel.rubric)
    body = panel.body(case, (), [one.body for one in checks])
    made = {
        **body,
        "strategy": Strategy.EXTERNAL.value,
        "decision": Decision.FAIL.value,
        "escalate_for_review": False,
        "trim": None,
        "meta": {"reviewdesk": {**own_facts(body), "not_asked": reason}},
    }
    return without_nulls(made)
