"""Format figures, times and decisions for the files."""

from __future__ import annotations

from reviewdesk.domain.gates.limits import Op
from reviewdesk.domain.verdict import Band, Decision

NONE = "–"
"""The text for an undefined figure."""
SIDES = {Op.AT_MOST: "at most", Op.AT_LEAST: "at least"}
VOTES = {True: "pass", False: "fail", None: NONE}


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure with ``digits`` decimals, or a dash if it is undefined."""
    return NONE if value is None else f"{value:.{digits}f}"


def agreement(value: float | None, band: Band | None) -> str:
    """Return an agreement with two decimals, and its band if there is one."""
    return number(value, 2) + (f", {band}" if band else "")


def ends(low: float | None, high: float | None) -> str:
    """Return a 95% interval as text, or a dash if an end is undefined."""
    return NONE if low is None or high is None else f"{low:.3f} to {high:.3f}"


def count(value: int | None) -> str:
    """Return a whole number with commas, or a dash if it is undefined."""
    return NONE if value is None else f"{value:,}"


def plural(value: int, one: str, many: str = "") -> str:
    """Return a count with its noun in singular or plural."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def moment(text: str | None) -> str:
    """Return an ISO time cut to the minute, in the zone it was written in, or a dash."""
    return NONE if not text else text[:16].replace("T", " ")


def decision(value: Decision | None) -> str:
    """Return a decision as a word."""
    return "no decision" if value is None else value.value


def share(part: int, whole: int) -> str:
    """Return a part of a whole in percent, or a dash if the whole is 0."""
    return NONE if not whole else f"{100 * part / whole:.1f}%"
