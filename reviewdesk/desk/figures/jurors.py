"""Compare a run's jurors with the labels, with each other, and from run to run."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.figures.calibration import labelled, labelled_ballots, panels, stated_trims
from reviewdesk.domain.jurors.facts import (
    Basis,
    Contest,
    JurorCounts,
    JurorFacts,
    JurorRates,
    JurorsPage,
    Offset,
    PanelWorth,
    Seats,
    suggested_weights,
    volatile,
)
from reviewdesk.domain.jurors.panels import PanelComparison
from reviewdesk.domain.records import Design, Run
from reviewdesk.errors import UsageError
from reviewdesk.store import jurors, verdicts
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.jurors.panels import CommonItems
    from reviewdesk.domain.jurors.strata import Labels
    from reviewdesk.domain.run.columns import Columns
    from reviewdesk.store.verdicts import Counterpart


def panel_comparison(desk: Desk, first: Run, second: Run) -> PanelComparison:
    """Compare the panels of two runs by the labels; raise UsageError if it is one run."""
    from reviewdesk.domain.jurors.panels import compare_panels

    if first.hash == second.hash:
        raise UsageError(f"{first.name} is one run, and two are compared", "Name another one.")
    with reading(desk.conn, desk.path):
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
    """Return both panels' decisions on a run's verdicts, with the run's labels."""
    from reviewdesk.domain.jurors.panels import CommonItems
    from reviewdesk.domain.jurors.strata import Labels
    from reviewdesk.store import jurors

    strata = jurors.strata(desk.conn, run.key)
    first = verdicts.first_key(desk.conn, run.key)
    rows = labelled(desk, run)
    labels = Labels.of(
        range(first, first + len(strata)),
        strata,
        {one.key: one.place for one in rows},
        {one.key: one.test for one in rows},
    )
    decisions = {row.key - first: (row.here, row.there) for row in found}
    return CommonItems.of(run.name, run.hash, labels, decisions)


_MOST_VOLATILE = 20


def jurors_page(desk: Desk, run: Run, *, worth: bool = False) -> JurorsPage:
    """Compute the jurors page of a run; ``worth`` tries every smaller panel, in seconds."""
    from reviewdesk.domain.jurors import drift
    from reviewdesk.domain.jurors.strata import first_seats, pairs

    if run.whole != run.verdicts:
        return JurorsPage((), 0, Basis(0), of_archive=True)
    now = panels(desk, run)
    # An archive holds flagged verdicts above all.
    whole = (one for one in desk.runs() if one.whole == one.verdicts)
    past = (panels(desk, one) for one in whole if _run_time(one) < _run_time(run))
    offsets = drift.drifts(drift.offsets(now), drift.earlier(past, now.names))
    with reading(desk.conn, desk.path):
        counted = _label_figures(desk, run, now)
        failed = now.key[now.failed.any(axis=0)].tolist()
        seats = drift.seats(now, jurors.unparsed(desk.conn, failed))
        keys, repeated = jurors.moving(desk.conn, run.key, _MOST_VOLATILE)
        found = groupby(jurors.repeated(desk.conn, run.key, keys), lambda row: (row.key, row.id))
        every = (
            volatile(*of, [(row.run, row.score, row.decision) for row in rows])
            for of, rows in found
        )
        cases = [case for case in every if case]
        alarms = [one.drift.alarm for one in offsets.values() if one.drift]
        ids = jurors.ids(desk.conn, [key for key in alarms if key is not None])
        firsts = first_seats(now)
        models = jurors.models(desk.conn, [key for key, _ in firsts.values()])
    cases.sort(key=lambda case: (-case.sd, -case.swing, case.key))
    facts, mean = _facts(counted, seats, offsets)
    return JurorsPage(
        jurors=facts,
        labels=counted.labels,
        basis=Basis(counted.labels, mean),
        contest=counted.contest,
        volatile=tuple(cases),
        repeated=repeated,
        ids=ids,
        models={name: models[place] for name, place in firsts.items()},
        pairs=pairs(now),
        worth=_worth(desk, now, counted.drawn_labels) if worth else None,
    )


_PRICED = 500
"""The verdicts from whose ballots prices are read."""


def _worth(desk: Desk, now: Columns, labels: Labels) -> PanelWorth:
    from reviewdesk.domain.jurors.worth import worth

    return worth(now, labels, jurors.costs(desk.conn, now.key[:_PRICED].tolist()))


def _facts(
    found: _LabelFigures, seats: dict[str, Seats], offsets: dict[str, Offset]
) -> tuple[tuple[JurorFacts, ...], float | None]:
    """Return the facts of every juror in the run, by seat and name, and the mean kappa.

    A juror that was not always asked is a selected sample, and gets no weight.
    """
    selected = {name for name, one in seats.items() if one.not_asked}
    kappas = [(None, 0.0) if name in selected else found.kappas[name] for name in seats]
    weights, mean = suggested_weights(kappas)
    chosen = Design.SELECTED
    facts = [
        JurorFacts(
            counts=found.counts.get(name, JurorCounts(name, one.first, *[0] * 9)),
            seats=one,
            drawn=replace(found.drawn[name], design=chosen, dissent_design=chosen, kappa=None)
            if name in selected
            else found.drawn[name],
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


class _LabelFigures(Struct, frozen=True):
    """The figures of every juror against the labels."""

    counts: dict[str, JurorCounts]
    drawn: dict[str, JurorRates]
    kappas: dict[str, tuple[float | None, float]]
    contest: Contest
    labels: int
    drawn_labels: Labels


def _label_figures(desk: Desk, run: Run, now: Columns) -> _LabelFigures:
    from reviewdesk.domain.jurors import strata

    rows = labelled(desk, run)
    labels = strata.Labels.of(
        now.key.tolist(),
        jurors.strata(desk.conn, run.key),
        {one.key: one.place for one in rows},
        {one.key: one.test for one in rows},
    )
    voted, deserved = labelled_ballots(desk, run)
    counts = strata.juror_counts(voted, deserved, stated_trims(desk, voted.key.tolist()))
    drawn, contest = strata.juror_rates(
        now, labels, strata.lone_dissents(now, _stated_trims(desk, now))
    )
    return _LabelFigures(
        counts={one.name: one for one in counts},
        drawn=drawn,
        kappas=strata.kappas(now, labels, (voted.key - now.key[:1]).tolist()),
        contest=contest,
        labels=len(voted),
        drawn_labels=labels,
    )


def _stated_trims(desk: Desk, now: Columns) -> dict[int, set[int]]:
    """Return the trimmed seats that the report states, by row, if several jurors dissent."""
    from reviewdesk.domain.jurors.strata import dissents
    from reviewdesk.domain.stats.dense import counted

    several = (counted(dissents(now)) > 1).nonzero()[0]
    found = stated_trims(desk, now.key[several].tolist())
    return {int(several[place]): seats for place, seats in found.items()}
