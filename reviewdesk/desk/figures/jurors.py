"""Compare a run's jurors with the labels, with each other, and from run to run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from reviewdesk.desk.figures.ballots import panels
from reviewdesk.domain.canonical import CanonicalVerdict, stored_body
from reviewdesk.domain.jurors.accuracy import (
    Counter,
    JurorCounts,
    LabelledPanel,
    trim_named,
    votes,
)
from reviewdesk.domain.jurors.facts import (
    Basis,
    Drift,
    JurorFacts,
    JurorsPage,
    Offset,
    Quoted,
    Seats,
    VolatileCase,
    suggested_weights,
    volatile,
)
from reviewdesk.domain.jurors.leniency import Leniency, LeniencyCounter
from reviewdesk.domain.jurors.rates import Contest, JurorRates
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.stats.figures import Estimate, Target
from reviewdesk.domain.stats.stratified import Rates
from reviewdesk.domain.verdict import Generator, Policy
from reviewdesk.store import jurors, runs
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.run.columns import Columns

_MOST_VOLATILE = 20


def jurors_page(desk: Desk, run: Run, window: int | None = None) -> JurorsPage:
    """Compute the jurors page of a run.

    Weights are suggested from the labels of the last ``window`` days, or from all without it.
    """
    from reviewdesk.domain.jurors import drift
    from reviewdesk.domain.jurors.pairs import pairs
    from reviewdesk.domain.jurors.strata import first_seats

    now = panels(desk, run)
    past = (panels(desk, one) for one in desk.runs() if _run_time(one) < _run_time(run))
    offsets = drift.drifts(drift.offsets(now), drift.earlier(past, now.names))
    with reading(desk.conn, desk.path):
        counted = _label_figures(desk, run, now, window)
        seats = drift.seats(now, jurors.unparsed(desk.conn, run.key))
        keys, repeated = jurors.moving(desk.conn, run.key, _MOST_VOLATILE)
        cases = list(_volatile_cases(jurors.repeated(desk.conn, run.key, keys)))
        alarms = [one.drift.alarm for one in offsets.values() if one.drift]
        ids = jurors.ids(desk.conn, [key for key in alarms if key is not None])
        firsts = first_seats(now)
        models = jurors.models(desk.conn, [key for key, _ in firsts.values()])
    cases.sort(key=lambda case: (-case.sd, -case.swing, case.key))
    facts, mean = _facts(counted, seats, offsets)
    return JurorsPage(
        jurors=facts,
        labels=counted.labels,
        basis=Basis(counted.recent, window, mean),
        leniency=counted.leniency,
        contest=counted.contest,
        volatile=tuple(cases),
        repeated=repeated,
        ids=ids,
        models={name: models[place] for name, place in firsts.items()},
        pairs=pairs(now),
    )


def _facts(
    found: _LabelFigures, seats: dict[str, Seats], offsets: dict[str, Offset]
) -> tuple[tuple[JurorFacts, ...], float | None]:
    """Return the facts of every juror in the run, by seat and name, and the mean kappa."""
    weights, mean = suggested_weights([found.kappas[name] for name in seats])
    facts = [
        JurorFacts(
            counts=found.counts.get(name, JurorCounts(name, one.first, *[0] * 9)),
            seats=one,
            drawn=found.drawn[name],
            offset=offsets.get(name),
            weight=weight,
        )
        for (name, one), weight in zip(seats.items(), weights, strict=True)
    ]
    return tuple(sorted(facts, key=lambda one: (one.counts.seat, one.name))), mean


def _run_time(run: Run) -> tuple[str, int]:
    """Return the time when a run's report was made, or else loaded, and the run's key."""
    stated = run.header.get("created_at")
    at = datetime.fromisoformat(stated) if stated else datetime.fromisoformat(run.loaded_at)
    return at.astimezone(UTC).isoformat(), run.key


@dataclass(frozen=True, slots=True)
class _LabelFigures:
    """The figures of every juror against the labels; ``recent`` counts the labels in the window."""

    counts: dict[str, JurorCounts]
    drawn: dict[str, JurorRates]
    kappas: dict[str, tuple[float | None, float]]
    contest: Contest
    leniency: Leniency
    labels: int
    recent: int


def _label_figures(desk: Desk, run: Run, now: Columns, window: int | None) -> _LabelFigures:
    from reviewdesk.domain.jurors import strata
    from reviewdesk.store import figures

    labels = strata.Labels.of(
        now.key.tolist(),
        jurors.strata(desk.conn, run.key),
        {one.key: one.place for one in figures.labelled(desk.conn, run.key)},
    )
    filled = Policy.from_body(runs.options(desk.conn, run.key))
    policy = Policy.from_body(run.header.get("defaults")).over(filled)
    since = None if window is None else desk.clock() - timedelta(days=window)
    counter, leniency, recent, n = Counter(), LeniencyCounter(), [], 0
    for found in jurors.dated_truths(desk.conn, run.key):
        body, row = stored_body(found.body), found.key - int(now.key[0])
        panel = LabelledPanel(body, policy, found.decision, deserved=found.truth is Truth.PASS)
        counter.add(panel)
        leniency.add(
            panel,
            _generator(run, body),
            votes(panel),
            int(labels.stratum[row]),
            counts=bool(labels.counted[row]),
        )
        n += 1
        if since is None or datetime.fromisoformat(found.at) >= since:
            recent.append(row)
    drawn, contest = strata.juror_rates(
        now, labels, strata.lone_dissents(now, _stated_trims(desk, now))
    )
    return _LabelFigures(
        counts={one.name: one for one in counter.counts()},
        drawn=drawn,
        kappas=strata.kappas(now, labels, recent),
        contest=contest,
        leniency=leniency.leniency(figures.run_figures(desk.conn, run.key).sizes),
        labels=n,
        recent=len(recent),
    )


def _stated_trims(desk: Desk, now: Columns) -> dict[int, set[int]]:
    """Return the trimmed seats that the report states, by row, if several jurors dissent."""
    from reviewdesk.domain.jurors.strata import dissents

    several = now.key[dissents(now).sum(axis=1) > 1]
    made = {}
    for key, text in jurors.stating_trims(desk.conn, several.tolist()):
        named = trim_named(stored_body(text))
        if named is not None:
            made[key - int(now.key[0])] = named
    return made


def _generator(run: Run, body: CanonicalVerdict) -> Generator:
    own, common = body.get("generator") or {}, run.header.get("generator") or {}
    return Generator(
        own.get("model") or common.get("model"), own.get("vendor") or common.get("vendor")
    )


def _volatile_cases(found: Iterable[jurors.RepeatedCase]) -> Iterable[VolatileCase]:
    for (key, name), rows in groupby(found, key=lambda row: (row.key, row.id)):
        if case := volatile(key, name, [(row.run, row.score, row.decision) for row in rows]):
            yield case


# The JSON of ``calibrate --jurors --json``


def jurors_shape(page: JurorsPage) -> dict[str, Any]:
    """Return the page as JSON: raw counts, rates weighted by the draw, and suggested weights."""
    basis, contest = page.basis, page.contest
    return {
        "jurors": [_juror(one, page) for one in page.jurors],
        "contest": {
            "best": contest.best,
            "panel_less_best": asdict(contest.panel) if contest.panel else None,
            "panel_beats_every_juror": contest.beats_every,
            "best_beats_every_juror": contest.best_stands,
            "best_beats_panel": contest.best_beats_panel,
        },
        "leniency": _leniency(page.leniency),
        "volatile": [_case(one) for one in page.volatile],
        "repeated_cases": page.repeated,
        "weights_basis": {
            "labels": basis.labels,
            "window_days": basis.days,
            "mean_kappa": basis.mean,
            "sum": 1,
            "applied": False,
        },
    }


def _juror(one: JurorFacts, page: JurorsPage) -> dict[str, Any]:
    counts, seats, offset = one.counts, one.seats, one.offset
    corrected, status = one.corrected
    return {
        "id": one.name,
        "model": page.models.get(one.name),
        "votes": counts.votes,
        "right": counts.right,
        "wrong": counts.wrong,
        "design": one.drawn.design,
        "target": Target.RUN,
        **_quoted_rate("accuracy", one.accuracy),
        **asdict(counts),
        "n": counts.votes,
        **_quoted_rate("sensitivity", one.sensitivity),
        **_quoted_rate("specificity", one.specificity),
        "false_passes": counts.fp,
        "false_fails": counts.fn,
        "observed_rate": one.observed.share,
        "observed_votes": one.observed.n,
        "corrected_rate": corrected,
        "corrected_status": status,
        "kappa": one.kappa,
        "weight": one.weight,
        **_quoted_rate("dissent_precision", one.dissent),
        "dissent_design": one.drawn.dissent_design,
        "difference": asdict(one.drawn.difference) if one.drawn.difference else None,
        "labelled": _labels_alone(one),
        "population": _population(one.drawn),
        "such_items": _rates(one.drawn.such),
        "seats": seats.seats,
        "seats_failed": seats.failed,
        "parse_failed": seats.parse_failed,
        "parse_failure_rate": one.parse_failures.share,
        "offset": offset.mean if offset else None,
        "offset_n": offset.n if offset else 0,
        "drift": _drift(offset.drift, page) if offset and offset.drift else None,
    }


def _labels_alone(one: JurorFacts) -> dict[str, float | None]:
    """Return the rates over the labels alone, each label counted once."""
    return {
        "accuracy": one.labelled_accuracy.share,
        "sensitivity": one.labelled_sensitivity.share,
        "specificity": one.labelled_specificity.share,
        "kappa": one.labelled_kappa,
        "dissent_precision": one.labelled_dissent.share,
    }


def _population(found: JurorRates) -> dict[str, Any]:
    """Return the rates of this run; ``null`` with bounds if the labels do not determine them."""
    dissent = _estimate("dissent_precision", found.dissent)
    return {**_rates(found.run), "kappa": found.kappa, **dissent}


def _rates(found: Rates) -> dict[str, Any]:
    return {
        **_estimate("accuracy", found.accuracy),
        **_estimate("sensitivity", found.sensitivity),
        **_estimate("specificity", found.specificity),
    }


def _estimate(name: str, found: Estimate) -> dict[str, Any]:
    return {name: found.estimate, f"{name}_low": found.low, f"{name}_high": found.high}


def _quoted_rate(name: str, found: Quoted) -> dict[str, Any]:
    return {name: found.share, f"{name}_low": found.low, f"{name}_high": found.high}


def _drift(one: Drift, page: JurorsPage) -> dict[str, Any]:
    alarm = None if one.alarm is None else page.ids.get(one.alarm)
    return {**asdict(one), "alarm": alarm}


def _leniency(found: Leniency) -> dict[str, Any]:
    return {
        **{
            side: {"passes": rate.k, "n": rate.n, "rate": rate.share}
            for side, rate in (("own", found.own), ("others", found.others))
        },
        "unknown": found.unknown,
        **asdict(found.difference),
        "reason": found.reason,
    }


def _case(one: VolatileCase) -> dict[str, Any]:
    scores = [{"run": run, "score": score} for run, score in one.scores]
    return {"id": one.id, "sd": one.sd, "swing": one.swing, "turned": one.turned, "scores": scores}
