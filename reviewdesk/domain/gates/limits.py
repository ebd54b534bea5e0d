"""Limits on figures, and how far inside or outside of its limit a figure is."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from reviewdesk.domain.labels.sampling import MIN_AUDIT
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.figures import NullEce
from reviewdesk.domain.verdict import SLACK

ECE_LIMIT = 0.10
BRIER_LIMIT = 0.25
SPECIFICITY_LIMIT = 0.80
"""The least lower end of specificity: of the bad answers, a gate passes at most a fifth."""
FEW = 50
"""Up to this many labels, a perfectly calibrated judge often misses the limit of the ECE."""

FEWEST = MIN_AUDIT
"""The fewest labels through the draw from which a judge may gate: as many as the smallest audit of
the draw asks for."""
UNUSUAL = 0.05
"""The p value below which chance alone no longer explains the ECE of a judge."""


class GateStatus(StrEnum):
    """Whether a figure keeps its limit."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


class Op(StrEnum):
    """The side of its limit on which a figure must be."""

    AT_MOST = "<="
    AT_LEAST = ">="


class LimitCheck(Struct, frozen=True):
    """A figure checked against a limit; ``margin`` is the room left, negative outside the limit."""

    target: str
    value: float | None
    op: Op
    limit: float | None
    status: GateStatus
    margin: float | None
    note: str = ""
    """Why the check was skipped, or what to keep in mind about the figure."""


def check(
    target: str, value: float | None, op: Op, limit: float | None, *, skip: str = "", note: str = ""
) -> LimitCheck:
    """Check a figure against a limit with 1e-9 slack; ``skip`` is the reason not to check it."""
    if not skip and (value is None or limit is None):
        skip = "undefined"
    if skip or value is None or limit is None:
        return LimitCheck(target, value, op, limit, GateStatus.SKIP, None, skip)
    margin = limit - value if op is Op.AT_MOST else value - limit
    status = GateStatus.PASS if margin >= -SLACK else GateStatus.FAIL
    return LimitCheck(target, value, op, limit, status, margin, note)


def ece_note(n: int, null: NullEce | None) -> str:
    """Return a note on an ECE: how large that of a calibrated judge would be on these rows.

    ``n`` is the number of labels; the note warns if there are few.
    """
    words = [f"up to {FEW} labels, a calibrated judge often misses it"] if n <= FEW else []
    if null is not None:
        about = "" if null.exact else "about "
        words.append(f"a calibrated judge would show {about}{null.expected:.3f}")
    return "; ".join(words)


def default_checks(found: Metrics, null: NullEce | None = None) -> tuple[LimitCheck, ...]:
    """Return the default checks of a judge, for which no suite was written.

    The checks are ``ece <= 0.10``, ``brier <= 0.25`` and, with counts and an observed rate,
    ``corrected_rate <= observed_positive_rate``. ``null`` adds a note to the ECE. Source: the judge
    calibration document.
    """
    empty = "" if found.n else "no labels"
    note = ece_note(found.n, null)
    checks = [
        check("ece", found.ece, Op.AT_MOST, ECE_LIMIT, skip=empty, note=note),
        check("brier", found.brier, Op.AT_MOST, BRIER_LIMIT, skip=empty),
    ]
    if found.tp is not None and found.observed_positive_rate is not None:
        signal = found.corrected_status != CorrectionStatus.SKIPPED_NO_SIGNAL
        skip = empty or ("" if signal else "the judge carries no signal")
        observed = found.observed_positive_rate
        checks.append(
            check("corrected_rate", found.corrected_rate, Op.AT_MOST, observed, skip=skip)
        )
    return tuple(checks)
