"""All figures that one set of rows gives for a judge's confidence, with their 95% intervals."""

from __future__ import annotations

from reviewdesk.domain.stats.calibration import Bools, Rows, counters_of, effective_sample_size
from reviewdesk.domain.stats.chance_ece import null_ece
from reviewdesk.domain.stats.figures import Fit, Interval, Part, Target
from reviewdesk.domain.stats.intervals import (
    brier_interval,
    gap_interval,
    kappa_interval,
    loss_strata,
)
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.domain.stats.reliability import (
    auroc,
    log_loss,
    reliability_bins,
    spiegelhalter,
    weighted_rows,
)


def fit(rows: Rows) -> Fit:
    """Compute every figure of the rows, with the rows' weights.

    Intervals take the rows as drawn at random, from such items, with Kish's effective number of
    labels; a draw's strata are used by ``panel_intervals``.
    """
    labels = rows.by_label()
    heavy = weighted_rows(rows)
    strata = loss_strata(heavy, [0] * len(heavy.weight), {0: _part(heavy)})
    known = bool(len(heavy.weight))
    return Fit(
        n=rows.labels,
        ece=counters_of(rows).ece,
        null=null_ece(labels),
        bins=reliability_bins(rows),
        spiegelhalter=spiegelhalter(labels),
        auroc=auroc(rows),
        log_loss=log_loss(rows),
        brier=brier_interval(strata, Target.ITEMS) if known else None,
        gap=gap_interval(strata, Target.ITEMS) if known else None,
        accuracy=Interval(*share_ends(heavy, heavy.correct)) if known else None,
        kappa=_kappa(heavy),
    )


def _kappa(rows: Rows) -> Interval | None:
    """Return the interval of kappa; ``None`` if it is undefined or decisions are unknown."""
    if rows.passed is None or counters_of(rows).cells.kappa is None:
        return None
    parts = [_part(rows, rows.passed), _part(rows, ~rows.passed)]
    return kappa_interval(parts, [True, False], Target.ITEMS)


def _part(rows: Rows, kept: Bools | None = None) -> Part:
    """Count some rows and the right ones, in labels of one weight that are worth as much."""
    ess = effective_sample_size(rows.masses()) or 0.0
    total = float(rows.weight.sum())
    weight = rows.weight if kept is None else rows.weight * kept
    scale = ess / total if total else 0.0
    n = float(weight.sum()) * scale
    hits = float((weight * rows.correct).sum()) * scale
    return Part(n, n, min(hits, n))


def share_ends(rows: Rows, hit: Bools) -> tuple[float, float]:
    """Return Wilson's interval of the share of rows that ``hit``; 0..1 if there are none.

    It takes Kish's effective number of labels. With equal weights it is the plain Wilson interval.
    """
    ess = effective_sample_size(rows.masses()) or 0.0
    part = float((rows.weight * hit).sum() / rows.weight.sum()) if ess else 0.0
    return wilson(min(part, 1.0) * ess, ess)
