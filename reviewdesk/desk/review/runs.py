"""The list of loaded runs, and the details of one run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.desk.team.second_opinions import withheld
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.domain.run.details import (
    DecisionCounts,
    LabelCounts,
    RunAlphas,
    RunDetails,
    RunLine,
)
from reviewdesk.errors import AmbiguousError, NotFoundError
from reviewdesk.store import labels, measures, queue, runs, verdicts
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.records import Run


class Opening(Struct, frozen=True):
    """What an app needs to begin a review; ``notice`` is the first text of its status line."""

    desk: Desk
    run: Run
    view: View
    notice: str = ""


def named_verdict(desk: Desk, name: str, run_name: str | None) -> tuple[Run, int]:
    """Find a verdict by its id or by ``RUN:ID``, and return its run and key.

    Raises:
        NotFoundError: no loaded run has the verdict.
        AmbiguousError: several runs have it.
    """
    if run_name is not None:
        run = desk.run(run_name)
        return run, desk.find(run, name)
    runs = desk.runs()
    found = [(run, name) for run in runs if _has(desk, run, name)]
    found += [
        (run, name[len(run.name) + 1 :])
        for run in runs
        if name.startswith(f"{run.name}:") and _has(desk, run, name[len(run.name) + 1 :])
    ]
    if not found:
        raise NotFoundError(f"no verdict {name!r} in the loaded runs", "See: reviewdesk queue.")
    if len(found) > 1:
        candidates = ", ".join(f"{run.name}:{verdict}" for run, verdict in found)
        raise AmbiguousError(
            f"{name!r} fits several: {candidates}", "Name one of them, or give --run."
        )
    run, verdict = found[0]
    return run, desk.find(run, verdict)


def _has(desk: Desk, run: Run, verdict: str) -> bool:
    try:
        desk.find(run, verdict)
    except NotFoundError:
        return False
    return True


def overview(desk: Desk) -> list[RunLine]:
    """Return every run that is not hidden, the newest last."""
    with reading(desk.conn, desk.path):
        labelled = runs.labelled(desk.conn)
        alphas = measures.alphas(desk.conn)
        return [
            RunLine(run, labelled.get(run.key, 0), alphas.get(run.key, RunAlphas()))
            for run in runs.all_runs(desk.conn)
        ]


def tallies(desk: Desk) -> dict[int, DecisionCounts]:
    """Count the decisions and flags of every run, by the run's key. This reads all verdicts."""
    with reading(desk.conn, desk.path):
        return runs.tallies(desk.conn)


def run_details(desk: Desk, run: Run) -> RunDetails:
    """Read the contents of one run and the progress of its labels."""
    with reading(desk.conn, desk.path):
        counted = runs.tallies(desk.conn, run.key)
        truths = Counter(runs.truths(desk.conn, run.key))
        keys = verdicts.keys_of_items(desk.conn, run.key, withheld(desk).waiting)
        for item, mark in queue.marks(desk.conn, list(keys)).items():
            truths[mark.truth] -= len(keys[item]) if run.by_verdict else 1
        return RunDetails(
            run=run,
            file_hash=runs.file_hash(desk.conn, run.key),
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
            and run.human_labels - labels.count_human_labelled(desk.conn, run.key),
        )
