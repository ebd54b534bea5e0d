"""Combine the rows of one item into a canonical verdict."""

from __future__ import annotations

from typing import Any, Protocol

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import VerdictNames, time
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.ballots import BallotMaker
from reviewdesk.reports.tables.cells import (
    CellError,
    DecidingWords,
    likely_number,
    names,
)
from reviewdesk.reports.tables.entry import Human, TableEntry, Vote
from reviewdesk.reports.tables.notes import BallotNotes
from reviewdesk.reports.tables.rows import TableRow, blank

_TEXTS = ("input", "output", "alternative", "test", "suite")


class TableFacts(Protocol):
    """Facts that only the whole table shows."""

    def several(self, item: str) -> bool:
        """Return True if an item is judged under more than one rubric."""

    def off_scale(self, judge: str) -> bool:
        """Return True if a judge's scale is not 0..1."""


class Draft:
    """A verdict that still waits for rows."""

    def __init__(self, row: TableRow) -> None:
        """Start at the first row of an item."""
        self.row = row
        self.item = self.rubric = self.name = ""
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

    def __init__(self, seen: TableFacts, options: ReadOptions, notes: BallotNotes) -> None:
        """Start with no ids given; ``seen`` holds the facts of the whole table."""
        self._table, self._notes, self._scale = seen, notes, options.scale
        self._words = DecidingWords(options)
        self._ballots = BallotMaker(self._words, options, notes, seen.off_scale)
        self._names = VerdictNames()

    def add(self, draft: Draft, row: TableRow, entry: TableEntry, *, repeats: bool) -> None:
        """Add one row of an item to its draft."""
        draft.item, draft.rubric = entry.item, entry.rubric
        draft.name = draft.name or entry.name
        try:
            for vote in entry.votes:
                if vote.check:
                    draft.checks.append(self._check(vote))
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
        name = draft.name or draft.item
        if draft.rubric and self._table.several(draft.item):
            name = f"{name} / {draft.rubric}"
        case = {"test": facts.get("test") or draft.name or draft.item}
        case.update({key: facts[key] for key in ("suite", "tags") if facts.get(key)})
        seated = _in_seat_order(draft.ballots)
        ids = VerdictNames.jurors([judge for judge, _, _ in seated])
        jurors = [
            {"id": juror_id, **ballot} for juror_id, (_, _, ballot) in zip(ids, seated, strict=True)
        ]
        body = {
            "id": self._names.verdict(name),
            "case": case,
            **{key: facts.get(key) for key in ("input", "output", "alternative", "reference")},
            "rubric": draft.rubric or None,
            "generator": facts.get("generator"),
            "threshold": facts.get("threshold"),
            "decision": "error" if facts.get("failed") and not jurors else facts.get("decision"),
            "checks": draft.checks or None,
            "jurors": jurors,
            "human": draft.human,
            "provenance": {"pointer": draft.row.place},
        }
        return values.without_nulls(body)

    def _add_ballot(self, draft: Draft, row: TableRow, vote: Vote, *, repeats: bool) -> None:
        repeat = vote.cells.get("repeat")
        seat = (vote.judge, "" if blank(repeat) else str(repeat).strip())
        if not repeats and seat in draft.places:
            before = draft.places[seat]
            again = f"{_quoted(vote.judge)} rates {_quoted(draft.item)} a second time"
            text = f"{again}, first at {before}; number such rows in a column named repeat"
            raise CellError("", text)
        draft.places.setdefault(seat, row.place)
        order = likely_number(repeat)
        ballot = self._ballots.make(vote)
        draft.ballots.append((vote.judge, 0 if order is None else order, ballot))

    def _check(self, vote: Vote) -> dict[str, Any]:
        """Return a program's check. Its score decides only if it is 0 or 1."""
        answer = self._ballots.make(vote)
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
            return values.text(value)
        if role == "reference":
            texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
            return value if texts else values.text(value)
        if role == "tags":
            return names(value)
        if role == "generator":
            return {"model": value.strip()} if isinstance(value, str) else None
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
        draft.human = values.without_nulls({"label": label, **kept, "at": time(human.at)})


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
