"""What several people did on the items of a run: their labels, their work, their disagreements."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from reviewdesk.domain.labels.repeats import SelfAgreement
from reviewdesk.domain.records import Pace, Truth
from reviewdesk.domain.stats.alternative import AlternativeTest
from reviewdesk.domain.stats.figures import Estimate, Part, Ranged
from reviewdesk.domain.stats.rates import kappa_of, wilson
from reviewdesk.domain.stats.reviewers import ReviewerError, reviewer_error
from reviewdesk.domain.stats.stratified import drawn_rate
from reviewdesk.domain.verdict import SLACK, Decision

Labels = tuple[str | None, ...]
"""The label of each rater, in the order of the raters; ``None`` where one gave none."""

SAME = "everybody gave one and the same label throughout"
FEW = "no item has two labels"


class RatedStratum(Struct, frozen=True):
    """The rated items of one stratum, counted by their labels.

    ``size`` is how many verdicts they stand for, ``None`` if they were not drawn.
    """

    items: Mapping[Labels, int]
    size: int | None = None

    @property
    def n(self) -> int:
        return sum(self.items.values())

    def of(self, raters: Sequence[int] | None = None) -> RatedStratum:
        """Return the items with two or more labels by all raters, or by those at some places."""
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
    raw: Ranged
    kappa: Ranged


class RaterAgreement(Struct, frozen=True):
    """How far all raters agree on the ``n`` items with two labels or more, and each two of them."""

    n: int
    raw: Ranged
    alpha: Ranged
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
        return RaterAgreement(0, Ranged(None, reason=FEW), Ranged(None, reason=FEW), ())
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
        raw = Ranged(same / both, *wilson(same, both))
        if all(one.size for one in held):
            rate = drawn_rate(parts)
            raw = Ranged(rate.estimate, rate.low, rate.high, rate.reason or "")
        kappa = _or_same(kappa_of({(a, b): weight for (a, b), weight in _weighed(held)}))
        one, two = (raters[at] for at in places)
        pairs.append(PairAgreement(one, two, both, same, raw, kappa))
    items = _weighed(found)
    mass = math.fsum(weight for _, weight in items)
    alike = math.fsum(weight * _alike(labels) for labels, weight in items)
    raw = pairs[0].raw if len(pairs) == 1 else Ranged(alike / mass)
    return RaterAgreement(n, raw, _or_same(_alpha(items)), tuple(pairs))


def _or_same(value: float | None) -> Ranged:
    return Ranged(None, reason=SAME) if value is None else Ranged(value)


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
    """Return the share of pairs of labels of an item that are alike."""
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


def second_opinions(strata: Sequence[RatedStratum]) -> ReviewerError:
    """Estimate how often people err from the items with pass or fail labels of two or more.

    An item counts by the share of its pairs that are alike. The rate is through the draw if every
    stratum has such an item, else each item counts for itself.
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
        # Without a draw, the items are a sample of an infinite population.
        parts.append(Part(one.size or 1_000_000 * max(one.n, 1), one.n, alike))
    return reviewer_error(n, drawn_rate(parts) if n else Estimate(None, 0.0, 1.0))


def _standing(strata: Sequence[RatedStratum]) -> Sequence[RatedStratum]:
    if all(one.n and one.size for one in strata):
        return strata
    return [RatedStratum(one.items) for one in strata]


class TeamMember(Struct, frozen=True):
    """One person's work on a run: the items labelled, the pace, the agreement with oneself."""

    reviewer: str
    labels: int
    pace: Pace
    repeats: SelfAgreement


class TeamPage(Struct, frozen=True):
    """How the people who labelled a run work and agree.

    ``items`` counts those that two people labelled. If the agreement is ``drawn``, it covers
    the drawn ones alone and represents the run; else it covers them all. ``disputed`` and
    ``adjudicated`` count verdicts.
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
    """Whether the panel may stand in for a person."""


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
