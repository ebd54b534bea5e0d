"""A juror's rates through the draw, computed from its counts per stratum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.domain.labels.sampling import FIRST_REST, design_of
from reviewdesk.domain.records import Design
from reviewdesk.domain.stats.correction import Cells, Z
from reviewdesk.domain.stats.figures import Estimate, Part, Target
from reviewdesk.domain.stats.stratified import Rates, Voted, midp_interval, stratified_rates

if TYPE_CHECKING:
    from reviewdesk.domain.stats.clusters import Clusters

ENOUGH = 20
"""The fewest labelled votes for which a juror's kappa, and a weight from it, is given."""
ALIKE = 0.1
"""Sampling rates count as equal if they differ by at most this share of the largest."""


class Difference(Struct, frozen=True):
    """How much more often one rater is right than the rater named ``to``, on the same items.

    Both decided ``items``, ``apart`` of them differently; ``labelled`` of these have a label that
    counts. If they differ in a stratum without such a label, the estimate is ``None`` and the ends
    are bounds.
    """

    to: str
    estimate: float | None
    low: float
    high: float
    items: int
    apart: int
    labelled: int


class JurorRates(Struct, frozen=True):
    """One juror's figures through the draw.

    ``run`` and ``such`` are the same rates for this run and for such items. ``kappa`` is ``None``
    under ``ENOUGH`` counted votes, and if the labels do not represent the run. ``dissent`` is how
    often the juror was right when it dissented alone or was trimmed and dissented; ``difference``
    compares it with the panel.
    """

    design: Design
    run: Rates
    such: Rates
    kappa: float | None
    dissent: Estimate
    dissent_design: Design
    difference: Difference | None


class Contest(Struct, frozen=True):
    """The panel compared with its jurors, by paired differences of accuracy.

    ``best`` is the juror with the highest accuracy, and ``panel`` the panel less that juror. The
    panel ``beats_every`` juror if each lower end is above 0 (intersection-union, Berger 1982).
    ``best_stands`` says that the best juror beats all others, ``best_beats_panel`` that it beats
    the panel; because the labels chose it, their risk is divided by the number of other jurors
    (Bonferroni).
    """

    best: str | None = None
    panel: Difference | None = None
    beats_every: bool = False
    best_stands: bool = False
    best_beats_panel: bool = False


def design(found: Sequence[Voted]) -> Design:
    """Return how a juror's labels were drawn, over the verdicts on which it voted."""
    sizes = {one.stratum: one.size for one in found if one.size}
    counted = {one.stratum: one.counted.n for one in found}
    return design_of(int(labelled(found).n), sizes, counted)


def rates(
    found: Sequence[Voted], target: Target = Target.RUN, clusters: Clusters | None = None
) -> Rates:
    """Estimate a juror's rates over all its votes.

    ``clusters`` are the labels by content and case, if some are alike.
    """
    return stratified_rates(found, target, clusters)


def weighted(found: Sequence[Voted]) -> Cells:
    """Return the juror's confusion over the run: a counted label weighs ``N_h/m_h`` votes."""
    total = Cells()
    for one in (one for one in found if one.counted.n):
        total = total.plus(one.counted, one.size / one.counted.n)
    return total


def labelled(found: Sequence[Voted]) -> Cells:
    """Return the juror's unweighted confusion over its labelled votes."""
    total = Cells()
    for one in found:
        total = total.plus(one.labelled)
    return total


def quoted_kappa(found: Sequence[Voted]) -> tuple[float | None, float]:
    """Return the kappa that may be quoted, ``None`` under ``ENOUGH`` votes, and its votes.

    It is taken through the draw if the labels represent the run, else over the unweighted labels.
    """
    drawn = design(found).stands
    votes = sum(one.labels if drawn else one.labelled.n for one in found)
    cells = weighted(found) if drawn else labelled(found)
    return (cells.kappa if votes >= ENOUGH else None), votes


class Apart(Struct, frozen=True):
    """The ``size`` verdicts of one stratum on which two raters differ.

    There are ``labelled`` labels on them that count, and on ``right`` of these the first rater is
    right. ``rate`` is the share of the whole stratum that has a label that counts. If contents have
    several verdicts, ``contents`` is how many the verdicts are on, and the labels are worth as much
    as ``worth`` contents of one size.
    """

    stratum: int
    size: int
    labelled: int
    right: float
    rate: float
    contents: float | None = None
    worth: float | None = None

    @property
    def part(self) -> Part:
        """The labels for the share on which the first rater is right."""
        each = 1.0 if self.worth is None else self.worth / self.labelled
        size = self.size if self.contents is None else self.contents
        return Part(size * each, self.labelled * each, self.right * each)


def paired(to: str, items: int, apart: Sequence[Apart], z: float = Z) -> Difference:
    """Estimate ``D = (1/N)·Σ N_c(2p_c - 1)`` over the cells where two raters differ.

    p_c is the share of a cell on which the first rater is right; where the raters agree, the
    difference is 0 without any label. Cells are strata; those of flagged verdicts, and those of the
    rest, are merged if they are sampled at one rate. MOVER combines their mid-p intervals for
    finite populations; a cell without a label adds N_c/N to either side, and leaves
    no estimate. ``D`` is 0 if the raters never differ. Source: Zou and Donner 2008.
    """
    middle = below = above = open_ = 0.0
    for cell in _merge_cells([one for one in apart if one.size]):
        share = cell.size / items
        if not cell.labelled:
            open_ += share
            continue
        rate = cell.right / cell.labelled
        low, high = midp_interval(cell.part, z)
        middle += share * (2 * rate - 1)
        below += (2 * share * (rate - low)) ** 2
        above += (2 * share * (high - rate)) ** 2
    size = sum(one.size for one in apart)
    known = sum(one.labelled for one in apart)
    return Difference(
        to=to,
        estimate=middle if items and not open_ else None,
        low=max(middle - math.sqrt(below) - open_, -1.0) if items else -1.0,
        high=min(middle + math.sqrt(above) + open_, 1.0) if items else 1.0,
        items=items,
        apart=size,
        labelled=known,
    )


def _merge_cells(cells: Sequence[Apart]) -> list[Apart]:
    """Merge the cells of flagged strata, and those of the rest, if sampled at one rate.

    Cells in which contents have several verdicts stay apart.
    """
    if any(one.worth is not None for one in cells):
        return list(cells)
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
