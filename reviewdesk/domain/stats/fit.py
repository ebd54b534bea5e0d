"""All figures that one set of rows gives for a judge's confidence."""

from __future__ import annotations

from reviewdesk.domain.stats.calibration import Rows, ece
from reviewdesk.domain.stats.chance_ece import null_ece
from reviewdesk.domain.stats.corp import corp, murphy
from reviewdesk.domain.stats.figures import Fit
from reviewdesk.domain.stats.intervals import (
    RESAMPLES,
    accuracy_interval,
    brier_interval,
    gap_interval,
)
from reviewdesk.domain.stats.recalibration import suggestions
from reviewdesk.domain.stats.reliability import (
    auroc,
    log_loss,
    reliability_bins,
    spiegelhalter,
)

REDRAWN = 4_000_000
"""The most rows drawn in all for the interval of Brier; larger sets get fewer redraws."""
FEWEST = 500


def fit(rows: Rows) -> Fit:
    """Compute every figure of the rows, with the rows' weights.

    Brier is redrawn 2,000 times; above 2,000 rows, as often as 4,000,000 drawn rows allow, but at
    least 500 times. The more rows there are, the fewer redraws a stable interval needs.
    """
    resamples = min(RESAMPLES, max(FEWEST, REDRAWN // max(len(rows.confidence), 1)))
    return Fit(
        n=len(rows.confidence),
        ece=ece(rows),
        null=null_ece(rows),
        bins=reliability_bins(rows),
        corp=corp(rows),
        murphy=murphy(rows),
        spiegelhalter=spiegelhalter(rows),
        auroc=auroc(rows),
        log_loss=log_loss(rows),
        brier=brier_interval(rows, resamples),
        gap=gap_interval(rows),
        accuracy=accuracy_interval(rows),
        suggestions=suggestions(rows),
    )
