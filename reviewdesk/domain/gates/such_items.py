"""The figures of a judge that gates check, each with its interval for such items.

Such items are what the process behind a run produces. A run is itself a sample of them, so a fully
labelled run has an interval as wide as that of the same number of labels drawn at random.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from reviewdesk.domain.labels.non_response import as_fail_and_pass
from reviewdesk.domain.labels.rows import LabelledRow, RunFigures
from reviewdesk.domain.labels.sampling import STRATA, LabelledVerdict, stratum, weigh
from reviewdesk.domain.labels.weighed_rows import LabelledRows
from reviewdesk.domain.records import Metrics, Truth
from reviewdesk.domain.stats.calibration import Bools, Floats, Rows
from reviewdesk.domain.stats.correction import Z, rate_or_zero
from reviewdesk.domain.stats.figures import (
    Estimate,
    Fit,
    Interval,
    PanelIntervals,
    Part,
    Ranged,
    Target,
)
from reviewdesk.domain.stats.fit import CHUNK, RESAMPLES, SEED, TAIL, share_ends
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.domain.stats.stratified import pass_part, stratified_rate
from reviewdesk.domain.verdict import SLACK, Decision
from reviewdesk.frozen import Frozen

UNDECIDED = "not every row says what the judge decided"
NO_KAPPA = "chance alone would agree on every row"
NO_LABEL = "no label that counts says pass or fail"


class UnansweredRow(Frozen):
    """A drawn item that the panel decided and nobody answered; see ``non_response``."""

    confidence: float
    passed: bool
    stratum: str
    test: str = ""


def as_run(
    rows: Rows,
    strata: Sequence[str] | None,
    tests: Sequence[str] = (),
    unanswered: Sequence[UnansweredRow] = (),
) -> LabelledRows | None:
    """Return the run that drawn rows stand for: the size of a stratum is the sum of its weights.

    Rows on one content are one label, and ``tests`` names the case of each row. Return ``None``
    unless every row names a stratum that fits its decision, if its content has one row, and all
    contents of a stratum have the same weight, if none has several rows.
    """
    if rows.passed is None or strata is None or not set(strata) <= set(STRATA):
        return None
    contents = np.arange(len(strata)) if rows.content is None else rows.content
    times = Counter(contents.tolist())
    units: dict[tuple[int, int], int] = {}
    mass = Counter[int]()
    sizes, decided = defaultdict[int, float](float), defaultdict[tuple[int, bool], float](float)
    labelled: list[LabelledRow] = []
    for at, (name, right) in enumerate(zip(strata, rows.correct.tolist(), strict=True)):
        passed, content = bool(rows.passed[at]), int(contents[at])
        decision = Decision.PASS if passed else Decision.FAIL
        h, weight = STRATA.index(name), float(rows.weight[at])
        own = stratum(decision, flagged=name.startswith("flagged"))
        if times[content] == 1 and own != h:
            return None
        if (h, content) not in units:
            units[h, content] = mass[h]
            mass[h] += 1
            sizes[h] += weight
        decided[h, passed] += weight
        truth = Truth.PASS if passed is right else Truth.FAIL
        place = LabelledVerdict(h, units[h, content], truth, content=b"%d" % content)
        test = tests[at] if tests else ""
        labelled.append(
            LabelledRow(at, str(at), b"", decision, None, None, None, 0, 0, place, test)
        )
    for h in mass if rows.content is None else ():
        mine = rows.weight[[one.place.stratum == h for one in labelled]]
        if float(np.ptp(mine)) > SLACK * float(mine.max()):
            return None
    whole = {h: max(round(sizes[h]), count) for h, count in mass.items()}
    counts = {h: (round(decided[h, True]), round(decided[h, False])) for h in mass}
    for at, one in enumerate(unanswered, len(labelled)):
        h = STRATA.index(one.stratum)
        if h not in whole:
            continue
        place = LabelledVerdict(h, mass[h], Truth.UNSURE, content=b"?%d" % at)
        mass[h] += 1
        decision = Decision.PASS if one.passed else Decision.FAIL
        open_row = LabelledRow(at, str(at), b"", decision, None, None, None, 0, 0, place, one.test)
        labelled.append(open_row)
    verdicts = labelled[: len(strata)]
    weighing = weigh([one.place for one in labelled], whole, counts)
    weights = weighing.weights if rows.content is None else rows.weight.tolist()
    weights = weights[: len(strata)]
    weighing = replace(weighing, weights=weights + [0.0] * (len(labelled) - len(weights)))
    figures = RunFigures(0, 0, "file", scores_stated=False, sizes=whole, decided=counts)
    again = partial(_answered, rows, strata, tests, unanswered) if unanswered else None
    return LabelledRows(labelled, figures, verdicts, rows, weights, weighing, "file", again)


def _answered(
    rows: Rows,
    strata: Sequence[str],
    tests: Sequence[str],
    unanswered: Sequence[UnansweredRow],
    truths: Mapping[int, Truth],
) -> LabelledRows:
    """Return the run of drawn rows if the unanswered ones had these truths, by their places.

    They share the weight of their stratum with the others.
    """
    given = {at: unanswered[at - len(strata)] for at in truths}
    contents = np.arange(len(strata)) if rows.content is None else rows.content
    weight, more = rows.weight.copy(), []
    for name in dict.fromkeys(one.stratum for one in given.values()):
        mine = np.array([one == name for one in strata])
        count = len(np.unique(contents[mine]))
        new = sum(one.stratum == name for one in given.values())
        weight[mine] *= count / (count + new)
    for one in given.values():
        mine = np.array([name == one.stratum for name in strata])
        more.append(float(weight[mine].sum()) / len(np.unique(contents[mine])))
    passed = [one.passed for one in given.values()]
    right = [one.passed is (truths[at] is Truth.PASS) for at, one in given.items()]
    first = int(contents.max()) + 1
    whole = Rows(
        np.append(rows.confidence, [one.confidence for one in given.values()]),
        np.append(rows.correct, right),
        np.append(weight, more),
        None if rows.passed is None else np.append(rows.passed, passed),
        None if rows.content is None else np.append(contents, first + np.arange(len(given))),
    )
    names = [*strata, *(one.stratum for one in given.values())]
    made = as_run(whole, names, [*tests, *(one.test for one in given.values())] if tests else ())
    assert made is not None  # noqa: S101 - the rows without these made a run
    return made


def such_items(
    rows: Rows, line: Metrics, fit: Fit, found: PanelIntervals | None
) -> dict[str, Ranged]:
    """Return every figure of labelled rows that has an interval, by name; empty without rows.

    ``line`` and ``fit`` describe the same rows and give the values. ``found`` holds the intervals
    through the draw; without it the rows count as drawn at random, with Kish's effective number if
    their weights differ.
    """
    if not line.n:
        return {}
    right = _ends(found.accuracy) if found else share_ends(rows, rows.correct)
    brier, gap = (found.brier, found.gap) if found else (fit.brier, fit.gap)
    made = {
        "accuracy": Ranged(line.accuracy, *right),
        "brier": Ranged(line.brier, *_brier(rows, brier or fit.brier, right)),
        "gap": Ranged(line.gap, *_gap(rows, line.gap or 0.0, gap or fit.gap, right)),
    }
    if rows.passed is None:
        unknown = Ranged(None, reason=UNDECIDED)
        return made | dict.fromkeys(("sensitivity", "specificity", "kappa"), unknown)
    deserved = rows.passed == rows.correct
    sensitive, specific = (
        (_ends(found.sensitivity), _ends(found.specificity))
        if found
        else (
            share_ends(rows.weighted(rows.weight * deserved), rows.correct[deserved]),
            share_ends(rows.weighted(rows.weight * ~deserved), rows.correct[~deserved]),
        )
    )
    return made | {
        "sensitivity": Ranged(line.sensitivity, *sensitive),
        "specificity": Ranged(line.specificity, *specific),
        "kappa": _kappa(rows, rows.passed, found),
    }


def of_counts(tp: float, fn: float, tn: float, fp: float) -> dict[str, Ranged]:
    """Return sensitivity, specificity and kappa of a confusion alone, in counts or scaled weights.

    The intervals of the rates are Wilson's at the sizes of the classes. A rate whose class is empty
    is 0.0, as the judge calibration document defines it, with the interval 0..1.
    """
    return {
        "sensitivity": _rate_of(tp, tp + fn),
        "specificity": _rate_of(tn, tn + fp),
        "kappa": _kappa_of(np.array([tp, fn, tn, fp]), np.eye(4)),
    }


def pass_rate(made: LabelledRows, lacking: str | None = None) -> Ranged:
    """Return the share of such items that should pass; see ``share``.

    Its ends cover what the items without an answer could have been.
    """
    found, *ends = (_pass_rate(one, lacking) for one in (made, *as_fail_and_pass(made)))
    return widest(found, ends)


def widest(found: Ranged, others: Sequence[Ranged]) -> Ranged:
    """Return a figure with the outermost ends of the others, or with its own without any."""
    if not others:
        return found
    lows = [one.low for one in others if one.low is not None]
    highs = [one.high for one in others if one.high is not None]
    return replace(found, low=min(lows, default=None), high=max(highs, default=None))


def _pass_rate(made: LabelledRows, lacking: str | None) -> Ranged:
    effect = made.pass_effect(Target.ITEMS)
    return share([pass_part(one, effect.deff) for one in made.voted], lacking, effect.z)


def share(parts: Sequence[Part], lacking: str | None = None, z: float = Z) -> Ranged:
    """Return a share over the strata of a run, or its bounds with the reason.

    ``lacking`` is the reason, if it is given.
    """
    if not any(part.labelled for part in parts):
        return Ranged(None, reason=lacking or NO_LABEL)
    found = stratified_rate(parts, Target.ITEMS, z=z)
    reason = "" if found.estimate is not None else lacking or found.reason or ""
    return Ranged(found.estimate, found.low, found.high, reason)


def _ends(found: Estimate) -> tuple[float, float]:
    return found.low, found.high


def _rate_of(hits: float, size: float) -> Ranged:
    # A class of almost no weight counts as empty; its interval would leave the range of floats.
    return Ranged(rate_or_zero(hits, size), *(wilson(hits, size) if size > SLACK else (0.0, 1.0)))


def _brier(
    rows: Rows, shown: Interval | None, right: tuple[float, float]
) -> tuple[float | None, float | None]:
    """Return the ends of the bootstrap, widened if all verdicts are right or all are wrong.

    Then every redraw is the same, so four labels would already settle the figure. The ends are
    widened to cover ``a·L + (1 - a)·M`` at both ends of the accuracy a, with L and M the mean
    losses of these confidences if right and if wrong.
    """
    if not _one_sided(rows):
        return (None, None) if shown is None else (shown.low, shown.high)
    weight = rows.weight / rows.weight.sum()
    hit, miss = float(weight @ (1 - rows.confidence) ** 2), float(weight @ rows.confidence**2)
    ends = [part * hit + (1 - part) * miss for part in right]
    ends += [] if shown is None else [shown.low, shown.high]
    return min(ends), max(ends)


def _gap(
    rows: Rows, gap: float, shown: Interval | None, right: tuple[float, float]
) -> tuple[float | None, float | None]:
    """Return the ends of the bootstrap, widened if all verdicts are right or all are wrong.

    Then the ends also include the doubt about the accuracy, which the redraws cannot show.
    """
    if not _one_sided(rows):
        return (None, None) if shown is None else (shown.low, shown.high)
    part = float(rows.correct[0])
    low, high = (gap, gap) if shown is None else (shown.low, shown.high)
    below, above = math.hypot(gap - low, right[1] - part), math.hypot(high - gap, part - right[0])
    return max(gap - below, -1.0), min(gap + above, 1.0)


def _one_sided(rows: Rows) -> bool:
    return bool(rows.correct.all() or not rows.correct.any())


def _kappa(rows: Rows, passed: Bools, found: PanelIntervals | None) -> Ranged:
    """Return Cohen's kappa of weighted rows, with ends from the draw, else from redrawn rows."""
    # tp, fn, tn, fp by decision and truth.
    cell = np.where(rows.correct, np.where(passed, 0, 2), np.where(passed, 3, 1))
    counted = Counter(zip(cell.tolist(), rows.weight.tolist(), strict=True))
    adds = np.zeros((len(counted), 4))
    for at, (kind, weight) in enumerate(sorted(counted)):
        adds[at, kind] = weight
    made = _kappa_of(np.array([float(counted[key]) for key in sorted(counted)]), adds)
    if made.value is None or found is None or found.kappa is None:
        return made
    return Ranged(made.value, found.kappa.low, found.kappa.high)


def _kappa_of(counts: Floats, adds: Floats) -> Ranged:
    """Return kappa, ``(p_o - p_e) / (1 - p_e)``, with the ends of a seeded percentile bootstrap.

    ``counts`` is ``[k]``, the rows of each kind; ``adds`` is ``[k, 4]``, what one row of the kind
    adds to tp, fn, tn and fp. The ends are the 2.5% and 97.5% quantiles of the redraws in which
    kappa is defined. The value is ``None`` where p_e is 1; there are no ends under two rows, or if
    kappa is undefined in every redraw. Source: Cohen 1960; Efron 1979.
    """
    value = float(_kappas((counts @ adds)[None])[0])
    if math.isnan(value):
        return Ranged(None, reason=NO_KAPPA)
    size = round(float(counts.sum()))
    if size < 2:
        return Ranged(value)
    rng = np.random.default_rng(SEED)
    step, chances = max(1, CHUNK // len(counts)), counts / counts.sum()
    redrawn = [
        rng.multinomial(size, chances, min(step, RESAMPLES - start)) @ adds
        for start in range(0, RESAMPLES, step)
    ]
    found = _kappas(np.concatenate(redrawn))
    if np.isnan(found).all():
        return Ranged(value)
    low, high = np.nanquantile(found, [TAIL, 1 - TAIL])
    return Ranged(value, float(low), float(high))


def _kappas(mass: Floats) -> Floats:
    """Return kappa per row of tp, fn, tn, fp; NaN if the expected agreement is 1 or all are 0."""
    total = mass.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        tp, fn, tn, fp = (mass / total[:, None]).T
        expected = (tp + fp) * (tp + fn) + (tn + fn) * (tn + fp)
        found: Floats = np.where(
            expected < 1 - SLACK, (tp + tn - expected) / (1 - expected), np.nan
        )
    return found
