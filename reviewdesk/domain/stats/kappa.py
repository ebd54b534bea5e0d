"""Cohen's kappa of two raters, and the weights of jurors that follow from their kappas."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence


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


def kappa_weights(kappas: Sequence[float | None]) -> list[float | None]:
    """Return weights from kappas: clipped at 0 and scaled to sum 1, or equal if none is above 0."""
    clipped = [None if kappa is None else max(kappa, 0.0) for kappa in kappas]
    known = [kappa for kappa in clipped if kappa is not None]
    total = math.fsum(known)
    if total <= 0:
        return [None if kappa is None else 1 / len(known) for kappa in clipped]
    return [None if kappa is None else kappa / total for kappa in clipped]
