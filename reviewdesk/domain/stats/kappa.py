"""Cohen's kappa of two raters with its interval, and the weights of jurors from their kappas."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence

from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.distributions import bisect
from reviewdesk.domain.stats.figures import Part, Target
from reviewdesk.domain.stats.rates import midp, midp_interval


def cohen_kappa(human: Sequence[Hashable], juror: Sequence[Hashable]) -> float | None:
    """Compute Cohen's kappa ``(p_o - p_e) / (1 - p_e)`` of two raters over the same rows.

    Rows with a ``None`` are left out. ``None`` without rows, and if p_e = 1: chance alone would
    agree on every row. Raise ValueError if the lengths differ. Source: Cohen 1960.
    """
    pairs = Counter(zip(human, juror, strict=True))
    return kappa_of({pair: n for pair, n in pairs.items() if None not in pair})


def kappa_of(rows: Mapping[tuple[Hashable, Hashable], float]) -> float | None:
    """Compute Cohen's kappa, as ``cohen_kappa`` does, from the weight of each pair of answers."""
    n = math.fsum(rows.values())
    first = defaultdict[Hashable, float](float)
    second = defaultdict[Hashable, float](float)
    alike = 0.0
    for (one, two), mass in rows.items():
        first[one] += mass
        second[two] += mass
        alike += mass if one == two else 0.0
    by_chance = math.fsum(mass * second[value] for value, mass in first.items())
    # Weights are not whole numbers, so rounding may leave a little where the room is 0.
    room = n * n - by_chance
    return (n * alike - by_chance) / room if room > 1e-12 * n * n else None


def kappa_interval(
    parts: Sequence[Part], passed: Sequence[bool], target: Target, z: float = Z
) -> tuple[float, float]:
    """Return the 95% ends of Cohen's kappa of a rater with the labels, by stratum and decision."""
    found = _kappa_ends(parts, passed, z)
    if target is Target.RUN:
        return found
    made = []
    for at, side in enumerate((-1, 1)):
        # The run as a sample, each decision as one part; parts without a label are at this end.
        whole = []
        for decision in (True, False):
            mine = [p for p, one in zip(parts, passed, strict=True) if one is decision]
            size = sum(part.size for part in mine)
            mass = sum(part.share for part in mine)
            hits = sum(
                part.share * (part.hits / part.labelled if part.labelled else side > 0)
                for part in mine
            )
            rate = min(hits / mass, 1.0) if mass else 0.0
            whole.append(Part(size, size, rate * size, mass))
        middle = _kappa_ends(whole, [True, False], z)[at]
        off = middle - _kappa_ends(whole, [True, False], z, process=True)[at]
        made.append(middle + side * math.hypot(found[at] - middle, off))
    return max(made[0], -1.0), min(made[1], 1.0)


def _kappa_ends(
    parts: Sequence[Part], passed: Sequence[bool], z: float, *, process: bool = False
) -> tuple[float, float]:
    """Return the ends for the verdicts of the parts, or for the process that they are drawn from.

    With the shares of decisions known, ``po - pe - k(1 - pe)`` is linear in the rates of the parts,
    and kappa is the k at which it is 0: the lower end is the k at which MOVER's lower end of it is
    0, the upper likewise. For a process the shares vary as well, as in a multinomial sample.
    """
    size = sum(part.size for part in parts)
    mass = sum(part.share for part in parts)
    # Plain numbers: arrays of a few parts take ten times as long.
    rows = []
    for part, one in zip(parts, passed, strict=True):
        ends = midp(part.hits, part.labelled, z) if process else midp_interval(part, z)
        rate = part.hits / part.labelled if part.labelled else None
        rows.append((part.share / mass, 1 if one else -1, rate, *ends))
    passes = sum(share for share, sign, *_ in rows if sign > 0)
    lean = 2 * passes - 1
    deserved = 1 - passes + sum(share * sign * (rate or 0.0) for share, sign, rate, *_ in rows)

    def edge(kappa: float, side: int) -> float:
        """Return the lower (side -1) or upper end of ``po - pe - kappa(1 - pe)``."""
        rest = 1 - kappa
        value = squares = mean = square_mean = 0.0
        for share, sign, rate, low, high in rows:
            factor = 1 - rest * lean * sign
            up = side * factor > 0
            value += share * factor * (up if rate is None else rate)
            if rate is not None:
                squares += (share * factor * (high - rate if up else rate - low)) ** 2
            # How far a pass by the rater, and a pass by the labels, lowers the value.
            move = factor * (rate or 0.0) - rest * (2 * deserved - 1 if sign > 0 else lean)
            mean += share * move
            square_mean += share * move * move
        if process:
            squares += z * z * max(square_mean - mean * mean, 0.0) / size
        return value - kappa - rest * (1 - passes) * (1 + lean) + side * math.sqrt(squares)

    return (
        bisect(lambda kappa: edge(kappa, -1) > 0, -1.0, 1.0),
        bisect(lambda kappa: edge(kappa, 1) > 0, -1.0, 1.0),
    )


def kappa_weights(kappas: Sequence[float | None]) -> list[float | None]:
    """Return weights from kappas: clipped at 0 and scaled to sum 1, or equal if none is above 0."""
    clipped = [None if kappa is None else max(kappa, 0.0) for kappa in kappas]
    known = [kappa for kappa in clipped if kappa is not None]
    total = math.fsum(known)
    if total <= 0:
        return [None if kappa is None else 1 / len(known) for kappa in clipped]
    return [None if kappa is None else kappa / total for kappa in clipped]
