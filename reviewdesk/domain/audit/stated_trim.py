"""Check a report's trim against the trim counts that its own words allow."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reviewdesk.domain.jury.trim import trim_count
from reviewdesk.domain.verdict import Rounding, Verdict

_Side = tuple[float, ...]
_ABSENT = -1.0
"""The score assumed for a dropped juror without one; no real score is negative."""


def trim_counts(verdict: Verdict) -> tuple[int, ...]:
    """Return every count per end that the stated trim may mean, the default rule's first.

    A rounding that is not stated may be any of the three. Without a fraction the count is the one
    that the report shows, and if it shows none, any that leaves a score.
    """
    n = len(_scores(verdict))
    fraction = _fraction(verdict)
    if fraction is not None:
        stated = verdict.trim.rounding
        roundings = tuple(Rounding) if stated is None else (stated,)
        return tuple(dict.fromkeys(trim_count(n, fraction, one) for one in roundings))
    if verdict.trim.low is not None:
        return (len(verdict.trim.low),)
    return tuple(range((max(n, 1) - 1) // 2 + 1))


def trimmed_means(verdict: Verdict) -> tuple[float, ...]:
    """Return the trimmed mean under each count that ``trim_counts`` gives."""
    scores = _scores(verdict)
    kept = [scores[count : len(scores) - count] for count in trim_counts(verdict)]
    return tuple(math.fsum(part) / len(part) for part in kept if part)


def trim_mismatch(verdict: Verdict) -> str | None:
    """Return a text if a quantile trim contradicts its own fraction or the order of the scores.

    Dropped scores are compared as multisets per end, because equal scores may change places. A trim
    that names neither a method nor a fraction follows a rule that only its producer knows.
    """
    method = verdict.trim.method
    fraction = _fraction(verdict)
    if method not in {None, "quantile"} or (method is None and fraction is None):
        return None
    return _ends_mismatch(verdict, fraction) or _count_mismatch(verdict, fraction)


def _ends_mismatch(verdict: Verdict, fraction: float | None) -> str | None:
    if verdict.trim.low is None:
        return None
    stated = _stated_ends(verdict)
    allowed = [_ends(verdict, count) for count in trim_counts(verdict)]
    if stated in allowed:
        return None
    rule = f"{len(allowed[0][0])} at each end" if fraction is None else _rule(verdict, fraction)
    return f"trim: reported {_scores_text(*stated)}, but {rule} drops {_scores_text(*allowed[0])}"


def _count_mismatch(verdict: Verdict, fraction: float | None) -> str | None:
    per_side = (verdict.body.get("trim") or {}).get("per_side")
    if per_side is None:
        return None
    if verdict.trim.low is not None:
        named = len(verdict.trim.low)
        return (
            None if per_side == named else f"trim: reported {per_side} per side, but names {named}"
        )
    counts = trim_counts(verdict)
    if fraction is None or per_side in counts:
        return None
    return f"trim: reported {per_side} per side, but {_rule(verdict, fraction)} drops {counts[0]}"


def _rule(verdict: Verdict, fraction: float) -> str:
    return f"{fraction:g} {verdict.trim.rounding or Rounding.DOWN}"


def _fraction(verdict: Verdict) -> float | None:
    stated = verdict.trim.fraction
    return verdict.policy.trim_fraction if stated is None else stated


def _scores(verdict: Verdict) -> list[float]:
    return sorted(ballot.score for ballot in verdict.ballots if ballot.score is not None)


def _ends(verdict: Verdict, count: int) -> tuple[_Side, _Side]:
    scores = _scores(verdict)
    return tuple(scores[:count]), tuple(scores[len(scores) - count :])


def _stated_ends(verdict: Verdict) -> tuple[_Side, _Side]:
    by_id = {ballot.id: ballot.score for ballot in verdict.ballots}
    low, high = (
        tuple(sorted(_ABSENT if (score := by_id.get(name)) is None else score for name in side))
        for side in (verdict.trim.low or (), verdict.trim.high or ())
    )
    return low, high


def _scores_text(*sides: Sequence[float]) -> str:
    return " / ".join(", ".join(f"{score:.3g}" for score in side) or "none" for side in sides)
