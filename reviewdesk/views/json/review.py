"""Turn records into JSON: all fields by name, or the keys declared for a record."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any

from msgspec.structs import fields

from reviewdesk.domain.assessment.result import Assessment, Breach, Flag, ballot_counts
from reviewdesk.domain.assessment.trail import remarks, trail
from reviewdesk.domain.jurors.facts import Difference
from reviewdesk.domain.labels.team import Disagreement, TeamPage
from reviewdesk.domain.panel.rerun import Rerun, changes, flipped
from reviewdesk.domain.records import SUGGESTION, Event, Item, Loaded, QueueRow, Run
from reviewdesk.domain.run.archived import Archived
from reviewdesk.domain.run.details import DecisionCounts, RunLine
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.verdict import Decision, Verdict, people


def shape(record: Any, keys: str = "*", /, **more: Any) -> dict[str, Any]:
    """Return a record as JSON, with the keys in this order and then ``more``.

    A key is the name of a field or property; ``key=one.two`` follows a path through records and
    dicts, and is ``None`` if the path meets ``None`` or a dict without the key; ``*`` means all
    fields, or the keys in ``_KEYS``.
    """
    made: dict[str, Any] = {}
    keys = _KEYS.get(type(record), keys) if keys == "*" else keys
    for key, path in _paths(keys):
        if key == "*":
            made |= {one.name: plain(getattr(record, one.name)) for one in fields(record)}
        else:
            made[key] = _read(record, path)
    return made | {key: plain(value) for key, value in more.items()}


def plain(value: Any) -> Any:
    """Return a value as JSON, recursively: flags by name, records by field, infinity as null."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Flag):
        return [one.label for one in value]
    if isinstance(value, _AS_IS):
        return value
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return shape(value)


_AS_IS = (str, int, type(None))
_KEYS: dict[type, str] = {
    Estimate: "value=estimate low high reason",
    Difference: "to estimate low high items apart labelled",
}
"""The keys of records whose JSON differs from their fields."""


@cache
def _paths(keys: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    parts = (word.partition("=") for word in keys.split())
    return tuple((key, tuple((path or key).split("."))) for key, _, path in parts)


def _read(record: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if record is None:
            return None
        record = record.get(name) if isinstance(record, dict) else getattr(record, name)
    return record if type(record) in _AS_IS else plain(record)


def queue_row(run: Run, row: QueueRow) -> dict[str, Any]:
    """Return one entry of ``queue --json``."""
    return {
        "run": run.name,
        **shape(
            row,
            "id test decision score agreement agreement_source band flags label deferred "
            "stratum audit",
        ),
    }


def run_line(line: RunLine, tally: DecisionCounts | None) -> dict[str, Any]:
    """Return one entry of ``runs --json``; verdicts without a decision count as ``none``."""
    run = line.run
    alphas = line.alphas
    tally = tally or DecisionCounts({}, {})
    held = {"held": run.verdicts} if run.whole != run.verdicts else {}
    return {
        **shape(run, "run=name hash file format verdicts=whole"),
        **held,
        **shape(run, "ballots flagged audit"),
        "labelled": line.labelled,
        "failed_ballots": run.failed_ballots,
        "unknown_ballots": tally.unknown_ballots,
        **shape(run, "skipped human_labels"),
        "unanimous_scores": tally.unanimous_scores,
        "unanimous_votes": tally.unanimous_votes,
        "decisions": {word or "none": tally.decisions.get(word, 0) for word in (*Decision, None)},
        "flags": {flag.label: tally.flags[flag] for flag in Flag if tally.flags.get(flag)},
        **shape(alphas, "alpha alpha_low alpha_high alpha_votes alpha_ordinal"),
        "alpha_reasons": shape(alphas, "reasons")["reasons"],
        "breaches": {kind.key: tally.breaches.get(kind, 0) for kind in Breach},
        **shape(run, "seed loaded_at notes"),
    }


def loaded(file: str, made: Loaded) -> dict[str, Any]:
    """Return one entry of ``ingest --json``."""
    return {
        "file": file,
        **shape(
            made,
            "format=run.format run=run.name new verdicts=run.verdicts ballots=run.ballots "
            "flagged=run.flagged failed_ballots=run.failed_ballots unknown_ballots "
            "skipped=run.skipped human_labels=run.human_labels",
        ),
        "notes": [*made.run.notes, *made.notes],
    }


def event(run: Run | None, made: Event, label: str | None) -> dict[str, Any]:
    """Return the JSON of a command that writes an event; ``label`` is the label after the event."""
    return {
        **shape(made, "event=kind seq"),
        "run": run.name if run else None,
        **shape(made, "id=verdict item_hash"),
        "label": label,
        **shape(made, "reviewer at"),
        **({"was": made.detail["was"]} if "was" in made.detail else {}),
    }


def verdict(item: Item, reruns: Sequence[Rerun] = ()) -> dict[str, Any]:
    """Return ``show --json``: the values of the report, all recomputed figures, and the re-runs."""
    found = item.assessment
    stated = item.verdict
    row = item.row
    provenance = trail(stated, found)
    names = [ballot.id for ballot in stated.ballots]
    given = [made for made in item.history if made.kind == "label"]
    suggested = [made for made in item.history if made.kind == SUGGESTION]
    return {
        **content(item),
        **shape(found, "decision score strategy=rule.strategy"),
        **shape(stated.policy, "threshold quorum"),
        "jurors": ballots(stated, found),
        **shape(found, "values decisions"),
        "votes": shape(found.votes, "passes answered seated"),
        "ballots": ballot_counts(found.seats),
        **shape(found, "unanimous_scores unanimous_votes"),
        "trim": {
            **shape(found.trim, "fraction rounding per_side"),
            "low": [names[seat] for seat in found.trim.low],
            "high": [names[seat] for seat in found.trim.high],
        },
        "agreement": shape(stated, _REPORTED) | shape(found.agreement, _AGREEMENT),
        **shape(found.pair, "agreement_value=value agreement_metric=metric"),
        **shape(found.pair, "agreement_source=source band"),
        "escalate_for_review": stated.escalate,
        **shape(found, "escalation same_family bias_warning"),
        **shape(row, "flags"),
        "reasons": {note.flag.label: note.reason for note in found.notes},
        **shape(found, "mismatches"),
        "breaches": [kind.key for kind in found.marks & ~Breach.ROUNDING],
        **shape(provenance, "panel_hash panel_hash_status"),
        "provenance": shape(provenance)
        | shape(found.rule, "strategy strategy_used=used fallback_reason=reason"),
        **shape(found, "derived"),
        **shape(stated, "set_by_you"),
        "remarks": list(remarks(stated, found)),
        "supermajority": stated.policy.supermajority,
        **shape(found.rule, "strategy_used=used fallback_reason=reason"),
        "label_reported": stated.text("label"),
        "label_vote": found.label_vote and shape(found.label_vote, "* decision"),
        "stratum": row.stratum,
        "flagged": row.stratum.startswith("flagged"),
        **shape(row, "audit label"),
        "labels": [shape(made, _LABEL) for made in given],
        "suggestions": [shape(made, _SUGGESTION) for made in suggested],
        **shape(item, "note tags other_tags marked=row.marked human=verdict.body.human"),
        "humans": [shape(one) for one in people(stated.body)],
        "reruns": [rerun(item, made) for made in reruns],
    }


_LABEL = "label reviewer=author at blind=detail.blind seen=detail.seen undone"
_SUGGESTION = "label agent=detail.agent at note=detail.note"


def content(item: Item) -> dict[str, Any]:
    """Return the item that the panel judged: its texts, reference and checks."""
    stated = item.verdict
    return {
        **shape(item, "run=run.name id=verdict.id test=verdict.test item_hash"),
        **{key: stated.text(key) for key in ("rubric", "input", "output", "alternative")},
        **shape(stated.body, "reference"),
        "checks": stated.body.get("checks") or [],
    }


def ballots(stated: Verdict, found: Assessment) -> list[dict[str, Any]]:
    """Return the ballots of a verdict, as ``show --json`` has them under ``jurors``."""
    bodies = stated.body["jurors"]
    made = []
    for seat in found.seats:
        body = bodies[seat.ballot.seat]
        samples = {"samples": body["samples"]} if body.get("samples") else {}
        record = {"seat": seat, "ballot": seat.ballot, "body": body}
        made.append(shape(record, _JUROR) | samples)
    return made


_JUROR = (
    "id=ballot.id model=ballot.model vendor=ballot.vendor family=seat.family.name "
    "score=ballot.score raw_score=ballot.raw_score scale=body.scale pass=ballot.vote "
    "label=ballot.label confidence=ballot.confidence weight=ballot.weight status=ballot.status "
    "state=seat.state would_trim=seat.would_trim dissent=seat.dissent reason=ballot.reason "
    "error=ballot.error"
)
_REPORTED = "reported=agreement.value reported_metric=agreement.metric band_reported=band"
_AGREEMENT = (
    "r_wg=spread.raw r_wg_clamped=spread.clamped band=spread.band reason=spread.reason alpha "
    "closeness sd range margin"
)


def rerun(item: Item, made: Rerun) -> dict[str, Any]:
    """Return one re-run compared with the first verdict, for ``rerun`` and ``show --json``."""
    before = item.assessment
    found = made.assessment
    return {
        **shape(item, "run=run.name id=verdict.id"),
        **shape(made, "at reviewer scope panel stopped contract_before filed"),
        "decision": found.decision,
        "was": before.decision,
        "flipped": flipped(before.decision, found.decision),
        "score": found.score,
        "was_score": before.score,
        **shape(found.rule, "strategy strategy_used=used fallback_reason=reason"),
        **shape(found, "degraded"),
        **shape(made, "correct panel_hash panel_hash_committed=committed"),
        "jurors": [
            {
                **shape(change, "id=juror asked flipped moved"),
                "before": change.before and shape(change.before, _BALLOT),
                "after": change.after and shape(change.after, _BALLOT),
            }
            for change in changes(item.verdict, made)
        ],
    }


_BALLOT = "score pass=vote status reason error"


def archived(made: Archived) -> dict[str, Any]:
    """Return the JSON of ``archive --json``."""
    return {
        **shape(
            made,
            "file=run.file format=run.format run=run.name new parts bad verdicts=run.whole "
            "held=run.verdicts ballots=run.ballots flagged=run.flagged audit=run.audit "
            "failed_ballots=run.failed_ballots unknown_ballots=stats.unknown_ballots "
            "skipped=run.skipped human_labels=run.human_labels seed=run.seed "
            "scores=stats.scores bins=stats.bins bin_passes=stats.bin_passes",
        ),
        "confusion": shape(made.stats.counts, "tp fn tn fp"),
        "jurors": [{"id": name, **plain(one)} for name, one in made.stats.jurors.items()],
        "notes": [*made.run.notes, *made.notes],
    }


def team(run: Run, page: TeamPage, found: Sequence[Disagreement]) -> dict[str, Any]:
    """Return how the people of a run work and agree, and the verdicts on which they differ."""
    keys = "id item_hash decision score opinions adjudication"
    differing = [shape(one, keys) for one in found]
    return {"run": run.name, **shape(page), "disagreements": differing}
