"""The records of each juror over time, and their plain arithmetic."""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.labels.sampling import FIRST_REST, design_of
from reviewdesk.domain.records import Design
from reviewdesk.domain.run.volatility import AgainstEarlier, VolatileCase
from reviewdesk.domain.stats.correction import Cells, CorrectionStatus, Z, rogan_gladen
from reviewdesk.domain.stats.figures import Estimate, Part, Rates, Target
from reviewdesk.domain.stats.kappa import kappa_weights
from reviewdesk.domain.stats.rates import Voted, midp_interval, tango, wilson
from reviewdesk.domain.verdict import CanonicalVerdict, Strategy, stated_trim

ENOUGH = 20
"""The fewest labelled votes for which a juror's kappa, and a weight from it, is given."""
ALIKE = 0.1
"""Sampling rates count as equal if they differ by at most this share of the largest."""


class Difference(Estimate, frozen=True):
    """How much more often one rater is right than the rater named ``to``, on the same items.

    Both decided ``items``, ``apart`` of them differently; ``labelled`` of these have a label that
    counts. Without one in a stratum where they differ, the estimate is ``None``, the ends bounds.
    """

    to: str = ""
    items: int = 0
    apart: int = 0
    labelled: int = 0


class JurorRates(Struct, frozen=True):
    """One juror's figures through the draw.

    ``run`` and ``such`` are the same rates for this run and for such items. ``kappa`` is ``None``
    under ``ENOUGH`` counted votes, and if the labels do not represent the run. ``dissent`` is how
    often the juror was right in a lone dissent; ``difference`` compares it with the panel.
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
    panel ``beats_every`` juror if each lower end is above 0 (intersection-union, Berger 1982). On
    new items the best juror beats all others (``best_stands``) or the panel; because the labels
    chose it, the risk is divided by the number of other jurors (Bonferroni).
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
    return design_of(int(confusion(found).n), sizes, counted)


def confusion(found: Sequence[Voted], *, drawn: bool = False) -> Cells:
    """Return a rater's confusion over its labelled votes, or weighted by the draw over the run."""
    total = Cells()
    for one in found:
        weight = one.size / one.counted.n if one.counted.n else 0.0
        total = total.plus(one.counted, weight) if drawn else total.plus(one.labelled)
    return total


def quoted_kappa(found: Sequence[Voted]) -> tuple[float | None, float]:
    """Return the kappa that may be quoted, ``None`` under ``ENOUGH`` votes, and its votes."""
    drawn = design(found).stands
    votes = sum(one.labels if drawn else one.labelled.n for one in found)
    return (confusion(found, drawn=drawn).kappa if votes >= ENOUGH else None), votes


class Apart(Struct, frozen=True):
    """The ``size`` verdicts of one stratum on which two raters differ.

    On ``right`` of their ``labelled`` labels that count the first rater is right. ``rate`` is the
    share of the whole stratum that has such a label. If contents have several verdicts,
    ``contents`` is how many there are, and the labels are worth ``worth`` contents of one size.
    """

    stratum: int
    size: int
    labelled: int
    right: float
    rate: float
    contents: float | None = None
    worth: float | None = None
    least: int = -1
    most: int = 1
    """What a verdict adds to the difference if the first rater is wrong on it, and if right."""

    @property
    def part(self) -> Part:
        each = 1.0 if self.worth is None else self.worth / self.labelled
        size = self.size if self.contents is None else self.contents
        return Part(size * each, self.labelled * each, self.right * each)


def paired(
    to: str,
    items: int,
    apart: Sequence[Apart],
    z: float = Z,
    target: Target = Target.RUN,
    *,
    sampled: bool = False,
) -> Difference:
    """Estimate ``D = (1/N)·Σ N_c(p_c·most + (1 - p_c)·least)`` over the cells where raters differ.

    p_c is the share of a cell on which the first rater is right; where the raters agree, the
    difference is 0 without any label. Cells are strata, merged by ``merge_cells``. MOVER combines
    their mid-p intervals for finite populations, or for ``target`` new items of an infinite one,
    where the share on which the two differ is taken as fixed. If ``sampled``, the items are taken
    as a sample: the distance of each end from that of Tango's score interval is combined in by
    squares. A cell without a label counts as lost at the lower end, as gained at the upper end, and
    leaves no estimate. Source: Zou and Donner 2008; Tango 1998.
    """
    cells = [one for one in apart if one.size]
    merged = []
    for cell in merge_cells(cells):
        part = cell.part
        if target is Target.ITEMS:
            part = replace(part, size=part.size * 1_000_000)
        merged.append((cell, midp_interval(part, z)))
    ends = []
    for at, side in enumerate((-1, 1)):
        middle = gained = lost = square = 0.0
        for cell, interval in merged:
            share = cell.size / items
            right = cell.right / cell.labelled if cell.labelled else interval[at]
            middle += share * (cell.least + (cell.most - cell.least) * right)
            gained += share * right * cell.most
            lost -= share * (1 - right) * cell.least
            square += (share * (cell.most - cell.least) * (right - interval[at])) ** 2
        if sampled:
            outer = tango(gained * items, lost * items, items, -side * z)
            square += (middle - outer) ** 2
        ends.append(middle + side * math.sqrt(square) if items else float(side))
    known = items and all(cell.labelled for cell, _ in merged)
    return Difference(
        estimate=middle if known else None,
        low=max(ends[0], -1.0),
        high=min(ends[1], 1.0),
        to=to,
        items=items,
        apart=sum(one.size for one in cells),
        labelled=sum(one.labelled for one in cells),
    )


def merge_cells(cells: Sequence[Apart]) -> list[Apart]:
    """Merge the flagged cells of one kind and rate, and those of the rest, but no repeats."""
    if any(one.worth is not None for one in cells):
        return list(cells)
    sides: dict[tuple[int, int, bool], list[Apart]] = {}
    for one in cells:
        sides.setdefault((one.least, one.most, one.stratum >= FIRST_REST), []).append(one)
    made: list[Apart] = []
    for mine in sides.values():
        rates = [one.rate for one in mine]
        if max(rates) - min(rates) > ALIKE * max(rates):
            made += mine
            continue
        names = ("size", "labelled", "right")
        sums = {name: sum(getattr(one, name) for one in mine) for name in names}
        made.append(replace(mine[0], **sums, rate=max(rates)))
    return made


class JurorCounts(Struct, frozen=True):
    """One juror's votes against the labels; a positive is a response that should pass.

    A dissent is a vote against a pass or fail of the panel; it is lone if it is the only one, or
    trimmed.
    """

    name: str
    seat: int
    tp: int
    fn: int
    tn: int
    fp: int
    abstained: int
    failed: int
    trimmed: int
    dissents: int
    dissents_right: int
    lone_dissents: int = 0
    lone_right: int = 0

    @property
    def votes(self) -> int:
        return self.right + self.wrong

    @property
    def right(self) -> int:
        return self.tp + self.tn

    @property
    def wrong(self) -> int:
        return self.fn + self.fp


def trim_named(body: CanonicalVerdict) -> set[int] | None:
    """Return the seats that the report itself says were trimmed; ``None`` if it states no trim."""
    stated = stated_trim(body)
    named = {*(stated.low or ()), *(stated.high or ())}
    seats = {seat for seat, juror in enumerate(body["jurors"]) if juror["id"] in named}
    return None if stated.low is None else seats


def share_of(k: int, n: int) -> Estimate:
    """Return ``k`` of ``n`` with Wilson's 95% interval; undefined without data."""
    return Estimate(k / n if n else None, *wilson(k, n))


class Seats(Struct, frozen=True):
    """Counts of a juror's seats in a whole run, labelled or not; ``first`` is the lowest."""

    first: int
    seats: int
    failed: int
    parse_failed: int
    votes: int = 0
    passes: int = 0
    not_asked: int = 0


class Windows(StrEnum):
    """What a juror's offsets in this run are compared with."""

    EARLIER = "earlier runs"
    HALVES = "first half"


class Drift(Struct, frozen=True):
    """A juror's offsets in two windows of ``before`` and ``after`` verdicts.

    ``change`` is the later mean offset less the earlier, with 95% ends; ``t``, ``df`` and ``p`` are
    Welch's, ``q`` is p adjusted over the jurors. ``alarm`` is the key of the verdict where CUSUM
    exceeded its ``limit``. ``None`` if a window is too short, or varies too little.
    """

    windows: Windows
    runs: int
    before: int
    after: int
    change: float
    low: float | None
    high: float | None
    t: float | None
    df: float | None
    p: float | None
    q: float | None = None
    alarm: int | None = None
    limit: float | None = None


class Offset(Struct, frozen=True):
    """The mean over ``n`` verdicts of a juror's score less the mean score of the other jurors."""

    mean: float
    n: int
    drift: Drift | None = None


class JurorFacts(Struct, frozen=True):
    """One juror's figures: from the labels, through the draw, and over all its verdicts of the run.

    Sensitivity and specificity are the shares of right votes on what should pass, and on what
    should fail; dissent is that of lone dissents, and kappa is ``None`` under ``ENOUGH`` votes.
    ``weight`` is a suggestion. ``offset`` is ``None`` if the juror never scored beside another.
    """

    counts: JurorCounts
    seats: Seats
    drawn: JurorRates
    offset: Offset | None = None
    weight: float | None = None

    @property
    def name(self) -> str:
        return self.counts.name

    @property
    def selected(self) -> bool:
        """Whether the juror was not always asked, so that its verdicts are a selected sample."""
        return self.seats.not_asked > 0

    @property
    def labelled(self) -> dict[str, Estimate]:
        """The rates of the labels alone, unweighted, as a blind session may show them."""
        one = self.counts
        return {
            "accuracy": share_of(one.right, one.votes),
            "sensitivity": share_of(one.tp, one.tp + one.fn),
            "specificity": share_of(one.tn, one.tn + one.fp),
            "dissent": share_of(one.lone_right, one.lone_dissents),
        }

    @property
    def labelled_kappa(self) -> float | None:
        one = self.counts
        return Cells(one.tp, one.fn, one.tn, one.fp).kappa if one.votes >= ENOUGH else None

    @property
    def quoted(self) -> dict[str, Estimate]:
        """The rates that may be quoted, of this run; see ``rate``."""
        made = {name: self.rate(name) for name in ("accuracy", "sensitivity", "specificity")}
        drawn = self.drawn
        return made | {"dissent": self._quoted("dissent", drawn.dissent, drawn.dissent_design)}

    @property
    def kappa(self) -> float | None:
        return self.drawn.kappa if self.drawn.design.stands else self.labelled_kappa

    @property
    def observed(self) -> Estimate:
        return share_of(self.seats.passes, self.seats.votes)

    @property
    def parse_failures(self) -> Estimate:
        return share_of(self.seats.parse_failed, self.seats.seats)

    @property
    def corrected(self) -> tuple[float | None, CorrectionStatus | None]:
        """The observed rate corrected for the juror's errors, and the correction's status."""
        observed = self.observed.estimate
        if observed is None or not self.counts.votes:
            return None, None
        names = ("sensitivity", "specificity")
        return rogan_gladen(observed, *(self.rate(name).estimate or 0.0 for name in names))

    def rate(self, name: str, target: Target = Target.RUN) -> Estimate:
        """Return a rate to quote; its ends are bounds if the labels do not represent the run."""
        drawn = getattr(self.drawn.run if target is Target.RUN else self.drawn.such, name)
        return self._quoted(name, drawn, self.drawn.design)

    def _quoted(self, name: str, drawn: Estimate, design: Design) -> Estimate:
        return drawn if design.stands else replace(drawn, estimate=self.labelled[name].estimate)


class Alike(Struct, frozen=True):
    """Counts over the n verdicts on which both jurors of a pair voted."""

    n: int
    alike: int
    first_passes: int
    second_passes: int

    @property
    def share(self) -> float | None:
        return self.alike / self.n if self.n else None

    @property
    def expected(self) -> float | None:
        """The share of equal votes of independent jurors of these pass rates."""
        p, q = (passes / max(self.n, 1) for passes in (self.first_passes, self.second_passes))
        return p * q + (1 - p) * (1 - q) if self.n else None


class JurorPair(Struct, frozen=True):
    """How two jurors agree in a run and its halves; one truth makes them agree beyond chance."""

    first: str
    second: str
    votes: Alike
    halves: tuple[Alike, Alike]
    scored: int
    equal_scores: int


class Added(Struct, frozen=True):
    """What a juror adds: the panel's figures less those of the same panel without the juror."""

    juror: str
    difference: Difference


class SubPanel(Struct, frozen=True):
    """Some of the jurors under one rule, over the labels that count.

    ``accuracy`` is weighted by the draw; ``difference`` is this panel less the run's own. ``cost``
    is the mean cost of asking its jurors once, in US dollars, or else their number.
    """

    jurors: tuple[str, ...]
    rule: Strategy
    accuracy: float
    cost: float
    difference: Difference


class PanelWorth(Struct, frozen=True):
    """What a panel is worth by ``labels`` labels; figures are ``None`` where these are too few.

    ``correlation`` is the mean correlation of two jurors' errors, ``effective`` the number of
    independent jurors that would err as rarely together. ``frontier`` has the smaller panels that
    no other beats in cost and accuracy, the cheapest first: it describes the labels that chose it.
    """

    labels: int
    jurors: int
    correlation: Estimate
    effective: Estimate
    added: tuple[Added, ...] = ()
    frontier: tuple[SubPanel, ...] = ()
    tried: int = 0
    priced: bool = False


class JurorsPage(Struct, frozen=True):
    """Everything about the jurors of one run; ``labels`` counts verdicts labelled pass or fail."""

    jurors: tuple[JurorFacts, ...]
    labels: int
    mean_kappa: float | None = None
    """The mean to which kappas are shrunk for the suggested weights."""
    contest: Contest = Contest()
    volatile: tuple[VolatileCase, ...] = ()
    earlier: AgainstEarlier = AgainstEarlier()
    repeated: int = 0
    """The number of cases of the run that have a score in another run too."""
    ids: Mapping[int, str] = {}
    """The ids of the verdicts that an alarm names by key."""
    models: Mapping[str, str | None] = {}
    """The model of each juror's first ballot."""
    pairs: tuple[JurorPair, ...] = ()
    of_archive: bool = False
    """Whether jurors are not compared, because most ballots of an archive are not here."""
    worth: PanelWorth | None = None

    @property
    def designs(self) -> tuple[Design, ...]:
        return tuple(dict.fromkeys(one.drawn.design for one in self.jurors))


def suggested_weights(
    kappas: Sequence[tuple[float | None, float]],
) -> tuple[list[float | None], float | None]:
    """Return each juror's weight, and the mean kappa behind the weights.

    ``kappas`` pairs each juror's kappa with its n labelled votes. Kappas are clipped at 0, shrunk
    to their mean, ``n/(n+20)·kappa + 20/(n+20)·mean``, and scaled to sum 1; ``None`` without one.
    """
    clipped = [(None if value is None else max(value, 0.0), n) for value, n in kappas]
    known = [value for value, _ in clipped if value is not None]
    if not known:
        return [None] * len(kappas), None
    mean = math.fsum(known) / len(known)
    shrunk = [
        None if value is None else (n * value + ENOUGH * mean) / (n + ENOUGH)
        for value, n in clipped
    ]
    return kappa_weights(shrunk), mean
