"""The jurors of a run over time: against the labels, against each other, and from run to run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from reviewdesk.desk.panels import panels
from reviewdesk.domain.jurorfacts import (
    Basis,
    Drift,
    JurorFacts,
    JurorsPage,
    Leniency,
    LeniencyCounter,
    Offset,
    Rate,
    Seats,
    Volatile,
    suggested_weights,
    volatile,
)
from reviewdesk.domain.jurors import Counter, JurorCounts, Panel, votes
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.verdict import Generator, Policy
from reviewdesk.store import jurors, runs
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reviewdesk.desk.core import Desk

MONTH = 30
"""The usual window of the suggested weights, in days."""
_MOST_VOLATILE = 20


def jurors_page(desk: Desk, run: Run, window: int | None = None) -> JurorsPage:
    """Everything about a run's jurors; weights from the labels of the last ``window`` days."""
    from reviewdesk.domain import drift

    now = panels(desk, run)
    past = (panels(desk, one) for one in desk.runs() if _made(one) < _made(run))
    offsets = drift.drifts(drift.offsets(now), drift.earlier(past, now.names))
    with reading(desk.conn, desk.path):
        counted = _labelled(desk, run, window)
        seats = drift.seats(now, jurors.unparsed(desk.conn, run.key))
        keys, repeated = jurors.moving(desk.conn, run.key, _MOST_VOLATILE)
        cases = list(_volatile(jurors.repeated(desk.conn, run.key, keys)))
        alarms = [one.drift.alarm for one in offsets.values() if one.drift]
        ids = jurors.ids(desk.conn, [key for key in alarms if key is not None])
    cases.sort(key=lambda case: (-case.sd, -case.swing, case.key))
    facts, mean = _facts(counted, seats, offsets)
    return JurorsPage(
        jurors=facts,
        labels=counted.labels,
        basis=Basis(counted.recent_labels, window, mean),
        leniency=counted.leniency.leniency(),
        volatile=tuple(cases),
        repeated=repeated,
        ids=ids,
    )


def _made(run: Run) -> tuple[str, int]:
    """When a run was made, as its report says, else when it was loaded."""
    stated = run.header.get("created_at")
    at = datetime.fromisoformat(stated) if stated else datetime.fromisoformat(run.loaded_at)
    return at.astimezone(UTC).isoformat(), run.key


@dataclass(slots=True)
class _Labelled:
    """The counts over all labelled verdicts of a run, and over those labelled in the window."""

    every: Counter = field(default_factory=Counter)
    recent: Counter = field(default_factory=Counter)
    leniency: LeniencyCounter = field(default_factory=LeniencyCounter)
    labels: int = 0
    recent_labels: int = 0


def _labelled(desk: Desk, run: Run, window: int | None) -> _Labelled:
    made = _Labelled()
    filled = Policy.from_body(runs.options(desk.conn, run.key))
    policy = Policy.from_body(run.header.get("defaults")).over(filled)
    since = None if window is None else desk.clock() - timedelta(days=window)
    for found in jurors.judged(desk.conn, run.key):
        body = json.loads(found.body)
        panel = Panel(body, policy, found.decision, deserved=found.truth is Truth.PASS)
        made.labels += 1
        made.every.add(panel)
        made.leniency.add(panel, _generator(run, body), votes(panel))
        if since is None or datetime.fromisoformat(found.at) >= since:
            made.recent_labels += 1
            made.recent.add(panel)
    return made


def _generator(run: Run, body: dict[str, Any]) -> Generator:
    own, common = body.get("generator") or {}, run.header.get("generator") or {}
    return Generator(
        own.get("model") or common.get("model"), own.get("vendor") or common.get("vendor")
    )


def _facts(
    found: _Labelled, seats: dict[str, Seats], offsets: dict[str, Offset]
) -> tuple[tuple[JurorFacts, ...], float | None]:
    """Every juror that sat in the run, in the order of the seats and then of the names."""
    counts = {one.name: one for one in found.every.counts()}
    for name, one in seats.items():
        counts.setdefault(name, _no_label(name, one.first))
    every = sorted(counts.values(), key=lambda one: (one.seat, one.name))
    recent = {one.name: one for one in found.recent.counts()}
    weights, mean = suggested_weights(
        [recent.get(one.name, _no_label(one.name, one.seat)) for one in every]
    )
    facts = (
        JurorFacts(one, seats.get(one.name, Seats(one.seat, 0, 0, 0)), offsets.get(one.name), share)
        for one, share in zip(every, weights, strict=True)
    )
    return tuple(facts), mean


def _no_label(name: str, seat: int) -> JurorCounts:
    return JurorCounts(name, seat, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def _volatile(found: Iterable[jurors.Repeated]) -> Iterable[Volatile]:
    for (key, name), rows in groupby(found, key=lambda row: (row.key, row.id)):
        if case := volatile(key, name, [(row.run, row.score, row.decision) for row in rows]):
            yield case


# The shape of ``calibrate --jurors --json``


def jurors_shape(page: JurorsPage) -> dict[str, Any]:
    """The page as JSON: counts are raw, each label once, and weights are only suggested."""
    basis = page.basis
    return {
        "jurors": [_juror(one, page) for one in page.jurors],
        "leniency": _leniency(page.leniency),
        "volatile": [_case(one) for one in page.volatile],
        "repeated_cases": page.repeated,
        "weights_basis": {
            "labels": basis.labels,
            "window_days": basis.days,
            "mean_kappa": basis.mean,
            "sum": 1,
            "counts": "each label once",
            "applied": False,
        },
    }


def _juror(one: JurorFacts, page: JurorsPage) -> dict[str, Any]:
    counts, seats, offset = one.counts, one.seats, one.offset
    drift = offset.drift if offset else None
    corrected, status = one.corrected
    return {
        "id": one.name,
        "votes": counts.votes,
        "right": counts.right,
        "wrong": counts.wrong,
        **_rate("accuracy", one.accuracy),
        **asdict(counts),
        "n": counts.votes,
        **_rate("sensitivity", one.sensitivity),
        **_rate("specificity", one.specificity),
        "false_passes": counts.fp,
        "false_fails": counts.fn,
        "observed_rate": one.observed.share,
        "observed_votes": one.observed.n,
        "corrected_rate": corrected,
        "corrected_status": status,
        "kappa": one.kappa,
        "weight": one.weight,
        **_rate("dissent_precision", one.dissent),
        "seats": seats.seats,
        "seats_failed": seats.failed,
        "parse_failed": seats.parse_failed,
        "parse_failure_rate": one.parse_failures.share,
        "offset": offset.mean if offset else None,
        "offset_n": offset.n if offset else 0,
        "drift": _drift(drift, page) if drift else None,
    }


def _drift(one: Drift, page: JurorsPage) -> dict[str, Any]:
    alarm = None if one.alarm is None else page.ids.get(one.alarm)
    return {**asdict(one), "alarm": alarm}


def _rate(name: str, rate: Rate) -> dict[str, Any]:
    low, high = rate.interval
    return {name: rate.share, f"{name}_low": low, f"{name}_high": high}


def _leniency(found: Leniency) -> dict[str, Any]:
    return {
        **{
            side: {"passes": rate.k, "n": rate.n, **_rate("rate", rate)}
            for side, rate in (("own", found.own), ("others", found.others))
        },
        "unknown": found.unknown,
        **asdict(found.difference),
        "reason": found.reason,
    }


def _case(one: Volatile) -> dict[str, Any]:
    scores = [{"run": run, "score": score} for run, score in one.scores]
    return {"id": one.id, "sd": one.sd, "swing": one.swing, "turned": one.turned, "scores": scores}
