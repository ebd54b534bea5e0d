"""A judge's rates with 95% intervals for such items: the process behind a run, not its verdicts.

A run is itself a sample of that process, so nothing here knows a finite population: the interval of
a run whose every verdict is labelled is as wide as that of as many labels drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reviewdesk.domain.calibration import Bools, Floats, Rows, effective_sample_size
from reviewdesk.domain.correction import Z, rate_or_zero
from reviewdesk.domain.figures import Fit, Interval, Part, Ranged
from reviewdesk.domain.intervals import CHUNK, RESAMPLES, SEED, TAIL, accuracy_interval
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.standards import wilson
from reviewdesk.domain.verdict import SLACK

UNDECIDED = "not every row says what the judge decided"
NO_KAPPA = "chance alone would agree on every row"
_STEPS = 60
"""Halvings of an interval within 0..1: more than a double can tell apart."""


@dataclass(frozen=True, slots=True)
class _Cells:
    """Columns over the cells of a sample: share of all mass, labels, rate of hits and its ends."""

    share: Floats
    n: Floats
    rate: Floats
    low: Floats
    high: Floats
    total: float
    """The verdicts that all cells stand for."""

    @staticmethod
    def of(mass: Floats, n: Floats, rate: Floats) -> _Cells:
        ends = np.array([wilson(p * k, k) for p, k in zip(rate, n, strict=True)]).reshape(-1, 2)
        total = max(float(mass.sum()), float(n.sum()))
        return _Cells(mass / mass.sum(), n, rate, ends[:, 0], ends[:, 1], total)

    def ends(self, base: Floats, slope: Floats) -> tuple[float, float]:
        """The interval of ``Σ W(base + slope·rate)``, by MOVER over the cells' Wilson intervals.

        To the squares of what the rates may be off comes ``z²/N·Σ W(v - mean)²``: the N verdicts of
        the run are themselves a draw, and another run has the cells in other shares.
        """
        value = base + slope * self.rate
        mean = float(self.share @ value)
        between = Z * Z * float(self.share @ (value - mean) ** 2) / self.total
        falls = np.where(
            slope >= 0, slope * (self.rate - self.low), slope * (self.rate - self.high)
        )
        rises = np.where(
            slope >= 0, slope * (self.high - self.rate), slope * (self.low - self.rate)
        )
        below, above = (
            math.sqrt(float(((self.share * off) ** 2).sum()) + between) for off in (falls, rises)
        )
        return mean - below, mean + above


@dataclass(frozen=True, slots=True)
class Sample:
    """Labelled rows of positive weight; ``strata`` names the stratum of each, where it is known."""

    rows: Rows
    strata: Sequence[str] | None = None

    @property
    def even(self) -> bool:
        """Whether every row weighs the same: as good as drawn at random, whatever the strata."""
        weight = self.rows.weight
        return not len(weight) or float(np.ptp(weight)) <= SLACK * float(weight.max())

    @property
    def plain(self) -> bool:
        """Whether the strata say nothing: rows that weigh the same, or name no stratum.

        Of rows that differ in weight and name none, only Kish's effective number is known.
        """
        return self.even or self.strata is None

    def cells(self, hit: Bools) -> tuple[_Cells, Bools]:
        """The share of hits per stratum and decision, and which cells the judge passed."""
        passed = self.rows.passed if self.rows.passed is not None else np.zeros_like(hit)
        keys = list(zip(self.strata or [""] * len(hit), passed.tolist(), strict=True))
        names = sorted(set(keys))
        place = {name: at for at, name in enumerate(names)}
        index = np.array([place[key] for key in keys], dtype=np.int64)
        weight = self.rows.weight
        mass, squares, hits = (
            np.asarray(np.bincount(index, values, len(names)), dtype=np.float64)
            for values in (weight, weight**2, weight * hit)
        )
        found = _Cells.of(mass, mass**2 / squares, np.minimum(hits / mass, 1.0))
        return found, np.array([side for _, side in names], dtype=np.bool_)


def such_items(sample: Sample, line: Metrics, fit: Fit) -> dict[str, Ranged]:
    """Every figure of labelled rows that has an interval, by name; empty without rows.

    ``line`` and ``fit`` are of the same rows, and give the values.
    """
    if not line.n:
        return {}
    right = _accuracy(sample)
    found = {
        "accuracy": Ranged(line.accuracy, *right),
        "brier": Ranged(line.brier, *_brier(sample.rows, fit.brier, right)),
        "gap": Ranged(line.gap, *_gap(sample.rows, line.gap or 0.0, fit.gap, right)),
    }
    if sample.rows.passed is None:
        unknown = Ranged(None, reason=UNDECIDED)
        return found | dict.fromkeys(("sensitivity", "specificity", "kappa"), unknown)
    return found | {
        "sensitivity": Ranged(line.sensitivity, *_class_rate(sample, passes=True)),
        "specificity": Ranged(line.specificity, *_class_rate(sample, passes=False)),
        "kappa": _kappa(sample),
    }


def of_counts(tp: float, fn: float, tn: float, fp: float) -> dict[str, Ranged]:
    """Sensitivity, specificity and kappa of a confusion alone, counts or scaled weights.

    Wilson at the sizes of the classes; a rate without its class is the document's 0.0, and its
    interval 0..1.
    """
    counts = np.array([tp, fn, tn, fp])
    return {
        "sensitivity": _rate_of(tp, tp + fn),
        "specificity": _rate_of(tn, tn + fp),
        "kappa": _kappa_of([(counts, np.eye(4))]),
    }


def _rate_of(hits: float, size: float) -> Ranged:
    # A millionth of a label is none, and would leave the range of floats below.
    return Ranged(rate_or_zero(hits, size), *(wilson(hits, size) if size > SLACK else (0.0, 1.0)))


def pass_rate(sample: Sample) -> Ranged:
    """The share of items that should pass, from rows that a draw of their own run gave."""
    if sample.rows.passed is None or not len(sample.rows.weight):
        return Ranged(None, reason=UNDECIDED)
    deserved = sample.rows.passed == sample.rows.correct
    share = float((sample.rows.weight * deserved).sum() / sample.rows.weight.sum())
    if sample.plain:
        return Ranged(share, *_share_ends(deserved, sample.rows.weight))
    cells, _ = sample.cells(deserved)
    return Ranged(share, *_clamped(cells.ends(np.zeros_like(cells.rate), np.ones_like(cells.rate))))


def part_rate(parts: Sequence[Part], lacking: str | None) -> Ranged:
    """The share of hits over the strata of a run, for such items.

    ``Σ N_h/N·k_h/n_h``; where every stratum is labelled at one rate, Wilson on all labels. While a
    stratum has no label the value is ``None`` for the reason ``lacking``, and the ends are bounds:
    its rate at 0 and at 1, with the ends of the other strata (Imbens and Manski 2004).
    """
    held = [part for part in parts if part.size]
    labelled = sum(part.labelled for part in held)
    if not labelled:
        return Ranged(None, reason=lacking or "no label that counts says pass or fail")
    fractions = [part.labelled / part.size for part in held]
    hits = sum(part.hits for part in held)
    if max(fractions) - min(fractions) <= SLACK:
        return Ranged(hits / labelled, *wilson(hits, labelled))
    mass, n = (np.array([float(v) for v in col]) for col in zip(
        *((part.size, part.labelled) for part in held), strict=True
    ))  # fmt: skip
    ends, rates = [], []
    for side in (0.0, 1.0):
        rate = np.array([part.hits / part.labelled if part.labelled else side for part in held])
        # What nobody knows is set to its worst, and has no width of its own.
        cells = _Cells.of(mass, n, rate)
        slope = (n > 0).astype(np.float64)
        rates.append(float(cells.share @ rate))
        ends.append(_clamped(cells.ends(rate * (n <= 0), slope)))
    known = bool((n > 0).all())
    return Ranged(
        rates[0] if known else None, ends[0][0], ends[1][1], "" if known else lacking or ""
    )


def _accuracy(sample: Sample) -> tuple[float, float]:
    """The ends of the accuracy: Wilson, or MOVER over strata and decisions that weigh apart."""
    if sample.plain:
        found = accuracy_interval(sample.rows)
        return (0.0, 1.0) if found is None else (found.low, found.high)
    cells, _ = sample.cells(sample.rows.correct)
    return _clamped(cells.ends(np.zeros_like(cells.rate), np.ones_like(cells.rate)))


def _share_ends(hit: Bools, weight: Floats) -> tuple[float, float]:
    """Wilson's interval of a weighted share at Kish's effective number; 0..1 without rows."""
    ess = effective_sample_size(weight) or 0.0
    share = float((weight * hit).sum() / weight.sum()) if ess else 0.0
    return wilson(min(share, 1.0) * ess, ess)


def _class_rate(sample: Sample, *, passes: bool) -> tuple[float, float]:
    """The ends of the sensitivity (``passes``), or of the specificity, with A right and B missed.

    Plain rows: Wilson within the class. Others: every rate s for which ``A(1-s) - B·s``, linear in
    the cells, may be 0 (Fieller's test inverted, with MOVER as in Donner and Zou 2012); never
    narrower than Wilson's on all verdicts of the class in the run.
    """
    rows = sample.rows
    passed = rows.passed if rows.passed is not None else np.zeros_like(rows.correct)
    ours = passed if passes else ~passed
    if sample.plain:
        members = (passed == rows.correct) == passes
        return _share_ends(ours[members], rows.weight[members])
    cells, side = sample.cells(rows.correct)
    said = side if passes else ~side
    hit = float(cells.share[said] @ cells.rate[said])
    missed = float(cells.share[~said] @ (1 - cells.rate[~said]))
    if hit + missed <= 0:
        return 0.0, 1.0
    share, size = hit / (hit + missed), (hit + missed) * cells.total

    def difference(s: float) -> tuple[float, float]:
        return cells.ends(np.where(said, 0.0, -s), np.where(said, 1 - s, s))

    low = _crossing(lambda s: difference(s)[0] > 0, 0.0, share)
    high = _crossing(lambda s: difference(s)[1] >= 0, share, 1.0)
    least = wilson(share * size, size)
    return min(low, least[0]), max(high, least[1])


def _crossing(above: Callable[[float], bool], left: float, right: float) -> float:
    """Where a condition that holds on the left ends to hold, by bisection."""
    if not above(left):
        return left
    if above(right):
        return right
    for _ in range(_STEPS):
        middle = (left + right) / 2
        left, right = (middle, right) if above(middle) else (left, middle)
    return (left + right) / 2


def _brier(
    rows: Rows, shown: Interval | None, right: tuple[float, float]
) -> tuple[float | None, float | None]:
    """The bootstrap's ends; of labels that all agree, those that another kind of label could give.

    Every redraw of labels that all agree is the same, so that four of them would settle the
    figure. There the ends are ``a·L + (1 - a)·M`` at both ends of the accuracy a, with L and M the
    mean losses of these confidences if right and if wrong.
    """
    if not _one_sided(rows):
        return (None, None) if shown is None else (shown.low, shown.high)
    weight = rows.weight / rows.weight.sum()
    hit, miss = float(weight @ (1 - rows.confidence) ** 2), float(weight @ rows.confidence**2)
    ends = [share * hit + (1 - share) * miss for share in right]
    ends += [] if shown is None else [shown.low, shown.high]
    return min(ends), max(ends)


def _gap(
    rows: Rows, gap: float, shown: Interval | None, right: tuple[float, float]
) -> tuple[float | None, float | None]:
    """The normal ends; of labels that all agree, with Wilson's doubt about the accuracy in them."""
    if not _one_sided(rows):
        return (None, None) if shown is None else (shown.low, shown.high)
    share = float(rows.correct[0])
    low, high = (gap, gap) if shown is None else (shown.low, shown.high)
    below, above = math.hypot(gap - low, right[1] - share), math.hypot(high - gap, share - right[0])
    return max(gap - below, -1.0), min(gap + above, 1.0)


def _one_sided(rows: Rows) -> bool:
    """Whether every verdict was right, or every one wrong."""
    return bool(rows.correct.all() or not rows.correct.any())


def _kappa(sample: Sample) -> Ranged:
    """Cohen's kappa of weighted rows, redrawn within each stratum."""
    rows = sample.rows
    passed = rows.passed if rows.passed is not None else np.zeros_like(rows.correct)
    # tp, fn, tn, fp by decision and truth.
    cell = np.where(rows.correct, np.where(passed, 0, 2), np.where(passed, 3, 1))
    strata = sample.strata or [""] * len(cell)
    groups: dict[str, dict[tuple[int, float], int]] = {name: {} for name in sorted(set(strata))}
    for name, kind, weight in zip(strata, cell.tolist(), rows.weight.tolist(), strict=True):
        mine = groups[name]
        mine[kind, weight] = mine.get((kind, weight), 0) + 1
    return _kappa_of([_group(groups[name]) for name in groups])


def _group(counted: Mapping[tuple[int, float], int]) -> tuple[Floats, Floats]:
    """Rows of one stratum by cell and weight: how many of each, and what one adds to each cell."""
    keys = sorted(counted)
    adds = np.zeros((len(keys), 4))
    for at, (kind, weight) in enumerate(keys):
        adds[at, kind] = weight
    return np.array([float(counted[key]) for key in keys]), adds


def _kappa_of(strata: Sequence[tuple[Floats, Floats]]) -> Ranged:
    """``(p_o - p_e) / (1 - p_e)`` with its percentile bootstrap, seeded, within strata.

    2.5% and 97.5% of the redraws in which it is defined; ``None`` where p_e is 1, and without ends
    under two rows. Source: Cohen 1960; Efron 1979.
    """
    value = float(_kappas(sum((counts @ adds for counts, adds in strata), np.zeros(4))[None])[0])
    if math.isnan(value):
        return Ranged(None, reason=NO_KAPPA)
    if sum(float(counts.sum()) for counts, _ in strata) < 2:
        return Ranged(value)
    rng = np.random.default_rng(SEED)
    mass = np.zeros((RESAMPLES, 4))
    for counts, adds in strata:
        size = round(float(counts.sum()))
        chances = counts / counts.sum()
        step = max(1, CHUNK // len(counts))
        for start in range(0, RESAMPLES, step):
            stop = min(start + step, RESAMPLES)
            mass[start:stop] += rng.multinomial(size, chances, stop - start) @ adds
    found = _kappas(mass)
    if np.isnan(found).all():
        return Ranged(value)
    low, high = np.nanquantile(found, [TAIL, 1 - TAIL])
    return Ranged(value, float(low), float(high))


def _kappas(mass: Floats) -> Floats:
    """Kappa per row of tp, fn, tn, fp; NaN where the expected agreement is 1, or nothing is."""
    total = mass.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        tp, fn, tn, fp = (mass / total[:, None]).T
        expected = (tp + fp) * (tp + fn) + (tn + fn) * (tn + fp)
        found: Floats = np.where(
            expected < 1 - SLACK, (tp + tn - expected) / (1 - expected), np.nan
        )
    return found


def _clamped(ends: tuple[float, float]) -> tuple[float, float]:
    return max(ends[0], 0.0), min(ends[1], 1.0)
