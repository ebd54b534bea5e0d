"""What a holdout says about a candidate panel beside its parent, asked about the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb
from statistics import NormalDist

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jurors.facts import Apart, Difference, paired
from reviewdesk.domain.labels.split import TryFigures, TryVerdict, level

_SUCH_ITEMS = 1_000_000
"""How many times the run stands for such items, so that no finite population narrows an end."""
_STEPS = 40
"""The largest weight of an item in the sign test, whose weights are whole numbers."""


class TriedCell(Struct, frozen=True):
    """The items of one stratum that both panels were asked about.

    ``size`` is how many contents of the run the stratum has. On ``gained`` items the candidate
    alone is right, on ``lost`` the parent alone, on ``both`` each of them.
    """

    stratum: int
    size: int
    asked: int
    gained: int = 0
    lost: int = 0
    both: int = 0


def cells(
    sizes: Mapping[int, int], found: Sequence[tuple[int, bool, bool]]
) -> tuple[TriedCell, ...]:
    """Count asked items by stratum: each has its stratum, and if parent and candidate are right.

    Strata without an asked item are left out; the figures are then about the others.
    """
    counts = Counter(found)
    asked = Counter(h for h, _, _ in found)
    return tuple(
        TriedCell(
            h, sizes[h], asked[h], counts[h, False, True], counts[h, True, False],
            counts[h, True, True],
        )
        for h in sorted(asked)
    )  # fmt: skip


def difference(found: Sequence[TriedCell], k: int) -> Difference:
    """Return how much more often the candidate is right than its parent, on such items.

    The interval is the paired one of two panels, through the draw, at ``1 - 2·level(k)``.
    """
    apart = [
        Apart(
            one.stratum,
            round(_SUCH_ITEMS * one.size * (one.gained + one.lost) / one.asked),
            one.gained + one.lost,
            one.gained,
            one.asked / one.size,
        )
        for one in found
    ]
    items = _SUCH_ITEMS * sum(one.size for one in found)
    return paired("the parent", items, apart, NormalDist().inv_cdf(1 - level(k)))


def sign_tail(found: Sequence[TriedCell]) -> float:
    """Return how likely changes that do nothing would gain as much as these, or more.

    Given which items the panels differ on, each is then a gain or a loss with chance one half; an
    item weighs what its stratum's items stand for, ``N_h/n_h``, rounded to 1..``_STEPS``. The tail
    is exact for such changes, at any size. Source: Fisher's randomisation test.
    """
    weight = {one.stratum: one.size / one.asked for one in found}
    most = max(weight.values(), default=1.0)
    chances = {0: 1.0}
    gain = 0
    for one in found:
        each = max(1, round(_STEPS * weight[one.stratum] / most))
        n = one.gained + one.lost
        gain += each * (one.gained - one.lost)
        joined: dict[int, float] = {}
        for total, chance in chances.items():
            for hits in range(n + 1):
                place = total + each * (2 * hits - n)
                joined[place] = joined.get(place, 0.0) + chance * comb(n, hits) / 2**n
        chances = joined
    return sum(chance for total, chance in chances.items() if total >= gain)


def try_verdict(found: Sequence[TriedCell], k: int) -> TryVerdict:
    """Return the one word of a try: the paired interval and the sign test must agree on it.

    The interval is about the difference through the draw; where few items differ, its ends are
    approximate, and the exact test bounds how often a change that does nothing is called better.
    """
    made = difference(found, k)
    if made.low > 0 and sign_tail(found) <= level(k):
        return TryVerdict.BETTER
    turned = [replace(one, gained=one.lost, lost=one.gained) for one in found]
    if made.high < 0 and sign_tail(turned) <= level(k):
        return TryVerdict.WORSE
    return TryVerdict.NOT_SHOWN


def smallest_gain(found: Sequence[TriedCell], k: int) -> float | None:
    """Return the smallest gain that a try after ``k`` others could show; ``None`` if none.

    It is that of a candidate which is right on some items where its parent is wrong, spread over
    the strata like the asked items, and nowhere the reverse. Only how many items are asked counts.
    """
    asked = sum(one.asked for one in found)
    size = sum(one.size for one in found)
    for m in range(1, asked + 1):
        made = []
        before = 0
        so_far = 0
        for one in found:
            so_far += one.asked
            share = m * so_far // asked
            made.append(TriedCell(one.stratum, one.size, one.asked, share - before))
            before = share
        if try_verdict(made, k) is TryVerdict.BETTER:
            return sum(one.gained * one.size / one.asked for one in made) / size
    return None


def figures(found: Sequence[TriedCell], k: int) -> TryFigures:
    """Return what an adoption tells: both accuracies through the draw, and the difference."""
    made = difference(found, k)
    size = sum(one.size for one in found)

    def share(count: Mapping[int, int]) -> float:
        return sum(count[one.stratum] * one.size / one.asked for one in found) / size

    before = share({one.stratum: one.both + one.lost for one in found})
    after = share({one.stratum: one.both + one.gained for one in found})
    return TryFigures(
        before, after, after - before, made.low, made.high, 1 - 2 * level(k),
        sum(one.asked for one in found), sum(one.gained for one in found),
        sum(one.lost for one in found),
    )  # fmt: skip
