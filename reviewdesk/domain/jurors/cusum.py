"""Finds where a juror's offsets leave their usual level, with false alarms limited per run."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.verdict import SLACK

Floats = npt.NDArray[np.float64]

STEP = 0.5
"""The allowance k per value, in deviations: half of the shift that is found soonest."""
SETTLED = 10
"""The fewest offsets of a window from which CUSUM learns the usual level."""
RISK = 0.05
"""The share of driftless runs in which any juror may raise an alarm."""
_STILL = 1e-6
"""Offsets do not vary if their standard deviation is no larger than this."""
SIMULATED = 5_000
"""The most verdicts for which the limit is simulated."""
SHUFFLES = 499
"""With 499, the 25th largest of 500 is the 5% point exactly."""
_SPARE = 2
"""The limit lies this many ranks beyond the 5% point: at 4.6%, so 2,000 runs show under 6%."""
_HELD = 1 << 22
"""Numbers held in memory at once while shuffling: 32 MB."""
_OVERSHOOT = 1.166
"""How far a sum of normal steps overshoots its limits, added for both ends."""


def cusum(z: Iterable[float], k: float = STEP, h: float = 5.0) -> int | None:
    """Return the first index where standardised values have left their usual level, or ``None``.

    ``S⁺ = max(0, S⁺ + z - k)`` and ``S⁻ = max(0, S⁻ - z - k)`` start at 0; the alarm is where
    either exceeds ``h``. NaN values are skipped. Source: Page 1954; Montgomery, Introduction to
    Statistical Quality Control, on the tabular CUSUM.
    """
    up = down = 0.0
    for place, value in enumerate(z):
        if math.isnan(value):
            continue
        up = max(0.0, up + value - k)
        down = max(0.0, down - value - k)
        if max(up, down) > h + SLACK:
            return place
    return None


def alarms(usual: Floats, later: Floats) -> tuple[float | None, list[int | None]]:
    """Return the limit h of a run, and for each of J jurors the first row of ``later`` beyond it.

    ``usual`` ``[n, J]`` and ``later`` ``[m, J]`` are offsets by verdict, NaN where there is none.
    At most 5% of driftless runs have an alarm of any juror. A juror without ten usual offsets, or
    whose usual offsets do not vary, has no alarm; if all are such, the limit is ``None``.
    """
    if not usual.shape[1] or not len(later):
        return None, [None] * usual.shape[1]
    if len(later) <= SIMULATED:
        usual = usual[-SIMULATED:]
        z = standardised(usual, later)
        h = simulated_limit(usual, later)
    else:
        z = np.column_stack([_normal_scores(*pair) for pair in zip(usual.T, later.T, strict=True)])
        there = ~np.isnan(z).all(axis=0)
        settled = (~np.isnan(usual)).sum(axis=0)[there]
        h = (
            siegmund_limit(len(later), int(there.sum()), int(settled.min()))
            if len(settled)
            else None
        )
    if h is None or np.isnan(z).all():
        return None, [None] * usual.shape[1]
    return h, [cusum(column.tolist(), h=h) for column in z.T]


def standardised(usual: Floats, later: Floats) -> Floats:
    """Return ``later`` ``[m, J]`` in standard deviations of ``usual`` ``[n, J]`` from its mean.

    The column of a juror is NaN without ten usual offsets, or if these do not vary.
    """
    there = ~np.isnan(usual)
    n = there.sum(axis=0)
    mean = np.where(there, usual, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(there, usual - mean, 0.0) ** 2
    sd = np.sqrt(squares.sum(axis=0) / np.maximum(n - 1, 1))
    sd = np.where((n >= SETTLED) & (sd > _STILL), sd, np.nan)
    found: Floats = (later - mean) / sd
    return found


def peaks(z: Floats) -> Floats:
    """Return the largest CUSUM of any of J jurors over m steps: ``[...]`` for ``[m, ..., J]``."""
    up = np.zeros(z.shape[1:])
    down = up.copy()
    top = up.copy()
    missing = np.isnan(z)
    some = bool(missing.any())
    for row, off in zip(z, missing, strict=True):
        rise = row - STEP
        fall = -row - STEP
        if some:
            rise[off] = fall[off] = 0.0
        np.maximum(up + rise, 0.0, out=up)
        np.maximum(down + fall, 0.0, out=down)
        np.maximum(top, up, out=top)
        np.maximum(top, down, out=top)
    found: Floats = top.max(axis=-1)
    return found


def simulated_limit(usual: Floats, later: Floats, shuffles: int = SHUFFLES) -> float | None:
    """Shuffle the verdicts of both windows and return the limit that under 5% of orders exceed.

    Without drift, every order of the verdicts is as likely as the observed one. Whole verdicts are
    shuffled, so that the limit holds for offsets of any distribution, correlated between jurors,
    and for a usual level that is itself estimated. ``None`` if nothing can be standardised.
    Source: Pitman 1937, on permutation tests.
    """
    rows = np.concatenate([usual, later])
    n = len(usual)
    # Seeded by the data: one set of shuffles for all runs would bias all limits the same way.
    rng = np.random.default_rng(zlib.crc32(rows.tobytes()))
    there = ~np.isnan(rows)
    # Centred, so that the squares below lose no digits to a large mean.
    rows -= np.where(there, rows, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    known = np.where(there, rows, 0.0)
    step = max(1, min(shuffles, _HELD // max(rows.size, 1)))
    found = []
    for start in range(0, shuffles, step):
        orders = np.argsort(rng.random((min(step, shuffles - start), len(rows))), axis=1)
        first = np.zeros(orders.shape)
        np.put_along_axis(first, orders[:, :n], 1.0, axis=1)
        count = first @ there
        mean = first @ known / np.maximum(count, 1)
        spread = np.maximum(first @ known**2 - count * mean**2, 0.0)
        sd = np.sqrt(spread / np.maximum(count - 1, 1))
        sd[(count < SETTLED) | (sd <= _STILL)] = np.nan
        found.append(peaks((rows[orders[:, n:].T] - mean) / sd))
    tops = np.sort(np.concatenate(found))
    limit = float(tops[min(math.ceil((1 - RISK) * (shuffles + 1)) - 1 + _SPARE, shuffles - 1)])
    return limit if limit > 0 else None


def siegmund_limit(steps: int, jurors: int, usual: int) -> float:
    """Compute the limit that 5% of runs of so many steps and jurors exceed, for normal offsets.

    One side of one juror has an alarm every ``(e^(2kb) - 2kb - 1)/(2k²)`` steps, ``b = h + 1.166``.
    Alarms over both sides and all jurors are taken as Poisson, as if jurors were independent; a
    level estimated from ``usual`` offsets makes them ``e^(2b²/usual)`` times as frequent. Source:
    Siegmund 1985, Sequential Analysis.
    """
    low = 0.0
    high = 100.0
    for _ in range(60):
        h = (low + high) / 2
        b = h + _OVERSHOOT
        length = (math.exp(2 * STEP * b) - 2 * STEP * b - 1) / (2 * STEP**2)
        expected = 2 * steps * jurors / length * math.exp(min(2 * b * b / usual, 50.0))
        low, high = (h, high) if expected > -math.log(1 - RISK) else (low, h)
    return high


_GRID = np.linspace(-5, 5, 4_001)
_NORMAL = np.asarray([NormalDist().cdf(float(z)) for z in _GRID])


def _normal_scores(usual: Floats, later: Floats) -> Floats:
    """Return the normal scores of ``later`` ``[m]``: its ranks among ``usual``, in deviations.

    Their tails are normal whatever the distribution of the offsets, as ``siegmund_limit`` requires.
    All are NaN if there are under ten usual offsets, or if these do not vary.
    """
    known = np.sort(usual[~np.isnan(usual)])
    if len(known) < SETTLED or known[-1] - known[0] <= SLACK:
        return np.full(len(later), np.nan)
    middle = (np.searchsorted(known, later, "left") + np.searchsorted(known, later, "right")) / 2
    found = np.interp((middle + 0.5) / (len(known) + 1), _NORMAL, _GRID)
    return np.where(np.isnan(later), np.nan, found)
