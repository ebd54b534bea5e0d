"""One item as the screen and the library show it: its verdict, history, other runs and re-runs."""

import json
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from itertools import accumulate, chain, groupby
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.protocol import OpenFile
from reviewdesk.desk.team.claims import withheld
from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.labels.team import pace
from reviewdesk.domain.panel.rerun import (
    FlipRate,
    Rerun,
    RerunExtent,
    RerunHistory,
    RerunRequest,
    RerunScope,
    correct,
    flip_rates,
)
from reviewdesk.domain.records import Event, Item, Pace, Run
from reviewdesk.domain.tags import normal_tags
from reviewdesk.domain.verdict import (
    Policy,
    Verdict,
    stored_body,
    verdict_from_body,
    verdict_reader,
)
from reviewdesk.errors import DeskError
from reviewdesk.store import events, queue, reruns, runs, verdicts
from reviewdesk.store.events import NewEvent

_MOST_IDS = 200
_LARGE = 100_000
"""The characters of a body from which on it is not kept in memory."""


def item(desk: OpenFile, key: int, run: Run | None = None) -> Item:
    """Read a verdict, recompute it, and add the labels, notes and tags on its content."""
    row = verdicts.by_key(desk.conn, key, body=True)
    run = run or runs.by_key(desk.conn, row["run"])
    verdict, assessment = _assessed(row)
    past = events.history(desk.conn, row["item"])
    # Labels, notes, tags and marks are events: without any there is nothing more to read.
    known = [row["item"]] if past else []
    apart = withheld(desk, known)
    line, note = queue.row_and_note(desk.conn, row, known, desk.reviewer, apart)
    mine = [event for event in past if event.reviewer == desk.reviewer]
    if desk.double is not None and line.label is None:
        # Labels of others are never shown before one's own, not even those that were undone.
        told = frozenset() if apart else frozenset({"note", "tags", "mark", "defer"})
        past = [
            one
            for one in past
            if one.reviewer == desk.reviewer or one.kind.startswith("rerun") or one.kind in told
        ]
    by_author = verdicts.tags_of_item(desk.conn, row["item"]) if known else {}
    own = by_author.pop(desk.reviewer, ())
    others = {} if apart else by_author
    return Item(
        run=run,
        row=line,
        item_hash=row["item"].hex(),
        verdict=verdict,
        assessment=assessment,
        same_content=row["same_content"],
        note=note,
        revealed_at=next((event.at for event in mine if event.kind == "reveal"), None),
        labelled_before=any(event.kind == "label" for event in mine),
        history=tuple(past),
        tags=own,
        other_tags=tuple(dict.fromkeys(chain.from_iterable(others.values()))),
    )


def criteria(desk: OpenFile, item: Item) -> list[tuple[str, int]]:
    """Return names and keys of the criteria of an item's response, in file order."""
    name = item.dimension
    if name is None or not item.verdict.has_response:
        return []
    base, behind, _ = item.verdict.id.rpartition(f" / {name}")
    return verdicts.criteria(desk.conn, item.run.key, item.row.key, f"{base} / " if behind else "")


def _assessed(row: Mapping[str, Any]) -> tuple[Verdict, Assessment]:
    """Read and recompute a verdict, unless it is among the last that were."""
    read = _read if len(row["body"]) < _LARGE else _read.__wrapped__
    return read(row["body"], row["header"], row["options"], bool(row["escalation_stated"]))


@lru_cache(maxsize=64)
def _read(body: str, header: str, options: str, stated: bool) -> tuple[Verdict, Assessment]:
    # Imported here because it loads numpy.
    from reviewdesk.domain.assessment.assess import assess

    verdict = verdict_reader(json.loads(header), json.loads(options))(stored_body(body))
    return verdict, assess(verdict, escalation_stated=stated)


def assess_ahead(desk: OpenFile, keys: Sequence[int]) -> None:
    for key in keys:
        _assessed(verdicts.by_key(desk.conn, key, body=True))


def ballot_ends(desk: OpenFile, run: Run) -> "array[int]":
    """Return how many ballots there are up to each verdict of the file, itself included."""
    return array("q", accumulate(verdicts.seats(desk.conn, run.key)))


def assessed(desk: OpenFile, run: Run, place: int) -> tuple[Verdict, Assessment]:
    key = verdicts.first_key(desk.conn, run.key) + place
    return _assessed(verdicts.by_key(desk.conn, key, body=True))


def ids_from(desk: OpenFile, run: Run | None, start: str) -> list[str]:
    found: set[str] = set()
    for one in [run] if run else runs.all_runs(desk.conn):
        found.update(verdicts.ids_from(desk.conn, one.key, start, _MOST_IDS))
    return sorted(found)[:_MOST_IDS]


def about(
    desk: OpenFile, key: int, entry: NewEvent, more_tags: Sequence[str] = ()
) -> tuple[int, NewEvent]:
    """Return the run's key, and an entry with run, verdict, content and ``more_tags`` filled in."""
    row = verdicts.by_key(desk.conn, key)
    placed = replace(entry, run=row["run_hash"], verdict=row["id"], item=row["item"])
    if more_tags:
        every = dict.fromkeys((*own_tags(desk, placed), *normal_tags(more_tags)))
        placed = replace(placed, detail={**placed.detail, "tags": list(every)})
    return row["run"], placed


def own_tags(desk: OpenFile, entry: NewEvent) -> tuple[str, ...]:
    return verdicts.tags_of_item(desk.conn, entry.item or b"").get(desk.reviewer, ())


def other_runs(desk: OpenFile, key: int) -> list[int]:
    return [other for _, other in verdicts.in_other_runs(desk.conn, key)]


def flips(desk: OpenFile, run: Run, other: Run) -> tuple[int, int]:
    return verdicts.flips(desk.conn, run.key, other.key)


def last_label(desk: OpenFile, run: Run) -> Event | None:
    return events.newest_label(desk.conn, desk.reviewer, run.hash)


class PaceReader:
    """A reviewer's pace in one run, up to the last event of the log that was read."""

    def __init__(self) -> None:
        self._seq = 0
        # A pace costs the same however long a run is.
        self._steps = deque[tuple[datetime, str, int]](maxlen=2_000)
        self._undone = set[int]()

    def pace(self, desk: OpenFile, run: Run) -> Pace:
        """Read the new events of the log and return the pace; imported labels do not count."""
        self.follow(events.of_reviewer(desk.conn, desk.reviewer, self._seq), run)
        return self.now

    def follow(self, found: Iterable[Event], run: Run) -> None:
        """Take in the next events; those of files, the shell or many verdicts take no time."""
        for event in found:
            self._seq = event.seq
            if event.target is not None:
                turn = self._undone.add if event.kind == "undo" else self._undone.discard
                turn(event.target)
            facts = event.detail
            is_unseen = event.kind == "label" and facts.get("blind") is None
            untimed = is_unseen or facts.get("together", 1) > 1 or "imported" in facts
            if event.run == run.hash and not untimed:
                at = datetime.fromisoformat(event.at)
                self._steps.append((at, event.kind, event.action))

    @property
    def now(self) -> Pace:
        undone = self._undone
        return pace(
            (at, "undone" if action in undone else kind) for at, kind, action in self._steps
        )


_held: set[str] = set()
"""The runs that this process is working on, by the word that their events share."""


@contextmanager
def held(word: str) -> Iterator[None]:
    _held.add(word)
    try:
        yield
    finally:
        _held.discard(word)


def is_held(consent: Mapping[str, Any], *, is_ended: bool = False) -> bool:
    is_alive = "pid" in consent and reruns.is_other_alive(consent["pid"], consent["started"])
    return consent.get("batch") in _held or (is_alive and not is_ended)


def refuse_held(consent: Mapping[str, Any], what: str, *, is_ended: bool = False) -> None:
    if is_held(consent, is_ended=is_ended):
        problem = f"process {consent['pid']} is at work on {what}"
        raise DeskError(problem, "Wait for it, or stop it there.")


class UnfinishedRerun(Struct, frozen=True):
    """A re-run that was cut off or is under way: its first and its newest consent."""

    event: Event
    newest: Event
    stopped: bool
    extent: RerunExtent
    """Who was asked about what, how much of it is left, and since when."""

    @property
    def batch(self) -> str:
        return str(self.event.detail["batch"])

    @property
    def source(self) -> str:
        return str(self.event.detail["source"])

    def refuse_held(self) -> None:
        refuse_held(self.newest.detail, "this re-run", is_ended=self.stopped)


def unfinished(desk: OpenFile) -> list[UnfinishedRerun]:
    """Return the reviewer's re-runs that did not end and are not under way, oldest first."""
    begun: dict[str, list[Event]] = {}
    ends: dict[str, Event] = {}
    found = []
    for event in reruns.of_reviewer(desk.conn, desk.reviewer):
        batch = event.detail["batch"]
        if "report" in event.detail:
            continue  # the journal of a report, which judge continues
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
        if left and not is_held(newest.detail, is_ended=stopped):
            said = first.detail
            extent = RerunExtent(
                RerunRequest(RerunScope(said["scope"]), said["juror"]), str(said["panel"]),
                said["of"], said["filter"], left=left, at=first.at,
            )  # fmt: skip
            found.append(UnfinishedRerun(first, newest, stopped, extent))
    return found


def of_item(desk: OpenFile, item: Item) -> tuple[Rerun, ...]:
    truth = item.row.label
    filed: tuple[Rerun, ...] = ()
    if bodies := item.verdict.body.get("reruns"):
        defaults = Policy.from_body(item.run.header.get("defaults"))
        filed = tuple(
            _rerun(0, verdict_from_body(body, defaults, item.verdict.generator), {}, truth)
            for body in bodies
        )
    # A plan is an event about the item.
    stored = reruns.of_verdict(desk.conn, item.row.key) if item.history else []
    return filed + tuple(_stored(one, truth) for one in stored)


def with_reruns(desk: OpenFile, key: int) -> tuple[Item, RerunHistory]:
    found = item(desk, key)
    return found, RerunHistory(of_item(desk, found))


def _stored(stored: reruns.StoredRerun, truth: str | None) -> Rerun:
    given = {"at": stored.at, "reviewer": stored.reviewer, "stopped": stored.stopped}
    verdict = verdict_from_body(stored_body(stored.body))
    return _rerun(stored.plan, verdict, {**stored.detail, **given}, truth)


def _rerun(plan: int, verdict: Verdict, about: Mapping[str, Any], truth: str | None) -> Rerun:
    """Return a re-run with facts ``about`` it; one that came with the report has none."""
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
        plan=plan,
    )


def flips_of_run(desk: OpenFile, run: Run) -> tuple[FlipRate, ...]:
    stored = reruns.of_plans(desk.conn, list(plans(desk, run)))
    return flip_rates(
        (
            _assessed(verdicts.by_key(desk.conn, key, body=True))[0],
            [_stored(one, None) for one in group],
        )
        for key, group in groupby(stored, key=lambda one: one.verdict)
    )


def plans(desk: OpenFile, run: Run) -> frozenset[int]:
    return frozenset(reruns.plans_of_run(desk.conn, run.key))
