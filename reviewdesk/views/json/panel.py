"""The JSON of panels: ``panel check``, and ``judge`` after a panel was asked."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.labels.split import ImprovePage, PanelAdopted
from reviewdesk.domain.panel.composition import ITEM_BYTES, PanelCheck
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.panel.turnout import BatchesPending, BatchSummary, Turnout
from reviewdesk.domain.verdict import Strategy
from reviewdesk.views.json.shape import shape

_SEAT = (
    "name=juror.name model=juror.model vendor=juror.vendor family=family.name "
    "base_url=juror.base_url weight=juror.weight share temperature=juror.temperature "
    "max_tokens=juror.max_tokens timeout=juror.timeout rpm=juror.rpm tpm=juror.tpm "
    "prompt_version=juror.prompt_version "
    "prompt_sha256=juror.prompt_sha256 key_variable"
)
_BREAKDOWN = "jurors tolerates breaks_at"
_COUNTS = ("text", "false_passes", "false_fails")
_FIGURES = (
    "report cases verdicts passed failed inconclusive no_decision errors failed_checks calls "
    "reused abstained_ballots=turnouts.abstained failed_ballots=turnouts.failed cost_usd"
)


def check(checked: PanelCheck) -> dict[str, Any]:
    """Return ``panel check --json``; a supermajority's share only if a rule of the panel is one.

    So are samples, orders and the like, only where the panel sets them.
    """
    panel = checked.panel
    rule = checked.panel.spec.rule
    is_supermajority = Strategy.SUPERMAJORITY in {panel.strategy, *rule.routes.values()}
    return {
        "file": checked.file,
        **shape(panel, "name=spec.name hash rubric=spec.rubric"),
        "rule": {
            "strategy": panel.strategy,
            **shape(rule, "regime threshold quorum"),
            "trim": shape(rule, "fraction=trim rounding"),
            **shape(rule, "failed_jurors min_answered strategy_for=routes"),
            **(shape(rule, "supermajority") if is_supermajority else {}),
            **panel.spec.asking(),
        },
        "jurors": [
            shape(
                seat,
                _SEAT,
                **(seat_body(seat.juror).get("meta") or {}),
                key_set=None if (key := seat.key_variable) is None else key not in checked.missing,
            )
            for seat in panel.seats
        ],
        **shape(panel, "families"),
        "breakdown": {
            "trim": shape(panel.trim, _BREAKDOWN),
            "strategy": panel.by_strategy and shape(panel.by_strategy, _BREAKDOWN),
        },
        "cost": panel.cost
        and {
            "item_bytes": ITEM_BYTES,
            **shape(panel.cost, "worst_usd=worst typical_usd=typical bribe_usd=bribe"),
        },
        **shape(panel, "unpriced warnings"),
        **shape(checked, "missing_keys=missing malformed_keys=malformed"),
    }


def figures(found: BatchSummary) -> dict[str, Any]:
    """Return the figures of a finished run, without its problem and its jurors.

    What stopping early saved is among them only if it saved a call.
    """
    made = shape(found, _FIGURES, seconds=round(found.seconds, 3), rate=round(found.rate, 2))
    return made | (shape(found, "stopped_early calls_saved=spared") if found.spared else {})


def batch(found: BatchSummary) -> dict[str, Any]:
    """Return ``judge --json``: the figures, with the counts of each juror's ballots by status."""
    jurors = [_turnout(one) for one in found.turnouts.by_juror.values()]
    return {**figures(found), "jurors": jurors}


def _turnout(one: Turnout) -> dict[str, Any]:
    made = shape(one, "id=juror answered abstained failed why stopped")
    made |= {"not_asked": one.not_asked} if one.not_asked else {}
    differing, pairs = one.flips
    return made | ({"flips": differing, "repeated_pairs": pairs} if pairs else {})


def pending(found: BatchesPending) -> dict[str, Any]:
    """Return ``judge --json`` while calls wait at vendors: no report, and the counts of calls."""
    return {"report": None, **shape(found, "waiting fetched unsent")}


def improvement(found: ImprovePage) -> dict[str, Any]:
    """Return ``improve --json``; counts of the holdout are sizes alone."""
    labels = found.labels
    wrong = labels.wrong
    rows = {"tags": wrong.tags, "notes": wrong.notes}
    return {
        "run": labels.run.name,
        "tuning": len(labels.tuning),
        "holdout": len(labels.holdout),
        "later": labels.later,
        "not_blind": labels.left_out,
        "smallest_gain": found.gain,
        "right": wrong.right,
        **shape(wrong, "false_passes false_fails"),
        **{key: [dict(zip(_COUNTS, one, strict=True)) for one in of] for key, of in rows.items()},
        "wrong": [
            shape(one, "id decided_pass=decided should_pass tags notes") for one in wrong.cases
        ],
        "tries": [
            {"candidate": one.begun.file, "verdict": one.verdict} for one in labels.split.tries
        ],
        "changes": [shape(one, "change right of") for one in found.offers],
    }


def adopted(found: PanelAdopted, **more: str) -> dict[str, Any]:
    """Return ``improve adopt --json``, and each row of ``improve lineage --json``."""
    names = "at parent candidate split=seed tries verdict"
    figures = "before after gain low high level asked gained lost"
    return {**more, **shape(found, names), **shape(found.figures, figures)}
