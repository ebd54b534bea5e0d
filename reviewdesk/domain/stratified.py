"""A rate over a whole run from labels that were drawn stratum by stratum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from reviewdesk.domain.figures import Estimate, Part
from reviewdesk.domain.standards import wilson
from reviewdesk.domain.verdict import SLACK

UNLABELLED = "a stratum has no label: the bounds hold whatever its verdicts deserve"


def stratified_rate(parts: Sequence[Part]) -> Estimate:
    """``Σ N_h/N · k_h/n_h`` with the 95% interval of MOVER over Wilson intervals per stratum.

    ``low = estimate - √Σ(W_h(p_h - l_h))²`` and the upper end likewise, each Wilson interval at
    ``n(N-1)/(N-n)``; a stratum labelled to its end is a point. Where a stratum has none, the
    estimate is ``None`` and the ends are Manski's bounds, its rate set to 0 and to 1. Raises
    ValueError for impossible counts. Source: Zou and Donner 2008; Manski 1989.
    """
    held = [part for part in parts if part.size]
    for part in parts:
        if not (0 <= part.hits <= part.labelled <= part.size):
            raise ValueError(f"impossible counts: {part}")
    total = sum(part.size for part in held)
    known = [part for part in held if part.labelled]
    share = sum(part.size / total * _rate(part) for part in known)
    if len(known) < len(held) or not held:
        unknown = sum(part.size / total for part in held if not part.labelled) if held else 1.0
        return Estimate(None, share, min(share + unknown, 1.0), UNLABELLED)
    below = above = 0.0
    for part in known:
        low, high = part_interval(part)
        below += (part.size / total * (_rate(part) - low)) ** 2
        above += (part.size / total * (high - _rate(part))) ** 2
    return Estimate(share, max(share - math.sqrt(below), 0.0), min(share + math.sqrt(above), 1.0))


def part_interval(part: Part) -> tuple[float, float]:
    """Wilson's interval of one stratum with its finite population, at ``n(N-1)/(N-n)``.

    A stratum labelled to its end is a point, one without labels 0..1.
    """
    left = part.size - part.labelled
    if left <= 0:
        return _rate(part), _rate(part)
    if not part.labelled:
        return 0.0, 1.0
    n = part.labelled * (part.size - 1) / left
    return wilson(_rate(part) * n, n)


def more_audits(parts: Sequence[Part], limit: float, op: Literal["<=", ">="]) -> int | None:
    """How many more labels bring the whole interval within the limit, if the rates stay.

    With ``<=`` the upper end must come down to ``limit``, with ``>=`` the lower end up to it. The
    labels fall on what is unlabelled, in proportion. 0 where the limit is met already; ``None``
    where the estimate itself is beyond the limit, or a stratum has no label to take a rate from.
    """
    estimate = stratified_rate(parts).estimate
    if estimate is None or not _within(estimate, estimate, limit, op):
        return None
    low, high = -1, math.ceil(sum(part.size - part.labelled for part in parts))
    # The interval narrows with every label and is a point once all are labelled.
    while high - low > 1:
        middle = (low + high) // 2
        made = stratified_rate(_with_more(parts, middle))
        low, high = (low, middle) if _within(made.low, made.high, limit, op) else (middle, high)
    return high


def _within(low: float, high: float, limit: float, op: Literal["<=", ">="]) -> bool:
    return high <= limit + SLACK if op == "<=" else low >= limit - SLACK


def _with_more(parts: Sequence[Part], more: int) -> list[Part]:
    """The strata after so many more labels at the present rates; fractions of labels are kept."""
    left = sum(part.size - part.labelled for part in parts)
    made = []
    for part in parts:
        if not part.size or not left:
            made.append(part)
            continue
        n = min(part.labelled + (part.size - part.labelled) * more / left, float(part.size))
        made.append(replace(part, labelled=n, hits=min(_rate(part) * n, n)))
    return made


def _rate(part: Part) -> float:
    return part.hits / part.labelled
