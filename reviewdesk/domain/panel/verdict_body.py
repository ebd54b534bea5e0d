"""The canonical verdict, built from a case, a panel and its ballots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reviewdesk.domain.assessment.assess import Assessment, assess
from reviewdesk.domain.body_values import own_facts
from reviewdesk.domain.jury.supermajority import own_share
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.hash import panel_hash
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.verdict import (
    Body,
    Decision,
    Generator,
    Policy,
    Strategy,
    Verdict,
    verdict_from_body,
)

RULE_VERSION = "reviewdesk/1"


def verdict_body(
    case: Case,
    panel: PanelSpec,
    jurors: Sequence[Body],
    *,
    committed_at: str | None = None,
    checks: Sequence[Mapping[str, Any]] = (),
    run_id: str | None = None,
) -> dict[str, Any]:
    """Return the verdict of a panel; ``jurors`` are its canonical ballots in seat order.

    Reading the verdict back gives the same decision, score, trim and panel hash. The hash is
    computed from the ballots, so that it can be compared with the committed one.
    """
    case = case.under(panel.rubric)
    body = _base_body(case, panel, jurors, checks)
    body["provenance"] = _without_none(
        {
            "panel_hash": panel_hash(jurors, panel.rule_body(case.rubric, case.tags)),
            "committed_at": committed_at,
            "run_id": run_id,
        }
    )
    verdict = verdict_from_body(body, Policy(), Generator())
    return _without_none(
        {**body, **_computed_body(verdict, assess(verdict, escalation_stated=False))}
    )


def failed_check_body(
    case: Case, panel: PanelSpec, reason: str, checks: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the verdict of a case that failed a deterministic check, so no juror was asked."""
    case = case.under(panel.rubric)
    body = _base_body(case, panel, (), checks)
    own = {
        "strategy": Strategy.EXTERNAL.value,
        "decision": Decision.FAIL.value,
        "escalate_for_review": False,
        "trim": None,
        "meta": {"reviewdesk": {**own_facts(body), "not_asked": reason}},
    }
    return _without_none({**body, **own})


def _base_body(
    case: Case, panel: PanelSpec, jurors: Sequence[Body], checks: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the part of a verdict that is known before anything is computed."""
    rule = panel.rule
    strategy = panel.strategy_for(case.tags)
    reference = list(case.reference) if isinstance(case.reference, tuple) else case.reference
    generator = {"model": case.generator.model, "vendor": case.generator.vendor}
    # The format has no keys for these, and without them the report would read back as another rule.
    beyond = _without_none(
        {
            "failed_jurors": None if rule.failed_jurors is None else str(rule.failed_jurors),
            "supermajority": own_share(rule.supermajority),
            "context": dict(case.context) or None,
        }
    )
    return _without_none(
        {
            "id": case.id,
            "case": _without_none({"test": case.test or case.id, "tags": list(case.tags) or None}),
            "input": case.input,
            "output": case.output,
            "alternative": case.alternative,
            "reference": reference,
            "rubric": case.rubric,
            "generator": _without_none(generator) or None,
            "threshold": rule.threshold,
            "quorum": rule.quorum,
            "strategy": None if strategy is None else strategy.value,
            "regime": None if rule.regime is None else str(rule.regime),
            "trim": {"method": "quantile", "fraction": rule.trim, "rounding": str(rule.rounding)},
            "checks": [dict(check) for check in checks] or None,
            "jurors": [dict(juror) for juror in jurors],
            "meta": {"reviewdesk": beyond} if beyond else None,
        }
    )


def _computed_body(verdict: Verdict, found: Assessment) -> dict[str, Any]:
    """Return the computed part of a verdict: the panel's decision, score, agreement and flags."""
    pair = found.pair
    return {
        "decision": None if found.decision is None else found.decision.value,
        "score": found.score,
        "agreement": {"value": pair.value, "metric": pair.metric},
        "band": None if pair.band is None else pair.band.value,
        "escalate_for_review": bool(found.escalation),
        "escalation_reasons": list(found.escalation) or None,
        "same_family": found.same_family,
        "bias_warning": found.bias_warning,
        "trim": _trim(verdict, found),
    }


def _trim(verdict: Verdict, found: Assessment) -> dict[str, Any]:
    """Return the full trim if the trimmed mean decides, else the trim rule alone."""
    stated: dict[str, Any] = dict(verdict.body["trim"])
    if found.rule.used is not Strategy.TRIMMED_MEAN:
        return stated
    names = [ballot.id for ballot in verdict.ballots]
    return {
        **stated,
        "per_side": found.trim.per_side,
        "dropped_low": [names[seat] for seat in found.trim.low],
        "dropped_high": [names[seat] for seat in found.trim.high],
        "degraded": bool(found.degraded),
        "rule_version": RULE_VERSION,
    }


def _without_none(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}
