"""Put scores of foreign files on the canonical scale from 0 to 1, and keep the raw numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from reviewdesk.reports.mapping import values

Scale: TypeAlias = tuple[float, float] | None

WHY_RAW = "outside 0..1, or of a juror with such scores,"
"""The words of notes for scores that are kept raw because no scale was given."""


class Scales:
    """The jurors with scores outside 0..1 anywhere in a file; a 1 of theirs may not be the best.

    The first pass over the file records every score, and the second pass asks.
    """

    def __init__(self) -> None:
        """Start with no score seen."""
        self._off: set[str] = set()

    def off(self, whose: str, stated: Any = None) -> bool:
        """Record a score; return True if any score of this juror so far lies outside 0..1."""
        number = values.number(stated)
        if number is not None and values.unit(number) is None:
            self._off.add(whose)
        return whose in self._off


def fitted(
    stated: Any, scale: Scale, count: Callable[[str], None], what: str, *, off: bool = False
) -> dict[str, Any]:
    """Return ``score`` if the number fits, with ``raw_score`` and ``scale`` if it was converted.

    A number outside its scale is kept as ``raw_score`` alone, and so is any number of a juror that
    is ``off`` the scale 0..1. ``count`` receives a remark on both, and on what is not a number.
    """
    if stated is None:
        return {}
    number = values.number(stated)
    if number is None:
        count(f"{what} that is no number is left out")
        return {}
    if scale is None:
        if values.unit(number) is not None and not off:
            return {"score": number}
        count(f"{what} {WHY_RAW} is kept as raw_score; --scale LOW..HIGH says how to read it")
        return {"raw_score": number}
    low, high = scale
    kept = {"raw_score": number, "scale": [low, high]}
    if not low <= number <= high:
        count(f"{what} outside the given scale is kept as raw_score alone")
        return kept
    return {"score": (number - low) / (high - low), **kept}


def without_score(scores: dict[str, Any], count: Callable[[str], None]) -> dict[str, Any]:
    """Return the scores of a failed juror with ``score`` as ``raw_score``, so it does not count."""
    if "score" not in scores:
        return scores
    count("the score of a juror with an error is kept as raw_score and does not count")
    kept = {name: value for name, value in scores.items() if name != "score"}
    return {"raw_score": scores["score"], **kept}
