"""Checks a run's intervals on runs like it: with its strata, decisions, scores and labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.labels.rows import LabelledRow, confidence
from reviewdesk.domain.labels.summary import LabelledRows, make_rows, panel_intervals
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.figures import (
    ConfidenceSums,
    Estimate,
    Interval,
    SimulatedFigure,
    Target,
)
from reviewdesk.domain.stats.stratified import drawn_rate
from reviewdesk.domain.verdict import SLACK, Decision

FIGURES = ("accuracy", "should_pass", "specificity", "sensitivity", "gap", "brier")
"""The figures whose intervals the page shows, in its order."""


def simulate(
    made: LabelledRows,
    every: Sequence[LabelledRow],
    sums: Mapping[int, ConfidenceSums],
    runs: int,
) -> tuple[SimulatedFigure, ...]:
    """Draw ``runs`` runs like the one at hand and check the intervals for this run.

    ``every`` has all verdicts. A content deserves its first verdict's decision with the rate
    ``(k + 1/2)/(m + 1)``, k of the m labels that count in its stratum and decision being right.
    Each stratum is drawn anew, and as many of its contents are labelled as count now. The seed is
    fixed.
    """
    rng = np.random.default_rng(0)
    decided = [one for one in every if one.place.decided]
    units = defaultdict[int, dict[int, list[LabelledRow]]](lambda: defaultdict(list))
    for one in every:
        units[one.place.stratum][one.place.rank].append(one)
    contents: dict[object, tuple[int, float, bool]] = {}
    rates = _rates(made)
    for one in decided:
        passed = one.decision is Decision.PASS
        rate = rates.get((one.place.stratum, passed), 0.5)
        contents.setdefault(_content(one), (len(contents), rate, passed))
    chance = np.array([rate for _, rate, _ in contents.values()])
    first = np.array([passed for _, _, passed in contents.values()])
    place = np.array([contents[_content(one)][0] for one in decided])
    passes = np.array([one.decision is Decision.PASS for one in decided])
    sure = [
        confidence(one, made.source, scores_stated=made.figures.scores_stated) for one in decided
    ]
    known = np.array([value is not None for value in sure])
    values = np.array([value for value in sure if value is not None])
    found = defaultdict[str, list[tuple[float, float, float, float]]](list)
    for _ in range(runs):
        good = (rng.random(len(chance)) < chance) == first
        deserved = good[place]
        truths = dict(zip(contents, good.tolist(), strict=True))
        rows = [
            replace(
                one, place=replace(one.place, rank=rank, truth=_truth(truths.get(_content(one))))
            )
            for h, held in units.items()
            for rank, at in enumerate(rng.permutation(len(held))[: made.weighing.counted[h]])
            for one in [*held.values()][at]
        ]
        right = (passes == deserved)[known]
        whole = Rows(values, right, np.ones(len(values)), passes[known])
        labelled = make_rows(rows, made.figures, made.source)
        for name, *figures in _checked(labelled, whole, float(deserved.mean()), sums):
            found[name].append((figures[0], figures[1], figures[2], figures[3]))
    return tuple(_summary(name, found[name]) for name in FIGURES)


def _content(one: LabelledRow) -> object:
    return one.place.content or one.place.unit


def _truth(good: bool | None) -> Truth:
    return Truth.UNSURE if good is None else Truth.PASS if good else Truth.FAIL


def _rates(made: LabelledRows) -> dict[tuple[int, bool], float]:
    """Return how often the panel is right, by stratum and whether it passed."""
    right = defaultdict[tuple[int, bool], list[bool]](list)
    for one, weight in zip(made.labelled, made.weighing.weights, strict=True):
        if weight and one.place.usable:
            right[one.place.stratum, one.decision is Decision.PASS].append(one.correct)
    return {key: (sum(some) + 0.5) / (len(some) + 1) for key, some in right.items()}


def _checked(
    made: LabelledRows, whole: Rows, deserved: float, sums: Mapping[int, ConfidenceSums]
) -> Iterator[tuple[str, float, float, float, float]]:
    """Yield each figure that is defined: its estimate, ends and truth."""
    line = measure(made.headline, None)
    truth = measure(whole, None)
    drawn = panel_intervals(made, Target.RUN, sums)
    for name in FIGURES:
        if name == "should_pass":
            rate = drawn_rate(made.pass_parts)
            estimate: float | None = rate.estimate
            true: float | None = deserved
            ends: Estimate | Interval | None = rate
        else:
            estimate = getattr(line, name)
            true = getattr(truth, name)
            ends = getattr(drawn, name)
        if estimate is not None and true is not None and ends is not None:
            yield name, estimate, ends.low, ends.high, true


def _summary(name: str, found: Sequence[tuple[float, float, float, float]]) -> SimulatedFigure:
    if not found:
        return SimulatedFigure(name, 0, None, None, None)
    estimate, low, high, truth = np.array(found).T
    held = (low - SLACK <= truth) & (truth <= high + SLACK)
    return SimulatedFigure(
        name,
        len(found),
        float((estimate - truth).mean()),
        float(held.mean()),
        float((high - low).mean()),
    )
