"""The records of each juror over time, and their plain arithmetic."""

import math
from collections import Counter, defaultdict
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

    ``run`` and ``such`` are the same rates for this run and for such items. ``weighing`` is the
    kappa behind the juror's weight, ``None`` under ``ENOUGH`` votes, and its votes. ``dissent`` is
    how often the juror was right in a lone dissent; ``difference`` compares it with the panel.
    """

    design: Design
    run: Rates
    such: Rates
    weighing: tuple[float | None, float]
    dissent: Estimate
    dissent_design: Design
    difference: Difference | None

    @property
    def kappa(self) -> float | None:
        """The kappa through the draw; ``None`` if the labels do not represent the run."""
        return self.weighing[0] if self.design.stands else None


class Contest(Struct, frozen=True):
    """The panel compared with its jurors, by paired differences of accuracy.

    ``panel`` is the panel less the ``best`` juror. The panel ``beats_every`` juror if each lower
    end is above 0 (Berger 1982). On new items the best juror beats all others (``best_stands``) or
    the panel at a risk divided by the number of other jurors (Bonferroni).
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

    p_c is the share of a cell on which the first rater is right. MOVER combines the cells' mid-p
    intervals for finite populations, or for ``target`` new items. If ``sampled``, the distance of
    each end from that of Tango's score interval is combined in by squares. A cell without a label
    counts as lost at the lower end, as gained at the upper end, and leaves no estimate. Source: Zou
    and Donner 2008; Tango 1998.
    """
    cells = [one for one in apart if one.size]
    merged = []
    for cell in merge_cells(cells):
        each = 1.0 if cell.worth is None else cell.worth / cell.labelled
        size = (cell.size if cell.contents is None else cell.contents) * each
        size *= 1_000_000 if target is Target.ITEMS else 1
        part = Part(size, cell.labelled * each, cell.right * each)
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


class JurorCounts(Cells, frozen=True, kw_only=True):
    """One juror's votes against the labels; a lone dissent is the only one, or a trimmed one."""

    name: str
    seat: int
    abstained: int = 0
    failed: int = 0
    trimmed: int = 0
    dissents: int = 0
    dissents_right: int = 0
    lone_dissents: int = 0
    lone_right: int = 0

    @property
    def wrong(self) -> float:
        return self.fn + self.fp


def trim_named(body: CanonicalVerdict) -> set[int] | None:
    """Return the seats that the report itself says were trimmed; ``None`` if it states no trim."""
    stated = stated_trim(body)
    named = {*(stated.low or ()), *(stated.high or ())}
    seats = {seat for seat, juror in enumerate(body["jurors"]) if juror["id"] in named}
    return None if stated.low is None else seats


def share_of(k: float, n: float) -> Estimate:
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

    ``change`` is the later mean less the earlier; ``t``, ``df`` and ``p`` are Welch's, ``q`` is
    adjusted. ``alarm`` is the key of the verdict where CUSUM exceeded its ``limit``.
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
            "accuracy": share_of(one.right, one.n),
            "sensitivity": share_of(one.tp, one.tp + one.fn),
            "specificity": share_of(one.tn, one.tn + one.fp),
            "dissent": share_of(one.lone_right, one.lone_dissents),
        }

    @property
    def labelled_kappa(self) -> float | None:
        return self.counts.kappa if self.counts.n >= ENOUGH else None

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
        if observed is None or not self.counts.n:
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
    """Some jurors under one rule: accuracy by the draw, ``difference`` to the run, and cost."""

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


FEWEST = 10
"""The fewest labels, at their effective number, that give a correlation."""


class BiasProbe(Struct, frozen=True):
    """One association, from -1 to 1, over ``n`` labels or votes.

    For length it is the rank correlation of score and length. For position it is, of the votes that
    turn with the order, the share that goes to the response in the first place less the share that
    goes to the second; ``turned`` is how many of all votes turn.
    """

    probe: str
    n: int
    found: Estimate
    turned: Estimate | None = None

    @property
    def shown(self) -> bool:
        return self.found.low > 0 or self.found.high < 0


def length_probe(probe: str, rows: Sequence[tuple[object, float, float, int]]) -> BiasProbe:
    """Return how scores relate to length; a row is content, weight, score and length.

    Spearman's correlation of weighted ranks. Its interval is Fisher's, with the variance
    ``(1 + r²/2)/(n - 3)``, n Kish's effective number of contents. Source: Bonett and Wright 2000.
    """
    import numpy as np

    mass = defaultdict[object, float](float)
    for content, weight, _, _ in rows:
        mass[content] += weight
    n = sum(mass.values()) ** 2 / sum(one**2 for one in mass.values()) if mass else 0.0
    if n < FEWEST:
        return BiasProbe(probe, len(mass), Estimate(None, reason=f"count as under {FEWEST} labels"))
    _, weights, *columns = zip(*rows, strict=True)
    ranks = []
    for values in columns:
        place = np.unique(values, return_inverse=True)[1]
        held = np.bincount(place, weights)
        ranks.append((np.cumsum(held) - held / 2)[place])
    found = np.cov(ranks, aweights=weights, ddof=0)
    spread = float(found[0, 0] * found[1, 1])
    if spread <= 0:
        return BiasProbe(probe, len(mass), Estimate(None, reason="all scores or lengths are alike"))
    r = float(found[0, 1]) / math.sqrt(spread)
    middle = math.atanh(min(max(r, -1 + 1e-9), 1 - 1e-9))
    off = Z * math.sqrt((1 + r * r / 2) / (n - 3))
    return BiasProbe(
        probe, len(mass), Estimate(r, math.tanh(middle - off), math.tanh(middle + off))
    )


def position_probe(votes: Sequence[tuple[int, bool, bool]]) -> BiasProbe | None:
    """Return how votes (item, passes in first place, in second) turn with the order, if any."""
    if not votes:
        return None
    turned = Counter(unit for unit, first, second in votes if first is not second)
    share = _clustered(turned, Counter(unit for unit, _, _ in votes))
    if not turned:
        found = Estimate(None, reason="no vote turns with the order")
    else:
        to_first = Counter(unit for unit, first, second in votes if first and not second)
        rate = _clustered(to_first, turned)
        less = None if rate.estimate is None else 2 * rate.estimate - 1
        found = Estimate(less, 2 * rate.low - 1, 2 * rate.high - 1)
    return BiasProbe("position", len(votes), found, share)


def _clustered(hits: Mapping[int, int], of: Mapping[int, int]) -> Estimate:
    """Return a share of votes with its interval; ``of`` is how many votes each item has."""
    total = sum(of.values())
    rate = sum(hits.values()) / total
    off = sum((hits.get(unit, 0) - rate * count) ** 2 for unit, count in of.items())
    m = len(of)
    n = float(m)
    if off > 0 and m > 1:
        n = min(rate * (1 - rate) * total**2 * (m - 1) / m / off, total)
    return Estimate(rate, *wilson(rate * n, n))
