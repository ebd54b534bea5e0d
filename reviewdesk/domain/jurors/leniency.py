"""Tests whether jurors of the generator's own family pass more of what should fail."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from reviewdesk.domain.jurors.accuracy import LabelledPanel
from reviewdesk.domain.jury.family import family
from reviewdesk.domain.stats.rates import RateDifference, wilson
from reviewdesk.domain.verdict import Generator

PER_CELL = 10
"""The fewest votes on responses that should fail, on either side, for a difference."""


class Side(Struct, frozen=True):
    """One side's ``k`` passes among its ``n`` labelled votes on responses that should fail.

    The counts are unweighted. ``share`` is the rate through the draw, and ``None`` if the labels do
    not represent the run.
    """

    k: int
    n: int
    share: float | None = None


class Leniency(Struct, frozen=True):
    """P(pass | should fail) of jurors of the generator's own family, and of the others.

    ``difference`` is own less others through the draw, paired by verdict. It is empty, with a
    ``reason``, under ten votes on either side or if a stratum has no label that counts.
    """

    own: Side
    others: Side
    unknown: int
    """The number of votes of jurors of unknown family, who are on neither side."""
    difference: RateDifference
    reason: str | None = None


class _Item(Struct, frozen=True):
    """A labelled content: its stratum, and (passes, votes) of the own and of other families.

    Both are (0, 0) if the response should pass, or if its generator's family is unknown.
    """

    stratum: int
    counts: bool
    own: tuple[int, int] = (0, 0)
    others: tuple[int, int] = (0, 0)


_NOTHING = RateDifference(None, None, None)


class LeniencyCounter:
    """Counts passes of what should fail, by whether juror and generator share a family."""

    def __init__(self) -> None:
        """Start without any vote."""
        self._items: dict[tuple[int, int], _Item] = {}
        """By stratum and place in the draw, which verdicts on one content share."""
        self._unknown = 0

    def add(
        self,
        panel: LabelledPanel,
        generator: Generator,
        votes: Iterable[bool | None],
        unit: tuple[int, int],
        *,
        counts: bool,
    ) -> None:
        """Count one labelled verdict, with its ``votes`` in seat order.

        ``unit`` is its stratum and its place in the draw; ``counts`` says whether its label counts.
        """
        own = family(generator.model, generator.vendor)
        before = self._items.setdefault(unit, _Item(unit[0], counts))
        if panel.deserved or own is None:
            return
        sides = {True: [0, 0], False: [0, 0], None: [0, 0]}
        for juror, vote in zip(panel.body["jurors"], votes, strict=True):
            if vote is not None:
                found = family(juror.get("model"), juror.get("vendor"))
                side = sides[None if found is None else found.name == own.name]
                side[0] += vote
                side[1] += 1
        self._unknown += sides[None][1]
        kin, far = (
            (passes + sides[side][0], votes + sides[side][1])
            for side, (passes, votes) in ((True, before.own), (False, before.others))
        )
        self._items[unit] = _Item(unit[0], counts, kin, far)

    def leniency(self, sizes: Mapping[int, int]) -> Leniency:
        """Return both sides' rates and their difference; ``sizes`` is the size of each stratum."""
        (k1, n1), (k2, n2) = (
            (sum(side[0] for side in found), sum(side[1] for side in found))
            for found in (
                [one.own for one in self._items.values()],
                [one.others for one in self._items.values()],
            )
        )
        reason = None
        if not (n1 or n2 or self._unknown):
            reason = "no vote on a response that should fail, or a generator of unknown family"
        elif min(n1, n2) < PER_CELL:
            reason = f"under {PER_CELL} votes on responses that should fail, on one side or both"
        strata = self._strata(sizes)
        if reason is None and any(not found for _, found in strata):
            reason = "a stratum has no label that counts: the labels do not speak for the run"
        if reason is not None:
            return Leniency(Side(k1, n1), Side(k2, n2), self._unknown, _NOTHING, reason)
        own, others, difference = paired_rates(
            [(size, [(*one.own, *one.others) for one in found]) for size, found in strata]
        )
        reason = None if difference.diff is not None else "no label that counts is of both sides"
        return Leniency(Side(k1, n1, own), Side(k2, n2, others), self._unknown, difference, reason)

    def _strata(self, sizes: Mapping[int, int]) -> list[tuple[int, list[_Item]]]:
        """Return each stratum's size and counted labels; a fully labelled one counts them all."""
        made = []
        for h, size in sorted(sizes.items()):
            mine = [one for one in self._items.values() if one.stratum == h]
            if size:
                made.append((size, mine if len(mine) == size else [i for i in mine if i.counts]))
        return made


def paired_rates(
    strata: Sequence[tuple[int, Sequence[tuple[int, int, int, int]]]],
) -> tuple[float | None, float | None, RateDifference]:
    """Return two rates of votes over the same verdicts, and their difference with its interval.

    A stratum is its size N and, for each of its m labelled verdicts, ``(k, n, k', n')``: the hits
    and votes of both sides. A rate R is ``Σ w k / Σ w n`` with w = N/m. Its variance is linearised
    with verdicts as units: ``N²(1 - m/N)s²/m`` per stratum, s² that of ``u = (k - Rn)/Σ w n``; the
    covariance likewise. A rate's ends are Wilson's at the number of votes with this variance, or,
    if R is 0 or 1, at Kish's number of the verdicts with votes. MOVER combines both rates with
    their correlation. ``None`` without votes on a side. Source: Korn and Graubard 1998; Zou and
    Donner 2008; Cochran 1977, section 6.
    """
    rows = [(size / len(found), row) for size, found in strata for row in found]
    totals = [sum(w * row[i] for w, row in rows) for i in range(4)]
    if totals[1] <= 0 or totals[3] <= 0:
        return None, None, _NOTHING
    one, two = totals[0] / totals[1], totals[2] / totals[3]
    vary = [0.0, 0.0, 0.0]
    for size, found in strata:
        us = [((k - one * n) / totals[1], (k2 - two * n2) / totals[3]) for k, n, k2, n2 in found]
        scale = size * size * (1 - len(us) / size) / len(us)
        vary[0] += scale * _covariance([u for u, _ in us], [u for u, _ in us])
        vary[1] += scale * _covariance([v for _, v in us], [v for _, v in us])
        vary[2] += scale * _covariance([u for u, _ in us], [v for _, v in us])
    known = all(len(found) == size for size, found in strata)
    low1, high1 = _ends(one, vary[0], [w for w, row in rows if row[1]], known=known)
    low2, high2 = _ends(two, vary[1], [w for w, row in rows if row[3]], known=known)
    spread = math.sqrt(vary[0] * vary[1])
    r = min(max(vary[2] / spread, -1.0), 1.0) if spread > 0 else 0.0
    low = one - two - _mover_distance(one - low1, high2 - two, r)
    high = one - two + _mover_distance(high1 - one, two - low2, r)
    return one, two, RateDifference(one - two, max(low, -1.0), min(high, 1.0))


def _mover_distance(one: float, two: float, r: float) -> float:
    return math.sqrt(max(one * one + two * two - 2 * r * one * two, 0.0))


def _covariance(one: Sequence[float], two: Sequence[float]) -> float:
    """Compute the sample covariance; of a single pair, its product, as its spread is unknown."""
    m = len(one)
    if m < 2:
        return one[0] * two[0] if m else 0.0
    a, b = math.fsum(one) / m, math.fsum(two) / m
    return math.fsum((x - a) * (y - b) for x, y in zip(one, two, strict=True)) / (m - 1)


def _ends(
    rate: float, variance: float, weights: Sequence[float], *, known: bool
) -> tuple[float, float]:
    """Return Wilson's ends of a rate; a point if every verdict is ``known``."""
    if known:
        return rate, rate
    if variance > 0 and 0 < rate < 1:
        n = rate * (1 - rate) / variance
    else:
        n = math.fsum(weights) ** 2 / math.fsum(w * w for w in weights)
    return wilson(rate * n, n)
