"""Turn the votes in a table's rows into ballots, and the rows of each item into a verdict."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Status
from reviewdesk.reports.bytes.strict_json import ImportTally
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import measured, slow_or_error, understood
from reviewdesk.reports.mapping.conversation import answer, conversation, question
from reviewdesk.reports.mapping.foreign import (
    Remarks,
    Scales,
    UnreadWords,
    VerdictNames,
    unmet_models,
)
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import ReportVerdict
from reviewdesk.reports.tables.cells import (
    CellError,
    DecidingWords,
    blank,
    is_missing,
    is_plain,
    is_word,
    likely_number,
    name,
    names,
    number,
    part_of_whole,
    stated_error,
)
from reviewdesk.reports.tables.entries import Human, TableEntry, Vote
from reviewdesk.reports.tables.rows import TableRow
from reviewdesk.reports.wording import FieldProblem, found, must_be

_SLACK = 1e-9
_STATUSES = frozenset(Status)
_NO_ERROR = frozenset({"false", "no", "none", "null", "0"})
_AMOUNTS = ("latency_ms", "cost_usd")
_NUMBERS = frozenset({*_AMOUNTS, "tokens_in", "tokens_out"})


_LABELS = (
    "a word that is neither a pass nor a fail is kept as the ballot's label, without a vote; say"
    " what it means with --pass-label or --fail-label"
)
_RAW = (
    "a score outside 0..1, or on one scale with such scores, is kept as raw_score and casts no"
    " vote; say what it means with --scale LOW..HIGH"
)


_UNREADABLE = "a score that cannot be read is a ballot that is not understood, without a vote"
_EMPTY = "a score that is empty or NaN is not measured, and casts no vote"


class BallotNotes(Remarks):
    """Remarks on ballots, with the words, scores and judges that they concern."""

    def __init__(self) -> None:
        """Start with no remarks."""
        super().__init__()
        self.judges: set[str] = set()
        self.words = UnreadWords(_LABELS)
        """The words that decide nothing."""
        self._raw_count = self._unreadable = 0
        self.first_unreadable = ""
        self._lowest = self._highest = 0.0

    def raw(self, score: float) -> None:
        """Count a score on an unknown scale."""
        if not self._raw_count:
            self._lowest = self._highest = score
        self._raw_count += 1
        self._lowest, self._highest = min(self._lowest, score), max(self._highest, score)

    def unreadable(self, place: str, problem: str) -> None:
        """Count a ballot whose score cannot be read."""
        self._unreadable += 1
        self.first_unreadable = self.first_unreadable or f"{place}: {problem}"

    def ballot_notes(self, models: Iterable[str]) -> list[str]:
        """Return the notes on words, on scores, and on ``models`` for judges that do not occur."""
        span = f"from {self._lowest:g} to {self._highest:g}"
        lines = [f"{_RAW} ({self._raw_count}x, {span})"] if self._raw_count else []
        if self._unreadable:
            lines.append(f"{_UNREADABLE} ({self._unreadable}x); {self.first_unreadable}")
        return [*lines, *self.words.notes(), *unmet_models(models, self.judges)]


class BallotMaker:
    """Makes the ballots of one table; ``off_scale`` tells whether a judge scores beyond 0..1."""

    def __init__(
        self,
        words: DecidingWords,
        options: ReadOptions,
        notes: BallotNotes,
        off_scale: Callable[[str, str], bool],
        is_scored: Callable[[str], bool],
    ) -> None:
        """Keep the options and the label words; ``notes`` collects remarks on changed values.

        ``is_scored`` tells whether a judge gives a score anywhere in the table.
        """
        self._words = words
        self._scale = options.scale
        self._models = options.models
        self._notes = notes
        self._off_scale = off_scale
        self._is_scored = is_scored

    def make(self, vote: Vote, place: Callable[[str], str], dimension: str = "") -> dict[str, Any]:
        """Return the canonical ballot of a vote, without an id.

        A score that cannot be read, or lies outside the given scale, gives a ballot that is not
        understood. ``place`` names the place of a column in the row.
        """
        cells = vote.cells
        self._notes.judges.add(vote.judge)
        body: dict[str, Any] = {
            "model": self._model(vote),
            "vendor": _text(cells.get("vendor")),
        }
        unread = list(vote.unread) if blank(cells.get("pass")) else ["pass", *vote.unread]
        try:
            self._add_score(body, vote, dimension)
            self._add_vote(body, vote)
        except CellError as error:
            self._notes.unreadable(place(error.column), error.problem)
            body = {**body, "score": None, "pass": None, "raw": _text(vote.score)}
            unread = [error.column]
        self._add_rest(body, cells)
        self._add_failure(body, cells)
        found = values.without_nulls(body, "pass")
        if is_missing(vote.score) and self._is_scored(vote.judge):
            was = found
            found = measured(found, self._notes)
            if found is not was:
                return found
        said = any(found.get(key) is not None for key in ("score", "raw_score", "label", "error"))
        if is_missing(vote.score) and not said and found.get("pass") is None and not unread:
            self._notes.count(_EMPTY)
        return understood(found, unread)

    def _model(self, vote: Vote) -> str | None:
        stated = _text(vote.cells.get("model"))
        given = self._models.get(vote.judge)
        if stated and given and stated != given:
            self._notes.count("--models: the table's own model of a judge stands")
        return stated or given

    def _add_score(self, body: dict[str, Any], vote: Vote, dimension: str) -> None:
        value = vote.score
        if blank(value):
            return
        if why := stated_error(value):
            body["error"] = {"message": why}
            body["status"] = slow_or_error(why)
            return
        if (parts := part_of_whole(value)) is not None:
            self._add_part(body, vote, *parts)
            return
        try:
            stated = number(value, vote.column)
        except CellError as error:
            self._add_word(body, vote, error)
            return
        if stated is None:
            return
        if self._scale is not None:
            body["score"] = self.share(stated, vote.column)
            body["raw_score"] = stated
            body["scale"] = list(self._scale)
        elif 0 <= stated <= 1 and not self._off_scale(vote.judge, dimension):
            body["score"] = stated
        else:
            body["raw_score"] = stated
            self._notes.raw(stated)

    def _add_part(self, body: dict[str, Any], vote: Vote, part: float, whole: float) -> None:
        """Read a score such as 4/5 or 85%, which states its own scale."""
        if self._scale is not None and self._scale[1] == whole:
            body |= {"score": self.share(part, vote.column), "scale": list(self._scale)}
        elif 0 <= part <= whole:
            body |= {"score": part / whole, "scale": [0, whole]}
        else:
            raise CellError(vote.column, must_be(f"from 0 to {whole:g}", vote.score))
        body["raw_score"] = part

    def share(self, stated: float, column: str) -> float:
        """Map a raw score from the given scale to 0..1. Raise CellError if it is outside."""
        low, high = self._scale or (0.0, 1.0)
        share = (stated - low) / (high - low)
        if not -_SLACK <= share <= 1 + _SLACK:
            raise CellError(column, must_be(f"from {low:g} to {high:g} (--scale)", stated))
        return min(max(share, 0.0), 1.0)

    def _add_word(self, body: dict[str, Any], vote: Vote, error: CellError) -> None:
        """Read a score that is not a number as a vote or a label, or raise ``error``."""
        decided = self._words.vote(vote.score)
        if decided is not None:
            body["pass"] = decided
            if isinstance(vote.score, str) and not is_plain(vote.score):
                body["label"] = vote.score.strip()
            self._notes.count("a score that is a word such as PASS is read as a vote")
            return
        if not is_word(vote.score):
            raise error
        if not vote.words:
            hint = "if the word decides, give --pass-label or --fail-label"
            raise CellError(error.column, f"{error.problem}; {hint}")
        self._add_label(body, vote.score)

    def _add_label(self, body: dict[str, Any], word: str) -> None:
        body["label"] = word.strip()
        body["pass"] = None
        if status := self._words.failure(word):
            body["status"] = status
        else:
            self._notes.words.add(body["label"])

    def _add_vote(self, body: dict[str, Any], vote: Vote) -> None:
        cells = vote.cells
        stated = cells.get("pass")
        label = cells.get("label")
        if not blank(label):
            body["label"] = values.text(label)
        word = label if is_missing(stated) else stated
        if is_missing(word):
            if "pass" in cells or "label" in cells:
                body.setdefault("pass", None)
            return
        decided = self._words.vote(word)
        if decided is not None:
            body["pass"] = decided
            if isinstance(word, str) and not is_plain(word):
                body.setdefault("label", word.strip())
        elif isinstance(word, str):
            stated_label = {key: body[key] for key in ("label",) if key in body}
            self._add_label(body, word)
            body.update(stated_label)
        else:
            body["pass"] = None
            self._notes.count(f"a vote that is no word, such as {found(word)}, is left out")

    def _add_rest(self, body: dict[str, Any], cells: Any) -> None:
        body["reason"] = _text(cells.get("reason"))
        confidence = likely_number(cells.get("confidence"))
        body["confidence"] = values.unit(confidence)
        if body["confidence"] is None and not blank(cells.get("confidence")):
            self._notes.count("a confidence that is no number from 0 to 1 is left out")
        weight = likely_number(cells.get("weight"))
        body["weight"] = weight if weight and weight > 0 else None
        if body["weight"] is None and not blank(cells.get("weight")):
            self._notes.count("a weight that is not above 0 is left out")
        for key in cells.keys() & _NUMBERS:
            amount = likely_number(cells[key])
            if amount is not None and amount >= 0 and (key in _AMOUNTS or amount == int(amount)):
                body[key] = amount
        body["at"] = values.time(cells.get("at"))

    def _add_failure(self, body: dict[str, Any], cells: Any) -> None:
        status = cells.get("status")
        if isinstance(status, str) and status.strip().lower() in _STATUSES:
            body.setdefault("status", status.strip().lower())
        message = _message(cells.get("error"))
        if message and "error" not in body:
            body["error"] = {"message": message}
            if body.get("status") in (None, "ok"):
                body["status"] = slow_or_error(message)
        if body.get("status") in (None, "ok"):
            return
        if body.get("score") is not None:
            body.setdefault("raw_score", body["score"])
            del body["score"]
            self._notes.count("the score of a ballot that failed is kept as raw_score only")
        body.pop("pass", None)


def _message(stated: Any) -> str:
    """Return why a ballot failed; empty for false, null and the like, which mean no failure."""
    if blank(stated) or stated in (False, 0):
        return ""
    if isinstance(stated, str) and stated.strip().lower() in _NO_ERROR:
        return ""
    return "the juror failed" if stated is True else (_text(stated) or "the juror failed")


def _text(value: Any) -> str | None:
    return None if blank(value) else values.text(value)


_TEXTS = {
    "input": question, "output": answer, "alternative": answer, "conversation": conversation,
    "test": values.text, "suite": values.text,
}  # fmt: skip
"""How the value of a role that is a text is read."""


_MOST_NAMED = 5
_MOST_JUDGES = 10_000

Key: TypeAlias = tuple[str, str]
Read: TypeAlias = tuple[TableRow, Key, TableEntry | CellError]


class TableSurvey:
    """The results of a first pass over the rows: verdicts, their row counts, and scales."""

    def __init__(self, *, scale_by_judge: bool) -> None:
        """Start with no rows."""
        self.rows: dict[Key, int] = {}
        self.apart = 0
        self._rubrics: dict[str, str | None] = {}
        self._last: Key | None = None
        self._by_judge = scale_by_judge
        self._scales = Scales()
        self._judges: dict[str, None] = {}
        self._scored: set[str] = set()

    def add(self, key: Key, entry: TableEntry | CellError) -> None:
        """Count one row."""
        if key != self._last and key in self.rows:
            self.apart += 1
        self._last = key
        self.rows[key] = self.rows.get(key, 0) + 1
        if isinstance(entry, CellError):
            return
        item, rubric = key  # the question, by its dimension or its rubric
        if self._rubrics.setdefault(item, rubric) != rubric:
            self._rubrics[item] = None
        for vote in entry.votes:
            if not vote.check and not entry.dimension and len(self._judges) <= _MOST_NAMED:
                self._judges.setdefault(vote.judge)
            score = likely_number(vote.score)
            self._scales.off(self.scale_of(vote.judge, entry.dimension), score)
            if (score is not None or part_of_whole(vote.score)) and len(
                self._scored
            ) < _MOST_JUDGES:
                self._scored.add(vote.judge)

    def several(self, item: str) -> bool:
        """Return True if an item is judged under more than one rubric."""
        return self._rubrics.get(item, "") is None

    def panel_note(self) -> tuple[str, ...]:
        """Return a note that a tool's scores by name are read as one panel; empty for one judge.

        The scores may answer different questions, which the table does not show.
        """
        if not self._by_judge or len(self._judges) < 2:
            return ()
        named = ", ".join(show_line(name, 40) for name in [*self._judges][:_MOST_NAMED])
        more = ", ..." if len(self._judges) > _MOST_NAMED else ""
        advice = "where these are different questions, export them apart"
        return (f"read as one panel: {named}{more}; {advice}",)

    def off_scale(self, judge: str, dimension: str) -> bool:
        """Return True if the judge's scale is not 0..1, because some score lies outside."""
        return self._scales.off(self.scale_of(judge, dimension))

    def is_scored(self, judge: str) -> bool:
        """Return True if the judge gives a score anywhere, so that its pass follows from scores."""
        return judge in self._scored

    def scale_of(self, judge: str, dimension: str) -> str:
        """Return the name of a scale. Each question has its own; in a tool's table each judge."""
        return f"{judge if self._by_judge else ''}\0{dimension}"


class Draft:
    """A verdict that still waits for rows."""

    def __init__(self, row: TableRow) -> None:
        """Start at the first row of an item."""
        self.row = row
        self.item = self.rubric = self.dimension = self.name = ""
        self.facts: dict[str, Any] = {}
        self.ballots: list[tuple[str, float, dict[str, Any]]] = []
        self.checks: list[dict[str, Any]] = []
        self.human: dict[str, Any] | None = None
        self.problem: tuple[str, str] | None = None
        self.places: dict[tuple[str, str], str] = {}

    def wrong(self, row: TableRow, error: CellError) -> None:
        """Record why this item gives no verdict. The first reason is kept."""
        if self.problem is None:
            place = row.at(error.column) if error.column else row.place
            self.problem = (place, error.problem)


class VerdictMaker:
    """Makes the verdicts of one table, with unique ids."""

    def __init__(self, seen: TableSurvey, options: ReadOptions, notes: BallotNotes) -> None:
        """Start with no ids given; ``seen`` holds the facts of the whole table."""
        self._table = seen
        self._notes = notes
        self._scale = options.scale
        self._words = DecidingWords(options)
        self._ballots = BallotMaker(self._words, options, notes, seen.off_scale, seen.is_scored)
        self._names = VerdictNames()

    def add(self, draft: Draft, row: TableRow, entry: TableEntry, *, repeats: bool) -> None:
        """Add one row of an item to its draft."""
        draft.item = entry.item
        draft.rubric = draft.rubric or entry.rubric
        draft.dimension = entry.dimension
        draft.name = draft.name or entry.name
        try:
            for vote in entry.votes:
                if vote.check:
                    draft.checks.append(self._check(vote, row))
                else:
                    self._add_ballot(draft, row, vote, repeats=repeats)
            for role, value in entry.facts.items():
                if not blank(value):
                    self._add_fact(draft.facts, role, value)
        except CellError as error:
            draft.wrong(row, error)
        if entry.human is not None:
            self._add_human(draft, entry.human)

    def body(self, draft: Draft) -> dict[str, Any]:
        """Return the canonical body of a draft that has all of its rows."""
        facts = draft.facts
        said = facts.get("conversation")
        name = draft.name or draft.item
        question = draft.dimension or draft.rubric
        if question and self._table.several(draft.item):
            name = f"{name} / {question}"
        case = {"test": facts.get("test") or draft.name or draft.item}
        case.update({key: facts[key] for key in ("suite", "tags") if facts.get(key)})
        if draft.dimension:
            case["dimension"] = draft.dimension
        seated = _in_seat_order(draft.ballots)
        ids = VerdictNames.jurors([judge for judge, _, _ in seated])
        jurors = [
            {"id": juror_id, **ballot} for juror_id, (_, _, ballot) in zip(ids, seated, strict=True)
        ]
        body = {
            "id": self._names.verdict(name),
            "case": case,
            "input": facts.get("input") or (said and said.input),
            "output": facts.get("output") or (said and said.output),
            **{key: facts.get(key) for key in ("alternative", "reference")},
            "rubric": draft.rubric or draft.dimension or None,
            "generator": facts.get("generator"),
            "threshold": facts.get("threshold"),
            "decision": "error" if facts.get("failed") and not jurors else facts.get("decision"),
            "checks": draft.checks or None,
            "jurors": jurors,
            "human": draft.human,
            "provenance": {"pointer": draft.row.place},
            "meta": {"origin": facts["origin"]} if facts.get("origin") else None,
        }
        return values.without_nulls(body)

    def _add_ballot(self, draft: Draft, row: TableRow, vote: Vote, *, repeats: bool) -> None:
        repeat = vote.cells.get("repeat")
        seat = (vote.judge, "" if blank(repeat) else str(repeat).strip())
        if not repeats and seat in draft.places:
            before = draft.places[seat]
            again = f"{_quoted(vote.judge)} rates {_quoted(draft.item)} a second time"
            text = (
                f"{again}, first at {before}; number such rows in a column named repeat, or name"
                " the question in a column named dimension"
            )
            raise CellError("", text)
        draft.places.setdefault(seat, row.place)
        order = likely_number(repeat)
        ballot = self._ballots.make(vote, row.at, draft.dimension)
        draft.ballots.append((vote.judge, 0 if order is None else order, ballot))

    def _check(self, vote: Vote, row: TableRow) -> dict[str, Any]:
        """Return a program's check. Its score decides only if it is 0 or 1."""
        answer = self._ballots.make(vote, row.at)
        passed = answer.get("pass")
        if passed is None and answer.get("score") in (0, 1):
            passed = answer["score"] == 1
        if passed is None:
            self._notes.count("a check whose result is neither a pass nor a fail has none")
        return values.without_nulls(
            {"name": vote.judge, "pass": passed, "reason": answer.get("reason")}, "pass"
        )

    def _add_fact(self, facts: dict[str, Any], role: str, value: Any) -> None:
        found = self._fact(role, value)
        if found is None:
            self._notes.count(f"a {role} that cannot be one is left out")
        elif role not in facts:
            facts[role] = found
        elif role == "decision" and facts[role] != found:
            # A decision that differs by row belongs to the ballots, not to the panel.
            facts[role] = None
            self._notes.count("rows of one item differ in their decision, which is left out")
        elif facts[role] != found:
            self._notes.count(f"rows of one item differ in their {role}; the first one is kept")

    def _fact(self, role: str, value: Any) -> Any:
        if role in _TEXTS:
            return _TEXTS[role](value)
        if role == "reference":
            texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
            return value if texts else values.text(value)
        if role == "origin":
            kept = {key: name(one) for key, one in value.items() if not blank(one)}
            return {key: one for key, one in kept.items() if one}
        if role == "tags":
            return names(value)
        if role == "generator":
            return {"model": found} if (found := name(value)) else None
        if role == "threshold":
            return self._threshold(value)
        if role == "decision":
            vote = self._words.vote(value)
            return values.decision(value if vote is None else vote)
        return value

    def _threshold(self, value: Any) -> float | int | None:
        stated = likely_number(value)
        if stated is None or self._scale is None:
            return values.unit(stated)
        try:
            return self._ballots.share(stated, "")
        except CellError:
            return None

    def _add_human(self, draft: Draft, human: Human) -> None:
        label = next(filter(None, map(self._words.human, human.words)), None)
        if label is None:
            self._notes.count(
                "a human label in other words than pass, fail and unsure is left out; say what it"
                " means with --pass-label or --fail-label"
            )
            return
        if draft.human is not None:
            if draft.human["label"] != label:
                self._notes.count("human labels of one item differ; the first one is kept")
            return
        source = {"by": human.by, "note": human.note}
        kept = {key: values.text(value) for key, value in source.items() if not blank(value)}
        draft.human = values.without_nulls({"label": label, **kept, "at": values.time(human.at)})


def _in_seat_order(
    ballots: list[tuple[str, float, dict[str, Any]]],
) -> list[tuple[str, float, dict[str, Any]]]:
    """Return ballots in the order of each judge's first row, then of the judge's repeats."""
    seats: dict[str, int] = {}
    for judge, _, _ in ballots:
        seats.setdefault(judge, len(seats))
    if len(seats) == len(ballots):
        return ballots
    return sorted(ballots, key=lambda one: (seats[one[0]], one[1]))


def _quoted(name: str) -> str:
    return f'"{show_line(name, 60)}"'


EntriesOf: TypeAlias = Callable[[TableRow, Remarks], list[TableEntry]]
"""Reads a row; returns nothing if the row has nothing to do with a jury.

Raises:
    CellError: the row cannot be read.
"""


class TableShape(Struct, frozen=True):
    """How the rows of a table are read, and whether a judge may rate an item twice."""

    entries: EntriesOf
    repeats: bool = False


def read_rows(rows: Iterable[TableRow], entries_of: EntriesOf, remarks: Remarks) -> Iterator[Read]:
    """Yield each entry of each row with its key, or the row's error. Skip rows without a jury."""
    for row in rows:
        if row.problem:
            yield row, ("", row.place), CellError("", row.problem)
            continue
        try:
            entries = entries_of(row, remarks)
        except CellError as error:
            yield row, ("", row.place), error
            continue
        for entry in entries:
            yield row, entry.key, entry


def verdicts(
    rows: Iterable[TableRow],
    survey: TableSurvey,
    shape: TableShape,
    options: ReadOptions,
    tally: ImportTally,
) -> Iterator[ReportVerdict]:
    """Yield verdicts in the order of their first rows, each as soon as its last row is read.

    At the end the notes on the import are appended to those of ``tally``.
    """
    remarks = BallotNotes()
    maker = VerdictMaker(survey, options, remarks)
    left = dict(survey.rows)
    waiting = deque(left)
    drafts: dict[Key, Draft] = {}
    for row, key, entry in read_rows(rows, shape.entries, remarks):
        draft = drafts.get(key)
        if draft is None:
            draft = drafts[key] = Draft(row)
        if isinstance(entry, CellError):
            draft.wrong(row, entry)
        elif draft.problem is None:
            maker.add(draft, row, entry, repeats=shape.repeats)
        left[key] -= 1
        while waiting and waiting[0] in drafts and not left[waiting[0]]:
            yield _item(drafts.pop(waiting.popleft()), maker)
    tally.unreadable = remarks.first_unreadable
    tally.notes.extend([*remarks.ballot_notes(options.models), *remarks.notes()])
    if survey.apart:
        tally.notes.append(
            f"rows of one item that stand apart were brought together ({survey.apart}x)"
        )


def _item(draft: Draft, maker: VerdictMaker) -> ReportVerdict:
    if draft.problem is not None:
        place, text = draft.problem
        return ReportVerdict("", None, place, FieldProblem((), text))
    return ReportVerdict("", maker.body(draft), draft.row.place)
