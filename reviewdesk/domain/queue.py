"""The language in which a reviewer filters and orders the queue.

A filter is words with a space for *and*: a flag (``esc``), a fact (``label:none``, ``band:low``), a
comparison (``score<.6``) or a match (``test~deploy``). ``!`` negates, ``|`` separates alternatives,
and double quotes keep spaces together.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from reviewdesk.domain.flags import SHORT, Flag
from reviewdesk.errors import UsageError

ORDERS = ("draw", "file", "score", "agreement", "margin", "pivotal", "id")
MIXED = "mix"
"""The order of a blind queue: the same permutation, the strata left out."""
_OPEN_ORDERS = frozenset({"draw", MIXED, "file", "id"})

_FLAGS = {flag.label: flag for flag in Flag} | {
    name.rstrip("!"): flag for flag, name in SHORT.items()
}
_FLAGS["trim"] = Flag.TRIMMED_DISSENT
_CHOICES = {
    "label": ("none", "pass", "fail", "unsure", "disputed"),
    "band": ("high", "medium", "low", "none"),
    "decision": ("pass", "fail", "inconclusive", "error", "none"),
    "warn": ("any", "bias", "same-family"),
}
_NUMBERS = ("score", "agreement", "margin")
_TEXTS = ("id", "test")
_COMPARE = re.compile(r"(<=|>=|<|>|=)")


class FilterError(UsageError):
    """A filter that cannot be read; ``column`` counts from 0."""

    def __init__(self, message: str, column: int, hint: str = "") -> None:
        """Keep the column, so that a screen can point at it."""
        self.column = column
        super().__init__(f"filter, column {column + 1}: {message}", hint)


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: ``kind`` is flag, choice, number or text."""

    kind: str
    name: str
    op: str
    value: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """All of the groups must hold, and any one term of a group."""

    groups: tuple[tuple[Term, ...], ...]

    @property
    def hidden(self) -> bool:
        """Whether it uses a fact that a blind session hides."""
        return any(
            not (term.kind == "text" or term.name == "label")
            for group in self.groups
            for term in group
        )


def parse_filter(text: str) -> Filter:
    """Read a filter; an error points at the column of the word that is wrong."""
    groups = []
    for column, word in _words(text):
        terms, start = [], column
        for part in _alternatives(word):
            terms.append(_term(part, start))
            start += len(part) + 1
        groups.append(tuple(terms))
    return Filter(tuple(groups))


def parse_order(order: str) -> tuple[str, bool]:
    """An order's name and whether it descends (a ``-`` in front)."""
    name = order.removeprefix("-")
    if name not in (*ORDERS, MIXED):
        raise UsageError(
            f"no order {order!r}", f"Orders: {', '.join(ORDERS)}; - in front descends."
        )
    return name, order.startswith("-")


def hidden_order(order: str) -> bool:
    """Whether an order follows a fact that a blind session hides."""
    return parse_order(order)[0] not in _OPEN_ORDERS


def _words(text: str) -> list[tuple[int, str]]:
    """The words of a filter with their columns; quotes keep spaces inside."""
    words: list[tuple[int, str]] = []
    start: int | None = None
    quoted = False
    for i, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        if char == " " and not quoted:
            if start is not None:
                words.append((start, text[start:i]))
            start = None
        elif start is None:
            start = i
    if quoted:
        raise FilterError("a quote is not closed", text.rindex('"'), 'Close it with a second ".')
    if start is not None:
        words.append((start, text[start:]))
    return words


def _alternatives(word: str) -> list[str]:
    """The parts between ``|`` that stand outside quotes."""
    parts, quoted = [""], False
    for char in word:
        quoted ^= char == '"'
        if char == "|" and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _term(part: str, column: int) -> Term:
    negated = part.startswith("!")
    body = part[1:] if negated else part
    column += negated
    if not body:
        raise FilterError("a condition is missing here", column, _hint())
    if "~" in body and (name := body.split("~", 1)[0]) in _TEXTS:
        return Term("text", name, "~", body.split("~", 1)[1].replace('"', ""), negated)
    if found := _COMPARE.search(body):
        return _comparison(body, found, column, negated=negated)
    if ":" in body:
        return _choice(body, column, negated=negated)
    # The queue writes trim! for a dissent that was left out; it may be typed as it is read.
    flag = _FLAGS.get(body.lower().rstrip("!").replace("-", "_"))
    if flag is None:
        raise FilterError(f"no flag {body!r}", column, _hint())
    return Term("flag", flag.label, ":", str(flag.value), negated)


def _comparison(body: str, found: re.Match[str], column: int, *, negated: bool) -> Term:
    name, value = body[: found.start()], body[found.end() :]
    if name not in _NUMBERS:
        known = ", ".join(_NUMBERS)
        raise FilterError(f"{name!r} is not a number to compare", column, f"Numbers: {known}.")
    try:
        number = float(value)
    except ValueError:
        place = column + found.end()
        raise FilterError(f"{value!r} is not a number", place, "Write score<.6.") from None
    if not math.isfinite(number):
        raise FilterError(f"{value!r} is not a finite number", column + found.end())
    return Term("number", name, found.group(), repr(number), negated)


def _choice(body: str, column: int, *, negated: bool) -> Term:
    name, value = body.split(":", 1)
    if name not in _CHOICES:
        raise FilterError(f"no fact {name!r}", column, f"Facts: {', '.join(_CHOICES)}.")
    value = value.replace('"', "").lower()
    if value not in _CHOICES[name]:
        place = column + len(name) + 1
        raise FilterError(f"no {name} {value!r}", place, f"One of {', '.join(_CHOICES[name])}.")
    return Term("choice", name, ":", value, negated)


def _hint() -> str:
    flags = ", ".join(sorted(name.rstrip("!") for name in SHORT.values()))
    return f"Flags: {flags}; or label:none, band:low, score<.6, test~word."
