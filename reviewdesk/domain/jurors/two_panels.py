"""Compares two panels on the items that both judged, through the draw of one of their runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from reviewdesk.domain.jurors.panels import Cell, ComparedRun, PanelComparison
from reviewdesk.domain.jurors.rates import design, rates
from reviewdesk.domain.jurors.strata import Labels, clusters, compare, voted
from reviewdesk.domain.run.columns import NOTHING, Small
from reviewdesk.domain.verdict import Decision

Decisions: TypeAlias = tuple[Decision | None, Decision | None]
"""What the panel of a run decided of an item, and what the other run's panel did."""
_VOTES: Mapping[Decision | None, int] = {Decision.PASS: 1, Decision.FAIL: 0}


class CommonItems(Struct, frozen=True):
    """The n verdicts of one run in file order, with the votes of both panels as columns ``[n]``.

    A vote is 1 for a pass and 0 for a fail; it is -1 for both panels unless each decided the item.
    """

    name: str
    hash: str
    labels: Labels
    votes: Small
    others: Small
    """The votes of the other run's panel on the same content."""

    @staticmethod
    def of(
        name: str, run_hash: str, labels: Labels, decisions: Mapping[int, Decisions]
    ) -> CommonItems:
        """Arrange both decisions by row; leave out the rows that one panel did not decide."""
        votes, others = np.full((2, len(labels.truth)), NOTHING, np.int8)
        for row, (here, there) in decisions.items():
            if here in _VOTES and there in _VOTES:
                votes[row] = _VOTES[here]
                others[row] = _VOTES[there]
        return CommonItems(name, run_hash, labels, votes, others)

    @property
    def counted(self) -> int:
        """The number of common items whose label counts for the draw of this run."""
        return int((self.labels.counted & (self.votes >= 0)).sum())


def compare_panels(
    first: CommonItems,
    second: CommonItems,
    cells: Mapping[Cell, int],
    labels: Mapping[Cell, int],
) -> PanelComparison:
    """Compare two panels, paired on the items that both decided.

    The labels of the run for whose draw more of them count are used, those of ``first`` if equally
    many do; which run that is depends on what was labelled, never on what the labels say.
    """
    swapped = second.counted > first.counted
    base = second if swapped else first
    one, two = (base.others, base.votes) if swapped else (base.votes, base.others)
    mine, theirs = (voted(votes, base.labels) for votes in (one, two))
    groups = [clusters(votes, base.labels) for votes in (one, two)]
    return PanelComparison(
        ComparedRun(first.name, first.hash, rates(mine, clusters=groups[0]).accuracy),
        ComparedRun(second.name, second.hash, rates(theirs, clusters=groups[1]).accuracy),
        cells,
        base.name,
        design(mine),
        compare(second.name, one, two, base.labels),
        labels,
    )
