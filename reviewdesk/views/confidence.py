"""The figures on confidence, each with its meaning in a plain sentence."""

from __future__ import annotations

from reviewdesk.domain.stats.figures import Fit, LogLoss, NullEce, ZTest
from reviewdesk.views import words
from reviewdesk.views.document import Facts, Section

RISK = 0.05
"""A p-value below this counts as more than chance."""
CANCELS = "where too sure and too unsure cancel"
"""What Spiegelhalter's test cannot see, and ECE can."""
_COLUMN = 15


def sections(found: Fit | None, basis: str) -> list[Section]:
    """Return ECE beside its null, Spiegelhalter's test, AUROC and log-loss."""
    if found is None or not found.n:
        return []
    facts = Facts.of(
        ("ECE", f"{found.ece:.3f}; {null_text(found.null)}"),
        ("Spiegelhalter", _ztest_text(found.spiegelhalter)),
        ("together", _together_text(found.null, found.spiegelhalter)),
        ("AUROC", _auroc_text(found.auroc)),
        ("log-loss", _log_loss_text(found.log_loss)),
        column=_COLUMN,
    )
    return [Section("Confidence", (facts,), basis)]


def null_text(found: NullEce | None) -> str:
    """Say which ECE a calibrated panel would show by chance. ECE itself has no interval."""
    if found is None:
        return "what a calibrated judge would show is not known"
    return (
        f"a calibrated judge would show about {found.expected:.3f} (95% under {found.p95:.3f}), "
        f"{words.chance(found.p)}"
    )


def _ztest_text(found: ZTest) -> str:
    if found.z is None or found.p is None:
        return f"- {found.reason or 'undefined'}"
    return f"z {found.z:+.3f}, {words.chance(found.p)}"


def _together_text(null: NullEce | None, test: ZTest) -> str:
    """Say once what both tests show, so that the page never answers yes and no."""
    by_ece = null is not None and null.p < RISK
    by_test = test.p is not None and test.p < RISK
    if by_ece and by_test:
        return "confidence is off by more than chance"
    if by_ece:
        return f"confidence is off by more than chance, by ECE; the test misses it {CANCELS}"
    if by_test:
        return "confidence is off by more than chance, by the test; ECE is too coarse to see it"
    return "no more than chance" if null is not None or test.p is not None else words.NONE


def _auroc_text(found: float | None) -> str:
    if found is None:
        return "- it takes right and wrong verdicts to rank them"
    return f"{found:.3f}: how often a right verdict is surer than a wrong one; chance gives 0.5"


def _log_loss_text(found: LogLoss | None) -> str:
    if found is None:
        return words.NONE
    clipped = f"{found.clipped} clipped at certainty" if found.clipped else "none clipped"
    return f"{found.value:.3f} nats a verdict, {clipped}; always saying 0.5 gives 0.693"
