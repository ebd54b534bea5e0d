"""Find the verdicts that match a term of a filter which the columns of the run cannot tell."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias, cast

from msgspec import Struct, field

from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.labels.second_opinions import NOTHING, Withheld
from reviewdesk.domain.query.filter import FilterError, Term
from reviewdesk.domain.query.words import BALLOTS
from reviewdesk.domain.run.packing import seat_names
from reviewdesk.domain.verdict import Policy, read_ballot
from reviewdesk.errors import UsageError
from reviewdesk.store import labels, measures, reruns, runs, search, verdicts
from reviewdesk.store.queue import DEFERRED, RunKeys


class FilterContext(Struct, frozen=True):
    """The desk and run that a filter reads, and the reviewer whose marks and deferrals it means."""

    conn: sqlite3.Connection
    span: RunKeys
    reviewer: str
    withheld: Withheld = NOTHING
    """What others gave the items of which it is not told."""
    memo: dict[str, Any] = field(default_factory=dict)
    """What was read of the run before and cannot change."""

    @property
    def run(self) -> int:
        """The key of the run."""
        return self.span.run


def matching(context: FilterContext, term: Term) -> Iterable[int]:
    """Return the keys of the verdicts that match a term, which may be negated, as if it were not.

    Raises:
        FilterError: the term names a run that the desk does not hold.
        UsageError: the term needs a search index that is not complete yet.
    """
    name = term.name if term.kind in {"choice", "state", "panel"} else term.kind
    return _CONDITIONS[name](context, term)


_SPAN = "key >= :first AND key < :end AND +run = :run"
"""Rows lie in the order of their runs, so a scan of them is faster than an index."""


def _keys(context: FilterContext, query: str, values: Any = ()) -> Iterable[int]:
    rows = context.conn.execute(query, values)
    rows.row_factory = None
    return (row[0] for row in rows)


def _of_items(context: FilterContext, items: str, *values: Any) -> Iterable[int]:
    """Return the run's verdicts on the items that a query returns; it is run first, and once."""
    query = f"SELECT v.key FROM ({items}) i CROSS JOIN verdicts v ON v.item = i.item AND v.run = ?"
    return _keys(context, query, (*values, context.run))


def _of_authors(context: FilterContext, pairs: str, *values: Any) -> Iterable[int]:
    """Return the run's verdicts on the items of a query that also returns who gave what."""
    found = context.conn.execute(pairs, values)
    items = {row["item"] for row in found if context.withheld.shows(row["item"], row["author"])}
    by_item = verdicts.keys_of_items(context.conn, context.run, items)
    return (key for keys in by_item.values() for key in keys)


def _text(context: FilterContext, term: Term) -> Iterable[int]:
    escaped = term.value.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    query = rf"SELECT key FROM verdicts WHERE {_SPAN} AND {term.name} LIKE :text ESCAPE '\'"
    return _keys(context, query, context.span.values | {"text": f"%{escaped}%"})


def _words(context: FilterContext, term: Term) -> Iterable[int]:
    done, total = search.reach(context.conn, context.run)
    if done < total:
        raise UsageError(
            f"text~ needs the whole index, and {done:,} of {total:,} verdicts are in it",
            "Wait until it is complete.",
        )
    who = context.reviewer, context.withheld
    return search.find(context.conn, context.run, term.value, *who, blind=False)


def _rerun(context: FilterContext, _: Term) -> Iterable[int]:
    first = context.span.first
    if "filed" not in context.memo:
        context.memo["filed"] = reruns.filed(context.conn, first, first + context.span.size)
    return reruns.flipped_verdicts(context.conn, context.run, context.memo["filed"])


def _tag(context: FilterContext, term: Term) -> Iterable[int]:
    # SQLite folds the case of ASCII letters only, so tags are compared here.
    known = labels.tags(context.conn, context.run)
    equal = [tag for tag in known if str(tag).casefold() == term.value.casefold()]
    marks = ", ".join("?" * len(equal))
    query = f"SELECT verdict FROM case_tags WHERE run = ? AND tag IN ({marks})"
    yield from _keys(context, query, (context.run, *equal))
    given = f"SELECT item, author FROM item_tags WHERE tag IN ({marks})"
    yield from _of_authors(context, given, *equal)


def _tagged(context: FilterContext, _: Term) -> Iterable[int]:
    yield from _keys(context, "SELECT verdict FROM case_tags WHERE run = ?", (context.run,))
    yield from _of_authors(context, "SELECT item, author FROM item_tags")


def _juror(context: FilterContext, term: Term) -> Iterable[int]:
    """Find the panels that a juror's id or model is on.

    Seats are stored by id. Only if that leaves panels out are the bodies asked for models.
    """
    wanted = term.value.casefold()
    # A number sign may be of an id, or count the seats of one id.
    by_id = [] if "#" in wanted else [name for name in _seats(context) if name.casefold() == wanted]
    found = set(_with_seats(context, by_id))
    if len(found) == context.span.size:
        return found
    meant = {
        seat: {wanted in {name.casefold() for name in pair if name} for pair in pairs}
        for seat, pairs in _pairs(context).items()
    }
    if any(len(answers) > 1 for answers in meant.values()):
        return _by_body(context, wanted)
    return found.union(_with_seats(context, [seat for seat in meant if True in meant[seat]]))


def _seats(context: FilterContext) -> tuple[str, ...]:
    return measures.names(context.conn, context.run)


def _with_seats(context: FilterContext, names: Collection[str]) -> Iterable[int]:
    if not names:
        return ()
    from reviewdesk.domain.query.run_columns import rows_with_seat

    codes = [code for code, name in enumerate(_seats(context)) if name in names]
    windows = measures.windows(context.conn, context.run, ("juror", "seated"))
    first = context.span.first
    return (first + row for row in rows_with_seat(windows, "juror", codes))


def _pairs(context: FilterContext) -> dict[str, set[tuple[str, str | None]]]:
    """Return the ids and models that each seat of a run has had; reads every body, but once."""
    if "pairs" in context.memo:
        return cast("dict[str, set[tuple[str, str | None]]]", context.memo["pairs"])
    found: dict[str, set[tuple[str, str | None]]] = {}
    for panel in verdicts.panels(context.conn, context.run):
        for seat, pair in zip(seat_names([name for name, _ in panel]), panel, strict=True):
            found.setdefault(seat, set()).add(pair)
    context.memo["pairs"] = found
    return found


def _by_body(context: FilterContext, wanted: str) -> Iterable[int]:
    """Find a juror's panels where one seat has had several models."""
    rows = context.conn.execute(
        """SELECT verdict, juror, model FROM ballots
           WHERE run = (SELECT name FROM runs WHERE key = ?)""",
        (context.run,),
    )
    for row in rows:
        if wanted in {name.casefold() for name in (row["juror"], row["model"]) if name}:
            yield row["verdict"]


def _run(context: FilterContext, term: Term) -> Iterable[int]:
    other = _other(context, term)
    if other == context.run:
        return range(context.span.first, context.span.first + context.span.size)
    return _of_items(context, "SELECT DISTINCT item FROM verdicts WHERE run = ?", other)


def _flip(context: FilterContext, term: Term) -> Iterable[int]:
    there = verdicts.COUNTERPART.format(run=_other(context, term))
    return _keys(
        context,
        f"""SELECT v.key FROM verdicts v WHERE v.run = ?
            AND (SELECT o.decision FROM verdicts o WHERE o.key = {there}) != v.decision""",
        (context.run,),
    )


def _other(context: FilterContext, term: Term) -> int:
    try:
        return runs.find(context.conn, term.value).key
    except UsageError as error:
        raise FilterError(error.message, term.column, error.hint) from None


def _mark(context: FilterContext, _: Term) -> Iterable[int]:
    return _of_items(context, "SELECT item FROM item_marks WHERE reviewer = ?", context.reviewer)


def _note(context: FilterContext, _: Term) -> Iterable[int]:
    return (key for key, _, _ in search.notes(context.conn, context.run, context.withheld))


def _deferred(context: FilterContext, _: Term) -> Iterable[int]:
    return _of_items(context, DEFERRED, context.reviewer)


def _ballot(context: FilterContext, term: Term) -> Iterable[int]:
    """Find how ballots failed or abstained; only degraded panels have such ballots."""
    rows = context.conn.execute(
        f"""SELECT v.key, j.value
            FROM (SELECT key FROM verdicts WHERE {_SPAN} AND flags & {int(Flag.DEGRADED)}) v
            CROSS JOIN bodies b ON b.verdict = v.key, json_each(b.body, '$.jurors') j""",
        context.span.values,
    )
    return (row["key"] for row in rows if _kind(row["value"]) == term.name)


def _kind(juror: str) -> str:
    ballot = read_ballot(0, json.loads(juror), Policy())
    if ballot.unscaled:
        return "unscaled"
    return "failed" if ballot.status.failed else ballot.status.value


Condition: TypeAlias = Callable[[FilterContext, Term], Iterable[int]]
_CONDITIONS: Mapping[str, Condition] = {
    "text": _text,
    "words": _words,
    "rerun": _rerun,
    "tag": _tag,
    "tagged": _tagged,
    "juror": _juror,
    "run": _run,
    "flip": _flip,
    "mark": _mark,
    "note": _note,
    "deferred": _deferred,
    **dict.fromkeys(BALLOTS, _ballot),
}
