"""The JSON output of the commands. Other programs rely on it, so keys keep their names."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from reviewdesk.desk.live import rerun_json
from reviewdesk.desk.live.rerun_history import RerunRecord
from reviewdesk.domain.assessment.flags import Flag, names
from reviewdesk.domain.assessment.history import remarks, trail
from reviewdesk.domain.assessment.seats import ballot_counts
from reviewdesk.domain.audit.mismatches import Breach, kinds
from reviewdesk.domain.records import Event, Item, Loaded, QueueRow, Run
from reviewdesk.domain.run.details import DecisionCounts, RunLine
from reviewdesk.domain.verdict import Decision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewdesk.domain.assessment.assess import Assessment
    from reviewdesk.domain.run.measures import RunAlphas


def queue_row(run: Run, row: QueueRow) -> dict[str, Any]:
    """Return one entry of ``queue --json``."""
    return {
        "run": run.name,
        "id": row.id,
        "test": row.test,
        "decision": row.decision,
        "score": row.score,
        "agreement": row.agreement,
        "agreement_source": row.agreement_source,
        "band": row.band,
        "flags": names(row.flags),
        "label": row.label,
        "tentative": row.tentative,
        "deferred": row.deferred,
        "stratum": row.stratum,
        "audit": row.audit,
    }


def run_line(line: RunLine, tally: DecisionCounts | None) -> dict[str, Any]:
    """Return one entry of ``runs --json``; verdicts without a decision count as ``none``."""
    run = line.run
    tally = tally or DecisionCounts({}, {})
    made, flags = tally.decisions, tally.flags
    return {
        "run": run.name,
        "hash": run.hash,
        "file": run.file,
        "format": run.format,
        "verdicts": run.verdicts,
        "ballots": run.ballots,
        "flagged": run.flagged,
        "audit": run.audit,
        "labelled": line.labelled,
        "failed_ballots": run.failed_ballots,
        "unknown_ballots": tally.unknown_ballots,
        "skipped": run.skipped,
        "human_labels": run.human_labels,
        "unanimous_scores": tally.unanimous_scores,
        "unanimous_votes": tally.unanimous_votes,
        "decisions": {word or "none": made.get(word, 0) for word in (*Decision, None)},
        "flags": {flag.label: flags[flag] for flag in Flag if flags.get(flag)},
        **_alphas(line.alphas),
        "breaches": _breaches(tally),
        "seed": run.seed,
        "loaded_at": run.loaded_at,
        "notes": list(run.notes),
    }


def _alphas(found: RunAlphas) -> dict[str, Any]:
    """Return the alphas of a run, and the reason for each that is null."""
    shape = asdict(found)
    reasons = shape.pop("reasons")
    return {**shape, "alpha_reasons": reasons}


def _breaches(tally: DecisionCounts) -> dict[str, int]:
    return {kind.key: tally.breaches.get(kind, 0) for kind in Breach}


def loaded(file: str, made: Loaded) -> dict[str, Any]:
    """Return one entry of ``ingest --json``."""
    run = made.run
    return {
        "file": file,
        "format": run.format,
        "run": run.name,
        "new": made.new,
        "verdicts": run.verdicts,
        "ballots": run.ballots,
        "flagged": run.flagged,
        "failed_ballots": run.failed_ballots,
        "unknown_ballots": made.unknown_ballots,
        "skipped": run.skipped,
        "human_labels": run.human_labels,
        "notes": [*run.notes, *made.notes],
    }


def event(run: Run | None, made: Event, label: str | None) -> dict[str, Any]:
    """Return the JSON of a command that writes an event; ``label`` is the label after it."""
    return {
        "event": made.kind,
        "seq": made.seq,
        "run": run.name if run else None,
        "id": made.verdict,
        "item_hash": made.item_hash,
        "label": label,
        "reviewer": made.reviewer,
        "at": made.at,
        **({"was": made.detail["was"]} if "was" in made.detail else {}),
    }


def verdict(item: Item, again: Sequence[RerunRecord] = ()) -> dict[str, Any]:
    """Return ``show --json``: what the report states, all recomputed figures, and the re-runs."""
    reruns = [rerun_json.rerun(item, record) for record in again]
    return {**content(item), **_decision(item), **_review(item), "reruns": reruns}


def content(item: Item) -> dict[str, Any]:
    """Return the item that the panel judged: its texts, reference and checks."""
    body, stated = item.verdict.body, item.verdict
    return {
        "run": item.run.name,
        "id": stated.id,
        "test": stated.test,
        "item_hash": item.item_hash,
        "rubric": stated.text("rubric"),
        "input": stated.text("input"),
        "output": stated.text("output"),
        "alternative": stated.text("alternative"),
        "reference": body.get("reference"),
        "checks": body.get("checks") or [],
    }


def _decision(item: Item) -> dict[str, Any]:
    """Return what the panel decided, by which rule, and every figure behind it."""
    found, stated = item.assessment, item.verdict
    provenance = trail(stated, found)
    return {
        "decision": found.decision,
        "score": found.score,
        "strategy": found.rule.strategy,
        "threshold": stated.policy.threshold,
        "quorum": stated.policy.quorum,
        "jurors": jurors(item),
        "values": asdict(found.values),
        "decisions": asdict(found.decisions),
        **_counted_ballots(found),
        "trim": trim(item),
        "agreement": agreement(item),
        "agreement_value": found.pair.value,
        "agreement_metric": found.pair.metric,
        "agreement_source": found.pair.source,
        "band": found.pair.band,
        "escalate_for_review": stated.escalate,
        "escalation": list(found.escalation),
        "same_family": found.same_family,
        "bias_warning": found.bias_warning,
        "flags": names(item.row.flags),
        "reasons": {note.flag.label: note.reason for note in found.notes},
        "mismatches": list(found.mismatches),
        "breaches": [kind.key for kind in kinds(found.marks & ~Breach.ROUNDING)],
        "panel_hash": provenance.panel_hash,
        "panel_hash_status": provenance.panel_hash_status,
        "provenance": asdict(provenance),
        "derived": list(found.derived),
        "set_by_you": list(stated.set_by_you),
        "remarks": list(remarks(stated, found)),
        "supermajority": stated.policy.supermajority,
        "strategy_used": found.rule.used,
        "fallback_reason": found.rule.reason,
        "label_reported": stated.text("label"),
        "label_vote": labels(item),
    }


def _counted_ballots(found: Assessment) -> dict[str, Any]:
    """Count the ballots by vote and by status, and state whether they are unanimous."""
    return {
        "votes": {name: getattr(found.votes, name) for name in ("passes", "answered", "seated")},
        "ballots": ballot_counts(found.seats),
        "unanimous_scores": found.unanimous_scores,
        "unanimous_votes": found.unanimous_votes,
    }


def _review(item: Item) -> dict[str, Any]:
    """Return the verdict's place in the draw, and its labels, notes and tags."""
    body, row = item.verdict.body, item.row
    return {
        "stratum": row.stratum,
        "flagged": row.stratum.startswith("flagged"),
        "audit": row.audit,
        "label": row.label,
        "labels": [
            {
                "label": made.label,
                "reviewer": made.author,
                "at": made.at,
                "blind": made.detail.get("blind"),
                "tentative": made.tentative,
                "undone": made.undone,
            }
            for made in item.history
            if made.kind == "label"
        ],
        "note": item.note,
        "tags": list(item.tags),
        "other_tags": list(item.other_tags),
        "marked": item.marked,
        "human": body.get("human"),
    }


def jurors(item: Item) -> list[dict[str, Any]]:
    """Return the ballots in seat order."""
    bodies = item.verdict.body["jurors"]
    return [
        {
            "id": seat.ballot.id,
            "model": seat.ballot.model,
            "vendor": seat.ballot.vendor,
            "family": seat.family.name if seat.family else None,
            "score": seat.ballot.score,
            "raw_score": seat.ballot.raw_score,
            "scale": bodies[seat.ballot.seat].get("scale"),
            "pass": seat.ballot.vote,
            "label": seat.ballot.label,
            "confidence": seat.ballot.confidence,
            "weight": seat.ballot.weight,
            "status": seat.ballot.status,
            "state": seat.state,
            "would_trim": seat.would_trim,
            "dissent": seat.dissent,
            "reason": seat.ballot.reason,
            "error": seat.ballot.error,
        }
        for seat in item.assessment.seats
    ]


def trim(item: Item) -> dict[str, Any]:
    """Return the recomputed trim, with the names of the jurors."""
    cut = item.assessment.trim
    names_ = [ballot.id for ballot in item.verdict.ballots]
    return {
        "fraction": cut.fraction,
        "rounding": cut.rounding,
        "per_side": cut.per_side,
        "low": [names_[seat] for seat in cut.low],
        "high": [names_[seat] for seat in cut.high],
    }


def labels(item: Item) -> dict[str, Any] | None:
    """Recount the ballots' labels; ``None`` unless the verdict is decided by labels."""
    found = item.assessment.label_vote
    return None if found is None else {**asdict(found), "decision": found.decision}


def agreement(item: Item) -> dict[str, Any]:
    """Return the reported agreement under its metric's name, and ours without a prefix."""
    stated, found = item.verdict.agreement, item.assessment.agreement
    return {
        "reported": stated.value if stated else None,
        "reported_metric": stated.metric if stated else None,
        "band_reported": item.verdict.band,
        "r_wg": found.spread.raw,
        "r_wg_clamped": found.spread.clamped,
        "band": found.spread.band,
        "reason": found.spread.reason,
        "alpha": found.alpha,
        "closeness": found.closeness,
        "sd": found.sd,
        "range": found.range,
        "margin": found.margin,
    }
