"""Compare a run's jurors with the labels, with each other, and from run to run."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import labelled_ballots, stated_trims
from reviewdesk.desk.review.runs import overview, panels, tallies
from reviewdesk.desk.team.claims import labelled
from reviewdesk.domain.jurors.facts import JurorCounts, JurorFacts, JurorsPage, suggested_weights
from reviewdesk.domain.jurors.panels import CommonItems, PanelComparison, compare_panels
from reviewdesk.domain.jurors.votes import Labels
from reviewdesk.domain.records import Design, Run, Truth
from reviewdesk.domain.run.volatility import (
    AgainstEarlier,
    RunMeans,
    UnanimityWatch,
    against_earlier,
    volatile,
)
from reviewdesk.errors import UsageError
from reviewdesk.store import figures, runs, verdicts
from reviewdesk.store.connect import reading
from reviewdesk.store.verdicts import Counterpart
from reviewdesk.views.json import figures as shapes
from reviewdesk.views.json import review


def panel_comparison(desk: Desk, first: Run, second: Run) -> PanelComparison:
    if first.hash == second.hash:
        raise UsageError(f"{first.name} cannot be compared with itself", "Name another one.")
    with reading(desk.conn):
        here, there = (
            verdicts.counterparts(desk.conn, one.key, two.key)
            for one, two in ((first, second), (second, first))
        )
        sides = _common_items(desk, first, here), _common_items(desk, second, there)
        waiting = desk.apart.waiting(first)
    cells, labels = (
        Counter((row.here, row.there, None if row.key in waiting else row.truth) for row in rows)
        for rows in (here, {row.item: row for row in reversed(here)}.values())
    )
    return compare_panels(*sides, cells, labels)


def _common_items(desk: Desk, run: Run, found: Sequence[Counterpart]) -> CommonItems:
    first = verdicts.first_key(desk.conn, run.key)
    labels = _run_labels(desk, run)
    decisions = {row.key - first: (row.here, row.there) for row in found}
    return CommonItems.of(run.name, run.hash, labels, decisions)


def _run_labels(desk: Desk, run: Run) -> Labels:
    strata = [h for h, _ in figures.places(desk.conn, run.key)]
    first = verdicts.first_key(desk.conn, run.key)
    return Labels.of(range(first, first + len(strata)), strata, labelled(desk, run))


def jurors_page(desk: Desk, run: Run, *, worth: bool = False) -> JurorsPage:
    """Compute the jurors page of a run; ``worth`` tries every smaller panel, in seconds."""
    from reviewdesk.domain.jurors import drift, votes
    from reviewdesk.domain.jurors.panels import worth as panel_worth
    from reviewdesk.domain.stats.dense import counted

    if run.whole != run.verdicts:
        return JurorsPage((), 0, of_archive=True)
    now = panels(desk, run)
    # An archive holds mainly flagged verdicts.
    whole = (one for one in desk.runs() if one.whole == one.verdicts)
    past = (panels(desk, one) for one in whole if _run_time(one) < _run_time(run))
    offsets = drift.drifts(drift.offsets(now), drift.earlier(past, now.names))
    with reading(desk.conn):
        labels = _run_labels(desk, run)
        voted, deserved = labelled_ballots(desk, run)
        each = votes.juror_counts(voted, deserved, stated_trims(desk, voted.key.tolist()))
        several = (counted(votes.dissents(now)) > 1).nonzero()[0]
        trims = {
            int(several[place]): seats
            for place, seats in stated_trims(desk, now.key[several].tolist()).items()
        }
        drawn, contest = votes.juror_rates(now, labels, votes.lone_dissents(now, trims))
        failed = now.key[now.failed.any(axis=0)].tolist()
        seats = drift.seats(now, figures.unparsed(desk.conn, failed))
        keys, repeated = figures.moving(desk.conn, run.key, 20)
        found = groupby(figures.repeated(desk.conn, run.key, keys), lambda row: row[:2])
        every = (volatile(key, name, [row[2:] for row in rows]) for (key, name), rows in found)
        cases = [case for case in every if case]
        alarms = [one.drift.alarm for one in offsets.values() if one.drift]
        ids = figures.ids(desk.conn, [key for key in alarms if key is not None])
        firsts = votes.first_seats(now)
        models = figures.juror_models(desk.conn, [key for key, _ in firsts.values()])
    cases.sort(key=lambda case: (-case.sd, -case.swing, case.key))
    selected = {name for name, one in seats.items() if one.not_asked}
    weights, mean = suggested_weights(
        [(None, 0.0) if name in selected else drawn[name].weighing for name in seats]
    )
    counts = {one.name: one for one in each}
    chosen = Design.SELECTED
    facts = [
        JurorFacts(
            counts=counts.get(name, JurorCounts(name=name, seat=one.first)),
            seats=one,
            drawn=replace(drawn[name], design=chosen, dissent_design=chosen)
            if name in selected
            else drawn[name],
            offset=offsets.get(name),
            weight=weight,
        )
        for (name, one), weight in zip(seats.items(), weights, strict=True)
    ]
    costs = figures.costs(desk.conn, now.key[:500].tolist()) if worth else None
    return JurorsPage(
        jurors=tuple(sorted(facts, key=lambda one: (one.counts.seat, one.name))),
        labels=len(voted),
        mean_kappa=mean,
        contest=contest,
        volatile=tuple(cases),
        repeated=repeated,
        ids=ids,
        models={name: models[place] for name, place in firsts.items()},
        pairs=votes.pairs(now),
        worth=panel_worth(now, labels, costs) if worth else None,
        earlier=over_runs(desk).get(run.key, AgainstEarlier()),
    )


def over_runs(desk: Desk) -> dict[int, AgainstEarlier]:
    """Compare each run with earlier runs of the same jurors, among the newest 100,000 verdicts."""
    found = defaultdict[tuple[str, ...], list[RunMeans]](list)
    made = {}
    left = 100_000  # a second's work
    whole = [one for one in desk.runs() if one.whole == one.verdicts]
    chosen = []
    for run in sorted(whole, key=_run_time, reverse=True):
        left -= run.verdicts
        chosen += [run] if left >= 0 else []
    with reading(desk.conn):
        for run in reversed(chosen):
            mine = runs.run_means(desk.conn, run.key)
            series = found[mine.jurors]
            series.append(mine)
            dimensions = {
                name: [one.dimensions[name] for one in series if name in one.dimensions]
                for name in mine.dimensions
            }
            alike = against_earlier({"": [one.alike for one in series if one.alike.n]})
            truths = runs.truths(desk.conn, run.key)[run.key]
            clear = truths[Truth.PASS] + truths[Truth.FAIL]
            watch = [UnanimityWatch(one, clear) for one in alike if mine.alike.n]
            made[run.key] = AgainstEarlier(against_earlier(dimensions), *watch)
    return made


def run_rows(desk: Desk) -> list[dict[str, Any]]:
    counted = tallies(desk)
    compared = over_runs(desk)
    return [
        review.run_line(line, counted.get(line.run.key))
        | {"over_runs": shapes.over_runs(compared.get(line.run.key, AgainstEarlier()))}
        for line in overview(desk)
    ]


def _run_time(run: Run) -> tuple[str, int]:
    """Return the time when a run's report was made, or else loaded, and the run's key."""
    stated = run.header.get("created_at")
    at = datetime.fromisoformat(stated) if stated else datetime.fromisoformat(run.loaded_at)
    return at.astimezone(UTC).isoformat(), run.key
