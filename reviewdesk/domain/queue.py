"""The language in which a reviewer filters and orders the queue.

A filter is words with a space for *and*: a flag (``esc``), a fact (``label:none``, ``tag:x``), a
comparison (``score<.6``) or a match (``test~deploy``). ``!`` negates, ``|`` separates alternatives,
and double quotes keep spaces together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from reviewdesk.domain import facts
from reviewdesk.domain.flags import SHORT, Flag
from reviewdesk.domain.search import parse_search
from reviewdesk.errors import UsageError

ORDERS = tuple(facts.ORDERS)
MIXED = "mix"
"""The order of a blind queue: the same permutation, the strata left out."""
_OPEN_ORDERS = frozenset({"draw", MIXED, "file", "id"})
_OPEN_KINDS = frozenset({"text", "state", "tag", "juror", "run"})
"""Conditions that do not depend on a panel's answer."""

_FLAGS = {flag.label: flag for flag in Flag} | {facts.short(flag): flag for flag in SHORT}
_PARTED = re.compile(r'([^~:<>="]*)(~|:|<=|>=|<|>|=)(.*)', re.DOTALL)


class FilterError(UsageError):
    """A filter that cannot be read; ``column`` counts from 0."""

    def __init__(self, message: str, column: int, hint: str = "") -> None:
        """Keep the column, so that a screen can point at it."""
        self.column = column
        super().__init__(f"filter, column {column + 1}: {message}", hint)


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: ``kind`` is flag, state, choice, number, text, words or the name of a fact.

    ``column`` is where its value stands, for what only the desk can find wrong with it.
    """

    kind: str
    name: str
    op: str
    value: str
    negated: bool
    column: int = field(default=0, compare=False)

    @property
    def hidden(self) -> bool:
        """Whether it uses a fact that a blind session hides."""
        return self.kind not in _OPEN_KINDS and self.name != "label"


@dataclass(frozen=True, slots=True)
class Filter:
    """All of the groups must hold, and any one term of a group."""

    groups: tuple[tuple[Term, ...], ...]

    @property
    def hidden(self) -> bool:
        """Whether it uses a fact that a blind session hides."""
        return any(term.hidden for group in self.groups for term in group)

    @property
    def searches(self) -> bool:
        """Whether it needs the full-text index."""
        return any(term.kind == "words" for group in self.groups for term in group)

    @property
    def measured(self) -> bool:
        """Whether it needs the run to be measured."""
        return any(term.name in facts.MEASURED for group in self.groups for term in group)


def parse_filter(text: str) -> Filter:
    """Read a filter; an error points at the column of the word that is wrong."""
    return Filter(tuple(_group(text, word) for word in _closed(text)))


def expand_filter(text: str, saved: Mapping[str, str]) -> str:
    """A filter with every word ``@name`` replaced by the saved filter of that name.

    What is wrong is pointed at in ``text`` as it was typed.
    """
    expanded = []
    for word in _closed(text):
        start, end = word[0][0], word[-1][1]
        whole = text[start:end]
        if not whole.startswith("@"):
            _group(text, word)
            expanded.append(whole)
        elif whole[1:] in saved:
            expanded.append(saved[whole[1:]])
        else:
            known = ", ".join(sorted(saved)) or "none"
            raise FilterError(f"no saved filter {whole[1:]!r}", start, f"Saved filters: {known}.")
    return " ".join(expanded)


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


def measured_order(order: str) -> bool:
    """Whether an order needs the run to be measured."""
    return parse_order(order)[0] in facts.MEASURED


Span = tuple[int, int]


def spans(text: str) -> list[list[Span]]:
    """Where the words of a filter stand, each as its alternatives; an open quote runs to the end.

    Spaces part words and ``|`` parts alternatives, both outside quotes.
    """
    words: list[list[Span]] = []
    between, quoted = True, False
    for place, char in enumerate(text):
        quoted ^= char == '"'
        if char == " " and not quoted:
            between = True
            continue
        if between:
            words.append([(place, place)])
            between = False
        if char == "|" and not quoted:
            words[-1].append((place + 1, place + 1))
        else:
            words[-1][-1] = (words[-1][-1][0], place + 1)
    return words


def _closed(text: str) -> list[list[Span]]:
    if text.count('"') % 2:
        raise FilterError("a quote is not closed", text.rindex('"'), 'Close it with a second ".')
    return spans(text)


def _group(text: str, word: list[Span]) -> tuple[Term, ...]:
    return tuple(_term(text[start:end], start) for start, end in word)


def _term(part: str, column: int) -> Term:
    negated = part.startswith("!")
    body = part.removeprefix("!")
    column += negated
    if not body:
        raise FilterError("a condition is missing here", column, _hint())
    if body.startswith("@"):
        raise FilterError("a saved filter stands alone", column, "Put spaces around @name.")
    parted = _PARTED.fullmatch(body)
    if parted is None:
        return _word(body, column, negated=negated)
    name, op, value = parted.groups()
    place = column + parted.start(3)
    read = {"~": _match, ":": _fact}.get(op, _comparison)
    kind, name, value = read(name, value, column, place)
    return Term(kind, name, op, value, negated, place)


def _word(body: str, column: int, *, negated: bool) -> Term:
    # The queue writes trim! for a dissent that was left out; it may be typed as it is read.
    name = body.lower().rstrip("!").replace("-", "_")
    if name in facts.STATES:
        return Term("state", name, ":", "", negated, column)
    if (flag := _FLAGS.get(name)) is None:
        raise FilterError(f"no flag {body!r}", column, _hint())
    return Term("flag", flag.label, ":", str(flag.value), negated, column)


Read = tuple[str, str, str]
"""Kind, name and value of a term."""


def _comparison(name: str, value: str, column: int, place: int) -> Read:
    if name not in facts.NUMBERS:
        known = ", ".join(facts.NUMBERS)
        raise FilterError(f"{name!r} is not a number to compare", column, f"Numbers: {known}.")
    try:
        number = float(value)
    except ValueError:
        raise FilterError(f"{value!r} is not a number", place, "Write score<.6.") from None
    if not math.isfinite(number):
        raise FilterError(f"{value!r} is not a finite number", place)
    return "number", name, repr(number)


def _match(name: str, value: str, column: int, place: int) -> Read:
    if name not in facts.TEXTS:
        known = ", ".join(facts.TEXTS)
        raise FilterError(f"{name!r} is not a text to look in", column, f"Texts: {known}.")
    if name != "text":
        return "text", name, value.replace('"', "")
    try:
        parse_search(value)
    except UsageError as error:
        raise FilterError(error.message, place, error.hint) from None
    return "words", name, value


def _fact(name: str, value: str, column: int, place: int) -> Read:
    plain = value.replace('"', "")
    if name in facts.NAMED:
        if not plain:
            raise FilterError(f"a {name} is missing here", place)
        # In quotes it is a tag of that name.
        if (name, value) == ("tag", facts.UNTAGGED):
            return "state", "untagged", ""
        return name, name, plain
    if name not in facts.CHOICES:
        known = ", ".join((*facts.CHOICES, *facts.NAMED))
        raise FilterError(f"no fact {name!r}", column, f"Facts: {known}.")
    plain = plain.lower()
    if plain not in facts.CHOICES[name]:
        raise FilterError(
            f"no {name} {plain!r}", place, f"One of {', '.join(facts.CHOICES[name])}."
        )
    return "choice", name, plain


def _hint() -> str:
    flags = ", ".join(sorted(facts.short(flag) for flag in SHORT))
    return f"Flags: {flags}; or label:none, band:low, tag:x, score<.6, test~word."
