"""Splits a run's figures by a property of its verdicts, each segment through the draw."""

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.figures import Estimate, Target, widest
from reviewdesk.domain.verdict import Decision

if TYPE_CHECKING:
    from reviewdesk.domain.labels.label_columns import LabelledRows


BY = ("tag", "test", "dimension", "subject", "generator", "family", "decision", "reviewer")
FEW = 20
"""A segment with fewer labels gets no figure."""


class SegmentVerdict(Struct, frozen=True):
    """A verdict of a run in one of its segments; with several tags it is in several."""

    segment: str
    key: int
    stratum: int
    rank: int
    decision: Decision | None
    counts: bool = True
    """Whether its label counts in the segment; a reviewer's is the whole run by own labels."""


class SegmentFigures(Struct, frozen=True):
    """The figures of one segment: ``None`` under ``FEW`` labels, errors also by decision."""

    segment: str
    verdicts: int
    labels: int
    passed: int
    accuracy: Estimate | None = None
    false_passes: Estimate | None = None
    false_fails: Estimate | None = None
    should_pass: Estimate | None = None


def segment_table(
    made: "LabelledRows", frame: Sequence[SegmentVerdict], by: str, target: Target = Target.RUN
) -> tuple[SegmentFigures, ...]:
    """Return the figures of every segment with a decided verdict, the worst accuracy first.

    Each is estimated by its own numbers of verdicts and labels in every stratum
    (post-stratification, Holt and Smith 1979). Segments with too few labels come last.
    """
    held = defaultdict[str, list[SegmentVerdict]](list)
    for one in frame:
        held[one.segment].append(one)
    found = []
    for name, mine in held.items():
        part = segment_rows(made, mine)
        passes, fails = (sum(side) for side in zip(*part.figures.decided.values(), strict=True))
        row = SegmentFigures(name, passes + fails, counted_labels(part), passes)
        worst = 2.0
        if row.labels >= FEW:
            rates = part.rates(target)
            right = rates.accuracy
            worst = right.low if right.estimate is None else right.estimate
            both = by != "decision"
            row = replace(
                row,
                accuracy=right,
                false_passes=rates.specificity.complement if both else None,
                false_fails=rates.sensitivity.complement if both else None,
                should_pass=rates.should_pass,
            )
        found += [(worst, -row.labels, name, row)] if row.verdicts else []
    return tuple(row for *_, row in sorted(found, key=lambda each: each[:3]))


def worst_low(
    made: "LabelledRows", frame: Sequence[SegmentVerdict], by: str
) -> tuple[float | None, str]:
    """Return the lowest lower end of accuracy for such items, if any, and its segment."""
    every = (made, *made.either_answer())
    found = [one for rows in every for one in segment_table(rows, frame, by, Target.ITEMS)]
    lows = [(one.accuracy.low, one.segment) for one in found if one.accuracy is not None]
    if not lows:
        return None, f"no {by} has {FEW} labels"
    value, name = min(lows)
    small = len({one.segment for one in found} - {told for _, told in lows})
    left = f"; {small} with under {FEW} labels left out" if small else ""
    return value, f"{by} {show_line(name, 60)}{left}"


def counted_labels(part: "LabelledRows") -> int:
    return int(part.columns.any_of(part.counting, part.columns.units).sum())


def segment_rows(made: "LabelledRows", mine: Sequence[SegmentVerdict]) -> "LabelledRows":
    """Return a segment's labels like a run's."""
    places = made.place_of
    sizes = Counter(h for h, _ in {(one.stratum, one.rank) for one in mine})
    counts = Counter((one.stratum, one.decision) for one in mine)
    decided = {h: (counts[h, Decision.PASS], counts[h, Decision.FAIL]) for h in sizes}
    kept = sorted(places[one.key] for one in mine if one.counts and one.key in places)
    columns = made.columns.at(kept)
    given = made.weighing.weights[kept]
    strata = columns.stratum.tolist()
    units = zip(strata, columns.rank.tolist(), strict=True)
    every = zip(units, given.tolist(), made.counting[kept].tolist(), strict=True)
    mass = defaultdict[int, float](float)
    for (h, _), weight in {unit: weight for unit, weight, counts in every if counts}.items():
        mass[h] += weight
    weights = given * [sizes[h] / (mass[h] or math.inf) for h in strata]
    weighing = replace(made.weighing, weights=weights, drawn=made.weighing.drawn[kept])
    figures = replace(made.figures, sizes=sizes, decided=decided)
    return dataclasses.replace(
        made, labelled=(), figures=figures, columns=columns, weighing=weighing
    )


UNNAMED = "no subject"


class WeighedDimension(Struct, frozen=True):
    """One dimension of a subject: the shares that the panel ``passed`` and that ``should_pass``."""

    dimension: str
    weight: float
    verdicts: int
    labels: int
    passed: float | None
    should_pass: Estimate


class Composite(Struct, frozen=True):
    """The weighted sum of a subject's dimensions.

    ``panel`` weighs the panel's pass rates, ``found`` the shares that should pass, with bounds if a
    group has no label. Both are ``None`` if a dimension has no verdict: weights are never rescaled.
    """

    subject: str
    dimensions: tuple[WeighedDimension, ...]
    panel: float | None
    found: Estimate


def composites(
    made: "LabelledRows",
    frame: Sequence[SegmentVerdict],
    dimensions: Mapping[int, str],
    weights: Mapping[str, float],
    target: Target = Target.RUN,
) -> tuple[Composite, ...]:
    """Return the composite of every subject, the lowest first; ``frame`` has the subjects.

    ``dimensions`` names the dimension of each verdict by key, and ``weights`` sum to 1. With
    distances ``a_d`` from each estimate to its lower end, the composite's lower end is ``Σ w_d·p_d
    - √(Σ_d Σ_e r_de·w_d·a_d·w_e·a_e)`` (MOVER). In this run r is 0: the draw samples the dimensions
    apart. For new items ``r_de = √(s_d·s_e)``, s_d the share of the labels of d on cases that also
    have a label of e: the largest correlation that they can have; those ends also cover any answer
    of the unanswered items. Source: Zou, Huang and Zhang 2009.
    """
    answers = (made, *(made.either_answer(as_label=True) if target is Target.ITEMS else ()))
    held = defaultdict[str, dict[str, list[SegmentVerdict]]](lambda: defaultdict(list))
    for one in frame:
        if one.key in dimensions:
            held[one.segment][dimensions[one.key]].append(one)
    found = []
    for subject, verdicts in held.items():
        every = [_composite(rows, verdicts, weights, target) for rows in answers]
        ends = widest(every[0].found, [one.found for one in every])
        least = ends.estimate if ends.estimate is not None else ends.low if ends.bounded else 2.0
        found.append((least, subject, replace(every[0], subject=subject, found=ends)))
    return tuple(one for _, _, one in sorted(found, key=lambda row: row[:2]))


def _composite(
    made: "LabelledRows",
    verdicts: Mapping[str, Sequence[SegmentVerdict]],
    weights: Mapping[str, float],
    target: Target,
) -> Composite:
    parts = []
    tests: list[list[int]] = []
    for name, weight in weights.items():
        mine = verdicts.get(name, ())
        rows = segment_rows(made, mine)
        passes = sum(one for one, _ in rows.figures.decided.values())
        decided = passes + sum(other for _, other in rows.figures.decided.values())
        rate = rows.rates(target).should_pass
        share = passes / decided if decided else None
        parts.append(WeighedDimension(name, weight, decided, counted_labels(rows), share, rate))
        columns = rows.columns
        cases = columns.key if columns.test is None else columns.test
        tests.append(cases[rows.counting].tolist())
    subject = next(iter(verdicts.values()))[0].segment
    if lacking := [show_line(one.dimension, 60) for one in parts if not one.verdicts]:
        why = Estimate(None, reason=f"no verdict on {', '.join(lacking)}")
        return Composite(subject, tuple(parts), None, why)
    panel = math.fsum(one.weight * (one.passed or 0.0) for one in parts)

    def shared(d: int, e: int) -> float:
        if d == e or target is Target.RUN or not (tests[d] and tests[e]):
            return float(d == e)
        both = {*tests[d]} & {*tests[e]}
        one, two = (sum(test in both for test in tests[at]) / len(tests[at]) for at in (d, e))
        return math.sqrt(one * two)

    every = range(len(parts))
    ends = []
    for side, sign in (("low", -1), ("high", 1)):
        total = 0.0
        off = []
        for one in parts:
            end = getattr(one.should_pass, side)
            # The bounds of a dimension without an estimate are added in full.
            point = end if one.should_pass.estimate is None else one.should_pass.estimate
            total += one.weight * point
            off.append(one.weight * (end - point))
        spread = math.fsum(shared(d, e) * off[d] * off[e] for d in every for e in every)
        ends.append(min(max(total + sign * math.sqrt(max(spread, 0.0)), 0.0), 1.0))
    low, high = ends
    found = Estimate(total, low, high)
    unknown = [show_line(one.dimension, 60) for one in parts if one.should_pass.estimate is None]
    if unknown:
        found = Estimate(None, low, high, f"a group of {', '.join(unknown)} has no label")
    return Composite(subject, tuple(parts), panel, found)


def composite_low(found: Sequence[Composite], subject: str | None) -> tuple[float | None, str]:
    """Return the lower end of a subject's composite, or of the worst one's, and whose it is."""
    mine = [one for one in found if subject in (None, one.subject)]
    if not mine:
        return None, f"no verdict of {show_line(subject or UNNAMED, 60)} has a dimension"
    for one in mine:
        if not one.found.bounded:
            return None, f"{show_line(one.subject, 60)}: {one.found.reason}"
    worst = min(mine, key=lambda one: one.found.low)
    counts = [f"{part.labels} of {show_line(part.dimension, 60)}" for part in worst.dimensions]
    return worst.found.low, f"{show_line(worst.subject, 60)}, by {', '.join(counts)}"
