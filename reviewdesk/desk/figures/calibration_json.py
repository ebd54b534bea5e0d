"""The JSON of ``calibrate``. Keys keep their names, and the ECE has no interval."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.records import Calibration, Metrics
from reviewdesk.domain.stats.figures import Target

if TYPE_CHECKING:
    from reviewdesk.domain.jurors.accuracy import JurorCounts
    from reviewdesk.domain.labels.strata import Stratum
    from reviewdesk.domain.stats.calibration_page import CalibrationPage, FilePage
    from reviewdesk.domain.stats.figures import (
        Bin,
        Estimate,
        Fit,
        Interval,
        PanelIntervals,
    )


def filed(page: FilePage) -> dict[str, Any]:
    """Return the figures of a labels file."""
    fit = page.fit
    return {
        **_calibration(page.calibration),
        **_fit_figures(fit),
        **_interval("accuracy", fit.accuracy),
        "honest": asdict(page.honest),
        "representative": page.representative,
        "gates": [asdict(check) for check in page.gates],
        "warnings": list(page.calibration.warnings),
    }


def run_figures(page: CalibrationPage) -> dict[str, Any]:
    """Return the figures of a run, with its draw, and with its jurors if the page has them."""
    jurors = {} if page.jurors is None else {"jurors": [_counts(one) for one in page.jurors]}
    fitted = {} if page.fit is None else _fit_figures(page.fit) | _intervals(page)
    return {
        **_calibration(page.calibration),
        **fitted,
        "honest": asdict(page.honest),
        "honest_accuracy": asdict(page.accuracy),
        "more_audits": [asdict(one) for one in page.more],
        "gates": [asdict(check) for check in page.gates],
        "warnings": list(page.calibration.warnings),
        "verdicts": page.counts.verdicts,
        "strata": [_stratum(one) for one in page.strata],
        "audit": asdict(page.audit),
        "missing": list(page.missing),
        "blind": _side(page.split.blind),
        "open": _side(page.split.open),
        "open_unsaid": page.split.unsaid,
        "tags": [asdict(one) for one in page.tags],
        **jurors,
    }


def _calibration(found: Calibration) -> dict[str, Any]:
    """Return the headline figures, then those of the labels and of the population by name."""
    line = asdict(found.headline)
    return {
        "n": line.pop("n"),
        "confidence_source": found.confidence_source,
        "design": found.design,
        "ess": line.pop("ess"),
        **line,
        "unsure": found.unsure,
        "disputed": found.disputed,
        "no_verdict": found.no_verdict,
        "labelled": asdict(found.labelled),
        "population": asdict(found.population) if found.population else None,
    }


def _fit_figures(fit: Fit) -> dict[str, Any]:
    """Return the resampled and simulated figures of the headline's rows; ``null`` if undefined."""
    null, loss = fit.null, fit.log_loss
    return {
        "ece_expected": null.expected if null else None,
        "ece_expected_exact": null.exact if null else None,
        "ece_p": null.p if null else None,
        "ece_p95": null.p95 if null else None,
        **_interval("brier", fit.brier),
        **_interval("gap", fit.gap),
        "auroc": fit.auroc,
        "log_loss": loss.value if loss else None,
        "log_loss_clipped": loss.clipped if loss else 0,
        "spiegelhalter": asdict(fit.spiegelhalter),
        "corp": asdict(fit.corp) if fit.corp else None,
        "murphy": asdict(fit.murphy) if fit.murphy else None,
        "bins": [_bin(one) for one in fit.bins],
        "suggestions": [{**asdict(one), "applied": False} for one in fit.suggestions],
    }


def _intervals(page: CalibrationPage) -> dict[str, Any]:
    """Return the intervals of this run, which follow its draw, and those of such items."""
    made = _panel(page.intervals)
    # Without a draw, Brier and gap take the intervals of the labels alone.
    for name in ("brier", "gap"):
        made |= _interval(name, page.ends(name))
    return {**made, "target": Target.RUN, "such_items": _panel(page.such)}


_FIGURES = ("accuracy", "sensitivity", "specificity", "brier", "gap", "kappa")


def _panel(found: PanelIntervals | None) -> dict[str, Any]:
    if found is None:
        return {}
    if not found.counted:
        return {f"{name}_{end}": None for name in _FIGURES for end in ("low", "high")}
    made: dict[str, Any] = {}
    for name in _FIGURES:
        made |= _interval(name, getattr(found, name))
    return made


def _interval(name: str, found: Interval | Estimate | None) -> dict[str, Any]:
    return {
        f"{name}_low": found.low if found else None,
        f"{name}_high": found.high if found else None,
    }


def _bin(one: Bin) -> dict[str, Any]:
    """Return one bin; ``count`` is the number of its rows and ``n`` the sum of their weights."""
    return {
        "bin": one.index,
        "n": one.weight,
        "count": one.n,
        "mean_confidence": one.mean_confidence,
        "accuracy": one.accuracy,
        "low": one.low,
        "high": one.high,
    }


def _stratum(one: Stratum) -> dict[str, Any]:
    return {"stratum": one.name, **asdict(one), "unanswered": one.unanswered}


def _counts(one: JurorCounts) -> dict[str, Any]:
    accuracy = one.right / one.votes if one.votes else None
    counts = {"votes": one.votes, "right": one.right, "wrong": one.wrong, "accuracy": accuracy}
    return {"id": one.name, "seat": one.seat, **counts, **asdict(one)}


def _side(line: Metrics) -> dict[str, Any]:
    """Return one side of a split; without labels every figure is ``null``, not 0."""
    shape = asdict(line)
    return shape if line.n else dict.fromkeys(shape) | {"n": 0}
