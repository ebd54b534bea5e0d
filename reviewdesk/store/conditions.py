"""What a filter asks, as SQL over a run's verdicts ``v``: one small function per kind of word."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.query.filter import (
    Filter,
    FilterError,
    Nested,
    Part,
    Term,
)
from reviewdesk.domain.query.words import (
    BALLOTS,
    BREACHES,
    MEASURED,
    UNANIMOUS,
)
from reviewdesk.domain.verdict import SLACK, Policy, read_ballot
from reviewdesk.errors import UsageError
from reviewdesk.store import measures, runs, search

DEFERRED = """SELECT item FROM standing_events d WHERE d.kind = 'defer' AND d.reviewer = ?
              AND NOT EXISTS (SELECT 1 FROM standing_events l WHERE l.item = d.item
                              AND l.kind = 'label' AND l.author = d.reviewer)"""
"""The items that a reviewer put off and has not labelled since."""

NUMBERS = {
    "score": "v.score",
    "confidence": """(SELECT CASE v.decision WHEN 'pass' THEN said WHEN 'fail' THEN 1 - said END
                      FROM (SELECT CASE WHEN r.confidence_source = 'vote_share'
                                   THEN 1.0 * v.passes / nullif(v.answered, 0)
                                   WHEN r.scores_stated THEN v.stated_score
                                   ELSE v.score END AS said
                            FROM runs r WHERE r.key = {run}))""",
    "agreement": "v.agreement",
    "margin": "v.margin",
    "range": "v.range",
    "share": "v.mass / (SELECT mass FROM measures WHERE run = {run})",
    # Looked up for each verdict: seconds over a million, and so asked for in the background.
    "swing": """(SELECT max(score) - min(score)
                 FROM (SELECT avg(o.score) AS score FROM verdicts o
                       JOIN runs r ON r.key = o.run AND r.removed_at IS NULL
                       WHERE o.item = v.item AND o.score IS NOT NULL GROUP BY o.run)
                 HAVING count(*) > 1)""",
}
"""The numbers of a verdict; the swing is that of a run's mean score between two runs or more.

Confidence is the run's own, as ``summary.confidence`` reads it: support, or the share of votes.
"""


@dataclass(frozen=True, slots=True)
class FilterContext:
    """Where a filter is asked: the desk, the run, and whose marks and deferrals are meant."""

    conn: sqlite3.Connection
    run: int
    reviewer: str


Sql: TypeAlias = tuple[str, list[Any]]
Condition: TypeAlias = Callable[[FilterContext, Term], Sql]


@dataclass(frozen=True, slots=True)
class Where:
    """A filter in SQL: what stands before ``SELECT`` and behind ``v.run = ?``, and the values."""

    before: Sql
    clause: Sql


def where(asked: FilterContext, kept: Filter) -> Where:
    """Write a filter as SQL."""
    if not kept.groups:
        return Where(("", []), ("", []))
    writer = _Writer(asked)
    clause = writer.all(kept)
    before, values = "", []
    for place, (text, bound) in enumerate(writer.tables):
        before += f"{', ' if place else 'WITH '}group{place} AS ({text})"
        values += bound
    return Where((f"{before} " if before else "", values), (f" AND {clause.text}", clause.values))


@dataclass(frozen=True, slots=True)
class _Clause:
    """A condition; ``depth`` counts the parentheses around the innermost part."""

    text: str
    values: list[Any]
    depth: int = 0


_DEEPEST = 4
"""Parentheses of one expression; the parser of SQLite before 3.46 holds a hundred open pieces."""


class _Writer:
    """Writes conditions; a group that stands too deep becomes a table of its own."""

    def __init__(self, asked: FilterContext) -> None:
        """Write for one question to the desk."""
        self._asked = asked
        self.tables: list[Sql] = []
        """Queries of keys, each of which may read from those before it."""

    def all(self, kept: Filter) -> _Clause:
        """Every group of a filter."""
        parts = ([self._part(part) for part in group] for group in kept.groups)
        return _joined(" AND ", [_joined(" OR ", part) for part in parts])

    def _part(self, part: Part) -> _Clause:
        if isinstance(part, Nested):
            found = self._shallow(self.all(part.filter))
        else:
            if part.name in MEASURED:
                require_measured(self._asked.conn, self._asked.run, part.name)
            found = _Clause(*_CONDITIONS[_named(part)](self._asked, part))
        if not part.negated:
            return found
        # Of an unknown value neither a condition nor its opposite holds in SQL; here one must.
        return _Clause(f"({found.text}) IS NOT TRUE", found.values, found.depth + 1)

    def _shallow(self, found: _Clause) -> _Clause:
        if found.depth < _DEEPEST:
            return found
        query = f"SELECT v.key FROM verdicts v WHERE v.run = ? AND {found.text}"
        self.tables.append((query, [self._asked.run, *found.values]))
        return _Clause(f"v.key IN group{len(self.tables) - 1}", [])


def _joined(word: str, clauses: list[_Clause]) -> _Clause:
    if len(clauses) == 1:
        return clauses[0]
    return _Clause(
        f"({word.join(clause.text for clause in clauses)})",
        [value for clause in clauses for value in clause.values],
        max(clause.depth for clause in clauses) + 1,
    )


def require_measured(conn: sqlite3.Connection, run: int, name: str) -> None:
    """Refuse a fact that the verdicts of a run from an older version do not have yet."""
    if not measures.known(conn, run):
        raise UsageError(
            f"{name} is not known yet: an older version loaded this run",
            "Wait until it is measured; opening the run does that.",
        )


def _named(term: Term) -> str:
    return term.name if term.kind in {"choice", "state", "panel"} else term.kind


def _flag(_: FilterContext, term: Term) -> Sql:
    return "v.flags & ? != 0", [int(term.value)]


def _number(asked: FilterContext, term: Term) -> Sql:
    column, number = NUMBERS[term.name].format(run=asked.run), float(term.value)
    if term.op == "=":
        return f"abs({column} - ?) <= {SLACK}", [number]
    slack = SLACK if term.op in {"<=", ">"} else -SLACK
    return f"{column} {term.op} ?", [number + slack]


def _text(_: FilterContext, term: Term) -> Sql:
    escaped = term.value.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return rf"v.{term.name} LIKE ? ESCAPE '\'", [f"%{escaped}%"]


def _words(asked: FilterContext, term: Term) -> Sql:
    done, total = search.reach(asked.conn, asked.run)
    if done < total:
        raise UsageError(
            f"text~ needs the whole index, and {done:,} of {total:,} verdicts are in it",
            "Wait until it is complete.",
        )
    return _keys(search.find(asked.conn, asked.run, term.value, asked.reviewer, blind=False))


def _label(_: FilterContext, term: Term) -> Sql:
    if term.value == "none":
        return "v.item NOT IN (SELECT item FROM truths)", []
    return "v.item IN (SELECT item FROM truths WHERE truth = ?)", [term.value]


def _warn(_: FilterContext, term: Term) -> Sql:
    bits = {"bias": Flag.BIAS_WARNING, "same-family": Flag.SAME_FAMILY}
    return "v.flags & ? != 0", [int(bits.get(term.value, bits["bias"] | bits["same-family"]))]


def _breach(_: FilterContext, term: Term) -> Sql:
    return "v.marks & ? != 0", [int(BREACHES[term.value])]


def _word(column: str, _: FilterContext, term: Term) -> Sql:
    if term.value == "none":
        return f"{column} IS NULL", []
    return f"{column} = ?", [term.value]


def _tag(asked: FilterContext, term: Term) -> Sql:
    rows = asked.conn.execute(
        """SELECT DISTINCT tag FROM case_tags WHERE run = ?
           UNION SELECT tag FROM item_tags WHERE tag IS NOT NULL""",
        (asked.run,),
    )
    # SQLite folds the case of ASCII alone, so equal ones are looked for here.
    equal = [row["tag"] for row in rows if str(row["tag"]).casefold() == term.value.casefold()]
    marks = ", ".join("?" * len(equal))
    return (
        f"""(v.key IN (SELECT verdict FROM case_tags WHERE run = ? AND tag IN ({marks}))
             OR v.item IN (SELECT item FROM item_tags WHERE tag IN ({marks})))""",
        [asked.run, *equal, *equal],
    )


def _untagged(asked: FilterContext, _: Term) -> Sql:
    return (
        """(v.key NOT IN (SELECT verdict FROM case_tags WHERE run = ?)
            AND v.item NOT IN (SELECT item FROM item_tags))""",
        [asked.run],
    )


def _juror(asked: FilterContext, term: Term) -> Sql:
    asked.conn.create_function("casefold", 1, _casefold, deterministic=True)
    wanted = term.value.casefold()
    return (
        """EXISTS (SELECT 1 FROM ballots j WHERE j.verdict = v.key
                   AND (casefold(j.id) = ? OR casefold(j.model) = ?))""",
        [wanted, wanted],
    )


def _casefold(value: object) -> str | None:
    return value.casefold() if isinstance(value, str) else None


def _run(asked: FilterContext, term: Term) -> Sql:
    return "v.item IN (SELECT item FROM verdicts WHERE run = ?)", [_other(asked, term)]


def _flip(asked: FilterContext, term: Term) -> Sql:
    return (
        """EXISTS (SELECT 1 FROM verdicts o WHERE o.item = v.item AND o.run = ?
                   AND o.decision != v.decision)""",
        [_other(asked, term)],
    )


def _other(asked: FilterContext, term: Term) -> int:
    try:
        return runs.find(asked.conn, term.value).key
    except UsageError as error:
        raise FilterError(error.message, term.column, error.hint) from None


def _mark(asked: FilterContext, _: Term) -> Sql:
    return "v.item IN (SELECT item FROM item_marks WHERE reviewer = ?)", [asked.reviewer]


def _note(asked: FilterContext, _: Term) -> Sql:
    return _keys(key for key, _, _ in search.notes(asked.conn, asked.run))


def _tentative(_: FilterContext, __: Term) -> Sql:
    return "v.item IN (SELECT item FROM truths WHERE tentative)", []


def _deferred(asked: FilterContext, _: Term) -> Sql:
    return f"v.item IN ({DEFERRED})", [asked.reviewer]


def _unanimous(_: FilterContext, term: Term) -> Sql:
    return runs.UNANIMOUS[term.name], []


def _ballot(asked: FilterContext, term: Term) -> Sql:
    """By the rule that reads a ballot; only a degraded panel has one of these."""
    asked.conn.create_function("ballot_kind", 1, _kind, deterministic=True)
    return (
        """(v.flags & ? AND EXISTS (SELECT 1 FROM bodies b, json_each(b.body, '$.jurors') j
                                   WHERE b.verdict = v.key AND ballot_kind(j.value) = ?))""",
        [int(Flag.DEGRADED), term.name],
    )


def _kind(juror: str) -> str:
    cast = read_ballot(0, json.loads(juror), Policy())
    if cast.unscaled:
        return "unscaled"
    return "failed" if cast.status.failed else cast.status.value


def _keys(found: Iterable[int]) -> Sql:
    return "v.key IN (SELECT value FROM json_each(?))", [json.dumps(list(found))]


_CONDITIONS: Mapping[str, Condition] = {
    "flag": _flag,
    "number": _number,
    "text": _text,
    "words": _words,
    "label": _label,
    "warn": _warn,
    "breach": _breach,
    "band": partial(_word, "v.band"),
    "ours.band": partial(_word, "v.ours_band"),
    "decision": partial(_word, "v.decision"),
    "tag": _tag,
    "untagged": _untagged,
    "juror": _juror,
    "run": _run,
    "flip": _flip,
    "mark": _mark,
    "note": _note,
    "tentative": _tentative,
    "deferred": _deferred,
    **dict.fromkeys(BALLOTS, _ballot),
    **dict.fromkeys(UNANIMOUS, _unanimous),
}
