"""Splits a run's figures by a property of its verdicts, each segment through the draw."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace as changed

from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.figures import Estimate, Target
from reviewdesk.domain.stats.stratified import drawn_rate, pass_part, stratified_rates
from reviewdesk.domain.verdict import Decision

if TYPE_CHECKING:
    from reviewdesk.domain.labels.summary import LabelledRows

BY = ("tag", "test", "dimension", "subject", "generator", "family", "decision")
"""The properties by which figures are split."""
FEW = 20
"""A segment with fewer labels gets no figure."""


class SegmentVerdict(Struct, frozen=True):
    """A verdict of a run in one of its segments; with several tags it is in several."""

    segment: str
    key: int
    stratum: int
    rank: int
    decision: Decision | None


class SegmentFigures(Struct, frozen=True):
    """The figures of one segment; the panel ``passed`` some of its ``verdicts``, failed the rest.

    The figures are ``None`` under ``FEW`` labels. ``false_passes`` is a share of what should fail
    and ``false_fails`` of what should pass; both are ``None`` in a segment of one decision.
    """

    segment: str
    verdicts: int
    labels: int
    passed: int
    accuracy: Estimate | None = None
    false_passes: Estimate | None = None
    false_fails: Estimate | None = None
    should_pass: Estimate | None = None


def segment_table(
    made: LabelledRows, frame: Sequence[SegmentVerdict], by: str, target: Target = Target.RUN
) -> tuple[SegmentFigures, ...]:
    """Return the figures of every segment with a verdict that the panel decided.

    The worst accuracy comes first, and the segments with too few labels last.

    The labels of a stratum in a segment are a random sample of the stratum's verdicts in that
    segment, whose number is known: so each segment is estimated by its own counts in each
    stratum (post-stratification, Holt and Smith 1979).
    """
    held = defaultdict[str, list[SegmentVerdict]](list)
    for one in frame:
        held[one.segment].append(one)
    places = {one.key: at for at, one in enumerate(made.labelled)}
    found = []
    for name, mine in held.items():
        part = segment_rows(made, mine, places)
        passes, fails = (sum(side) for side in zip(*part.figures.decided.values(), strict=True))
        row = SegmentFigures(name, passes + fails, counted_labels(part), passes)
        worst = 2.0
        if row.labels >= FEW:
            rates = stratified_rates(part.voted, target, part.clusters)
            right = rates.accuracy
            worst = right.low if right.estimate is None else right.estimate
            both = by != "decision"
            row = changed(
                row,
                accuracy=right,
                false_passes=_less(rates.specificity) if both else None,
                false_fails=_less(rates.sensitivity) if both else None,
                should_pass=should_pass(part, target),
            )
        found += [(worst, -row.labels, name, row)] if row.verdicts else []
    return tuple(row for *_, row in sorted(found, key=lambda each: each[:3]))


def worst_low(
    made: LabelledRows, frame: Sequence[SegmentVerdict], by: str
) -> tuple[float | None, str]:
    """Return the lowest lower end of accuracy over all segments, for such items, and its segment.

    It covers any answer of the unanswered items. ``None`` without enough labels.
    """
    # Imported here because it loads numpy.
    from reviewdesk.domain.labels.summary import as_wrong_and_right

    every = (made, *as_wrong_and_right(made))
    found = [one for rows in every for one in segment_table(rows, frame, by, Target.ITEMS)]
    lows = [(one.accuracy.low, one.segment) for one in found if one.accuracy is not None]
    if not lows:
        return None, f"no {by} has {FEW} labels"
    value, name = min(lows)
    small = len({one.segment for one in found} - {told for _, told in lows})
    left = f"; {small} with under {FEW} labels left out" if small else ""
    return value, f"{by} {show_line(name, 60)}{left}"


def should_pass(part: LabelledRows, target: Target) -> Estimate:
    """Return the share of a segment's decided verdicts that should pass, through the draw."""
    effect = part.pass_effect(target)
    return drawn_rate([pass_part(one, effect.deff) for one in part.voted], target, effect.z)


def counted_labels(part: LabelledRows) -> int:
    """Return how many labels count, each content once."""
    pairs = zip(part.labelled, part.weighing.weights, strict=True)
    return len({one.place.unit for one, weight in pairs if weight and one.place.usable})


def segment_rows(
    made: LabelledRows, mine: Sequence[SegmentVerdict], places: Mapping[int, int]
) -> LabelledRows:
    """Return the labels of a segment as those of a run; strata have their sizes in the segment.

    ``places`` are those of the labelled verdicts in ``made``, by key.
    """
    units = defaultdict[int, set[int]](set)
    for one in mine:
        units[one.stratum].add(one.rank)
    sizes = {h: len(ranks) for h, ranks in units.items()}
    counts = Counter((one.stratum, one.decision) for one in mine)
    decided = {h: (counts[h, Decision.PASS], counts[h, Decision.FAIL]) for h in units}
    kept = sorted(places[one.key] for one in mine if one.key in places)
    labelled = [made.labelled[at] for at in kept]
    counting = {
        one.place.unit: made.weighing.weights[at]
        for at, one in zip(kept, labelled, strict=True)
        if made.weighing.weights[at] and one.place.usable
    }
    mass = defaultdict[int, float](float)
    for (h, _), weight in counting.items():
        mass[h] += weight
    weights = [
        made.weighing.weights[at] * sizes[h] / mass[h] if mass[h] else 0.0
        for at, one in zip(kept, labelled, strict=True)
        for h in [one.place.stratum]
    ]
    drawn = [made.weighing.drawn[at] for at in kept]
    weighing = changed(made.weighing, weights=weights, drawn=drawn, inclusion=[])
    figures = changed(made.figures, sizes=sizes, decided=decided)
    return replace(made, labelled=labelled, figures=figures, weighing=weighing)


def _less(rate: Estimate) -> Estimate:
    """Return 1 less a rate."""
    value = None if rate.estimate is None else 1 - rate.estimate
    return Estimate(value, 1 - rate.high, 1 - rate.low, rate.reason)
