"""Read the re-runs of verdicts, and compare them with the first verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import groupby
from operator import or_
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import items
from reviewdesk.domain.assessment.flag_words import Flag
from reviewdesk.domain.canonical import CanonicalVerdict, stored_body
from reviewdesk.domain.panel.rerun import (
    FlipRate,
    Rerun,
    RerunExtent,
    RerunRequest,
    RerunScope,
    correct,
    flip_rates,
)
from reviewdesk.domain.records import Event, Item, Run
from reviewdesk.domain.verdict import Generator, Policy, Verdict, verdict_from_body
from reviewdesk.errors import DeskError
from reviewdesk.store import reruns
from reviewdesk.store.explain import explained

_held: set[str] = set()
"""The runs that this process is at work on, by the word that their events share."""


@contextmanager
def held(word: str) -> Iterator[None]:
    """Mark a run as one that this process is at work on."""
    _held.add(word)
    try:
        yield
    finally:
        _held.discard(word)


def is_held(newest: Event, *, is_ended: bool) -> bool:
    """Return True if a living process is at work on the run of this newest consent."""
    detail = newest.detail
    is_alive = reruns.is_other_alive(detail["pid"], detail["started"])
    return detail["batch"] in _held or (is_alive and not is_ended)


class UnfinishedRerun(Struct, frozen=True):
    """A re-run that was killed or stopped, or that is under way: ``left`` of ``of`` verdicts wait.

    ``event`` agreed to it first, ``newest`` is the event that agreed to its latest continuation.
    """

    event: Event
    newest: Event
    left: int
    stopped: bool
    batch: str
    """What its events share."""
    of: int
    """The number of its verdicts."""
    source: str
    shown: str | None
    """The filter that chose its verdicts, if one did."""
    wish: RerunRequest
    """Who was to be asked."""
    max_cost: float | None
    """The ceiling of its latest consent, in US dollars."""

    def refuse_held(self) -> None:
        """Raise DeskError if a living process is at work on it."""
        if is_held(self.newest, is_ended=self.stopped):
            who = f"process {self.newest.detail['pid']}"
            raise DeskError(f"{who} is at work on this re-run", "Wait for it, or stop it there.")

    @property
    def facts(self) -> RerunExtent:
        """Who was asked about what, and how much of it is left since when."""
        wish = self.wish
        panel = str(self.event.detail["panel"])
        return RerunExtent(
            wish.scope, wish.juror, panel, self.of, self.shown,
            left=self.left, at=self.event.at,
        )  # fmt: skip


def unfinished(desk: Desk) -> list[UnfinishedRerun]:
    """Return the reviewer's re-runs that did not end and are not under way, oldest first."""
    begun: dict[str, list[Event]] = {}
    ends: dict[str, Event] = {}
    found = []
    with explained(desk.path):
        for event in reruns.of_reviewer(desk.conn, desk.reviewer):
            batch = event.detail["batch"]
            if "report" in event.detail:
                continue  # the journal of a report, which judge goes on with
            if event.kind == "rerun_ended":
                ends[batch] = event
            else:
                begun.setdefault(batch, []).append(event)
        for batch, agreed in begun.items():
            end = ends.get(batch)
            if end is not None and not end.detail["left"]:
                continue
            first = agreed[0]
            newest = agreed[-1]
            left = sum(not one.done for one in reruns.planned(desk.conn, first))
            stopped = end is not None and end.seq > newest.seq
            if left and not is_held(newest, is_ended=stopped):
                said = first.detail
                wish = RerunRequest(RerunScope(said["scope"]), said["juror"])
                found.append(
                    UnfinishedRerun(
                        first, newest, left, stopped, batch, said["of"], said["source"],
                        said["filter"], wish, newest.detail["max_cost_usd"],
                    )
                )  # fmt: skip
    return found


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
        # A plan is an event about the item.
        stored = reruns.of_verdict(desk.conn, item.row.key) if item.history else []
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
