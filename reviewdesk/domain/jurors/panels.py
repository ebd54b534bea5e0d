"""What people's labels say about two panels that judged the same items."""

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct

from reviewdesk.domain.jurors.facts import Difference, design
from reviewdesk.domain.jurors.strata import Labels, compare, voted
from reviewdesk.domain.query.completion import condition
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.run.columns import Small
from reviewdesk.domain.run.packing import NOTHING
from reviewdesk.domain.stats.calibration_page import DrillDown
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.stats.rates import sign_test
from reviewdesk.domain.stats.stratified import stratified_rates
from reviewdesk.domain.verdict import Decision

Cell = tuple[Decision | None, Decision | None, Truth | None]
"""The decisions of the first and the second panel on an item, and the item's label."""
_DECIDED = frozenset({Decision.PASS, Decision.FAIL})
"""The decisions that are right or wrong; a label of the same word makes one right."""
_KNOWN = frozenset({Truth.PASS, Truth.FAIL})


class ComparedRun(Struct, frozen=True):
    """One of two runs that are compared; ``rate`` is its panel's accuracy through the draw."""

    name: str
    hash: str
    rate: Estimate


class PanelComparison(Struct, frozen=True):
    """Two panels on the verdicts of the first run whose content the second run judged too.

    ``cells`` counts these ``items``. Both panels passed or failed the ``decided``, and the
    decisions on the ``flips`` differ, as ``flip:`` keeps them. ``labelled`` items have a pass or
    fail label and are decided by both, which are ``both_right``, ``both_wrong``, or one of them
    right alone. The rates and the ``difference``, the first panel's accuracy less the second's, are
    over the items that both decided; ``design`` is that of these items' labels in the draw of the
    run named ``drawn``. ``p`` is that of the sign test over the labels on which one panel alone is
    right, one for each content: how likely panels that are right equally often would split these
    labels at least as unevenly; ``None`` without such a label.
    """

    first: ComparedRun
    second: ComparedRun
    cells: Mapping[Cell, int]
    items: int
    decided: int
    flips: int
    labelled: int
    both_right: int
    both_wrong: int
    first_alone: int
    second_alone: int
    drawn: str
    design: Design
    difference: Difference
    p: float | None

    def count(self, wanted: Callable[[Cell], bool]) -> int:
        return sum(n for cell, n in self.cells.items() if wanted(cell))


def _sides(cells: Mapping[Cell, int]) -> Counter[tuple[bool, bool]]:
    """Count labelled items that both panels decided by whether each panel is right."""
    made = Counter[tuple[bool, bool]]()
    for (one, two, label), n in cells.items():
        if one in _DECIDED and two in _DECIDED and label in _KNOWN:
            made[Truth(one) is label, Truth(two) is label] += n
    return made


def flipped(cell: Cell) -> bool:
    one, two, _ = cell
    return one is not None and two is not None and one is not two


def panel_drills(found: PanelComparison, *, blind: bool) -> tuple[DrillDown, ...]:
    """Return the groups of verdicts behind a comparison; if blind, the labelled ones alone."""
    first = found.first.name
    second = found.second.name
    flip = condition("flip", second) or f"flip:{found.second.hash}"

    def group(title: str, more: str, wanted: Callable[[Cell], bool]) -> DrillDown:
        count = found.count(lambda cell: flipped(cell) and wanted(cell))
        return DrillDown(title, f"{flip} {more}".strip(), count)

    def against(cell: Cell) -> bool:
        return cell[0] in _DECIDED and cell[2] in _KNOWN and Truth(cell[0]) is not cell[2]

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


Decisions = tuple[Decision | None, Decision | None]
"""The decisions on an item by the panel of a run and by the panel of the other run."""


class CommonItems(Struct, frozen=True):
    """The n verdicts of one run, with both panels' votes ``[n]``: -1 unless both decided."""

    name: str
    hash: str
    labels: Labels
    votes: Small
    others: Small
    """The votes of the other run's panel on the same content."""

    @staticmethod
    def of(
        name: str, run_hash: str, labels: Labels, decisions: Mapping[int, Decisions]
    ) -> "CommonItems":
        """Arrange both decisions by row; leave out the rows that one panel did not decide."""
        votes, others = np.full((2, len(labels.truth)), NOTHING, np.int8)
        for row, (here, there) in decisions.items():
            if here in _DECIDED and there in _DECIDED:
                votes[row] = here is Decision.PASS
                others[row] = there is Decision.PASS
        return CommonItems(name, run_hash, labels, votes, others)

    @property
    def counted(self) -> int:
        return int((self.labels.counted & (self.votes >= 0)).sum())


def compare_panels(
    first: CommonItems, second: CommonItems, cells: Mapping[Cell, int], labels: Mapping[Cell, int]
) -> PanelComparison:
    """Compare two panels, paired on the items that both decided.

    ``cells`` counts the common items, and ``labels`` one verdict for each content. The labels
    of the run with more of them in its draw are used, whatever they say.
    """
    swapped = second.counted > first.counted
    base = second if swapped else first
    one, two = (base.others, base.votes) if swapped else (base.votes, base.others)
    found = [voted(votes, base.labels) for votes in (one, two)]
    rated = [stratified_rates(mine, clusters=groups).accuracy for mine, groups in found]
    sides = _sides(cells)
    alone = _sides(labels)
    return PanelComparison(
        first=ComparedRun(first.name, first.hash, rated[0]),
        second=ComparedRun(second.name, second.hash, rated[1]),
        cells=cells,
        items=sum(cells.values()),
        decided=sum(n for cell, n in cells.items() if set(cell[:2]) <= _DECIDED),
        flips=sum(n for cell, n in cells.items() if flipped(cell)),
        labelled=sides.total(),
        both_right=sides[True, True],
        both_wrong=sides[False, False],
        first_alone=sides[True, False],
        second_alone=sides[False, True],
        drawn=base.name,
        design=design(found[0][0]),
        difference=compare(second.name, one, two, base.labels),
        p=sign_test(alone[True, False], alone[False, True]),
    )
