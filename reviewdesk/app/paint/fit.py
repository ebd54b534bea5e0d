"""What one set of rows says of confidence: each figure with what it means in a plain sentence."""

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
"""The p under which chance alone is not believed."""
_COLUMN = 15


def fit_lines(found: Fit | None, basis: str, width: int) -> Lines:
    """ECE beside its null, ranking, log-loss, the test of calibration, and the parts of Brier."""
    if found is None or not found.n:
        return []
    pairs = [
        ("ECE", f"{found.ece:.3f}; {null_words(found.null)}"),
        ("Spiegelhalter", _tested(found.spiegelhalter)),
        ("Brier", _parts(found.corp)),
        ("AUROC", _ranked(found.auroc)),
        ("log-loss", _lost(found.log_loss)),
    ]
    return [heading("CONFIDENCE", width, basis), *facts(pairs, width, _COLUMN)]


def between(found: Interval | Estimate | RunRate | None, sign: str = "") -> str:
    """An interval in brackets, or ``-``."""
    if found is None or found.low is None or found.high is None:
        return "-"
    return f"[{number(found.low, sign)}, {number(found.high, sign)}]"


def chance(p: float) -> str:
    """A p with three decimals, as far as they tell it."""
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def null_words(found: NullEce | None) -> str:
    """What ECE a calibrated judge would show: that has a width, while ECE has no interval."""
    if found is None:
        return "what a calibrated judge would show is not known"
    word = "more than chance" if found.p < RISK else "no more than chance"
    return (
        f"a calibrated judge would show about {found.expected:.3f} (95% under {found.p95:.3f}), "
        f"{chance(found.p)}: {word}"
    )


def null_note(found: NullEce) -> str:
    """The same in brief, beside a gate."""
    return f"calibrated: about {found.expected:.3f}, {chance(found.p)}"


def _tested(found: ZTest) -> str:
    if found.z is None or found.p is None:
        return f"- {found.reason or 'undefined'}"
    word = (
        "confidence is off by more than chance"
        if found.p < RISK
        else "nothing shows that confidence is off"
    )
    return f"z {found.z:+.3f}, {chance(found.p)}: {word}"


def _parts(found: Corp | None) -> str:
    if found is None:
        return "-"
    return (
        f"{found.brier:.3f} = {found.miscalibration:.3f} miscalibration - "
        f"{found.discrimination:.3f} discrimination + {found.uncertainty:.3f} uncertainty (CORP): "
        "the first is what a better scale could save"
    )


def _ranked(found: float | None) -> str:
    if found is None:
        return "- it takes right and wrong verdicts to rank them"
    return f"{found:.3f}: how often a right verdict is surer than a wrong one; chance gives 0.5"


def _lost(found: LogLoss | None) -> str:
    if found is None:
        return "-"
    clipped = f"{found.clipped} clipped at certainty" if found.clipped else "none clipped"
    return f"{found.value:.3f} nats a verdict, {clipped}; always saying 0.5 gives 0.693"


# What would help


def suggestion_lines(found: Fit | None, width: int) -> Lines:
    """What each recalibration would do to Brier, or why it is not tried."""
    if found is None or not found.suggestions:
        return []
    pairs = [(one.method.value, _suggested(one)) for one in found.suggestions]
    lines = [heading("RECALIBRATION", width, "suggested, never applied")]
    return [*lines, *facts(pairs, width, _COLUMN)]


def _suggested(found: Suggestion) -> str:
    if found.change is None:
        return f"- {found.reason or 'undefined'}"
    word = "better" if found.change < 0 else "no better"
    text = f"would change Brier by {found.change:+.3f} (5-fold), {word}, not applied"
    told = ", ".join(f"{name} {value:.3g}" for name, value in found.parameters.items())
    limit = "; the best fit lies at infinity" if found.bounded else ""
    return text + (f"; {told}" if told else "") + limit


def honest_text(found: RunRate, what: str) -> str:
    """A rate by the strata of the draw with its interval; without one, its bounds."""
    if found.estimate is not None:
        return f"{found.estimate:.3f} {between(found)} 95% {what}"
    reason = found.reason or "undefined"
    if found.method is RateMethod.NONE:
        return f"- {reason}"
    return f"- {what}: bounds {between(found)}, the labelled strata at their ends; {reason}"


def more_lines(found: Sequence[LabelsNeeded], width: int) -> Lines:
    """How many more audits settle each limit; those without a number share their reason."""
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
