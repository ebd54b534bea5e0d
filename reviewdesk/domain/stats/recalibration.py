"""Suggests simple maps of the judge's confidence by what they would gain; none is applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field

from reviewdesk.domain.stats.calibration import Floats, Rows, brier
from reviewdesk.domain.stats.corp import isotonic
from reviewdesk.domain.stats.figures import RecalibrationMethod, Suggestion
from reviewdesk.domain.stats.reliability import logit, spiegelhalter, weighted_rows

NEEDED = {
    RecalibrationMethod.TEMPERATURE: 30,
    RecalibrationMethod.PLATT: 100,
    RecalibrationMethod.ISOTONIC: 200,
}
"""The fewest rows for which each method is tried."""
RISK = 0.05
COLDEST, HOTTEST = 0.01, 100.0
FOLDS = 5
SEED = 20


class FittedMap(Struct, frozen=True):
    """A fitted map; ``bounded`` says that the best one lies at infinity and this replaces it."""

    apply: Callable[[Floats], Floats]
    parameters: Mapping[str, float] = field(default_factory=dict)
    bounded: bool = False


Fitter: TypeAlias = Callable[[Rows], FittedMap]


def suggestions(rows: Rows) -> tuple[Suggestion, ...]:
    """Return how much each method would change Brier, or why it is not tried.

    Temperature needs 30 rows and Spiegelhalter's p under 0.05, Platt 100 rows, isotonic 200. The
    change is cross-validated, because a fit looks too good on its own rows: each of five folds,
    dealt by a fixed seed, is mapped by the fit to the other four. Parameters fit all rows.
    """
    rows = weighted_rows(rows)
    return tuple(_suggest(method, fitter, rows) for method, fitter in FITTERS.items())


def _suggest(method: RecalibrationMethod, fitter: Fitter, rows: Rows) -> Suggestion:
    n, needed = len(rows.weight), NEEDED[method]
    if n < needed:
        return Suggestion(method, n, reason=f"needs {needed} labels, there are {n}")
    if method is RecalibrationMethod.TEMPERATURE:
        p = spiegelhalter(rows).p
        if p is None or p >= RISK:
            return Suggestion(method, n, reason=f"Spiegelhalter's p is not under {RISK}")
    fit, before, after = fitter(rows), brier(rows), brier(_cross_validate(fitter, rows))
    if before is None or after is None:
        return Suggestion(method, n, reason="no rows")
    return Suggestion(method, n, fit.parameters, before, after, after - before, fit.bounded)


def _cross_validate(fitter: Fitter, rows: Rows) -> Rows:
    fold = np.random.default_rng(SEED).permutation(len(rows.weight)) % FOLDS
    mapped = rows.confidence.copy()
    for one in range(FOLDS):
        held = fold == one
        fit = fitter(Rows(rows.confidence[~held], rows.correct[~held], rows.weight[~held]))
        mapped[held] = fit.apply(rows.confidence[held])
    return Rows(mapped, rows.correct, rows.weight)


def temperature(rows: Rows) -> FittedMap:
    """Fit ``σ(logit(c) / T)`` by the least weighted log-loss, T between 0.01 and 100.

    With x = logit(c), bisection over 1/T finds the root of ``Σ w·x·(σ(x/T) - y)``, which rises with
    1/T. The fit is bounded if the root lies beyond an end: the classes are separable, or confidence
    points the wrong way. T is 1 without rows or if every confidence is one half. Source: Guo et al.
    2017.
    """
    rows = weighted_rows(rows)
    x = logit(rows.confidence)
    if not x.any():
        return FittedMap(lambda confidence: confidence, {"temperature": 1.0})

    def slope(log_scale: float) -> float:
        return float((rows.weight * x * (sigmoid(np.exp(log_scale) * x) - rows.correct)).sum())

    low, high = -np.log(HOTTEST), -np.log(COLDEST)
    bounded = slope(low) >= 0 or slope(high) <= 0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) >= 0 else (middle, high)
    scale = float(np.exp((low + high) / 2))
    return FittedMap(lambda c: sigmoid(scale * logit(c)), {"temperature": 1 / scale}, bounded)


def platt(rows: Rows) -> FittedMap:
    """Fit ``σ(a + b·logit(c))`` by the least weighted log-loss: Newton's method, halving steps.

    If the classes do not overlap, no finite fit is best: the outcomes are softened to
    ``(W₁+1)/(W₁+2)`` and ``1/(W₀+2)``, W₁ and W₀ being the weight of right and of wrong rows, and
    the fit is marked bounded. With a single confidence, b stays 1. Without rows it is the identity.
    Source: Platt 1999.
    """
    rows = weighted_rows(rows)
    x, target = logit(rows.confidence), rows.correct.astype(np.float64)
    bounded = _separable(x, target)
    if bounded:
        right = float((rows.weight * target).sum())
        wrong = float(rows.weight.sum()) - right
        target = np.where(rows.correct, (right + 1) / (right + 2), 1 / (wrong + 2))
    if len(x) and np.ptp(x) > 0:
        intercept, slope = _fit_line(x, target, rows.weight)
    else:
        intercept, slope = (_intercept(x, target, rows.weight) if len(x) else 0.0), 1.0
    return FittedMap(
        lambda c: sigmoid(intercept + slope * logit(c)),
        {"intercept": intercept, "slope": slope},
        bounded,
    )


def isotonic_fit(rows: Rows) -> FittedMap:
    """Fit ``corp.isotonic``, linear between its levels, without parameters; identity if no rows."""
    found = isotonic(rows)
    return FittedMap(found if found is not None else lambda confidence: confidence)


def sigmoid(x: Floats) -> Floats:
    """Compute ``1 / (1 + exp(-x))`` without overflow."""
    return np.exp(-np.logaddexp(0.0, -x))


def _separable(x: Floats, target: Floats) -> bool:
    """Return True if one class is missing or a cut separates both, ties on the cut allowed."""
    right, wrong = x[target > 0], x[target == 0]
    if not len(right) or not len(wrong):
        return True
    apart = wrong.max() <= right.min() or right.max() <= wrong.min()
    return bool(apart and np.ptp(x) > 0)


def _intercept(x: Floats, target: Floats, weight: Floats) -> float:
    """Return the intercept at slope 1 that fits the mean outcome, if all x are equal."""
    mean = np.average(target, weights=weight)
    return float(np.log(mean / (1 - mean)) - x[0])


def _fit_line(x: Floats, target: Floats, weight: Floats) -> tuple[float, float]:
    """Fit a logistic regression on standardised x; return intercept and slope for x itself."""
    centre, spread = float(x.mean()), float(x.std())
    design = np.column_stack([np.ones_like(x), (x - centre) / spread])
    share = weight / weight.sum()

    def loss(line: Floats) -> float:
        fit = design @ line
        return float((share * (np.logaddexp(0.0, fit) - target * fit)).sum())

    line = np.zeros(2)
    for _ in range(100):
        mean = sigmoid(design @ line)
        gradient = design.T @ (share * (mean - target))
        curve = (design * (share * mean * (1 - mean))[:, None]).T @ design
        step = np.linalg.lstsq(curve, gradient, rcond=None)[0]
        while loss(line - step) > loss(line) and np.abs(step).max() > 1e-13:
            step = step / 2
        line = line - step
        if np.abs(step).max() <= 1e-13:
            break
    slope = float(line[1]) / spread
    return float(line[0]) - slope * centre, slope


FITTERS: Mapping[RecalibrationMethod, Fitter] = {
    RecalibrationMethod.TEMPERATURE: temperature,
    RecalibrationMethod.PLATT: platt,
    RecalibrationMethod.ISOTONIC: isotonic_fit,
}
