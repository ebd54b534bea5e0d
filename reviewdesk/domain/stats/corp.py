"""Decompositions of the Brier score: by isotonic regression (CORP) and by bins (Murphy)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reviewdesk.domain.stats.calibration import Floats, Rows, bin_index, brier
from reviewdesk.domain.stats.counters import BINS
from reviewdesk.domain.stats.figures import Corp, Murphy
from reviewdesk.domain.stats.reliability import PLACES, levels, weighted_rows


class Isotonic(Struct, frozen=True):
    """The non-decreasing fit to the outcomes: ``fitted[i]`` at confidence ``at[i]``."""

    at: Floats
    fitted: Floats

    def __call__(self, confidence: Floats) -> Floats:
        """Evaluate the fit: linear between two levels, constant beyond the ends."""
        return np.interp(confidence, self.at, self.fitted)


def isotonic(rows: Rows) -> Isotonic | None:
    """Fit a function that never falls, by pooling adjacent violators; ``None`` without rows.

    It minimises ``Σ w (f(c) - y)²`` over non-decreasing f; rows of equal confidence are pooled
    first. Source: Ayer et al. 1955.
    """
    rows = weighted_rows(rows)
    if not len(rows.weight):
        return None
    at, place = levels(rows.confidence)
    mass = np.bincount(place, weights=rows.weight)
    right = np.bincount(place, weights=rows.weight * rows.correct)
    return Isotonic(at, _pool_violators(right.tolist(), mass.tolist()))


def _pool_violators(right: list[float], mass: list[float]) -> Floats:
    """Pool neighbours until the ratio of right to mass rises from block to block."""
    blocks: list[tuple[float, float, int]] = []
    for hits, weight in zip(right, mass, strict=True):
        block = (hits, weight, 1)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            last = blocks.pop()
            block = (last[0] + block[0], last[1] + block[1], last[2] + block[2])
        blocks.append(block)
    rates = [min(hits / weight, 1.0) for hits, weight, _ in blocks]
    return np.repeat(rates, [size for _, _, size in blocks])


def corp(rows: Rows) -> Corp | None:
    """Decompose Brier = miscalibration - discrimination + uncertainty; ``None`` without rows.

    With r the isotonic fit and m the weighted accuracy, MCB = Brier(c) - Brier(r), DSC = Brier(m) -
    Brier(r), UNC = m(1-m). Source: Dimitriadis, Gneiting and Jordan 2021.
    """
    rows = weighted_rows(rows)
    fit, whole = isotonic(rows), brier(rows)
    if fit is None or whole is None:
        return None
    best = float(np.average((_evaluate(fit, rows) - rows.correct) ** 2, weights=rows.weight))
    uncertainty = _uncertainty(rows)
    # Both differences are at least 0 but for rounding.
    miss, skill = max(whole - best, 0.0), max(uncertainty - best, 0.0)
    return Corp(miss, skill, uncertainty, whole, _corners(fit))


def _evaluate(fit: Isotonic, rows: Rows) -> Floats:
    return fit(np.round(rows.confidence, PLACES))


def _corners(fit: Isotonic) -> tuple[tuple[float, float], ...]:
    """Return both ends of every flat stretch, from which the whole line can be drawn."""
    steps: npt.NDArray[np.bool_] = fit.fitted[1:] != fit.fitted[:-1]
    kept = np.append(steps, True) | np.insert(steps, 0, True)
    return tuple(zip(fit.at[kept].tolist(), fit.fitted[kept].tolist(), strict=True))


def _uncertainty(rows: Rows) -> float:
    base = float(np.average(rows.correct, weights=rows.weight))
    return base * (1 - base)


def murphy(rows: Rows) -> Murphy | None:
    """Decompose Brier by bins: reliability - resolution + uncertainty + variance - covariance.

    The sum is exact. A bin has weight share p, mean confidence f and accuracy o; m is the overall
    accuracy. The terms are ``Σ p(f-o)²``, ``Σ p(o-m)²``, ``m(1-m)``, and over rows the means of
    ``(c-f)²`` and of ``2(c-f)(y-o)``. ``None`` without rows. Source: Murphy 1973; Stephenson,
    Coelho and Jolliffe 2008 for the terms within bins.
    """
    rows = weighted_rows(rows)
    whole = brier(rows)
    if whole is None:
        return None
    index, weight = bin_index(rows.confidence), rows.weight / rows.weight.sum()
    right = rows.correct.astype(np.float64)
    mass = np.bincount(index, weights=weight, minlength=BINS)
    filled = np.where(mass > 0, mass, 1.0)
    mean = np.bincount(index, weights=weight * rows.confidence, minlength=BINS) / filled
    rate = np.bincount(index, weights=weight * right, minlength=BINS) / filled
    off = rows.confidence - mean[index]
    return Murphy(
        reliability=float((mass * (mean - rate) ** 2).sum()),
        resolution=float((mass * (rate - (mass * rate).sum()) ** 2).sum()),
        uncertainty=_uncertainty(rows),
        within_bin_variance=float((weight * off**2).sum()),
        within_bin_covariance=float(2 * (weight * off * (right - rate[index])).sum()),
        brier=whole,
    )
