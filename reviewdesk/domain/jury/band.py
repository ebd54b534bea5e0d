"""The limits of the bands: how high an agreement counts as high, medium or low."""

from __future__ import annotations

import numpy as np

from reviewdesk.domain import arguments
from reviewdesk.domain.run.packing import NOTHING
from reviewdesk.domain.stats.dense import Floats, Ints
from reviewdesk.domain.verdict import SLACK, Band

HIGH_FROM = 0.8
MEDIUM_FROM = 0.667
"""The lowest agreement of the bands high and medium."""
BANDS = (Band.LOW, Band.MEDIUM, Band.HIGH)
"""The code of a band is its index here; -1 is none."""
LOW, MEDIUM, HIGH = range(3)


def bands(values: Floats) -> Ints:
    """Return the codes of the bands of raw agreements: high from 0.8, medium from 0.667, else low.

    NaN has no band.
    """
    found = np.where(values >= MEDIUM_FROM - SLACK, MEDIUM, LOW)
    found = np.where(values >= HIGH_FROM - SLACK, HIGH, found)
    return np.where(np.isnan(values), NOTHING, found)


def band(value: float | None) -> Band | None:
    """Return the band of a raw agreement: high from 0.8, medium from 0.667, else low.

    Return ``None`` for ``None``; raise UsageError if the value is not finite.
    """
    if value is None:
        return None
    return BANDS[int(bands(np.array([arguments.finite("agreement", value)]))[0])]
