"""Painters for the figures on confidence, each with its meaning in a plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.app.paint.styled import Lines, heading, paragraph
from reviewdesk.app.paint.table import facts, number
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.labels.coverage import LabelsNeeded, RateMethod, RunRate
from reviewdesk.domain.stats.figures import (
    Corp,
    Estimate,
    Fit,
    Interval,
    LogLoss,
    NullEce,
    Suggestion,
    ZTest,
)

RISK = 0.05
"""A p-value below this counts as more than chance."""
_COLUMN = 15


def fit_lines(found: Fit | None, basis: str, width: int) -> Lines:
    """Return ECE beside its null, Spiegelhalter's test, the parts of Brier, AUROC and log-loss."""
    if found is None or not found.n:
        return []
    pairs = [
        ("ECE", f"{found.ece:.3f}; {null_words(found.null)}"),
        ("Spiegelhalter", _ztest_text(found.spiegelhalter)),
        ("Brier", _brier_text(found.corp)),
        ("AUROC", _auroc_text(found.auroc)),
        ("log-loss", _log_loss_text(found.log_loss)),
    ]
    return [heading("CONFIDENCE", width, basis), *facts(pairs, width, _COLUMN)]


def between(found: Interval | Estimate | RunRate | None, sign: str = "") -> str:
    """Format an interval in brackets, or ``-`` if it is undefined."""
    if found is None or found.low is None or found.high is None:
        return "-"
    return f"[{number(found.low, sign)}, {number(found.high, sign)}]"


def chance(p: float) -> str:
    """Format a p-value with three decimals, or as ``p < 0.001`` if it is smaller."""
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def null_words(found: NullEce | None) -> str:
    """Say which ECE a calibrated panel would show by chance. ECE itself has no interval."""
    if found is None:
        return "what a calibrated judge would show is not known"
    word = "more than chance" if found.p < RISK else "no more than chance"
    return (
        f"a calibrated judge would show about {found.expected:.3f} (95% under {found.p95:.3f}), "
        f"{chance(found.p)}: {word}"
    )


def null_note(found: NullEce) -> str:
    """Say in brief which ECE a calibrated panel would show by chance, for the line of a gate."""
    return f"calibrated: about {found.expected:.3f}, {chance(found.p)}"


def _ztest_text(found: ZTest) -> str:
    if found.z is None or found.p is None:
        return f"- {found.reason or 'undefined'}"
    word = (
        "confidence is off by more than chance"
        if found.p < RISK
        else "nothing shows that confidence is off"
    )
    return f"z {found.z:+.3f}, {chance(found.p)}: {word}"


def _brier_text(found: Corp | None) -> str:
    if found is None:
        return "-"
    return (
        f"{found.brier:.3f} = {found.miscalibration:.3f} miscalibration - "
        f"{found.discrimination:.3f} discrimination + {found.uncertainty:.3f} uncertainty (CORP): "
        "the first is what a better scale could save"
    )


def _auroc_text(found: float | None) -> str:
    if found is None:
        return "- it takes right and wrong verdicts to rank them"
    return f"{found:.3f}: how often a right verdict is surer than a wrong one; chance gives 0.5"


def _log_loss_text(found: LogLoss | None) -> str:
    if found is None:
        return "-"
    clipped = f"{found.clipped} clipped at certainty" if found.clipped else "none clipped"
    return f"{found.value:.3f} nats a verdict, {clipped}; always saying 0.5 gives 0.693"


# What would help


def suggestion_lines(found: Fit | None, width: int) -> Lines:
    """Return how each recalibration would change Brier, or why it is not tried."""
    if found is None or not found.suggestions:
        return []
    pairs = [(one.method.value, _suggestion_text(one)) for one in found.suggestions]
    lines = [heading("RECALIBRATION", width, "suggested, never applied")]
    return [*lines, *facts(pairs, width, _COLUMN)]


def _suggestion_text(found: Suggestion) -> str:
    if found.change is None:
        return f"- {found.reason or 'undefined'}"
    word = "better" if found.change < 0 else "no better"
    text = f"would change Brier by {found.change:+.3f} (5-fold), {word}, not applied"
    parameters = ", ".join(f"{name} {value:.3g}" for name, value in found.parameters.items())
    limit = "; the best fit lies at infinity" if found.bounded else ""
    return text + (f"; {parameters}" if parameters else "") + limit


def run_rate_text(found: RunRate, what: str) -> str:
    """Format a rate over the strata of the draw with its interval, or else with its bounds."""
    if found.estimate is not None:
        return f"{found.estimate:.3f} {between(found)} 95% {what}"
    reason = found.reason or "undefined"
    if found.method is RateMethod.NONE:
        return f"- {reason}"
    return f"- {what}: bounds {between(found)}, the labelled strata at their ends; {reason}"


def more_lines(found: Sequence[LabelsNeeded], width: int) -> Lines:
    """Return how many more audits settle each limit. Limits without a number share a reason."""
    lines: Lines = []
    for one in (one for one in found if one.labels is not None):
        limit = f"{one.target} {one.op.value} {number(one.limit)}"
        text = f"about {one.labels} more audits settle {limit}, if the rates stay"
        lines += paragraph(text if one.labels else f"{limit} is settled", width, Ink.NOTE)
    reasons = dict.fromkeys(one.reason for one in found if one.labels is None)
    for reason in reasons:
        names = ", ".join(one.target for one in found if one.reason == reason)
        lines += paragraph(f"{names}: {reason or 'undefined'}", width, Ink.MUTED)
    return lines
