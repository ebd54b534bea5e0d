"""The list of loaded runs, and the details of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.run.measures import UNMEASURED, RunAlphas
from reviewdesk.store import labels, measures, runs
from reviewdesk.store.connect import reading
from reviewdesk.store.runs import DecisionCounts

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

__all__ = [
    "DecisionCounts",
    "LabelCounts",
    "RunDetails",
    "RunLine",
    "StratumDraw",
    "overview",
    "run_details",
    "tallies",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in the list of runs, with the number of labelled verdicts and its alphas."""

    run: Run
    labelled: int
    alphas: RunAlphas = UNMEASURED


@dataclass(frozen=True, slots=True)
class StratumDraw:
    """A stratum of a run's draw, with its number of verdicts and the size of its audit."""

    name: str
    size: int
    audit: int


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """Counts of a run's labelled verdicts; ``decided`` are those with a pass or a fail."""

    decided: int
    unsure: int
    disputed: int
    tentative: int


@dataclass(frozen=True, slots=True)
class RunDetails:
    """Everything about one run. ``filled`` is the policy that the user gave when loading it.

    ``unlabelled`` counts the verdicts with a human label in the file but no label in this desk.
    """

    run: Run
    file_hash: str
    filled: Mapping[str, Any]
    tally: DecisionCounts
    strata: tuple[StratumDraw, ...]
    labels: LabelCounts
    desk: str
    head: str
    alphas: RunAlphas = UNMEASURED
    unlabelled: int = 0


def overview(desk: Desk) -> list[RunLine]:
    """Return every run that is not hidden, the newest last."""
    with reading(desk.conn, desk.path):
        labelled = runs.labelled(desk.conn)
        alphas = measures.alphas(desk.conn)
        return [
            RunLine(run, labelled.get(run.key, 0), alphas.get(run.key, UNMEASURED))
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
        return RunDetails(
            run=run,
            file_hash=runs.file_hash(desk.conn, run.key),
            filled=runs.options(desk.conn, run.key),
            tally=counted.get(run.key, DecisionCounts({}, {})),
            strata=tuple(
                StratumDraw(STRATA[h], size, audit)
                for h, size, audit in runs.strata(desk.conn, run.key)
                if size
            ),
            labels=_label_counts(runs.truths(desk.conn, run.key)),
            desk=str(desk.path),
            head=desk.head(),
            alphas=measures.alphas(desk.conn, run.key).get(run.key, UNMEASURED),
            unlabelled=run.human_labels
            and run.human_labels - labels.count_human_labelled(desk.conn, run.key),
        )


def _label_counts(found: Mapping[tuple[Truth, bool], int]) -> LabelCounts:
    truths = dict.fromkeys(Truth, 0)
    for (truth, _), n in found.items():
        truths[truth] += n
    return LabelCounts(
        decided=truths[Truth.PASS] + truths[Truth.FAIL],
        unsure=truths[Truth.UNSURE],
        disputed=truths[Truth.DISPUTED],
        tentative=sum(n for (_, tentative), n in found.items() if tentative),
    )
