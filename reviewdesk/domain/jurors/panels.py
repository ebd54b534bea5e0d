"""What people's labels say about two panels that judged the same items; no numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from reviewdesk.domain.jurors.facts import Difference, design, rates
from reviewdesk.domain.jurors.strata import Labels, clusters, compare, voted
from reviewdesk.domain.query.completion import condition
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.run.columns import NOTHING, Small
from reviewdesk.domain.stats.calibration_page import DrillDown
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.stats.rates import sign_test
from reviewdesk.domain.verdict import Decision

Cell: TypeAlias = tuple[Decision | None, Decision | None, Truth | None]
"""What the first panel decided of an item, what the second did, and the item's label."""
_DECIDED = {Decision.PASS: Truth.PASS, Decision.FAIL: Truth.FAIL}
"""The decisions that are right or wrong, each with the label that makes it right."""
_KNOWN = frozenset(_DECIDED.values())


class ComparedRun(Struct, frozen=True):
    """One of two runs that are compared; ``rate`` is its panel's accuracy through the draw."""

    name: str
    hash: str
    rate: Estimate


class PanelComparison(Struct, frozen=True):
    """Two panels on the verdicts of the first run whose content the second run judged too.

    ``cells`` counts them. The rates and the ``difference``, the first panel's accuracy less the
    second's, are over the items that both decided; ``design`` is that of these items' labels in the
    draw of the run named ``drawn``.
    """

    first: ComparedRun
    second: ComparedRun
    cells: Mapping[Cell, int]
    drawn: str
    design: Design
    difference: Difference
    labels: Mapping[Cell, int]
    """As ``cells``, with one verdict for each content, since they share a label."""

    def count(self, wanted: Callable[[Cell], bool]) -> int:
        """Return the number of common items in the cells that are ``wanted``."""
        return sum(n for cell, n in self.cells.items() if wanted(cell))

    @property
    def items(self) -> int:
        """The number of common items."""
        return self.count(lambda _: True)

    @property
    def decided(self) -> int:
        """The number of common items that each panel passed or failed."""
        return self.count(_decided)

    @property
    def flips(self) -> int:
        """The number of common items on which the decisions differ, as ``flip:`` keeps them."""
        return self.count(flipped)

    @property
    def labelled(self) -> int:
        """The number of common items with a pass or fail label that each panel decided."""
        return self.count(_known)

    @property
    def both_right(self) -> int:
        """The number of these labelled items on which both panels are right."""
        return self.count(lambda cell: _known(cell) and _right(cell) == (True, True))

    @property
    def both_wrong(self) -> int:
        """The number of these labelled items on which both panels are wrong."""
        return self.count(lambda cell: _known(cell) and _right(cell) == (False, False))

    @property
    def first_alone(self) -> int:
        """The number of these labelled items on which the first panel alone is right."""
        return self.count(lambda cell: _known(cell) and _right(cell) == (True, False))

    @property
    def second_alone(self) -> int:
        """The number of these labelled items on which the second panel alone is right."""
        return self.count(lambda cell: _known(cell) and _right(cell) == (False, True))

    @property
    def p(self) -> float | None:
        """The p value of the sign test over the labels on which one panel alone is right.

        It is the two-sided mid-p: how likely panels that are right equally often would split these
        labels at least as unevenly; ``None`` without such a label.
        """
        first, second = (
            sum(n for cell, n in self.labels.items() if _known(cell) and _right(cell) == alone)
            for alone in ((True, False), (False, True))
        )
        return sign_test(first, second)


def flipped(cell: Cell) -> bool:
    """Return True if both panels came to a decision and it is not the same."""
    one, two, _ = cell
    return one is not None and two is not None and one is not two


def _decided(cell: Cell) -> bool:
    return cell[0] in _DECIDED and cell[1] in _DECIDED


def _known(cell: Cell) -> bool:
    return _decided(cell) and cell[2] in _KNOWN


def _right(cell: Cell) -> tuple[bool, bool]:
    """Return whether each panel's decision is what the label says."""
    one, two = (_DECIDED.get(made) is cell[2] if made else False for made in cell[:2])
    return one, two


def panel_drills(found: PanelComparison, *, blind: bool) -> tuple[DrillDown, ...]:
    """Return the groups of verdicts behind a comparison; if blind, the labelled ones alone."""
    first = found.first.name
    second = found.second.name
    flip = condition("flip", second) or f"flip:{found.second.hash}"

    def group(title: str, more: str, wanted: Callable[[Cell], bool]) -> DrillDown:
        count = found.count(lambda cell: flipped(cell) and wanted(cell))
        return DrillDown(title, f"{flip} {more}".strip(), count)

    def against(cell: Cell) -> bool:
        return cell[0] in _DECIDED and cell[2] in _KNOWN and not _right(cell)[0]

    labelled = (
        group(f"labelled against {first}", "wrong", against),
        group(
            f"labelled, and {first} is not wrong",
            "label:pass|label:fail !wrong",
            lambda cell: cell[2] in _KNOWN and not against(cell),
        ),
    )
    if blind:
        return labelled
    return (
        group(f"decided otherwise in {second}", "", lambda _: True),
        *labelled,
        group("without a label yet", "label:none", lambda cell: cell[2] is None),
    )


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
    first: CommonItems, second: CommonItems, cells: Mapping[Cell, int], labels: Mapping[Cell, int]
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
