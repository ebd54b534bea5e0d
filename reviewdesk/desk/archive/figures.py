"""The figures of an archive that need every ballot, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reviewdesk.domain.run.packing import Bar, PackedRun
from reviewdesk.store.measures import spilled_tables

if TYPE_CHECKING:
    from reviewdesk.desk.archive.scratch import Scratch
    from reviewdesk.domain.run.measures import RunMeasures
    from reviewdesk.domain.run.stats import Stats
    from reviewdesk.domain.stats.dense import Floats


def archive_measures(
    scratch: Scratch,
    parts: Sequence[int],
    stats: Stats,
    names: tuple[str, ...],
    quorums: tuple[Bar, ...],
) -> RunMeasures:
    """Compute the alphas of an archive: their states are merged, and its ballots ranked."""
    from reviewdesk.domain.run.alphas import run_measures

    scores = partial(_scores, scratch, parts)
    with spilled_tables() as tables:
        return run_measures(names, quorums, scores, tables, stats.alpha, stats.votes)


def _scores(scratch: Scratch, parts: Sequence[int]) -> Iterator[Floats]:
    """Yield the scores of each part, ``[seats, verdicts]``."""
    from reviewdesk.domain.run.columns import score_units

    for part in parts:
        found = scratch.summary(part)
        yield score_units(PackedRun({"seated": found.seated, "scores": found.scores}, (), ()))
