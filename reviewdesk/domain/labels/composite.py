"""Combines the dimensions of each subject of a run into one weighted figure, through the draw."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.labels.segments import (
    SegmentVerdict,
    counted_labels,
    segment_rows,
    should_pass,
)
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.figures import Estimate, Ranged, Target, widest

if TYPE_CHECKING:
    from reviewdesk.domain.labels.summary import LabelledRows

UNNAMED = "no subject"
"""The subject of verdicts whose report names no subject."""


class WeighedDimension(Struct, frozen=True):
    """One dimension of a subject: ``passed`` is the panel's pass rate, ``None`` without verdicts.

    ``should_pass`` is the share that deserves to pass, by the ``labels`` that count.
    """

    dimension: str
    weight: float
    verdicts: int
    labels: int
    passed: float | None
    should_pass: Estimate


class Composite(Struct, frozen=True):
    """The weighted sum of a subject's dimensions, in the order of the weights.

    ``panel`` weighs the panel's pass rates and ``found`` the shares that should pass. Both are
    ``None`` with a reason if a dimension has no verdict: the weights are never rescaled. If a
    group of a dimension has no label, the ends of ``found`` are bounds.
    """

    subject: str
    dimensions: tuple[WeighedDimension, ...]
    panel: float | None
    found: Ranged


def composites(
    made: LabelledRows,
    frame: Sequence[SegmentVerdict],
    dimensions: Mapping[int, str],
    weights: Mapping[str, float],
    target: Target = Target.RUN,
) -> tuple[Composite, ...]:
    """Return the composite of every subject, the lowest first; ``frame`` has the subjects.

    ``dimensions`` names the dimension of each verdict by key, and ``weights`` sum to 1. With
    distances ``a_d`` from each dimension's estimate to its lower end, the composite's lower end is
    ``Σ w_d·p_d - √(Σ_d Σ_e r_de·w_d·a_d·w_e·a_e)``, and the upper end likewise (MOVER). In this run
    r is 0: the draw samples the dimensions apart. For new items ``r_de = √(s_d·s_e)``, s_d the
    share of the labels of d on cases that also have a label of e: the largest correlation that
    labels of the same cases can have. Those ends also cover any answer of the unanswered items.
    Source: Zou, Huang and Zhang 2009, with the correlation replaced by its upper bound.
    """
    # Imported here because it loads numpy.
    from reviewdesk.domain.labels.summary import as_fail_and_pass

    answers = (made, *(as_fail_and_pass(made) if target is Target.ITEMS else ()))
    places = {one.key: at for at, one in enumerate(made.labelled)}
    held = defaultdict[str, dict[str, list[SegmentVerdict]]](lambda: defaultdict(list))
    for one in frame:
        if one.key in dimensions:
            held[one.segment][dimensions[one.key]].append(one)
    found = []
    for subject, verdicts in held.items():
        every = [_composite(rows, verdicts, weights, target, places) for rows in answers]
        ends = widest(every[0].found, [one.found for one in every])
        least = next(end for end in (ends.value, ends.low, 2.0) if end is not None)
        found.append((least, subject, replace(every[0], subject=subject, found=ends)))
    return tuple(one for _, _, one in sorted(found, key=lambda row: row[:2]))


def _composite(
    made: LabelledRows,
    verdicts: Mapping[str, Sequence[SegmentVerdict]],
    weights: Mapping[str, float],
    target: Target,
    places: Mapping[int, int],
) -> Composite:
    parts = []
    tests: list[list[str]] = []
    for name, weight in weights.items():
        mine = verdicts.get(name, ())
        rows = segment_rows(made, mine, places)
        passes = sum(one for one, _ in rows.figures.decided.values())
        decided = passes + sum(other for _, other in rows.figures.decided.values())
        rate = should_pass(rows, target)
        share = passes / decided if decided else None
        parts.append(WeighedDimension(name, weight, decided, counted_labels(rows), share, rate))
        counting = zip(rows.labelled, rows.weighing.weights, strict=True)
        named = [(one, one.test or one.id) for one, mass in counting if mass]
        tests.append([test for one, test in named if one.place.usable])
    subject = next(iter(verdicts.values()))[0].segment
    if lacking := [show_line(one.dimension, 60) for one in parts if not one.verdicts]:
        why = Ranged(None, reason=f"no verdict on {', '.join(lacking)}")
        return Composite(subject, tuple(parts), None, why)
    panel = math.fsum(one.weight * (one.passed or 0.0) for one in parts)

    def shared(d: int, e: int) -> float:
        """Return the correlation ``r_de``, given the case of each label."""
        if d == e or target is Target.RUN or not (tests[d] and tests[e]):
            return float(d == e)
        both = {*tests[d]} & {*tests[e]}
        one, two = (sum(test in both for test in tests[at]) / len(tests[at]) for at in (d, e))
        return math.sqrt(one * two)

    every = range(len(parts))
    correlation = [[shared(d, e) for e in every] for d in every]
    return Composite(subject, tuple(parts), panel, _weighed(parts, correlation))


def _weighed(parts: Sequence[WeighedDimension], shared: Sequence[Sequence[float]]) -> Ranged:
    """Return the weighted sum with its ends; bounds of a dimension are added in full."""
    least = most = 0.0
    below = []
    above = []
    unknown = []
    for one in parts:
        rate = one.should_pass
        known = rate.estimate is not None
        low, high = (rate.estimate,) * 2 if rate.estimate is not None else (rate.low, rate.high)
        least += one.weight * low
        most += one.weight * high
        below.append(one.weight * (low - rate.low))
        above.append(one.weight * (rate.high - high))
        unknown += [] if known else [show_line(one.dimension, 60)]
    less, more = (
        math.fsum(
            r * a * b
            for a, row in zip(off, shared, strict=True)
            for b, r in zip(off, row, strict=True)
        )
        for off in (below, above)
    )
    ends = max(least - math.sqrt(max(less, 0.0)), 0.0), min(most + math.sqrt(max(more, 0.0)), 1.0)
    if unknown:
        return Ranged(None, *ends, f"a group of {', '.join(unknown)} has no label")
    return Ranged(least, *ends)


def composite_low(found: Sequence[Composite], subject: str | None) -> tuple[float | None, str]:
    """Return the lower end of a subject's composite, or of the worst one's, and which it is.

    ``None`` with the reason if the subject, or for the worst any subject, lacks a dimension.
    """
    mine = [one for one in found if subject in (None, one.subject)]
    if not mine:
        return None, f"no verdict of {show_line(subject or UNNAMED, 60)} has a dimension"
    for one in mine:
        if one.found.low is None:
            return None, f"{show_line(one.subject, 60)}: {one.found.reason}"
    worst = min(mine, key=lambda one: one.found.low or 0.0)
    counts = [f"{part.labels} of {show_line(part.dimension, 60)}" for part in worst.dimensions]
    return worst.found.low, f"{show_line(worst.subject, 60)}, by {', '.join(counts)}"
