"""Check the values that a caller gives a panel or a ballot; errors name the place and the value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import TypeGuard, TypeVar

from reviewdesk.errors import UsageError

_SHARE = re.compile(r"[0-9]{1,9}(/[0-9]{1,9}|\.[0-9]{1,18})?", re.ASCII)


_Word = TypeVar("_Word", bound=StrEnum)


def member(kind: type[_Word], word: str, text: str) -> _Word:
    """Return the member of an enumeration; raise UsageError, ``text`` and all words, if none is."""
    try:
        return kind(word)
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise UsageError(f"{text} {word!r}", f"Known: {known}") from None


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def total(place: str, values: Sequence[float]) -> float:
    """Return the sum of the values, rounded once.

    Raise UsageError if a value is NaN, infinite or not a number, naming the first, or if the sum
    overflows.
    """
    try:
        found = math.fsum(values)
    except (OverflowError, TypeError, ValueError):
        found = math.nan
    # One value that is not finite spoils the sum, and one check costs less than one per value.
    if math.isfinite(found):
        return found
    for value in values:
        if not _is_finite(value):
            raise UsageError(f"{place} is {value!r}", "Give finite numbers")
    raise UsageError(f"the numbers are too large to add: {place} is {max(values, key=abs)!r}")


def _checked(place: str, value: object, fits: Callable[[float], bool], hint: str) -> float:
    """Return the value as a float; raise UsageError unless it is finite and ``fits``."""
    if not _is_finite(value) or not fits(value):
        raise UsageError(f"{place} is {value!r}", hint)
    return float(value)


def finite(place: str, value: object) -> float:
    return _checked(place, value, math.isfinite, "Give a finite number")


def unit(place: str, value: object) -> float:
    return _checked(place, value, lambda one: 0 <= one <= 1, "Give a number from 0 to 1")


def weight(place: str, value: object) -> float:
    return _checked(place, value, lambda one: one > 0, "Give a finite number above 0")


def trim_fraction(place: str, value: object) -> float:
    return _checked(place, value, lambda one: 0 <= one < 0.5, "Give a number from 0 and under 0.5")


def quorum(place: str, value: object) -> float | str:
    """Return a share in (0, 1] as a float, or "k/n" as written; raise UsageError for others."""
    if isinstance(value, str):
        k, _, n = value.partition("/")
        if re.fullmatch("[0-9]+/[0-9]+", value, re.ASCII) and 0 < int(k) <= int(n):
            return value
    elif _is_finite(value) and 0 < value <= 1:
        return float(value)
    raise UsageError(f"{place} is {value!r}", 'Give a number above 0 and up to 1, or such as "2/3"')


def min_answered(place: str, value: object) -> int | str:
    """Return a count as a whole number, or a share of the panel as "k/n" in lowest terms.

    A whole number is a count, at least 1. A number with a point, or "k/n", is a share above 0 and
    up to 1, so that 1.0 asks for every juror. Raise UsageError for anything else.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    share = Fraction(0)
    if isinstance(value, str) and "/" in value and _SHARE.fullmatch(value):
        share = Fraction(value) if int(value.partition("/")[2]) else share
    elif isinstance(value, float) and math.isfinite(value):
        share = Fraction(repr(value))
    if not 0 < share <= 1:
        hint = 'Give a count, such as 3, or a share, such as 0.6 or "2/3"'
        raise UsageError(f"{place} is {value!r}", hint)
    return f"{share.numerator}/{share.denominator}"


def supermajority(place: str, value: object) -> Fraction:
    """Return the share as an exact fraction; raise UsageError unless it is above 1/2 and up to 1.

    Above one half, no two labels can both reach it. A text such as "2/3" is read exactly.
    """
    exact = Fraction(0)
    if isinstance(value, str) and _SHARE.fullmatch(value):
        denominator = value.partition("/")[2]
        exact = Fraction(value) if not denominator or int(denominator) else Fraction(0)
    elif _is_finite(value):
        exact = Fraction(repr(float(value)))
    if not Fraction(1, 2) < exact <= 1:
        raise UsageError(f"{place} is {value!r}", 'Give a share over 1/2, up to 1, such as "2/3"')
    return exact
