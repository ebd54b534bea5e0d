"""Scores of foreign files on the canonical scale from 0 to 1, with the number as it was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from reviewdesk.reports.mapping import values

Scale: TypeAlias = tuple[float, float] | None

WHY_RAW = "outside 0..1, or of a juror with such scores,"
"""Which scores are kept as they are where no scale was given."""


class Scales:
    """Whose scores leave 0..1 anywhere in a file, so that a 1 of theirs need not be the best.

    A first pass over the file shows it every score, and the second one asks.
    """

    def __init__(self) -> None:
        """Start with no score seen."""
        self._off: set[str] = set()

    def off(self, whose: str, stated: Any = None) -> bool:
        """Whether a score of theirs lay outside 0..1, this one included."""
        number = values.number(stated)
        if number is not None and values.unit(number) is None:
            self._off.add(whose)
        return whose in self._off


def fitted(
    stated: Any, scale: Scale, count: Callable[[str], None], what: str, *, off: bool = False
) -> dict[str, Any]:
    """``score`` where the number fits, ``raw_score`` with its ``scale`` where it was written anew.

    A number outside its scale is kept as ``raw_score`` alone, and so is any that is known to be
    ``off`` the scale 0..1; ``count`` is told of it, and of what is no number at all.
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


def withheld(scores: dict[str, Any], count: Callable[[str], None]) -> dict[str, Any]:
    """The scores of a juror that failed: a number it gave all the same does not count."""
    if "score" not in scores:
        return scores
    count("the score of a juror with an error is kept as raw_score and does not count")
    kept = {name: value for name, value in scores.items() if name != "score"}
    return {"raw_score": scores["score"], **kept}
