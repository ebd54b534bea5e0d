"""Labels have no order and cannot be trimmed: a large share of those who committed decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from reviewdesk.domain.labelrules import UNCLEAR
from reviewdesk.domain.verdict import FAILED_LABELS, folded
from reviewdesk.errors import UsageError

LEAST_COMMITTED = 3
_UNCOMMITTED = {*FAILED_LABELS, folded(UNCLEAR), ""}


@dataclass(frozen=True, slots=True)
class Supermajority:
    """The label that enough of the panel agree on; ``None`` is inconclusive."""

    label: str | None
    votes: int
    """For the most frequent label."""
    committed: int
    reason: str | None
    """Why it is inconclusive."""


def supermajority(labels: Iterable[str | None], share: float | str = "2/3") -> Supermajority:
    """The label that at least ``share`` of those who committed give, compared exactly.

    ``None``, a blank, UNCLEAR, ERROR and PARSE_FAIL do not commit; under three that do, or without
    such a label, the panel is inconclusive. Source: the jury trim rule, for categorical judgments.
    """
    least = _share(share)
    counts: dict[str, int] = {}
    spelled: dict[str, str] = {}
    for label in labels:
        if (word := folded(label)) not in _UNCOMMITTED:
            spelled.setdefault(word, (label or "").strip())
            counts[word] = counts.get(word, 0) + 1
    committed = sum(counts.values())
    most = max(counts.values(), default=0)
    if committed < LEAST_COMMITTED:
        reason = f"{committed} committed, {LEAST_COMMITTED} are needed"
        return Supermajority(None, most, committed, reason)
    if most < least * committed:
        return Supermajority(None, most, committed, f"{most} of {committed} is under {share}")
    winner = next(word for word, count in counts.items() if count == most)
    return Supermajority(spelled[winner], most, committed, None)


def _share(share: float | str) -> Fraction:
    """Over a half, so that no two labels can have it."""
    try:
        exact = Fraction(share) if isinstance(share, str) else Fraction(repr(float(share)))
    except (ValueError, ZeroDivisionError):
        exact = Fraction(0)
    if not Fraction(1, 2) < exact <= 1:
        raise UsageError(
            f"supermajority share {share!r}", 'Give a share over 1/2, up to 1, such as "2/3"'
        )
    return exact
