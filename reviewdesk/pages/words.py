"""How figures, times and truth values are written in the files."""

from __future__ import annotations

from reviewdesk.domain.gates.limits import Op
from reviewdesk.domain.verdict import Band, Decision

NONE = "–"
"""What stands where a figure is undefined."""
SIDES = {Op.AT_MOST: "at most", Op.AT_LEAST: "at least"}
VOTES = {True: "pass", False: "fail", None: NONE}


def number(value: float | None, digits: int = 3) -> str:
    """A figure, or a dash where it is undefined."""
    return NONE if value is None else f"{value:.{digits}f}"


def agreement(value: float | None, band: Band | None) -> str:
    """An agreement with the band that stands beside it, if there is one."""
    return number(value, 2) + (f", {band}" if band else "")


def ends(low: float | None, high: float | None) -> str:
    """A 95% interval."""
    return NONE if low is None or high is None else f"{low:.3f} to {high:.3f}"


def count(value: int | None) -> str:
    """A whole number with commas."""
    return NONE if value is None else f"{value:,}"


def plural(value: int, one: str, many: str = "") -> str:
    """A count with its noun."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def moment(text: str | None) -> str:
    """A time to the minute, as it was written."""
    return NONE if not text else text[:16].replace("T", " ")


def decision(made: Decision | None) -> str:
    """A decision in a word."""
    return "no decision" if made is None else made.value


def share(part: int, whole: int) -> str:
    """A part of a whole in percent."""
    return NONE if not whole else f"{100 * part / whole:.1f}%"
