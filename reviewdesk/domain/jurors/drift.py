"""Detects whether a juror's scores have drifted: its offsets from other jurors in two windows."""

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jurors.facts import Drift, Offset, Seats, Windows
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.stats.dense import Floats, Ints, Moments
from reviewdesk.domain.stats.distributions import benjamini_hochberg, t_quantile, t_two_sided
from reviewdesk.domain.verdict import SLACK

SETTLED = 10
"""The fewest offsets of a window from which CUSUM learns the usual level."""
RISK = 0.05
"""The share of driftless runs in which any juror may raise an alarm."""
_STILL = 1e-6
"""Offsets do not vary if their standard deviation is no larger than this."""
SIMULATED = 5_000
"""The most verdicts of either window, the newest, that CUSUM watches."""


def cusum(z: Floats, k: float = 0.5, h: float = math.inf) -> tuple[Floats, Ints]:
    """Return the largest CUSUM of each column of standardised values, and where it exceeds ``h``.

    ``z`` is ``[m, ...]``, both results ``[...]``; -1 if no row exceeds the limit. NaN is skipped.
    Source: Page 1954.
    """
    up = np.zeros(z.shape[1:])
    down = up.copy()
    top = up.copy()
    first = np.full(z.shape[1:], -1)
    missing = np.isnan(z)
    some = bool(missing.any())
    for place, row in enumerate(z):
        rise = row - k
        fall = -row - k
        if some:
            rise[missing[place]] = fall[missing[place]] = 0.0
        np.maximum(up + rise, 0.0, out=up)
        np.maximum(down + fall, 0.0, out=down)
        np.maximum(top, up, out=top)
        np.maximum(top, down, out=top)
        if h < math.inf:
            first[(first < 0) & (top > h + SLACK)] = place
    return top, first


def alarms(usual: Floats, later: Floats) -> tuple[float | None, list[int | None]]:
    """Return the limit h of a run, and for each of J jurors the first row of ``later`` beyond it.

    ``usual`` ``[n, J]`` and ``later`` ``[m, J]`` are offsets, NaN if missing. ``None`` without any.
    """
    usual = usual[-SIMULATED:]
    earlier = max(len(later) - SIMULATED, 0)
    later = later[earlier:]
    h = simulated_limit(usual, later) if later.size else None
    z = standardised(usual, later)
    if h is None or np.isnan(z).all():
        return None, [None] * usual.shape[1]
    return h, [None if row < 0 else earlier + row for row in cusum(z, h=h)[1].tolist()]


def standardised(usual: Floats, later: Floats) -> Floats:
    """Return ``later`` ``[m, J]`` in standard deviations of ``usual`` from its mean, or NaN."""
    there = ~np.isnan(usual)
    n = there.sum(axis=0)
    mean = np.where(there, usual, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(there, usual - mean, 0.0) ** 2
    sd = np.sqrt(squares.sum(axis=0) / np.maximum(n - 1, 1))
    sd = np.where((n >= SETTLED) & (sd > _STILL), sd, np.nan)
    return np.asarray((later - mean) / sd)


def simulated_limit(usual: Floats, later: Floats, shuffles: int = 499) -> float | None:
    """Shuffle the verdicts of both windows and return the limit that under 5% of orders exceed.

    Whole verdicts are shuffled, so that the limit holds for offsets of any distribution, correlated
    between jurors. ``None`` if nothing can be standardised. Source: Pitman 1937.
    """
    rows = np.concatenate([usual, later])
    n = len(usual)
    # Seeded by the data: one set of shuffles for all runs would bias all limits the same way.
    rng = np.random.default_rng(zlib.crc32(rows.tobytes()))
    there = ~np.isnan(rows)
    # Centred, so that the squares below lose no digits to a large mean.
    rows -= np.where(there, rows, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    known = np.where(there, rows, 0.0)
    # 32 MB of numbers at once.
    step = max(1, min(shuffles, (1 << 22) // max(rows.size, 1)))
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
        found.append(cusum((rows[orders[:, n:].T] - mean) / sd)[0].max(axis=-1))
    tops = np.sort(np.concatenate(found))
    # Two ranks beyond the 5% point: at 4.6%, so that 2,000 runs show under 6%.
    limit = float(tops[min(math.ceil((1 - RISK) * (shuffles + 1)) - 1 + 2, shuffles - 1)])
    return limit if limit > 0 else None


def welch(one: Moments, two: Moments) -> tuple[float, float, float, float, float] | None:
    """Return the 95% ends of ``m2 - m1``, Welch's t, its degrees of freedom, and its two-sided p.

    ``None`` under two values on either side, and if neither side varies. Source: Welch 1947.
    """
    if one.sd is None or two.sd is None or max(one.sd, two.sd) <= SLACK:
        return None
    part1 = one.sd**2 / one.n
    part2 = two.sd**2 / two.n
    df = (part1 + part2) ** 2 / (part1**2 / (one.n - 1) + part2**2 / (two.n - 1))
    error = math.sqrt(part1 + part2)
    change = two.mean - one.mean
    off = error * t_quantile(0.975, df)
    return change - off, change + off, change / error, df, t_two_sided(change / error, df)


class Offsets(Struct, frozen=True):
    """Offsets ``[n, names]`` by verdict, NaN for none; a verdict without any is left out."""

    names: tuple[str, ...]
    keys: Ints
    rows: Floats

    def of(self, name: str) -> Floats:
        column = self.rows[:, self.names.index(name)]
        return column[~np.isnan(column)]


def offsets(found: Columns) -> Offsets:
    """Return each juror's offsets: its score less the others' mean, where two or more scored."""
    there = ~np.isnan(found.scores) & (found.juror >= 0)
    given = there.sum(axis=0)
    total = np.where(there, found.scores, 0.0).sum(axis=0)
    rows, seats = np.nonzero((there & (given >= 2)).T)
    score = found.scores[seats, rows]
    used, place = np.unique(rows, return_inverse=True)
    made = np.full((len(used), len(found.names)), np.nan)
    made[place, found.juror[seats, rows]] = score - (total[rows] - score) / (given[rows] - 1)
    return Offsets(found.names, found.key[used], made)


def seats(found: Columns, unparsed: Iterable[tuple[int, int]]) -> dict[str, Seats]:
    """Count each juror's seats in a run, by name; ``unparsed`` is (key, seat) of each bad reply."""
    sat = found.juror >= 0
    bad = np.zeros_like(sat)
    for key, seat in unparsed:
        bad[seat, np.searchsorted(found.key, key)] = True
    first = np.full(len(found.names), len(sat))
    np.minimum.at(first, found.juror[sat], np.nonzero(sat)[0])
    marks = (sat, found.failed, bad, found.votes >= 0, found.votes == 1, found.not_asked)
    counts = [np.bincount(found.juror[sat & mark], minlength=len(first)) for mark in marks]
    rows = zip(found.names, np.array([first, *counts]).T.tolist(), strict=True)
    return {name: Seats(*figures) for name, figures in rows}


class Past(Struct, frozen=True):
    """Earlier runs: offsets ``[n, names]`` by verdict, and each juror's runs and moments."""

    jurors: Mapping[str, tuple[int, Moments]]
    rows: Floats


def earlier(found: Iterable[Columns], jurors: Sequence[str]) -> Past:
    """Combine earlier runs of exactly these jurors, oldest first; others would shift offsets."""
    made: dict[str, tuple[int, Moments]] = {}
    rows = np.empty((0, len(jurors)))
    for run in found:
        if set(run.names) == set(jurors):
            here = offsets(run)
            for name in here.names:
                if len(mine := here.of(name)):
                    runs, moments = made.get(name, (0, Moments()))
                    made[name] = runs + 1, moments.merge(Moments.of(mine))
            mine = here.rows[:, [run.names.index(name) for name in jurors]]
            rows = np.concatenate([rows, mine])[-SIMULATED:]
    return Past(made, rows)


NO_PAST = Past({}, np.empty((0, 0)))


def drifts(now: Offsets, past: Past = NO_PAST) -> dict[str, Offset]:
    """Return each juror's mean offset and its drift, with p adjusted over all jurors with one."""
    values = {name: mine for name in now.names if len(mine := now.of(name))}
    made: dict[str, Drift | None] = {}
    for name, mine in values.items():
        window = Windows.EARLIER
        runs, former = past.jurors.get(name, (0, Moments()))
        if former.n < 2:
            window = Windows.HALVES
            runs = 0
            former = Moments.of(mine[: len(mine) // 2])
        after = Moments.of(mine[0 if runs else len(mine) // 2 :])
        tested = welch(former, after) or (None,) * 5
        found = Drift(window, runs, former.n, after.n, after.mean - former.mean, *tested)
        made[name] = found if former.n else None
    adjusted = benjamini_hochberg([one.p if one else None for one in made.values()])
    half = 0 if len(past.rows) else len(now.rows) // 2
    limit, places = alarms(past.rows if len(past.rows) else now.rows[:half], now.rows[half:])
    placed = zip(now.names, places, strict=True)
    alarm = {name: int(now.keys[half + place]) for name, place in placed if place is not None}
    return {
        name: Offset(
            mean=float(mine.mean()),
            n=len(mine),
            drift=replace(one, q=q, alarm=alarm.get(name), limit=limit) if one else None,
        )
        for (name, mine), one, q in zip(values.items(), made.values(), adjusted, strict=True)
    }
