"""The JSON output of re-runs."""

from __future__ import annotations

from typing import Any

from reviewdesk.desk.live.rerun_history import RerunRecord
from reviewdesk.domain.panel.rerun import (
    Change,
    changes,
    flipped,
)
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Ballot


def rerun(item: Item, record: RerunRecord) -> dict[str, Any]:
    """Return one re-run compared with the first verdict, for ``rerun`` and ``show --json``."""
    made, before = record.rerun, item.assessment
    found = made.assessment
    return {
        "run": item.run.name,
        "id": item.verdict.id,
        "at": made.at,
        "reviewer": made.reviewer,
        "scope": made.scope,
        "panel": made.panel,
        "masked": made.masked,
        "stopped": made.stopped,
        "contract_before": made.contract_before,
        "filed": made.filed,
        "decision": found.decision,
        "was": before.decision,
        "flipped": flipped(before.decision, found.decision),
        "score": found.score,
        "was_score": before.score,
        "strategy": found.rule.strategy,
        "strategy_used": found.rule.used,
        "fallback_reason": found.rule.reason,
        "degraded": list(found.degraded),
        "correct": made.correct,
        "panel_hash": made.panel_hash,
        "panel_hash_committed": made.committed,
        "jurors": [_change(change) for change in changes(item.verdict, made)],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "id": change.juror,
        "asked": change.asked,
        "flipped": change.flipped,
        "moved": change.moved,
        "before": _ballot(change.before),
        "after": _ballot(change.after),
    }


def _ballot(cast: Ballot | None) -> dict[str, Any] | None:
    if cast is None:
        return None
    return {
        "score": cast.score,
        "pass": cast.vote,
        "status": cast.status,
        "reason": cast.reason,
        "error": cast.error,
    }
