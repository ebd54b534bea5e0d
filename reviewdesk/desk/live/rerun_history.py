"""Read the re-runs of verdicts, and compare them with the first verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import or_
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import items
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.canonical import CanonicalVerdict, stored_body
from reviewdesk.domain.panel.rerun import FlipRate, Rerun, RerunScope, correct, flip_rates
from reviewdesk.domain.records import Item, Run
from reviewdesk.domain.verdict import Generator, Policy, Verdict, verdict_from_body
from reviewdesk.store import reruns
from reviewdesk.store.explain import explained


class RerunRecord(Struct, frozen=True):
    """A re-run with the key of the event that planned it; 0 if the re-run is from the report."""

    plan: int
    rerun: Rerun
    body: CanonicalVerdict


def of_item(desk: Desk, item: Item) -> tuple[RerunRecord, ...]:
    """Return the re-runs in a verdict's report, then those of this desk, the oldest first."""
    truth = item.row.label
    filed = tuple(
        RerunRecord(0, _rerun(_filed_verdict(body, item), {}, truth, filed=True), body)
        for body in item.verdict.body.get("reruns") or ()
    )
    with explained(desk.path):
        stored = reruns.of_verdict(desk.conn, item.row.key)
    return filed + tuple(_record(one, truth) for one in stored)


def _record(stored: reruns.StoredRerun, truth: str | None) -> RerunRecord:
    about = {
        **stored.detail,
        "at": stored.at,
        "reviewer": stored.reviewer,
        "stopped": stored.stopped,
    }
    body = stored_body(stored.body)
    verdict = verdict_from_body(body, Policy(), Generator())
    return RerunRecord(stored.plan, _rerun(verdict, about, truth, filed=False), body)


def _filed_verdict(body: CanonicalVerdict, item: Item) -> Verdict:
    defaults = Policy.from_body(item.run.header.get("defaults"))
    return verdict_from_body(body, defaults, item.verdict.generator)


def _rerun(verdict: Verdict, about: Mapping[str, Any], truth: str | None, *, filed: bool) -> Rerun:
    # Imported here because it loads numpy.
    from reviewdesk.domain.assessment.assess import assess

    found = assess(verdict)
    provenance = verdict.body.get("provenance") or {}
    scope = about.get("scope")
    return Rerun(
        at=about.get("at") or provenance.get("committed_at"),
        reviewer=about.get("reviewer"),
        scope=RerunScope(scope) if scope else None,
        panel=about.get("panel"),
        stopped=bool(about.get("stopped")),
        committed=about.get("panel_hash"),
        verdict=verdict,
        assessment=found,
        correct=correct(found.decision, truth),
        filed=filed,
    )


def flips_of_run(
    desk: Desk, run: Run, counted: Collection[int] | None = None
) -> tuple[FlipRate, ...]:
    """Count how often each juror changed its vote over this desk's re-runs in a run.

    With ``counted``, only the re-runs of these plans count.
    """
    made = plans(desk, run) if counted is None else counted
    with explained(desk.path):
        stored = reruns.of_plans(desk.conn, list(made))
    return flip_rates(_pairs(desk, stored))


def plans(desk: Desk, run: Run) -> frozenset[int]:
    """Return the plans of a run's finished re-runs."""
    with explained(desk.path):
        return frozenset(reruns.plans_of_run(desk.conn, run.key))


def beside(item: Item, record: RerunRecord) -> Item:
    """Return the item as its re-run decided it, for a comparison with the first verdict."""
    made = record.rerun
    found = made.assessment
    when = "of the report" if made.at is None else f"of {made.at[:16].replace('T', ' ')}"
    row = replace(
        item.row,
        decision=found.decision,
        score=found.score,
        agreement=found.pair.value,
        band=found.pair.band,
        agreement_source=found.pair.source,
        flags=reduce(or_, (note.flag for note in found.notes), Flag(0)),
    )
    run = replace(item.run, name=f"the re-run {when}")
    return replace(item, run=run, row=row, verdict=made.verdict, assessment=found)


def _pairs(
    desk: Desk, stored: Sequence[reruns.StoredRerun]
) -> Iterator[tuple[Verdict, Sequence[Rerun]]]:
    for key, group in groupby(stored, key=lambda one: one.verdict):
        yield items.verdict_of(desk, key), [_record(one, None).rerun for one in group]
