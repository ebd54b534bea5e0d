"""A juror's rates through the draw: records and plain arithmetic over counts per stratum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reviewdesk.domain.labels.sampling import FIRST_REST
from reviewdesk.domain.records import Design
from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.figures import (
    Estimate,
    Pair,
    Part,
    Target,
)
from reviewdesk.domain.stats.stratified import (
    midp_interval,
    part_interval,
    stratified_rate,
    stratified_ratio,
)

ENOUGH = 20
"""Labelled votes from which a juror's kappa, and a weight from it, is given."""
CARRIED = (Design.WEIGHTED, Design.CENSUS)
"""The designs whose labels speak for the run."""
ALIKE = 0.1
"""Sampling rates of two strata that differ by no more than this share of the larger are one."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Votes with a label by what was voted and deserved; a positive deserves a pass."""

    tp: float = 0
    fn: float = 0
    tn: float = 0
    fp: float = 0

    @property
    def n(self) -> float:
        """All of them."""
        return self.tp + self.fn + self.tn + self.fp

    @property
    def right(self) -> float:
        """Votes that match the label."""
        return self.tp + self.tn

    def plus(self, other: Cells, weight: float = 1) -> Cells:
        """Add others, each ``weight`` times."""
        return Cells(
            self.tp + weight * other.tp,
            self.fn + weight * other.fn,
            self.tn + weight * other.tn,
            self.fp + weight * other.fp,
        )


@dataclass(frozen=True, slots=True)
class Voted:
    """A juror in one stratum: the verdicts on which it voted, and its votes with a label.

    ``counted`` are the labels that count for the draw, ``labelled`` all of them.
    """

    stratum: int
    passes: int
    fails: int
    counted: Cells
    labelled: Cells

    @property
    def size(self) -> int:
        """Verdicts of the stratum on which the juror voted."""
        return self.passes + self.fails


@dataclass(frozen=True, slots=True)
class Rates:
    """Accuracy, sensitivity and specificity, with 95% intervals of one target."""

    accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more often one rater is right than the one it is held ``to``, on the same items.

    ``items`` both decided, ``apart`` of them differently; ``labelled`` of these have a label that
    counts. The estimate is ``None`` where none has, and the ends are what they may come to.
    """

    to: str
    estimate: float | None
    low: float
    high: float
    items: int
    apart: int
    labelled: int


@dataclass(frozen=True, slots=True)
class JurorRates:
    """One juror through the draw, ``None`` where the labels do not carry it.

    ``run`` and ``such`` are the same rates of this run and of such items. ``kappa`` rests on
    ``ENOUGH`` counted votes. ``dissent`` is how often it was right when it dissented alone or was
    trimmed and dissented; ``difference`` holds it against the panel.
    """

    design: Design
    run: Rates
    such: Rates
    kappa: float | None
    dissent: Estimate
    dissent_design: Design
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Contest:
    """The panel against its jurors, by paired differences.

    ``best`` is the juror with the highest accuracy, and ``panel`` the panel less it. The panel
    ``beats_every`` juror where each lower end is above 0 (intersection-union, Berger 1982);
    ``best_stands`` where the best juror is above all others, and ``best_beats_panel`` where it is
    above the panel, each at 95% shared among the others (Bonferroni): the labels chose it.
    """

    best: str | None = None
    panel: Difference | None = None
    beats_every: bool = False
    best_stands: bool = False
    best_beats_panel: bool = False


def design(found: Sequence[Voted]) -> Design:
    """The word for how a juror's labels were drawn, over the verdicts on which it voted."""
    held = [one for one in found if one.size]
    empty = [one for one in held if not one.counted.n]
    labelled = sum(one.labelled.n for one in held)
    if not labelled:
        return Design.NONE
    if labelled == sum(one.size for one in held):
        return Design.CENSUS
    if len(empty) == len(held):
        return Design.AD_HOC
    if any(one.stratum >= FIRST_REST for one in empty):
        return Design.ESCALATED_ONLY
    return Design.PARTIAL if empty else Design.WEIGHTED


def rates(found: Sequence[Voted], target: Target = Target.RUN) -> Rates:
    """The rates over all verdicts on which the juror voted, each stratum by its counted labels."""
    held = [one for one in found if one.size]
    return Rates(
        accuracy=accuracy(held, target),
        sensitivity=stratified_ratio(
            [
                Pair(one.size, int(one.counted.n), int(one.counted.tp), int(one.counted.fn),
                     one.passes, one.fails)
                for one in held
            ],
            target,
        ),
        specificity=stratified_ratio(
            [
                Pair(one.size, int(one.counted.n), int(one.counted.tn), int(one.counted.fp),
                     one.fails, one.passes)
                for one in held
            ],
            target,
        ),
    )  # fmt: skip


def accuracy(found: Sequence[Voted], target: Target = Target.RUN) -> Estimate:
    """The share of votes that are right: ``Σ N_h/N · k_h/n_h`` over the strata it voted in."""
    return stratified_rate(
        [Part(one.size, one.counted.n, one.counted.right) for one in found if one.size],
        target,
        midp_interval,
    )


def weighted(found: Sequence[Voted]) -> Cells:
    """The confusion of the juror over the run: each counted label stands for ``N_h/m_h`` votes."""
    total = Cells()
    for one in found:
        if one.counted.n:
            total = total.plus(one.counted, one.size / one.counted.n)
    return total


def labelled(found: Sequence[Voted]) -> Cells:
    """The confusion of the juror over its labelled votes, each once."""
    total = Cells()
    for one in found:
        total = total.plus(one.labelled)
    return total


def kappa(cells: Cells) -> float | None:
    """Cohen's ``(p_o - p_e)/(1 - p_e)``; ``None`` where chance would agree on all."""
    n = cells.n
    chance = (cells.tp + cells.fn) * (cells.tp + cells.fp)
    chance += (cells.tn + cells.fp) * (cells.tn + cells.fn)
    room = n * n - chance
    # Weights are no whole numbers, so a room of 0 may come out as a rounding.
    return (n * cells.right - chance) / room if room > 1e-12 * n * n else None


def quoted_kappa(found: Sequence[Voted]) -> tuple[float | None, float]:
    """The kappa that may be quoted and how many votes it rests on: ``None`` under ``ENOUGH``.

    Through the draw where every stratum has a label that counts, else over the labels, each once.
    """
    drawn = design(found) in CARRIED
    votes = sum((one.counted if drawn else one.labelled).n for one in found)
    cells = weighted(found) if drawn else labelled(found)
    return (kappa(cells) if votes >= ENOUGH else None), votes


@dataclass(frozen=True, slots=True)
class Apart:
    """The items of one stratum on which two raters differ, and who was right where a label counts.

    ``rate`` is the share of the whole stratum that has a label that counts.
    """

    stratum: int
    size: int
    labelled: int
    right: int
    rate: float


def paired(to: str, items: int, apart: Sequence[Apart], z: float = Z) -> Difference:
    """``D = (1/N)·Σ N_c(2p_c - 1)`` over the cells on which two raters differ, with its interval.

    Where they agree the difference is 0, known without a label; p_c is the share of a cell on which
    the first rater is right. Cells are strata, those of flagged and of rest merged where they are
    sampled at one rate. Each has Wilson's interval with its finite population, combined by MOVER;
    a cell without a label adds N_c/N to either side. Source: Zou and Donner 2008.
    """
    middle = below = above = open_ = 0.0
    for cell in _merged([one for one in apart if one.size]):
        share = cell.size / items
        if not cell.labelled:
            open_ += share
            continue
        rate = cell.right / cell.labelled
        low, high = part_interval(Part(cell.size, cell.labelled, cell.right), z)
        middle += share * (2 * rate - 1)
        below += (2 * share * (rate - low)) ** 2
        above += (2 * share * (high - rate)) ** 2
    size, known = sum(one.size for one in apart), sum(one.labelled for one in apart)
    return Difference(
        to=to,
        estimate=middle if items and (known or not size) else None,
        low=max(middle - math.sqrt(below) - open_, -1.0) if items else -1.0,
        high=min(middle + math.sqrt(above) + open_, 1.0) if items else 1.0,
        items=items,
        apart=size,
        labelled=known,
    )


def _merged(cells: Sequence[Apart]) -> list[Apart]:
    """Cells of flagged, and of rest, as one where their strata are sampled at one rate."""
    made = []
    for side in (False, True):
        mine = [one for one in cells if (one.stratum >= FIRST_REST) is side]
        rates_ = [one.rate for one in mine]
        if mine and max(rates_) - min(rates_) <= ALIKE * max(rates_):
            made.append(
                Apart(
                    mine[0].stratum,
                    sum(one.size for one in mine),
                    sum(one.labelled for one in mine),
                    sum(one.right for one in mine),
                    max(rates_),
                )
            )
        else:
            made += mine
    return made
