"""Checks a run's intervals on runs like it: with its strata, decisions, scores and labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.labels.sampling import LabelledRow, confidence
from reviewdesk.domain.labels.summary import LabelledRows, make_rows, panel_intervals
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.figures import ConfidenceSums, Estimate, SimulatedFigure, Target
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

    ``every`` has all verdicts. A content deserves its first verdict's decision with the rate ``(k +
    1/2)/(m + 1)``, k of the m labels that count in its stratum and decision being right. As many
    contents of each stratum are labelled as count now. The seed is fixed.
    """
    rng = np.random.default_rng(0)
    decided = [one for one in every if one.judged]
    units = defaultdict[int, dict[int, list[LabelledRow]]](lambda: defaultdict(list))
    for one in every:
        units[one.stratum][one.rank].append(one)
    contents: dict[object, tuple[int, float, bool]] = {}
    seen = defaultdict[tuple[int, bool], list[bool]](list)
    for one, weight in zip(made.labelled, made.weighing.weights, strict=True):
        if weight and one.decided:
            seen[one.stratum, one.decision is Decision.PASS].append(one.correct)
    for one in decided:
        passed = one.decision is Decision.PASS
        some = seen[one.stratum, passed]
        rate = (sum(some) + 0.5) / (len(some) + 1)
        contents.setdefault(one.content, (len(contents), rate, passed))
    chance = np.array([rate for _, rate, _ in contents.values()])
    first = np.array([passed for _, _, passed in contents.values()])
    place = np.array([contents[one.content][0] for one in decided])
    passes = np.array([one.decision is Decision.PASS for one in decided])
    sure = [
        confidence(one, made.source, scores_stated=made.figures.scores_stated) for one in decided
    ]
    known = np.array([value is not None for value in sure])
    values = np.array([value for value in sure if value is not None])
    no = Truth.UNSURE
    found = defaultdict[str, list[Sequence[float]]](list)
    for _ in range(runs):
        good = (rng.random(len(chance)) < chance) == first
        deserved = good[place]
        truths = (Truth.PASS if one else Truth.FAIL for one in good.tolist())
        given = dict(zip(contents, truths, strict=True))
        rows = [
            replace(one, rank=rank, truth=given.get(one.content, no))
            for h, held in units.items()
            for rank, at in enumerate(rng.permutation(len(held))[: made.weighing.counted[h]])
            for one in [*held.values()][at]
        ]
        right = (passes == deserved)[known]
        whole = Rows(values, right, np.ones(len(values)), passes[known])
        labelled = make_rows(rows, made.figures, made.source)
        for name, *figures in _checked(labelled, whole, float(deserved.mean()), sums):
            found[name].append(figures)
    made_of = []
    for name in FIGURES:
        if not found[name]:
            made_of.append(SimulatedFigure(name, 0, None, None, None))
            continue
        estimate, low, high, truth = np.array(found[name]).T
        held = (low - SLACK <= truth) & (truth <= high + SLACK)
        means = ((estimate - truth).mean(), held.mean(), (high - low).mean())
        made_of.append(SimulatedFigure(name, len(truth), *map(float, means)))
    return tuple(made_of)


def _checked(
    made: LabelledRows, whole: Rows, deserved: float, sums: Mapping[int, ConfidenceSums]
) -> Iterator[tuple[str, float, float, float, float]]:
    """Yield each figure that is defined: its estimate, ends and truth."""
    line = measure(made.headline, None)
    truth = measure(whole, None)
    drawn = panel_intervals(made, Target.RUN, sums)
    for name in FIGURES:
        if name == "should_pass":
            found: Estimate | None = drawn_rate(made.pass_parts)
            estimate = None if found is None else found.estimate
            true: float | None = deserved
        else:
            found = getattr(drawn, name)
            estimate = getattr(line, name)
            true = getattr(truth, name)
        if estimate is not None and true is not None and found is not None:
            yield name, estimate, found.low, found.high, true
