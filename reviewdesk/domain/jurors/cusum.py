"""Where a juror's offsets leave their usual level, with false alarms held over a whole run."""

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
"""What each value is let off: half of the shift, in deviations, that is found soonest."""
SETTLED = 10
"""Offsets from which a window may serve CUSUM as what is usual."""
RISK = 0.05
"""The share of driftless runs in which any juror of the run may sound an alarm."""
_STILL = 1e-6
"""Offsets with a deviation of no more than this do not vary."""
SIMULATED = 5_000
"""Verdicts up to which the limit is simulated."""
SHUFFLES = 499
"""With 499, the 25th largest of 500 is the 5% point exactly."""
_SPARE = 2
"""How many places beyond it the limit is taken: 4.6%, so that 2,000 runs show under 6%."""
_HELD = 1 << 22
"""Numbers held at once while shuffling: 32 MB."""
_OVERSHOOT = 1.166
"""How far beyond its limit a sum of normal steps ends, taken on both sides of the sum."""


def cusum(z: Iterable[float], k: float = STEP, h: float = 5.0) -> int | None:
    """The first place where standardised values have left their usual level, or ``None``.

    ``S⁺ = max(0, S⁺ + z - k)`` and ``S⁻ = max(0, S⁻ - z - k)`` start at 0, and either above ``h``
    is the alarm; a NaN is passed over. Source: Page 1954; Montgomery, Introduction to Statistical
    Quality Control, on the tabular CUSUM.
    """
    up = down = 0.0
    for place, value in enumerate(z):
        if math.isnan(value):
            continue
        up, down = max(0.0, up + value - k), max(0.0, down - value - k)
        if max(up, down) > h + SLACK:
            return place
    return None


def alarms(usual: Floats, later: Floats) -> tuple[float | None, list[int | None]]:
    """The limit h for a run, and for each of J jurors the first row of ``later`` beyond it.

    ``usual`` ``[n, J]`` and ``later`` ``[m, J]`` are offsets by verdict, NaN where there is none.
    In at most 5% of driftless runs any juror of them has an alarm. The limit is ``None`` without a
    juror that has ten usual offsets which vary, and such a juror has no alarm.
    """
    if not usual.shape[1] or not len(later):
        return None, [None] * usual.shape[1]
    if len(later) <= SIMULATED:
        usual = usual[-SIMULATED:]
        z, h = standardised(usual, later), simulated_limit(usual, later)
    else:
        z = np.column_stack([_scores(*pair) for pair in zip(usual.T, later.T, strict=True)])
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
    """``later`` ``[m, J]`` less the mean over the deviation of ``usual`` ``[n, J]``.

    A juror without ten usual offsets, or whose usual offsets do not vary, is NaN throughout.
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
    """The largest CUSUM of any of J jurors over m steps: ``[...]`` for ``[m, ..., J]``."""
    up = np.zeros(z.shape[1:])
    down, top = up.copy(), up.copy()
    missing = np.isnan(z)
    some = bool(missing.any())
    for row, off in zip(z, missing, strict=True):
        rise, fall = row - STEP, -row - STEP
        if some:
            rise[off] = fall[off] = 0.0
        np.maximum(up + rise, 0.0, out=up)
        np.maximum(down + fall, 0.0, out=down)
        np.maximum(top, up, out=top)
        np.maximum(top, down, out=top)
    found: Floats = top.max(axis=-1)
    return found


def simulated_limit(usual: Floats, later: Floats, shuffles: int = SHUFFLES) -> float | None:
    """The limit that 5% of shuffles of a run pass: of the verdicts of both windows, put anew.

    Without a drift every order of the verdicts is as likely as the one at hand, and whole verdicts
    are shuffled, so the limit is right for offsets of any shape that hang together between jurors,
    and for a usual level that is itself estimated. ``None`` where nothing can be standardised.
    Source: Pitman 1937, on permutation tests.
    """
    rows, n = np.concatenate([usual, later]), len(usual)
    # Each run has shuffles of its own: one set for all would be wrong for all to the same side.
    rng = np.random.default_rng(zlib.crc32(rows.tobytes()))
    there = ~np.isnan(rows)
    # Near 0, the squares below lose nothing to the mean.
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
    """The limit that 5% of runs of so many steps and jurors pass, for normal offsets.

    One side of one juror has an alarm each ``(e^(2kb) - 2kb - 1)/(2k²)`` steps, ``b = h + 1.166``;
    alarms over both sides and all jurors are Poisson, as if jurors were independent, and a level
    learnt from ``usual`` offsets makes them ``e^(2b²/usual)`` times as frequent. Source: Siegmund
    1985, Sequential Analysis.
    """
    low, high = 0.0, 100.0
    for _ in range(60):
        h = (low + high) / 2
        b = h + _OVERSHOOT
        length = (math.exp(2 * STEP * b) - 2 * STEP * b - 1) / (2 * STEP**2)
        expected = 2 * steps * jurors / length * math.exp(min(2 * b * b / usual, 50.0))
        low, high = (h, high) if expected > -math.log(1 - RISK) else (low, h)
    return high


_GRID = np.linspace(-5, 5, 4_001)
_NORMAL = np.asarray([NormalDist().cdf(float(z)) for z in _GRID])


def _scores(usual: Floats, later: Floats) -> Floats:
    """Normal scores of ``later``: where each lies among the usual, as a deviation.

    Their tails are those of a normal distribution whatever the offsets look like, which the
    approximation rests on. NaN where the usual ones are under ten or do not vary.
    """
    known = np.sort(usual[~np.isnan(usual)])
    if len(known) < SETTLED or known[-1] - known[0] <= SLACK:
        return np.full(len(later), np.nan)
    middle = (np.searchsorted(known, later, "left") + np.searchsorted(known, later, "right")) / 2
    found = np.interp((middle + 0.5) / (len(known) + 1), _NORMAL, _GRID)
    return np.where(np.isnan(later), np.nan, found)
