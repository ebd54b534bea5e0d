"""A question to a run: asked before the labels that answer it, answered at every look."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from reviewdesk.domain.labels.rows import LabelledRow
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import Look
from reviewdesk.errors import UsageError

FIGURES = {"accuracy": "accuracy", "pass_rate": "pass rate", "brier": "Brier score"}
"""What may be asked about, by its name in a question, and as it is said."""
LEVEL = 0.95
PLANNED = 100
_MOST_PLANNED = 100_000
_OF_EVENT = ("at", "event", "closed")
_ASKED = re.compile(r"\s*([a-z][a-z_ ]*?)\s*(?:(>=|<=)\s*([0-9.]+)\s*(%?))?\s*", re.IGNORECASE)


class Reply(StrEnum):
    """What the labels say about a question so far."""

    NOT_YET = "not yet"
    YES = "yes"
    NO = "no"


class RunQuestion(Struct, frozen=True):
    """What is asked of a run: a limit on a figure, or an interval no wider than ``width``."""

    figure: str
    op: str = ""
    limit: float | None = None
    width: float | None = None
    level: float = LEVEL
    planned: int = PLANNED
    guesses: Mapping[int, float] = {}
    """The mean that the votes predict in each stratum, from before the first label."""
    unlabelled: tuple[str, ...] = ()
    """The items, by hash, whose labels had all been undone when the question was asked."""
    at: str = ""
    event: int = 0
    """The place of the question among the events of the desk; labels before it are known."""
    closed: bool = False

    @property
    def text(self) -> str:
        """The question as it is asked."""
        name = FIGURES[self.figure]
        if self.limit is not None:
            return f"{name} {self.op} {self.limit:g}"
        return f"{name} within an interval {self.width:g} wide"

    def detail(self) -> dict[str, Any]:
        """Return what the event holds; the rest of the question follows from the event itself."""
        held = to_builtins(self, str_keys=True)
        return {"question": {name: held[name] for name in held if name not in _OF_EVENT}}

    @staticmethod
    def from_detail(detail: Mapping[str, Any], *, at: str, event: int, closed: bool) -> RunQuestion:
        """Read a question as its event holds it.

        Raises:
            ValueError: it is none that this program asks, as an event of another desk may be.
        """
        held = convert(detail["question"], RunQuestion, str_keys=True)
        _check(held)
        if not all(0 <= mean <= 1 for mean in held.guesses.values()):
            raise ValueError("a mean is not between 0 and 1")
        return replace(held, at=at, event=event, closed=closed)


def parse_question(
    text: str, width: float | None = None, planned: int = PLANNED, level: float = LEVEL
) -> RunQuestion:
    """Read ``accuracy >= 0.9``, ``pass rate <= 40%``, or a figure alone with a width.

    Raises:
        UsageError: it names no such figure, or neither a limit nor a width between 0 and 1.
    """
    found = _ASKED.fullmatch(text)
    example = 'Ask, for example, "accuracy >= 0.9", or "accuracy" with --width 0.1.'
    if found is None:
        raise UsageError(f"cannot read the question {text!r}", example)
    name, op, number, percent = found.groups()
    figure = re.sub(r"[ _]+", "_", name.lower())
    if figure not in FIGURES:
        raise UsageError(f"no figure {name!r} to ask about", f"One of {', '.join(FIGURES)}.")
    limit = None
    if number:
        try:
            limit = float(number) / (100 if percent else 1)
        except ValueError:
            raise UsageError(f"cannot read the number {number!r}", example) from None
    made = RunQuestion(figure, op or "", limit, width, level, planned)
    try:
        _check(made)
    except ValueError as error:
        raise UsageError(str(error), example) from error
    return made


def _check(asked: RunQuestion) -> None:
    """Raise ValueError for a question that has no answer."""
    if asked.figure not in FIGURES or asked.op not in ("", "<=", ">="):
        raise ValueError(f"no such question: {asked.figure} {asked.op}")
    if (asked.limit is None or not asked.op) and asked.width is None:
        raise ValueError("the question has neither a limit nor a width")
    for value in (asked.limit, asked.width, asked.level):
        if value is not None and not 0 < value < 1:
            raise ValueError(f"{value:g} is not between 0 and 1")
    if not 1 <= asked.planned <= _MOST_PLANNED:
        raise ValueError(f"cannot plan for {asked.planned} labels: 1 to {_MOST_PLANNED:,}")


class Given(Struct, frozen=True):
    """A content that was labelled once or more, by its place in the draw."""

    unit: tuple[int, int]
    row: LabelledRow | None
    """The verdict that stands for it, with its label; ``None`` if it has none at the moment."""
    first: Truth
    """The first decision, which the draw after it depends on; it never changes."""
    before: bool
    """Whether it had a label when the question was asked."""


class RunAnswer(Struct, frozen=True):
    """What the labels say about an open question, and what to label next."""

    question: RunQuestion
    reply: Reply
    look: Look
    more: int | None
    """About how many labels more decide it, at the rates so far; ``None`` before any rate."""
    safe: bool
    """Whether one may stop: the question is answered, or the interval is as narrow as asked."""
    waiting: int
    """Labels that were given out of turn, and wait for contents drawn before theirs."""
    known: int
    """Contents that were labelled before the question."""
    pending: tuple[tuple[int, int], ...]
    """The places (stratum, rank) that are drawn and have no label yet, in the order drawn."""
    drawn: tuple[tuple[int, int], ...]
    """All places drawn so far, in order."""
