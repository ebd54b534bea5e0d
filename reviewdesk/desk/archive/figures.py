"""The figures of an archive that need every ballot, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reviewdesk.domain.run.packing import Bar, PackedRun

if TYPE_CHECKING:
    from reviewdesk.desk.archive.scratch import Scratch
    from reviewdesk.domain.run.measures import RunMeasures
    from reviewdesk.domain.run.stats import Stats
    from reviewdesk.domain.stats.alpha import AlphaState, LogMoments
    from reviewdesk.domain.stats.dense import Floats


def archive_measures(
    scratch: Scratch,
    parts: Sequence[int],
    stats: Stats,
    names: tuple[str, ...],
    quorums: tuple[Bar, ...],
) -> RunMeasures:
    """Compute the alphas of an archive: their states are merged, and its ballots ranked."""
    from reviewdesk.domain.run.alphas import merged_measures

    scores = partial(_scores, scratch, parts)
    logs = _logs(scores(), stats.alpha) if stats.alpha.varies and stats.alpha.splits else None
    ranks = _ranks(scratch, scores)
    return merged_measures(names, quorums, stats.alpha, logs, stats.votes, ranks)


def _scores(scratch: Scratch, parts: Sequence[int]) -> Iterator[Floats]:
    """Yield the scores of each part, ``[seats, verdicts]``."""
    from reviewdesk.domain.run.columns import score_units

    for part in parts:
        found = scratch.summary(part)
        yield score_units(PackedRun({"seated": found.seated, "scores": found.scores}, (), ()))


def _logs(blocks: Iterator[Floats], whole: AlphaState) -> LogMoments | None:
    from reviewdesk.domain.stats.alpha import LogMoments

    found = LogMoments()
    for block in blocks:
        made = LogMoments.of(block.T, whole)
        if made is None:
            return None
        found = found.merge(made)
    return found


def _ranks(scratch: Scratch, scores: partial[Iterator[Floats]]) -> AlphaState:
    """Return the state of the mid-ranks of all ballots; tables of them are kept on disk."""
    from reviewdesk.domain.stats.alpha import AlphaState
    from reviewdesk.domain.stats.ranks import MOST, lowest, ranks

    table, count = None, 0
    while table is None or len(table.values) == MOST:
        table = lowest(scores(), table)
        scratch.put_table(count, table)
        count += 1
    state = AlphaState()
    for block in scores():
        state = state.merge(AlphaState.of(ranks(block, scratch.tables(count)).T))
    return state
