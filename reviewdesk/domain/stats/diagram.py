"""The bins of a reliability diagram, compared with those of a calibrated judge."""

from __future__ import annotations

import math
from enum import StrEnum

from reviewdesk.domain.stats.calibration_page import CalibrationPage, DrillDown
from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.figures import Bin, Interval
from reviewdesk.domain.verdict import SLACK

LAST = 9
"""The index of the last bin."""


class BinPosition(StrEnum):
    """Where a bin lies relative to a calibrated judge's band; below it is overconfident."""

    INSIDE = "inside"
    BELOW = "outside, below"
    ABOVE = "outside, above"


def band(one: Bin) -> Interval:
    """Return where the accuracy of a calibrated judge's bin would lie 95 times in 100.

    ``c ± z·√(c(1-c)/n)`` with c the bin's mean confidence and n its effective sample size, clamped
    to 0..1: the normal approximation, which is rough under about five labels.
    """
    c = one.mean_confidence
    half = Z * math.sqrt(max(c * (1 - c), 0.0) / one.ess)
    return Interval(max(c - half, 0.0), min(c + half, 1.0))


def place(one: Bin) -> BinPosition:
    """Return whether a bin lies inside, below or above its band; the band includes its ends."""
    expected = band(one)
    if one.accuracy < expected.low - SLACK:
        return BinPosition.BELOW
    return BinPosition.ABOVE if one.accuracy > expected.high + SLACK else BinPosition.INSIDE


def edges(index: int) -> tuple[float, float]:
    """Return the confidences that bound a bin; the bin includes the upper one only if it is 1."""
    return index / 10, (index + 1) / 10


def bin_drills(page: CalibrationPage, *, blind: bool) -> tuple[DrillDown, ...]:
    """Return a drill-down to the labelled verdicts of each bin.

    Return none in a blind session: its bins use confidences from the labelled verdicts alone, but a
    filter reads the run's confidence, which may be of another kind.
    """
    if blind or page.fit is None:
        return ()
    bins = {one.index: one for one in page.fit.bins}
    return tuple(
        DrillDown(
            f"right {bins[index].accuracy:.2f}" if index in bins else "weighs nothing",
            _bin_filter(index),
            count,
        )
        for index, count in sorted(page.bins.items())
    )


def _bin_filter(index: int) -> str:
    """Return the filter that lists a bin's labelled verdicts; the last bin has no upper end."""
    low, high = (f"{edge:.1f}"[1:] for edge in edges(index))
    above = f"confidence>={low if index else 0}"
    below = f" confidence<{high}"
    return f"label:pass|label:fail {above}{below if index < LAST else ''}"
