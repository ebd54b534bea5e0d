"""Whether a new panel is no worse than an older one, paired on the contents of a suite's labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from reviewdesk.domain.gates.join import ContentKey, ReportContent, SuiteLabels, decisions, join
from reviewdesk.domain.jurors.facts import Apart, merge_cells
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.rates import tango
from reviewdesk.domain.stats.stratified import midp_interval
from reviewdesk.domain.verdict import Decision

_RIGHT = {Truth.PASS: Decision.PASS, Truth.FAIL: Decision.FAIL}


class PairedDecision(Struct, frozen=True):
    """The decisions of two panels on one content, and its label or ``None``."""

    stratum: int
    new: Decision | None
    old: Decision | None
    truth: Truth | None = None


class PanelChange(Struct, frozen=True):
    """The accuracy of a new panel minus that of an old one, for such items, with a 95% interval.

    The panels differ on ``apart`` of the ``items``, and ``labelled`` of these have a label.
    ``estimate`` is ``None`` if a group of them has no label.
    """

    items: int
    apart: int
    labelled: int
    estimate: float | None
    low: float
    high: float


class PanelDecisions(Struct, frozen=True):
    """The decisions of a panel, by the line of each label and by the content of the frame.

    A content whose verdicts differ from each other is undecided, like one that has no decision.
    """

    of_labels: Mapping[int, Decision | None]
    of_contents: Mapping[ContentKey, Decision | None]

    @staticmethod
    def of_report(labels: SuiteLabels, contents: Sequence[ReportContent]) -> PanelDecisions:
        """Arrange the decisions of a report by the labels that are joined to its answers."""
        found = decisions(contents)
        keys = {one.item: one.key for one in contents}
        joined = join(labels, contents, any_rubric=True)
        return PanelDecisions(
            {label.line: found[keys[item]] for item, label in joined.labels.items()},
            {key: found[keys[item]] for key, item in joined.items.items()},
        )

    @staticmethod
    def of_suite(labels: SuiteLabels) -> PanelDecisions | None:
        """Arrange the decisions of the labelled panel; ``None`` if the suite does not say."""
        frame = {one.item_hash: one.decision for one in labels.frame or ()}
        if not any(frame.values()):
            return None
        mine = {label.line: frame[label.item_hash] for label in labels.labels if label.item_hash}
        return PanelDecisions(mine, {one.key: one.decision for one in labels.frame or ()})


def pairs(
    labels: SuiteLabels, new: PanelDecisions, old: PanelDecisions
) -> Iterator[PairedDecision]:
    """Pair the decisions on every content that both panels have and labels are drawn from.

    What a panel was tuned on says little of how good it is, and is left out. Labels that were not
    drawn describe only the contents that have a label.
    """
    frame = {one.item_hash: one for one in labels.frame or ()} if labels.drawn else {}
    for label in labels.labels:
        known = frame.pop(label.item_hash or "", None)
        if label.tuned:
            continue
        if label.line in new.of_labels and label.line in old.of_labels:
            both = new.of_labels[label.line], old.of_labels[label.line]
            yield PairedDecision(known.stratum if known else 0, *both, label.truth)
    for one in frame.values():
        if one.key in new.of_contents and one.key in old.of_contents:
            yield PairedDecision(one.stratum, new.of_contents[one.key], old.of_contents[one.key])


def change(found: Sequence[PairedDecision]) -> PanelChange:
    """Estimate ``right(new) - right(old)`` over such items as the pairs; at least one is needed.

    If both decide alike, the difference is 0 without any label. A cell holds one stratum's pairs
    of one kind: both decide and differ (+1 or -1), or only one decides (the other is not right
    there: 0, and +1 or -1). MOVER combines the cells' mid-p intervals for finite populations. The
    items are taken as a sample by combining, by squares, the distance of each end with that of
    Tango's score interval. Contents of one test count as independent. Source: Zou and Donner 2008;
    Tango 1998.
    """
    n = len(found)
    strata = Counter(one.stratum for one in found)
    sampled = Counter(one.stratum for one in found if one.truth in _RIGHT)
    groups: dict[tuple[int, int], dict[int, list[PairedDecision]]] = {}
    for one in found:
        decided = [side in {Decision.PASS, Decision.FAIL} for side in (one.new, one.old)]
        if any(decided) and not (all(decided) and one.new is one.old):
            # The least and the most that the content can add to the difference.
            kind = -int(decided[1]), int(decided[0])
            groups.setdefault(kind, {}).setdefault(one.stratum, []).append(one)
    # At the lower and the upper end: the shares of items gained and lost, and the squared distance.
    # Items without a label count as lost at the lower end and as gained at the upper end.
    gained, lost, squares = np.zeros((3, 2))
    apart = labelled = 0
    unlabelled = False
    for (least, most), held in groups.items():
        cells = [_cell(h, mine, most, sampled[h] / strata[h]) for h, mine in held.items()]
        for cell in merge_cells(cells):
            share = cell.size / n
            apart += cell.size
            labelled += cell.labelled
            unlabelled = unlabelled or not cell.labelled
            ends = np.array(midp_interval(cell.part) if cell.labelled else (0.0, 1.0))
            rate = np.full(2, cell.right / cell.labelled) if cell.labelled else ends
            gained += share * rate * most
            lost -= share * (1 - rate) * least
            squares += (share * (most - least) * (rate - ends)) ** 2
    middle = gained - lost
    score = [tango(gained[at] * n, lost[at] * n, n, z) for at, z in enumerate((Z, -Z))]
    low, high = middle + [-1, 1] * np.sqrt(squares + (middle - score) ** 2)
    estimate = None if unlabelled else float(middle[0])
    return PanelChange(n, apart, labelled, estimate, max(float(low), -1.0), min(float(high), 1.0))


def _cell(stratum: int, mine: Sequence[PairedDecision], most: int, rate: float) -> Apart:
    """Count the pairs of a cell; a pair counts as right if it adds the most that it can."""
    known = [one for one in mine if one.truth in _RIGHT]
    better = sum(
        one.new is _RIGHT[one.truth] if most else one.old is not _RIGHT[one.truth]
        for one in known
        if one.truth
    )
    return Apart(stratum, len(mine), len(known), better, rate)
