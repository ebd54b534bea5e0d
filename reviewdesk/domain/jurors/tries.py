"""Compares a candidate panel with its parent on a holdout, where both are asked the same items."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import comb, sqrt
from statistics import NormalDist

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.labels.sampling import FIRST_REST
from reviewdesk.domain.labels.split import LabelledCase, TryFigures, TryVerdict
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.stats.rates import midp

LEVEL = 0.025
"""The one-sided level of the first try on a holdout; each further one has half of the last."""

_STEPS = 40
"""The largest weight of an item in the sign test, whose weights are whole numbers."""


def level(k: int) -> float:
    """Return the one-sided level of the try after ``k`` others on the same holdout."""
    return LEVEL / float(2**k)


class TriedCell(Struct, frozen=True):
    """The ``asked`` items of a stratum of ``size`` contents: right by one alone, or by both."""

    stratum: int
    size: int
    asked: int
    gained: int = 0
    lost: int = 0
    both: int = 0


def cells(
    sizes: Mapping[int, int], found: Sequence[tuple[int, bool, bool]]
) -> tuple[TriedCell, ...]:
    """Count asked items by stratum; each has its stratum, and if parent and candidate are right."""
    counts = Counter(found)
    asked = Counter(h for h, _, _ in found)
    return tuple(
        TriedCell(
            h, sizes[h], asked[h], counts[h, False, True], counts[h, True, False],
            counts[h, True, True],
        )
        for h in sorted(asked)
    )  # fmt: skip


def difference(found: Sequence[TriedCell], k: int) -> Estimate:
    """Estimate how much more often the candidate is right than its parent, on such items.

    ``D = Σ W(g - l)`` over the flagged verdicts and the rest, W their share of the run, g and l the
    shares that are gained and lost, through the draw, with MOVER's interval at ``1 - 2·level(k)``:
    the distances of g and l from the ends of their mid-p intervals, at Kish's effective number of
    items, are combined by squares, with the correlation ``-r`` of two shares of one sample. How
    often the panels differ is thus uncertain too. Source: Zou and Donner 2008; Donner and Zou 2012.
    """
    z = NormalDist().inv_cdf(1 - level(k))
    size = sum(one.size for one in found)
    middle = below = above = 0.0
    for is_rest in (False, True):
        side = [one for one in found if (one.stratum >= FIRST_REST) is is_rest]
        if not side:
            continue
        mass = sum(one.size for one in side)
        n = mass**2 / sum(one.size**2 / one.asked for one in side)
        gain = sum(one.size * one.gained / one.asked for one in side) / mass
        loss = sum(one.size * one.lost / one.asked for one in side) / mass
        gains = midp(gain * n, n, z)
        losses = midp(loss * n, n, z)
        less = gain - gains[0], losses[1] - loss
        more = gains[1] - gain, loss - losses[0]
        r = sqrt(gain * loss / ((1 - gain) * (1 - loss))) if gain + loss < 1 else 1.0
        weight = mass / size
        middle += weight * (gain - loss)
        below += weight**2 * (less[0] ** 2 + less[1] ** 2 + 2 * r * less[0] * less[1])
        above += weight**2 * (more[0] ** 2 + more[1] ** 2 + 2 * r * more[0] * more[1])
    return Estimate(middle, max(middle - sqrt(below), -1.0), min(middle + sqrt(above), 1.0))


def sign_tail(found: Sequence[TriedCell]) -> float:
    """Return the probability that changes without effect would gain at least as much as these.

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
    """Return the result of a try, on which the paired interval and the sign test must agree.

    The interval is about the difference through the draw, so gains in one group are offset by
    losses in another. Where few items differ its ends are approximate, and the exact test
    bounds how often a change that does nothing is called better.
    """
    made = difference(found, k)
    if made.low > 0 and sign_tail(found) <= level(k):
        return TryVerdict.BETTER
    turned = [replace(one, gained=one.lost, lost=one.gained) for one in found]
    if made.high < 0 and sign_tail(turned) <= level(k):
        return TryVerdict.WORSE
    return TryVerdict.NOT_SHOWN


def smallest_gain(found: Sequence[TriedCell], k: int) -> float | None:
    """Return the smallest gain that a try after ``k`` others could show; ``None`` without one.

    It is that of a candidate which only gains: it is right on some items where its parent is wrong,
    spread over the strata like the asked items.
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


def gain_of(sizes: Mapping[int, int], asked: Iterable[LabelledCase], k: int) -> float | None:
    """Return the smallest gain that a try about these cases, after ``k`` others, could show."""
    return smallest_gain(cells(sizes, [(one.stratum, False, False) for one in asked]), k)


def figures(found: Sequence[TriedCell], k: int) -> TryFigures:
    """Return the figures of an adoption: both accuracies through the draw, and the difference."""
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
