"""A question to a run: asked before the labels that answer it, answered at every look."""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from reviewdesk.domain.labels.sampling import LabelledRow
from reviewdesk.domain.records import Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.figures import Look
from reviewdesk.errors import UsageError

FIGURES = {"accuracy": "accuracy", "pass_rate": "pass rate", "brier": "Brier score"}
"""The figures that may be asked about: the name of each in a question, and in words."""
LEVEL = 0.95
PLANNED = 100
_MOST_PLANNED = 100_000
_ASKED = re.compile(
    r"\s*([a-z][a-z_ ]*?)(?:\s+of\s+(.+?))?\s*(?:(>=|<=)\s*(-?[0-9.]+)\s*(%?))?\s*", re.IGNORECASE
)
PANEL = "panel"
_LESS = " less "
_EXAMPLE = 'Ask, for example, "accuracy >= 0.9", or "accuracy" with --width 0.1.'


class Reply(StrEnum):
    """What the labels say about a question so far."""

    NOT_YET = "not yet"
    YES = "yes"
    NO = "no"


class RunQuestion(Struct, frozen=True):
    """A limit on a figure of a run, of one juror or a difference of two, or a ``width`` for it."""

    figure: str
    op: str = ""
    limit: float | None = None
    width: float | None = None
    level: float = LEVEL
    planned: int = PLANNED
    of: tuple[str, ...] = ()
    guesses: Mapping[int, float] = {}
    """The mean that the votes predict in each stratum, from before the first label."""
    unlabelled: tuple[str, ...] = ()
    """The items, by hash, whose labels had all been undone when the question was asked."""
    turn: int = 0
    """How many questions of the run came before it; each draws by random numbers of its own."""
    at: str = ""
    event: int = 0
    """The place of the question among the events of the desk; labels before it are known."""
    closed: bool = False

    @property
    def text(self) -> str:
        name = FIGURES[self.figure]
        if self.of:
            name = f"{name} of {_LESS.join(show_line(one, 60) for one in self.of)}"
        if self.limit is not None:
            return f"{name} {self.op} {self.limit:g}"
        return f"{name} within an interval {self.width:g} wide"

    @property
    def subject(self) -> str:
        return "difference" if len(self.of) == 2 else FIGURES[self.figure]

    def is_same(self, asked: "RunQuestion") -> bool:
        return replace(
            asked, guesses=self.guesses, unlabelled=self.unlabelled, turn=self.turn, at=self.at,
            event=self.event,
        ) == self  # fmt: skip

    def detail(self) -> dict[str, Any]:
        """Return the event's detail; the rest of the question follows from the event itself."""
        held = to_builtins(self, str_keys=True)
        for name in ("at", "event", "closed"):
            del held[name]
        return {"question": held}

    @staticmethod
    def from_detail(
        detail: Mapping[str, Any], *, at: str, event: int, closed: bool
    ) -> "RunQuestion":
        """Read a question from its event; raise ValueError or UsageError if only others ask it."""
        held = convert(detail["question"], RunQuestion, str_keys=True)
        _check(held, difference=len(held.of) == 2)
        if len(held.of) > 2 or not all(0 <= mean <= 1 for mean in held.guesses.values()):
            raise ValueError("the question names more than two raters, or a mean is not a share")
        return replace(held, at=at, event=event, closed=closed)


def parse_question(
    text: str, width: float | None = None, planned: int = PLANNED, level: float = LEVEL
) -> RunQuestion:
    """Read a question such as ``accuracy of JUROR >= 90%``; raise UsageError if it asks nothing."""
    found = _ASKED.fullmatch(text)
    if found is None:
        raise UsageError(f"cannot read the question {text!r}", _EXAMPLE)
    name, who, op, number, percent = found.groups()
    figure = re.sub(r"[ _]+", "_", name.lower())
    if figure not in FIGURES:
        raise UsageError(f"no figure {name!r} to ask about", f"One of {', '.join(FIGURES)}.")
    limit = None
    if number:
        try:
            limit = float(number) / (100 if percent else 1)
        except ValueError:
            raise UsageError(f"cannot read the number {number!r}", _EXAMPLE) from None
    made = RunQuestion(figure, op or "", limit, width, level, planned, (who,) if who else ())
    _check(made, difference=bool(who))
    return made


def with_raters(asked: RunQuestion, names: Collection[str]) -> RunQuestion:
    """Split the text after ``of`` into one or two raters; raise UsageError for others."""
    (text,) = asked.of
    parts = text.split(_LESS)
    ways = [(text,)] + [
        (_LESS.join(parts[:at]), _LESS.join(parts[at:])) for at in range(1, len(parts))
    ]
    for way in ways:
        if all(one == PANEL or one in names for one in way) and len(set(way)) == len(way):
            found = replace(asked, of=() if way == (PANEL,) else way)
            _check(found, difference=len(way) == 2)
            return found
    known = ", ".join(show_line(one, 60) for one in [PANEL, *names][:12])
    what = f"no juror {show_line(text, 120)!r} to ask about"
    raise UsageError(what, f"One of {known}, or one of them less another.")


def _check(asked: RunQuestion, *, difference: bool = False) -> None:
    """Raise UsageError for a question that has no answer; a ``difference`` may be under 0."""
    below = difference and asked.limit is not None and -1 < asked.limit <= 0
    every = (None if below else asked.limit, asked.width, asked.level)
    shares = [value for value in every if value is not None]
    wrong = [f"{value:g} is not between 0 and 1" for value in shares if not 0 < value < 1]
    if asked.figure not in FIGURES or asked.op not in ("", "<=", ">="):
        wrong.append(f"no such question: {asked.figure} {asked.op}")
    if (asked.limit is None or not asked.op) and asked.width is None:
        wrong.append("the question has neither a limit nor a width")
    if asked.of and asked.figure != "accuracy":
        wrong.append("of jurors only the accuracy can be asked")
    if not 1 <= asked.planned <= _MOST_PLANNED:
        wrong.append(f"cannot plan for {asked.planned} labels: 1 to {_MOST_PLANNED:,}")
    if wrong:
        raise UsageError(wrong[0], _EXAMPLE)


class QuestionItems(Struct, frozen=True):
    """The contents that a question about jurors covers, by their places in the draw.

    ``passes`` says by stratum and rank whether the juror passes a content, or whether the first of
    two raters passes one on which they differ: of the ``items`` that both decided, the others need
    no label. ``guesses`` are as in the question.
    """

    passes: Mapping[int, Mapping[int, bool]]
    items: int
    guesses: Mapping[int, float]


class Given(Struct, frozen=True):
    """A content that was labelled once or more, by its place in the draw."""

    unit: tuple[int, int]
    row: LabelledRow | None
    """The verdict that stands for it, with its label; ``None`` if it has none at the moment."""
    first: Truth
    """The first decision, which the draw after it depends on; it never changes."""
    before: bool


class RunAnswer(Struct, frozen=True):
    """What the labels say about an open question, and what to label next."""

    question: RunQuestion
    reply: Reply
    look: Look
    more: int | None
    """About how many more labels decide it, at the rates so far; ``None`` before any rate."""
    safe: bool
    """Whether one may stop: the question is answered, or the interval is as narrow as asked."""
    waiting: int
    """Labels that were given out of turn, and wait for contents drawn before theirs."""
    known: int
    """Contents that were labelled before the question."""
    size: int
    pending: tuple[tuple[int, int], ...]
    """The places (stratum, rank) that are drawn and have no label yet, in the order drawn."""
    drawn: tuple[tuple[int, int], ...]
