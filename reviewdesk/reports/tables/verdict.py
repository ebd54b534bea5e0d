"""Turn the rows of each item of a table into a verdict."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from reviewdesk.domain.enums import Strategy
from reviewdesk.domain.jury.family import family
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import folded
from reviewdesk.reports.bytes.strict_json import ImportTally
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.conversation import answer, conversation, question
from reviewdesk.reports.mapping.foreign import LEFT_OUT, Remarks, Scales, VerdictNames
from reviewdesk.reports.mapping.secrets import MOST_SECRETS, SecretRemover, named_secrets
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import ReportVerdict
from reviewdesk.reports.tables.ballot import BallotMaker, BallotNotes
from reviewdesk.reports.tables.cells import (
    CellError,
    DecidingWords,
    blank,
    is_plain,
    likely_number,
    name,
    names,
    part_of_whole,
)
from reviewdesk.reports.tables.entries import Human, TableEntry, Vote
from reviewdesk.reports.tables.rows import TableRow
from reviewdesk.reports.tables.table_map import TableMap
from reviewdesk.reports.wording import FieldProblem

_MOST_NAMED = 5
_MOST_JUDGES = 10_000

Key: TypeAlias = tuple[str, str]
Read: TypeAlias = tuple[TableRow, Key, TableEntry | CellError]


class TableSurvey:
    """The results of a first pass over the rows: verdicts, their row counts, and scales."""

    def __init__(self, *, scale_by_judge: bool, panel: bool = False) -> None:
        """Start with no rows."""
        self.rows: dict[Key, int] = {}
        self.apart = 0
        self._rubrics: dict[str, str | None] = {}
        self._last: Key | None = None
        self._by_judge = scale_by_judge
        self._panel = panel
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
        if not self._by_judge or self._panel or len(self._judges) < 2:
            return ()
        named = ", ".join(show_line(name, 40) for name in [*self._judges][:_MOST_NAMED])
        more = ", ..." if len(self._judges) > _MOST_NAMED else ""
        advice = "name those that ask different questions with --criteria-columns"
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
        self.group = self.item = self.rubric = self.dimension = self.name = ""
        self.facts: dict[str, Any] = {}
        self.ballots: list[tuple[str, float, dict[str, Any]]] = []
        self.checks: list[dict[str, Any]] = []
        self.human: dict[str, Any] | None = None
        self.problem: tuple[str, str] | None = None
        self.secrets: set[str] = set()
        self.places: dict[tuple[str, str], str] = {}

    def wrong(self, row: TableRow, error: CellError) -> None:
        """Record why this item gives no verdict. The first reason is kept."""
        if self.problem is None:
            place = row.at(error.column) if error.column else row.place
            self.problem = (place, error.problem)


class VerdictMaker:
    """Makes the verdicts of one table, with unique ids."""

    def __init__(
        self, seen: TableSurvey, options: ReadOptions, notes: BallotNotes, made: TableMap
    ) -> None:
        """Start with no ids given; ``seen`` holds the facts of the whole table."""
        self._table = seen
        self._notes = notes
        self._scale = options.scale
        self._words = DecidingWords(options)
        self._errors = set(map(folded, made.words.get("error", ())))
        self._quiet = set(made.words.get("quiet", ()))
        self._unsure = set(map(folded, made.words.get("unsure", ())))
        self._ballots = BallotMaker(self._words, options, notes, seen.off_scale, seen.is_scored)
        self._names = VerdictNames()

    def add(self, draft: Draft, row: TableRow, entry: TableEntry, *, repeats: bool) -> None:
        """Add one row of an item to its draft."""
        draft.item = entry.item
        draft.group = entry.key[0]
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
        if question and self._table.several(draft.group):
            name = f"{name} / {question}"
        case = {"test": facts.get("test") or draft.name or draft.item}
        case.update({key: facts[key] for key in ("suite", "tags") if facts.get(key)})
        case.update(
            {key: facts[role] for role, key in (("case_name", "name"), ("attempt", "epoch"))
             if facts.get(role)}
        )  # fmt: skip
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
            **_generator(facts, jurors),
            "threshold": facts.get("threshold"),
            "strategy": facts.get("strategy"),
            "decision": facts.get("decision") or _failure(facts, jurors),
            "label": facts.get("label"),
            **self._panel(facts, jurors),
            "checks": draft.checks or None,
            "jurors": jurors,
            "human": draft.human,
            "provenance": {"pointer": draft.row.place},
            "meta": {"origin": facts["origin"]} if facts.get("origin") else None,
        }
        return values.without_nulls(body)

    def _panel(self, facts: dict[str, Any], jurors: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the agreement and the reasons for a review that a file states."""
        found: dict[str, Any] = {}
        share = facts.get("agreement")
        if share is not None and jurors and not _failure(facts, jurors):
            found["agreement"] = {"value": share, "metric": "consensus_share"}
        if reasons := facts.get("escalation"):
            found["escalate_for_review"] = not self._quiet.issuperset(reasons)
            found["escalation_reasons"] = reasons
        return found

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
        if role == "decision" and isinstance(value, str) and not is_plain(value):
            facts.setdefault("label", value.strip())
            if found is None and facts["label"] == value.strip():
                self._notes.words.add(value)
                return
        if found is None:
            self._notes.count(f"a {role} that cannot be one is left out")
        elif role not in facts:
            facts[role] = found
        elif role == "decision" and facts[role] != found:
            # A decision that differs by row belongs to the ballots, not to the panel.
            facts[role] = None
            facts.pop("label", None)
            self._notes.count("rows of one item differ in their decision, which is left out")
        elif role == "origin":
            facts[role] = found | facts[role]
        elif facts[role] != found:
            self._notes.count(f"rows of one item differ in their {role}; the first one is kept")

    def _fact(self, role: str, value: Any) -> Any:
        if role == "threshold":
            return self._threshold(value)
        if role == "decision":
            return self._decision(value)
        return _READERS[role](value) if role in _READERS else value

    def _decision(self, value: Any) -> str | None:
        if isinstance(value, str) and folded(value) in self._errors:
            return "error"
        vote = self._words.vote(value)
        return values.decision(value if vote is None else vote)

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
        if label is None and any(folded(str(word)) in self._unsure for word in human.words):
            label = "unsure"
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


_STRATEGIES = {strategy.value: strategy.value for strategy in Strategy} | {
    "weighted": Strategy.WEIGHTED_VOTE.value
}


def _reference(value: Any) -> str | list[str] | None:
    texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
    return value if texts else values.text(value)


def _origin(value: Mapping[str, Any]) -> dict[str, str]:
    kept = {key: name(one) for key, one in value.items() if not blank(one)}
    return {key: one for key, one in kept.items() if one}


_READERS: dict[str, Callable[[Any], Any]] = {
    "input": question,
    "output": answer,
    "alternative": answer,
    "conversation": conversation,
    "test": values.text,
    "suite": values.text,
    "reference": _reference,
    "tags": names,
    "origin": _origin,
    "generator": lambda value: {"model": found} if (found := name(value)) else None,
    "strategy": lambda value: (
        _STRATEGIES.get(value.strip().lower(), "external") if values.filled(value) else None
    ),
    "agreement": lambda value: values.unit(likely_number(value)),
    "escalation": names,
    "case_name": values.filled,
    "attempt": lambda value: values.count(value) or None,
    "rival": values.filled,
}
"""How the value of a role is read."""


_FAILED = frozenset({"error", "timeout", "parse_fail", "empty", "missing_key"})


def _failure(facts: dict[str, Any], jurors: list[dict[str, Any]]) -> str | None:
    """Return the decision ``error`` of a row whose response or whose whole panel failed."""
    failed = all("error" in one or one.get("status") in _FAILED for one in jurors)
    return "error" if failed and (jurors or facts.get("failed")) else None


def _generator(facts: dict[str, Any], jurors: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields that say whether a judge is of the family of the one who wrote.

    If only the writer of the alternative shares a family with a judge, ``same_family`` says so. If
    that family is unknown, and the first writer's is known and not shared, the question is open.
    """
    generator = facts.get("generator")
    rival = facts.get("rival")
    if rival is None or generator is None:
        return {"generator": generator}
    judges = {found.name for juror in jurors if (found := family(juror.get("model")))}
    first, second = (found.name if (found := family(one)) else None
                     for one in (generator["model"], rival))  # fmt: skip
    if first not in judges and second in judges:
        return {"same_family": True}
    return {} if first and first not in judges and not second else {"generator": generator}


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
    """How the rows of a table are read, and the map that says so."""

    entries: EntriesOf
    made: TableMap
    holds_secrets: bool = True
    """Whether a cell may be an API key or hold one, by its column's name."""


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
    maker = VerdictMaker(survey, options, remarks, shape.made)
    left = dict(survey.rows)
    waiting = deque(left)
    drafts: dict[Key, Draft] = {}
    for row, key, entry in read_rows(rows, shape.entries, remarks):
        secrets = named_secrets(row.cells) if shape.holds_secrets else set()
        draft = drafts.get(key)
        if draft is None:
            draft = drafts[key] = Draft(row)
        if isinstance(entry, CellError):
            draft.wrong(row, entry)
        elif draft.problem is None:
            maker.add(draft, row, entry, repeats=bool(shape.made.name))
        draft.secrets |= secrets
        left[key] -= 1
        while waiting and waiting[0] in drafts and not left[waiting[0]]:
            yield _item(drafts.pop(waiting.popleft()), maker)
    tally.unreadable = remarks.first_unreadable
    tally.notes.extend([*remarks.ballot_notes(options.models), *remarks.notes(LEFT_OUT)])
    if survey.apart:
        tally.notes.append(
            f"rows of one item that stand apart were brought together ({survey.apart}x)"
        )


def _item(draft: Draft, maker: VerdictMaker) -> ReportVerdict:
    if draft.problem is not None:
        place, text = draft.problem
        return ReportVerdict("", None, place, FieldProblem((), text))
    if len(draft.secrets) > MOST_SECRETS:
        problem = FieldProblem((), f"shows over {MOST_SECRETS} keys in clear")
        return ReportVerdict("", None, draft.row.place, problem)
    body = SecretRemover(draft.secrets).clean(maker.body(draft))
    return ReportVerdict("", body, draft.row.place)
