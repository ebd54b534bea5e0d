"""The list of loaded runs, and the details of one run."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.desk.core import Desk
from reviewdesk.desk.team.claims import withheld
from reviewdesk.domain.records import Event, Run, Truth, View
from reviewdesk.domain.run.details import (
    DecisionCounts,
    LabelCounts,
    RunAlphas,
    RunDetails,
    RunLine,
)
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import NotFoundError, UsageError
from reviewdesk.store import measures, runs, verdicts
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from reviewdesk.domain.run.columns import Columns


class Opening(Struct, frozen=True):
    """What an app needs to begin a review; ``notice`` is the first text of its status line."""

    desk: Desk
    run: Run
    view: View
    notice: str = ""


def named_verdict(desk: Desk, name: str, run_name: str | None) -> tuple[Run, int]:
    """Find the only verdict with an id, or by ``RUN:ID``, and return its run and key."""
    if run_name is not None:
        run = desk.run(run_name)
        return run, desk.find(run, name)
    found = []
    for run in desk.runs():
        for verdict in {name, name.removeprefix(f"{run.name}:")}:
            with suppress(NotFoundError):
                found.append((run, desk.find(run, verdict), f"{run.name}:{verdict}"))
    if not found:
        raise NotFoundError(f"no verdict {name!r} in the loaded runs", "See: reviewdesk queue.")
    if len(found) > 1:
        candidates = ", ".join(candidate for _, _, candidate in found)
        raise UsageError(f"{name!r} matches several: {candidates}", "Name one, or give --run.")
    return found[0][:2]


GIVEN = ("pass", "fail", "unsure")


def label_named(
    desk: Desk,
    name: str,
    truth: str,
    run_name: str | None = None,
    *,
    note: str | None = None,
    tags: Sequence[str] = (),
    force: bool = False,
) -> Event:
    """Label a verdict that is found by ``named_verdict``, and return the event."""
    if truth not in GIVEN:
        raise UsageError(f"{truth!r} is not a label", f"Labels: {', '.join(GIVEN)}.")
    for text in (name, *tags, *([] if note is None else [note])):
        if not isinstance(text, str):  # they may come from Python
            raise UsageError(f"{text!r} is not a text", "Give ids, notes and tags as texts.")
    run, key = named_verdict(desk, name, run_name)
    if not force and not desk.item(key, run).verdict.has_response:
        hint = "Open its report with --texts FILE, or label it all the same with --force."
        raise UsageError(f"{show_line(name, 80)}: there is no response to judge", hint)
    return desk.label(key, Truth(truth), note=note, tags=tags)


def after(desk: Desk, made: Event) -> tuple[Run | None, Event, Truth | None]:
    run = next((found for found in desk.runs() if found.hash == made.run), None)
    if run is None or made.verdict is None:
        return run, made, None
    return run, made, desk.rows([desk.find(run, made.verdict)])[0].label


def overview(desk: Desk) -> list[RunLine]:
    with reading(desk.conn):
        labelled = runs.truths(desk.conn, without=withheld(desk).waiting)
        alphas = measures.alphas(desk.conn)
        return [
            RunLine(run, labelled[run.key].total(), alphas.get(run.key, RunAlphas()))
            for run in runs.all_runs(desk.conn)
        ]


def tallies(desk: Desk) -> dict[int, DecisionCounts]:
    """Count the decisions and flags of every run, by the run's key. This reads all verdicts."""
    with reading(desk.conn):
        return runs.tallies(desk.conn)


def run_details(desk: Desk, run: Run) -> RunDetails:
    with reading(desk.conn):
        counted = runs.tallies(desk.conn, run.key)
        truths = runs.truths(desk.conn, run.key, withheld(desk).waiting)[run.key]
        return RunDetails(
            run=run,
            filled=runs.options(desk.conn, run.key),
            tally=counted.get(run.key, DecisionCounts({}, {})),
            labels=LabelCounts(
                decided=truths[Truth.PASS] + truths[Truth.FAIL],
                unsure=truths[Truth.UNSURE],
                disputed=truths[Truth.DISPUTED],
            ),
            desk=str(desk.path),
            alphas=measures.alphas(desk.conn, run.key).get(run.key, RunAlphas()),
            unlabelled=run.human_labels
            and run.human_labels - verdicts.count_human_labelled(desk.conn, run.key),
        )


def panels(desk: Desk, run: Run) -> "Columns":
    """Return the ballots of a run's verdicts as columns."""
    from reviewdesk.domain.run.columns import unpacked

    first = verdicts.first_key(desk.conn, run.key)
    return unpacked(measures.packed(desk.conn, run.key), range(first, first + run.verdicts))
