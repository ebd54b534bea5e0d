"""What people did on the items of a run, how far they agree, also with themselves, and err."""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import combinations
from statistics import fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.records import Pace, Truth
from reviewdesk.domain.stats.distributions import benjamini_hochberg, bisect, t_two_sided
from reviewdesk.domain.stats.figures import Estimate, Part
from reviewdesk.domain.stats.kappa import cohen_kappa, kappa_of
from reviewdesk.domain.stats.rates import drawn_rate, wilson
from reviewdesk.domain.verdict import SLACK, Decision

MOST_OPINIONS = 9


def is_double(item: bytes, share: float) -> bool:
    """Return True if a hash of its content puts an item in the ``share`` that two people label."""
    digest = hashlib.sha256(b"second opinion\n" + item.hex().encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


OTHERS = 50
"""The fewest labels of other items between the two labels of one item."""


def repeats_due(
    newest: Mapping[bytes, int], offered: Container[bytes], rest: int, seed: str, share: float
) -> list[bytes]:
    """Return the items that may come back after one more label, the longest waiting first.

    ``newest`` has the key of each item's newest label. A keyed hash decides if one of the
    ``offered`` items is among the ``share``, and how long after ``OTHERS`` other labels it may come
    back. ``rest`` counts the labels since the last repeat, so that a raised share brings no burst.
    """
    if share <= 0 or rest < math.ceil(1 / (2 * share)):
        return []
    found = []
    for place, item in enumerate(sorted(newest, key=newest.__getitem__)):
        digest = _digest(seed, item)
        # So nobody can count to a repeat.
        due = place + OTHERS + digest[8] % 25
        drawn = int.from_bytes(digest[:8]) < share * 2**64
        if drawn and due <= len(newest) and item in offered:
            found.append((due, item))
    return [item for _, item in sorted(found)]


@lru_cache(1 << 16)
def _digest(seed: str, item: bytes) -> bytes:
    return hashlib.sha256(f"{seed}\n{item.hex()}".encode()).digest()


class SelfAgreement(Struct, frozen=True):
    """How often a reviewer's second label equals the first: Wilson's interval, Cohen's kappa."""

    n: int
    same: int
    rate: float | None
    low: float | None
    high: float | None
    kappa: float | None


def self_agreement(pairs: Sequence[tuple[Truth, Truth]]) -> SelfAgreement:
    """Compare the first and the second label of each item."""
    n = len(pairs)
    same = sum(first is second for first, second in pairs)
    if not n:
        return SelfAgreement(0, 0, None, None, None, None)
    firsts, seconds = zip(*pairs, strict=True)
    kappa = cohen_kappa(firsts, seconds)
    return SelfAgreement(n, same, same / n, *wilson(same, n), kappa)


AWAY = timedelta(minutes=5)
"""A longer gap between two events does not count as work on the item."""


def pace(steps: Iterable[tuple[datetime, str]]) -> Pace:
    """Return a reviewer's pace from the times and kinds of events in a run, "undone" among them.

    It is the number of dwells / their sum * 3600, unless that sum is 0. The dwell of a label is the
    sum of the gaps between events since the previous label, repeat or defer, in seconds. A label
    has no dwell if there is none before it, or if a gap is over ``AWAY`` or negative. An undone
    event ends no dwell, so its time goes to the next label.
    """
    dwells = []
    before = None
    spent: timedelta | None = None
    for at, kind in steps:
        if before is not None and spent is not None:
            gap = at - before
            spent = spent + gap if timedelta() <= gap <= AWAY else None
        if kind in {"label", "defer", "repeat"}:
            if kind == "label" and spent is not None:
                dwells.append(spent.total_seconds())
            spent = timedelta()
        before = at
    worked = math.fsum(dwells)
    return Pace(len(dwells) / worked * 3600 if worked else None, len(dwells))


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
    # Alpha is 1 - (n - 1)·Σo_ck / Σn_c·n_k over unlike labels c and k.
    masses = defaultdict[str, float](float)
    unlike = 0.0
    for labels, weight in items:
        given = [label for label in labels if label]
        unlike += weight * len(given) * (1 - _alike(labels))
        for label in given:
            masses[label] += weight
    total = math.fsum(masses.values())
    chance = total * total - math.fsum(k * k for k in masses.values())
    alpha = 1 - (total - 1) * unlike / chance if chance > SLACK * total * total else None
    return RaterAgreement(n, raw, _or_same(alpha), tuple(pairs))


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


def second_opinions(strata: Sequence[RatedStratum]) -> "ReviewerError":
    """Estimate how often people err from items with several pass or fail labels."""
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

    needed = bisect(lambda items: width(items) > width(n) / 2, n, 100_000)
    rate = Estimate(error_rate(share), error_rate(d.low), error_rate(d.high))
    return ReviewerError(n, d, rate, math.ceil(needed - 1e-9) - n)


def sensitivity(accuracy: Estimate, error: ReviewerError) -> Estimate | None:
    """Return what an accuracy a may be, given that people err: a band, not a confidence interval.

    The estimate is ``(a - e)/(1 - 2e)``, right if people's errors e are independent of the panel's;
    ``None`` if e is a half or more. The band contains it, ``a + e``, and ``a - d``, d the share of
    items on which two people differ: people who err where the panel errs are wrong up to that
    often. The intervals are joined as by MOVER. Nothing is known if people chose the items. Source:
    Zou and Donner 2008; Rogan and Gladen 1978.
    """
    a = accuracy.estimate
    d = error.disagreement.estimate
    e = error.rate.estimate
    if error.chosen or a is None or d is None or e is None:
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
ITEMS = 30
"""The fewest items that a reviewer must share with two others."""
EDGE = 0.15
"""How much worse a panel may be, because people cost more: .2 for experts, .1 for a crowd."""


class LeftOut(Struct, frozen=True):
    """One reviewer compared with the panel; ``p`` tests that the panel is worse by ``EDGE``."""

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
        found = self.reviewers
        return fmean(one.won for one in found) if found else None

    @property
    def passed(self) -> bool:
        return (self.winning or 0.0) >= 0.5


def alternative_test(
    labels: Sequence[Sequence[str | None]], panel: Sequence[str | None], names: Sequence[str]
) -> AlternativeTest:
    """Test whether a panel may stand in for a person, against each reviewer in turn.

    A paired t-test compares the difference of both shares with ``EDGE``; Benjamini and Yekutieli
    bound the false discoveries. Source: Calderon, Reichart and Dror 2025, arXiv 2501.10970.
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
            replace(one, won=q is not None and q * harmonic <= 0.05)
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
