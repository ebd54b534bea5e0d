"""What a report's trim may be held to: the trim counts that its own words allow."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reviewdesk.domain.jury.trim import trim_count
from reviewdesk.domain.verdict import Rounding, Verdict

_Side = tuple[float, ...]
_ABSENT = -1.0
"""Stands for the score of a dropped juror that has none: no score is negative."""


def trim_counts(verdict: Verdict) -> tuple[int, ...]:
    """Every count per end that the stated fraction and rounding may mean, the default rule first.

    A rounding that is not stated may be any of the three; without a fraction the count is the one
    that the report shows, and where it shows none, any that leaves a score.
    """
    n, fraction = len(_scores(verdict)), _fraction(verdict)
    if fraction is not None:
        stated = verdict.trim.rounding
        roundings = tuple(Rounding) if stated is None else (stated,)
        return tuple(dict.fromkeys(trim_count(n, fraction, one) for one in roundings))
    if verdict.trim.low is not None:
        return (len(verdict.trim.low),)
    return tuple(range((max(n, 1) - 1) // 2 + 1))


def trimmed_means(verdict: Verdict) -> tuple[float, ...]:
    """The trimmed mean under each of those counts."""
    scores = _scores(verdict)
    kept = [scores[count : len(scores) - count] for count in trim_counts(verdict)]
    return tuple(math.fsum(part) / len(part) for part in kept if part)


def trim_mismatch(verdict: Verdict) -> str | None:
    """A quantile trim that its own fraction, or the order of the scores, does not give.

    Dropped scores are compared as multisets per end: equal scores may change places. A trim that
    names neither a method nor a fraction follows a rule that only its producer knows.
    """
    method, fraction = verdict.trim.method, _fraction(verdict)
    if method not in {None, "quantile"} or (method is None and fraction is None):
        return None
    return _dropped(verdict, fraction) or _counted(verdict, fraction)


def _dropped(verdict: Verdict, fraction: float | None) -> str | None:
    """The named jurors are not the ends of the panel."""
    if verdict.trim.low is None:
        return None
    stated = _stated(verdict)
    allowed = [_ends(verdict, count) for count in trim_counts(verdict)]
    if stated in allowed:
        return None
    rule = f"{len(allowed[0][0])} at each end" if fraction is None else _rule(verdict, fraction)
    return f"trim: reported {_drops(*stated)}, but {rule} drops {_drops(*allowed[0])}"


def _counted(verdict: Verdict, fraction: float | None) -> str | None:
    """The stated count is not the one of the rule, or of the jurors it names."""
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


def _stated(verdict: Verdict) -> tuple[_Side, _Side]:
    by_id = {ballot.id: ballot.score for ballot in verdict.ballots}
    low, high = (
        tuple(sorted(_ABSENT if (score := by_id.get(name)) is None else score for name in side))
        for side in (verdict.trim.low or (), verdict.trim.high or ())
    )
    return low, high


def _drops(*sides: Sequence[float]) -> str:
    return " / ".join(", ".join(f"{score:.3g}" for score in side) or "none" for side in sides)
