"""What several people did on the items of a run, how far they agree, and how often they err."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.labels.repeats import SelfAgreement
from reviewdesk.domain.records import Pace, Truth
from reviewdesk.domain.stats.distributions import benjamini_hochberg, bisect, t_two_sided
from reviewdesk.domain.stats.figures import Estimate, Part
from reviewdesk.domain.stats.kappa import kappa_of
from reviewdesk.domain.stats.rates import drawn_rate, wilson
from reviewdesk.domain.verdict import SLACK, Decision

Labels = tuple[str | None, ...]
"""The label of each rater, in the order of the raters; ``None`` where one gave none."""

SAME = "all labels are the same"
FEW = "no item has two labels"


class RatedStratum(Struct, frozen=True):
    """The items of a stratum by labels; they stand for ``size`` verdicts, ``None`` if not drawn."""

    items: Mapping[Labels, int]
    size: int | None = None

    @property
    def n(self) -> int:
        return sum(self.items.values())

    def of(self, raters: Sequence[int] | None = None) -> "RatedStratum":
        """Return the items with two or more labels by all raters, or by those at these places."""
        kept: Counter[Labels] = Counter()
        for every, n in self.items.items():
            labels = every if raters is None else tuple(every[at] for at in raters)
            if sum(label is not None for label in labels) >= 2:
                kept[labels] += n
        return RatedStratum(kept, self.size)


class PairAgreement(Struct, frozen=True):
    """How far two raters agree on the ``n`` items that both labelled; ``same`` got one label."""

    one: str
    two: str
    n: int
    same: int
    raw: Estimate
    kappa: Estimate


class RaterAgreement(Struct, frozen=True):
    """How far all raters agree on the ``n`` items with two labels or more, and each two of them."""

    n: int
    raw: Estimate
    alpha: Estimate
    pairs: tuple[PairAgreement, ...]


def rater_agreement(strata: Sequence[RatedStratum], raters: Sequence[str]) -> RaterAgreement:
    """Compute the agreement of all raters and of each two of them, with 95% intervals of raw.

    *Raw* is the weighted share of alike pairs of labels within items, alpha is nominal, and an
    item weighs ``N_h/n_h``. The interval of raw for two raters is MOVER's over Wilson's, or
    Wilson's without a draw. Kappa, alpha, and raw for three raters or more have none: resampling
    few items covers too little. Source: Krippendorff 2019, ch. 12; Cohen 1960.
    """
    found = _standing([one.of() for one in strata])
    n = sum(one.n for one in found)
    if not n:
        return RaterAgreement(0, Estimate(None, reason=FEW), Estimate(None, reason=FEW), ())
    pairs = []
    for places in combinations(range(len(raters)), 2):
        held = _standing([stratum.of(places) for stratum in strata])
        both = sum(one.n for one in held)
        if not both:
            continue
        parts = [
            Part(some.size or 0, some.n, sum(k for (a, b), k in some.items.items() if a == b))
            for some in held
        ]
        same = round(sum(part.hits for part in parts))
        raw = Estimate(same / both, *wilson(same, both))
        if all(one.size for one in held):
            raw = drawn_rate(parts)
        kappa = _or_same(kappa_of({(a, b): weight for (a, b), weight in _weighed(held)}))
        one, two = (raters[at] for at in places)
        pairs.append(PairAgreement(one, two, both, same, raw, kappa))
    items = _weighed(found)
    mass = math.fsum(weight for _, weight in items)
    alike = math.fsum(weight * _alike(labels) for labels, weight in items)
    raw = pairs[0].raw if len(pairs) == 1 else Estimate(alike / mass)
    return RaterAgreement(n, raw, _or_same(_alpha(items)), tuple(pairs))


def _or_same(value: float | None) -> Estimate:
    return Estimate(None, reason=SAME) if value is None else Estimate(value)


def _weighed(strata: Sequence[RatedStratum]) -> list[tuple[Labels, float]]:
    """Return all kinds of items with their weights; an item weighs 1 on average."""
    held = [one for one in strata if one.items]
    n = sum(one.n for one in held)
    size = sum(one.size or 0 for one in held)
    made = defaultdict[Labels, float](float)
    for one in held:
        weight = (one.size or 0) / size * n / one.n if size else 1.0
        for labels, times in one.items.items():
            made[labels] += weight * times
    return [*made.items()]


def _alike(labels: Labels) -> float:
    given = Counter(label for label in labels if label)
    m = given.total()
    return sum(k * (k - 1) for k in given.values()) / (m * (m - 1))


def _alpha(items: Sequence[tuple[Labels, float]]) -> float | None:
    """Compute ``1 - (n - 1)·Σo_ck / Σn_c·n_k`` over unlike c and k; None without variation."""
    held = defaultdict[str, float](float)
    unlike = 0.0
    for labels, weight in items:
        given = [label for label in labels if label]
        unlike += weight * len(given) * (1 - _alike(labels))
        for label in given:
            held[label] += weight
    n = math.fsum(held.values())
    chance = n * n - math.fsum(k * k for k in held.values())
    return 1 - (n - 1) * unlike / chance if chance > SLACK * n * n else None


def second_opinions(strata: Sequence[RatedStratum]) -> "ReviewerError":
    """Estimate how often people err from items with several pass or fail labels.

    An item counts by its share of alike pairs, through the draw if every stratum has such an item.
    """
    held = []
    for one in strata:
        clear: Counter[Labels] = Counter()
        for labels, times in one.items.items():
            clear[tuple(one for one in labels if one in (Truth.PASS, Truth.FAIL))] += times
        held.append(RatedStratum({kept: n for kept, n in clear.items() if len(kept) > 1}, one.size))
    n = sum(one.n for one in held)
    parts = []
    for one in _standing(held):
        alike = sum(_alike(labels) * times for labels, times in one.items.items())
        # People may err anew, so that even labels of all contents are a sample of what they do.
        parts.append(Part(1_000_000 * one.n, one.n, alike, one.size))
    found = reviewer_error(n, drawn_rate(parts) if n else Estimate(None, 0.0, 1.0))
    return replace(found, drawn=bool(n) and all(one.n and one.size for one in held))


def _standing(strata: Sequence[RatedStratum]) -> Sequence[RatedStratum]:
    if all(one.n and one.size for one in strata):
        return strata
    return [RatedStratum(one.items) for one in strata]


_MOST = 100_000
"""The most second opinions that the search looks ahead."""


class ReviewerError(Struct, frozen=True):
    """How often a reviewer's label is wrong, from ``n`` items that two people labelled blind.

    ``ceiling`` is the accuracy that a perfect panel would get from such labels, and ``more`` the
    number of further second opinions that would halve the interval of ``rate``.
    """

    n: int
    disagreement: Estimate
    rate: Estimate
    more: int
    chosen: bool = False
    """Whether people chose which items have two labels, so that the rate is that of these alone."""
    drawn: bool = False
    """Whether every group of the draw has such an item, so that the rate is weighted by group."""

    @property
    def ceiling(self) -> float | None:
        return self.rate.complement.estimate


def error_rate(disagreement: float) -> float:
    """Return ``(1 - √(1 - 2d))/2``: the rate of independent errors of people who differ on d."""
    return (1 - math.sqrt(max(1 - 2 * disagreement, 0.0))) / 2


def reviewer_error(n: int, alike: Estimate) -> ReviewerError:
    """Estimate the error rate from the drawn share of items labelled alike."""
    if not n or alike.estimate is None:
        reason = "no item has two labels of different people"
        return ReviewerError(n, Estimate(None, reason=reason), Estimate(None, reason=reason), 0)
    d = alike.complement
    share = 1 - alike.estimate

    def width(items: float) -> float:
        low, high = wilson(share * items, items)
        return error_rate(high) - error_rate(low)

    needed = bisect(lambda items: width(items) > width(n) / 2, n, _MOST)
    rate = Estimate(error_rate(share), error_rate(d.low), error_rate(d.high))
    return ReviewerError(n, d, rate, math.ceil(needed - 1e-9) - n)


def sensitivity(accuracy: Estimate, error: ReviewerError) -> Estimate | None:
    """Return what an accuracy a may be, given that people err: a band, not a confidence interval.

    ``None`` if a or people's error e is undefined. The estimate is ``(a - e)/(1 - 2e)``, right if
    people's errors are independent of the panel's; ``None`` if e is a half or more. The band
    contains ``(a - e)/(1 - 2e)``, for errors independent of the panel's, and ``a - e`` to
    ``a + e``, for errors that follow or oppose the panel's. Its lower end reaches ``a - d``, d the
    share of items on which two people differ: people who err where the panel errs, up to half the
    time there, are wrong that often and differ no more. The intervals are joined as by MOVER:
    ``a - d - √((a - l)² + (u - d)²)``, and the upper end likewise with e. Source: Zou and Donner
    2008 for the joining; Rogan and Gladen 1978 for the correction.
    """
    a = accuracy.estimate
    d = error.disagreement.estimate
    e = error.rate.estimate
    if a is None or d is None or e is None:
        return None
    low = a - d - math.hypot(a - accuracy.low, error.disagreement.high - d)
    high = a + e + math.hypot(accuracy.high - a, error.rate.high - e)
    corrected = None
    if e < 0.5:
        corrected = min(max((a - e) / (1 - 2 * e), 0.0), 1.0)
        low = min(low, corrected)
        high = max(high, corrected)
    return Estimate(corrected, max(low, 0.0), min(high, 1.0))


REVIEWERS = 3
"""The fewest reviewers for the test."""
ITEMS = 30
"""The fewest items that a reviewer must share with two others."""
EDGE = 0.15
"""How much worse a panel may be, because people cost more: .2 for experts, .1 for a crowd."""
_RATE = 0.05


class LeftOut(Struct, frozen=True):
    """One reviewer compared with the panel, by how often each agrees with the other reviewers.

    ``panel`` and ``person`` are the shares of the ``items`` on which each agrees with at least as
    many of the others as the opponent does; ``p`` tests that the panel is worse by ``EDGE``.
    """

    reviewer: str
    items: int
    panel: float
    person: float
    p: float
    won: bool = False


class AlternativeTest(Struct, frozen=True):
    """The test over all reviewers; ``reason`` says why it was not possible."""

    reviewers: tuple[LeftOut, ...] = ()
    reason: str = ""

    @property
    def winning(self) -> float | None:
        """The share of reviewers whom the panel may stand in for."""
        found = self.reviewers
        return fmean(one.won for one in found) if found else None

    @property
    def passed(self) -> bool:
        return (self.winning or 0.0) >= 0.5


def alternative_test(
    labels: Sequence[Sequence[str | None]], panel: Sequence[str | None], names: Sequence[str]
) -> AlternativeTest:
    """Test whether a panel may stand in for a person, against each reviewer in turn.

    ``labels`` has each item's label by each of the ``names``, ``panel`` its decision; an item is
    used for a reviewer if two others labelled it. A paired t-test compares the difference of both
    shares with ``EDGE``; Benjamini and Yekutieli bound the false discoveries over reviewers at 5%.
    Source: Calderon, Reichart and Dror 2025, arXiv 2501.10970.
    """
    found = []
    for j, name in enumerate(names):
        differences = []
        panels = []
        persons = []
        for given, decided in zip(labels, panel, strict=True):
            others = [one for k, one in enumerate(given) if k != j and one is not None]
            if given[j] is None or decided is None or len(others) < REVIEWERS - 1:
                continue
            mine = sum(one == given[j] for one in others)
            its = sum(one == decided for one in others)
            panels.append(its >= mine)
            persons.append(mine >= its)
            differences.append(float(persons[-1]) - float(panels[-1]))
        n = len(differences)
        if n >= ITEMS:
            # Student's test that the mean difference is less than the edge.
            apart = fmean(differences) - EDGE
            spread = stdev(differences)
            half = t_two_sided(apart / (spread / math.sqrt(n)), n - 1) / 2 if spread else 0.0
            p = half if apart < 0 else 1 - half
            found.append(LeftOut(name, n, fmean(panels), fmean(persons), p))
    if len(found) < REVIEWERS:
        return AlternativeTest(
            reason=f"it takes {REVIEWERS} reviewers with {ITEMS} items in common with two others"
        )
    # Benjamini and Yekutieli's adjustment is that of Benjamini and Hochberg times Σ 1/i.
    harmonic = sum(1 / i for i in range(1, len(found) + 1))
    adjusted = benjamini_hochberg([one.p for one in found])
    return AlternativeTest(
        tuple(
            replace(one, won=q is not None and q * harmonic <= _RATE)
            for one, q in zip(found, adjusted, strict=True)
        )
    )


class TeamMember(Struct, frozen=True):
    """One person's work on a run: the items labelled, the pace, the agreement with oneself."""

    reviewer: str
    labels: int
    pace: Pace
    repeats: SelfAgreement


class TeamPage(Struct, frozen=True):
    """How the people who labelled a run work and agree.

    ``items`` counts those that two people labelled. An agreement that is ``drawn`` covers the drawn
    ones alone and represents the run. ``disputed`` and ``adjudicated`` count verdicts.
    """

    members: tuple[TeamMember, ...]
    agreement: RaterAgreement
    items: int
    drawn: bool
    disputed: int
    adjudicated: int
    error: ReviewerError | None = None
    """How often people err, from items that were chosen at random for a second opinion."""
    alternative: AlternativeTest = AlternativeTest()


class Opinion(Struct, frozen=True):
    """One person's label of an item, or the adjudication of it."""

    reviewer: str
    label: Truth
    at: str
    note: str | None


class Disagreement(Struct, frozen=True):
    """A verdict on whose item people differ, and the adjudication that settled it, if any."""

    key: int
    id: str
    item_hash: str
    decision: Decision | None
    score: float | None
    opinions: tuple[Opinion, ...]
    adjudication: Opinion | None
