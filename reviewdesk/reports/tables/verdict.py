"""Turn the rows of each item of a table into a verdict."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from reviewdesk.domain.jury.family import family
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Strategy, folded
from reviewdesk.reports.bytes.strict_json import ImportTally
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.conversation import answer, conversation, question
from reviewdesk.reports.mapping.foreign import ID_LENGTH, LEFT_OUT, juror_ids
from reviewdesk.reports.mapping.secrets import named_secrets
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import ReportVerdict
from reviewdesk.reports.tables.ballot import BallotMaker, BallotNotes, Key, TableSurvey
from reviewdesk.reports.tables.cells import (
    CellError,
    blank,
    is_plain,
    likely_number,
    name,
    names,
    without_remark,
)
from reviewdesk.reports.tables.entries import MapReader, TableEntry, TableItem
from reviewdesk.reports.tables.rows import TableRow
from reviewdesk.reports.tables.table_map import Ballot, Human
from reviewdesk.reports.wording import FieldError, JsonObject


class Draft(Struct, eq=False):
    """A verdict that still waits for ``runs`` runs of rows."""

    row: TableRow
    runs: int
    item: TableItem
    """The item as stated by the first row."""
    last: TableItem | None = None
    """The item as stated by the row that was read last."""
    rubric: str = ""
    title: str = ""
    stated: JsonObject = {}
    """The cells of the facts in the row that was read last."""
    facts: JsonObject = {}
    ballots: list[Ballot] = []
    checks: list[JsonObject] = []
    humans: dict[str, JsonObject] = {}
    """The labels of people by their names."""
    problem: tuple[str, str] | None = None
    secrets: frozenset[str] = frozenset()
    places: dict[tuple[str, str], TableRow] = {}


class VerdictMaker:
    """Makes the verdicts of one table."""

    def __init__(
        self, seen: TableSurvey, options: ReadOptions, notes: BallotNotes, reading: MapReader
    ) -> None:
        """Keep the settings for reading cells; ``seen`` holds the facts of the whole table."""
        made = reading.made
        self._table = seen
        self._notes = notes
        self._reading = reading
        self._errors = set(map(folded, made.words.get("error", ())))
        self._quiet = set(made.words.get("quiet", ()))
        self._unsure = set(map(folded, made.words.get("unsure", ())))
        self._repeats = bool(made.name)
        roles = reading.roles
        self._of_case = [(role, key) for role, key in _OF_CASE.items() if role in roles]
        self._of_body = [role for role in _OF_BODY if role in roles]
        self._ballots = BallotMaker(seen, options, made, notes)
        self._readers = {
            **_READERS,
            "threshold": self._ballots.threshold,
            "decision": self._decision,
        }

    def drafts(self, rows: Iterable[TableRow]) -> Iterator[Draft]:
        """Yield drafts in the order of their first rows, each once it has all of its rows."""
        waiting: deque[Draft] = deque()
        drafts: dict[Key, Draft] = {}
        items: list[TableItem] = []
        held: list[Draft] = []
        for row, entries in self._entries(rows):
            stated = [entry[0] for entry in entries]
            if stated != items:
                keys = [item.key for item in stated]
                for key in {item.key for item in items}.difference(keys):
                    drafts[key].runs -= 1
                    if not drafts[key].runs:
                        del drafts[key]
                while waiting and not waiting[0].runs:
                    yield waiting.popleft()
                for key, item in zip(keys, stated, strict=True):
                    if key not in drafts:
                        drafts[key] = Draft(row, self._table.runs.get(hash(key), 1), item)
                        waiting.append(drafts[key])
                held = [drafts[key] for key in keys]
                items = stated
            secrets = named_secrets(row.cells) if self._reading.holds_secrets else frozenset()
            for draft, entry in zip(held, entries, strict=True):
                draft.secrets |= secrets
                if draft.problem is None:
                    self._add(draft, row, entry)
        yield from waiting

    def _entries(self, rows: Iterable[TableRow]) -> Iterator[tuple[TableRow, list[TableEntry]]]:
        """Yield the rows that say something, with their entries; survey them if they have to be."""
        for row in rows:
            if entries := self._reading.entries(row, self._notes):
                if self._table.streamed:
                    self._table.add(entries)
                yield row, entries
        if self._table.streamed:
            self._table.close()

    def _add(self, draft: Draft, row: TableRow, entry: TableEntry) -> None:
        """Add one row of an item to its draft. The first reason against a verdict is kept."""
        item, ballots, humans = entry
        try:
            if item.problem is not None:
                raise item.problem
            self._add_ballots(draft, row, ballots)
        except CellError as error:
            place = row.at(error.column) if error.column else row.place
            draft.problem = (place, error.problem)
            return
        if item is not draft.last:
            draft.last = item
            draft.rubric = draft.rubric or item.rubric
            draft.title = draft.title or item.title
            for role, value in item.facts.items():
                if role not in draft.stated or draft.stated[role] != value:
                    self._add_fact(draft, role, value)
        for human in humans:
            self._add_human(draft, human)

    def _add_ballots(self, draft: Draft, row: TableRow, ballots: Sequence[Ballot]) -> None:
        places = draft.places
        for ballot in ballots:
            vote, own = ballot
            if vote.seat in places and not (vote.check or self._repeats):
                judge, rated = (f'"{show_line(one, 60)}"' for one in (vote.judge, draft.item.item))
                first = places[vote.seat].place
                text = (
                    f"{judge} rates {rated} a second time, first at {first}; number such"
                    " rows in a column named repeat, or name the question in a column named"
                    " dimension"
                )
                raise CellError("", text)
            if vote.remarks or not vote.made or "raw" in own:
                self._ballots.ballot(vote, own, row)
            if vote.check:
                # The score of a program's check decides only if it is 0 or 1.
                said = {**vote.made, **own}
                passed = said.get("pass")
                if passed is None and said.get("score") in (0, 1):
                    passed = said["score"] == 1
                if passed is None:
                    self._notes.count("a check whose result is neither a pass nor a fail has none")
                check = {"name": vote.judge, "pass": passed, "reason": said.get("reason")}
                draft.checks.append(values.without_nulls(check, "pass"))
                continue
            places[vote.seat] = row
            draft.ballots.append(ballot)

    def body(self, draft: Draft, place: str) -> JsonObject:
        facts = draft.facts
        item = draft.item
        name = draft.title or item.item
        question = item.dimension or draft.rubric
        case = {"test": facts.get("test") or name}
        if question and self._table.several(item.key[0]):
            name = f"{name} / {question}"
        jurors = _jurors(draft.ballots)
        case |= {key: value for role, key in self._of_case if (value := facts.get(role))}
        if item.dimension:
            case["dimension"] = item.dimension
        body: JsonObject = {"id": name[:ID_LENGTH], "case": case}
        if said := facts.get("conversation"):
            facts |= {role: facts.get(role) or getattr(said, role) for role in ("input", "output")}
        body |= {role: one for role in self._of_body if (one := facts.get(role)) is not None}
        if question:
            body["rubric"] = draft.rubric or item.dimension
        if "generator" in facts:
            body |= _generator(facts, jurors)
        self._add_claims(body, facts, jurors)
        body["jurors"] = jurors
        body["provenance"] = {"pointer": place}
        if draft.checks:
            body["checks"] = draft.checks
        meta = {"origin": origin} if (origin := facts.get("origin")) else {}
        if draft.humans:
            body["human"], *others = draft.humans.values()
            if others:
                said = "an item has labels of several people; --import-labels takes all of them"
                self._notes.count(said)
                meta["reviewdesk"] = {"humans": others}
        return body | ({"meta": meta} if meta else {})

    def _add_claims(self, body: JsonObject, facts: JsonObject, jurors: list[JsonObject]) -> None:
        """Add the agreement and the reasons for a review that a file states, and a failure."""
        for one in jurors:
            if "error" not in one and one.get("status") not in _FAILED:
                if facts.get("agreement") is not None:
                    body["agreement"] = {"value": facts["agreement"], "metric": "consensus_share"}
                break
        else:
            # The response or the whole panel failed.
            if not body.get("decision") and (jurors or facts.get("row_error")):
                body["decision"] = "error"
        if reasons := facts.get("escalation"):
            body["escalate_for_review"] = not self._quiet.issuperset(reasons)
            body["escalation_reasons"] = reasons

    def _add_fact(self, draft: Draft, role: str, value: Any) -> None:
        facts = draft.facts
        read = self._readers.get(role)
        value = without_remark(value) if role == "decision" else value
        found = read(value) if read else value
        if role == "decision" and isinstance(value, str) and not is_plain(value):
            facts.setdefault("label", value.strip())
            if found is None and facts["label"] == value.strip():
                self._notes.remark("word", value, draft.row.at)
                return
        if found is None:
            self._notes.count(f"a {role} that is not valid is left out")
            return
        draft.stated[role] = value
        if role not in facts:
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

    def _decision(self, value: Any) -> str | None:
        if isinstance(value, str) and folded(value) in self._errors:
            return "error"
        vote = self._ballots.words.vote(value)
        if vote is None and isinstance(value, str):
            rest = _CONSENSUS.sub(" ", value).strip()
            vote = None if folded(rest) == "no" else self._ballots.words.vote(rest)
        return values.decision(value if vote is None else vote)

    def _add_human(self, draft: Draft, human: Human) -> None:
        label = next(filter(None, map(self._ballots.words.human, human.words)), None)
        if label is None and any(folded(str(word)) in self._unsure for word in human.words):
            label = "unsure"
        if label is None:
            self._notes.count(
                "a human label in other words than pass, fail and unsure is left out; say what it"
                " means with --pass-label or --fail-label"
            )
        else:
            source = {"by": human.by, "note": human.note}
            kept = {key: values.text(value) for key, value in source.items() if not blank(value)}
            said = values.without_nulls({"label": label, **kept, "at": values.time(human.at)})
            if draft.humans.setdefault(said.get("by", ""), said)["label"] != label:
                self._notes.count("human labels of one item differ; the first one is kept")


_CONSENSUS = re.compile(
    r"\b(?:majority|unanim\w+|consensus|agreed?|split|strong|weak|narrow|clear|final|overall|panel|jury"
    r"|vote[sd]?|decision|verdict|result|by|to|mehrheitlich|einstimmig|einig|mayoría|majorité)\b"
    r"|\(?\b\d+ ?(?:/|-|:|of|out of|to|von|de|sur) ?\d+\b\)?|[:;,–—-]",
    re.IGNORECASE,
)
"""What stands around the word for the decision in ``majority pass (2/3)``."""

_STRATEGIES = {strategy.value: strategy.value for strategy in Strategy} | {
    "weighted": Strategy.WEIGHTED_VOTE.value
}


_READERS: dict[str, Callable[[Any], Any]] = {
    "input": question,
    "output": answer,
    "alternative": answer,
    "conversation": conversation,
    "test": values.text,
    "suite": values.text,
    "subject": values.text,
    "reference": lambda value: (
        value if isinstance(value, list) and {*map(type, value)} <= {str} else values.text(value)
    ),
    "tags": names,
    "origin": lambda value: {
        key: named for key, one in value.items() if not blank(one) and (named := name(one))
    },
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
_OF_CASE = {"suite": "suite", "subject": "subject", "tags": "tags", "case_name": "name",
            "attempt": "epoch"}  # fmt: skip
"""The facts of the case, each with its key in a body."""
_OF_BODY = ("input", "output", "alternative", "reference", "threshold", "strategy", "decision",
            "label")  # fmt: skip
"""The facts that a body holds unchanged."""


def _jurors(ballots: list[Ballot]) -> list[JsonObject]:
    """Sort ballots by judge and repeat; verdicts may share one, which only ``guard`` changes."""
    judges = tuple([vote.judge for vote, _ in ballots])
    if len(set(judges)) < len(judges):
        seats = {judge: seat for seat, judge in enumerate(dict.fromkeys(judges))}
        ballots = sorted(ballots, key=lambda one: (seats[one[0].judge], one[0].order))
        judges = tuple([vote.judge for vote, _ in ballots])
    ids = juror_ids(judges)
    return [
        {**vote.made, "id": juror_id, **own} if own or vote.judge != juror_id else vote.made
        for juror_id, (vote, own) in zip(ids, ballots, strict=True)
    ]


def _generator(facts: JsonObject, jurors: list[JsonObject]) -> JsonObject:
    """Return the generator, or ``same_family`` if only the writer of the alternative shares one.

    It is empty if that writer's family is unknown, and the first writer's is not shared.
    """
    generator = facts["generator"]
    if facts.get("rival") is None:
        return {"generator": generator}
    judges = {found.name for juror in jurors if (found := family(juror.get("model")))}
    first, second = (found.name if (found := family(one)) else None
                     for one in (generator["model"], facts["rival"]))  # fmt: skip
    if first not in judges and second in judges:
        return {"same_family": True}
    return {} if first and first not in judges and not second else {"generator": generator}


def verdicts(
    rows: Iterable[TableRow],
    survey: TableSurvey,
    reading: MapReader,
    options: ReadOptions,
    tally: ImportTally,
) -> Iterator[ReportVerdict]:
    """Yield verdicts in the order of their first rows, each as soon as its last row is read.

    At the end the notes on the import are appended to those of ``tally``.
    """
    remarks = BallotNotes()
    maker = VerdictMaker(survey, options, remarks, reading)
    for draft in maker.drafts(rows):
        if draft.problem is not None:
            place, why = draft.problem
            yield ReportVerdict("", None, place, FieldError((), why))
        else:
            place = draft.row.place
            yield ReportVerdict("", maker.body(draft, place), place, None, None, draft.secrets)
    tally.unreadable = remarks.first_unreadable
    ballot_notes = remarks.ballot_notes(options.models, survey.judges)
    tally.notes.extend([*ballot_notes, *remarks.notes(LEFT_OUT)])
    if survey.apart:
        tally.notes.append(f"rows of one item that were apart were joined ({survey.apart}x)")
