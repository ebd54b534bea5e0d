"""What several people did on the items of a run: their labels, their work, their disagreements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct

from reviewdesk.domain.labels.repeats import SelfAgreement
from reviewdesk.domain.records import Pace, Truth
from reviewdesk.domain.stats.alternative import AlternativeTest
from reviewdesk.domain.stats.dense import Floats
from reviewdesk.domain.stats.figures import Estimate, Part, Ranged
from reviewdesk.domain.stats.rates import wilson
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
    pairs = tuple(
        _pair(strata, raters[i], raters[j], (i, j))
        for i, j in combinations(range(len(raters)), 2)
        if any(one.of((i, j)).n for one in strata)
    )
    raw = pairs[0].raw if len(pairs) == 1 else _figure(found, _alike, _share, FEW)
    alpha = _figure(found, _coincidences, _alpha, SAME)
    return RaterAgreement(sum(one.n for one in found), raw, alpha, pairs)


def second_opinions(strata: Sequence[RatedStratum]) -> ReviewerError:
    """Estimate how often people err from the items with pass or fail labels of two or more.

    An item counts by the share of its pairs that are alike. The rate is through the draw if every
    stratum has such an item, else each item counts for itself.
    """
    held = [RatedStratum(_clear(one.items), one.size) for one in strata]
    n = sum(one.n for one in held)
    parts = []
    for one in _standing(held):
        alike = sum(_alike(labels, ())[0] * times for labels, times in one.items.items())
        # Without a draw, the items are a sample of an infinite population.
        parts.append(Part(one.size or 1_000_000 * max(one.n, 1), one.n, alike))
    return reviewer_error(n, drawn_rate(parts) if n else Estimate(None, 0.0, 1.0))


def _clear(items: Mapping[Labels, int]) -> Mapping[Labels, int]:
    """Return the items with two clear labels or more; others give no second opinion."""
    found: Counter[Labels] = Counter()
    for labels, times in items.items():
        kept = tuple(one for one in labels if one in (Truth.PASS, Truth.FAIL))
        if len(kept) > 1:
            found[kept] += times
    return found


def _standing(strata: Sequence[RatedStratum]) -> Sequence[RatedStratum]:
    if all(one.n and one.size for one in strata):
        return strata
    return [RatedStratum(one.items) for one in strata]


def _pair(
    strata: Sequence[RatedStratum], one: str, two: str, places: tuple[int, int]
) -> PairAgreement:
    held = _standing([stratum.of(places) for stratum in strata])
    counts = [(stratum.n, _same(stratum)) for stratum in held]
    n = sum(count for count, _ in counts)
    same = sum(count for _, count in counts)
    if any(stratum.size is None for stratum in held):
        raw = Ranged(same / n, *wilson(same, n))
    else:
        parts = [Part(of.size or 0, *count) for of, count in zip(held, counts, strict=True)]
        found = drawn_rate(parts)
        raw = Ranged(found.estimate, found.low, found.high, found.reason or "")
    return PairAgreement(one, two, n, same, raw, _figure(held, _joint, _kappa, SAME))


def _same(stratum: RatedStratum) -> int:
    return sum(n for (one, two), n in stratum.items.items() if one == two)


def _figure(
    strata: Sequence[RatedStratum],
    row: Callable[[Labels, Sequence[str]], Sequence[float]],
    figure: Callable[[Floats], float | None],
    undefined: str,
) -> Ranged:
    """Return a figure over the items of all strata; each item adds a weighted row of sums."""
    held = [one for one in strata if one.items]
    n = sum(one.n for one in held)
    if not n:
        return Ranged(None, reason=FEW)
    words = sorted({label for one in held for labels in one.items for label in labels if label})
    # An item weighs 1 on average.
    drawn = all(one.size is not None for one in held)
    size = sum(one.size or 0 for one in held)
    whole: Floats = np.zeros(1)
    for one in held:
        weight = (one.size or 0) / size * n / one.n if drawn else 1.0
        adds = np.array([row(labels, words) for labels in one.items], np.float64)
        whole = whole + weight * (np.array([*one.items.values()], np.float64) @ adds)
    value = figure(whole)
    return Ranged(None, reason=undefined) if value is None else Ranged(value)


def _given(labels: Labels) -> Counter[str]:
    return Counter(label for label in labels if label)


def _alike(labels: Labels, _words: Sequence[str]) -> list[float]:
    given = _given(labels)
    m = given.total()
    return [sum(k * (k - 1) for k in given.values()) / (m * (m - 1)), 1.0]


def _share(sums: Floats) -> float:
    return float(sums[0] / sums[1])


def _coincidences(labels: Labels, words: Sequence[str]) -> list[float]:
    """Return the unlike coincidences of an item, and how often it has each label."""
    given = _given(labels)
    m = given.total()
    unlike = sum(k * (m - k) for k in given.values()) / (m - 1)
    return [unlike, *(float(given[word]) for word in words)]


def _alpha(sums: Floats) -> float | None:
    """Compute ``1 - (n - 1)·Σo_ck / Σn_c·n_k`` over unlike c and k; None without variation."""
    held = sums[1:]
    n = float(held.sum())
    chance = n * n - float((held * held).sum())
    return 1 - (n - 1) * float(sums[0]) / chance if chance > SLACK * n * n else None


def _joint(labels: Labels, words: Sequence[str]) -> list[float]:
    return [float(labels == (one, two)) for one in words for two in words]


def _kappa(sums: Floats) -> float | None:
    """Compute ``(p_o - p_e) / (1 - p_e)`` of the joint masses; None if p_e is 1."""
    k = round(len(sums) ** 0.5)
    joint = sums.reshape(k, k) / sums.sum()
    alike = float(np.trace(joint))
    chance = float((joint.sum(axis=0) * joint.sum(axis=1)).sum())
    return (alike - chance) / (1 - chance) if chance < 1 - SLACK else None


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
