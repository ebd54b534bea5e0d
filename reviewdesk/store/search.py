"""The full-text index: fill it in batches, search it, and compare it with the bodies."""

import json
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from sqlite3 import Connection, Cursor
from typing import Any

from msgspec import Struct, field

from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.query.filter import FilterError, SearchTerm, Term, parse_search, spaced
from reviewdesk.domain.query.words import BALLOTS
from reviewdesk.domain.records import NOT_WITHHELD, Withheld
from reviewdesk.domain.verdict import CanonicalVerdict, Policy, read_ballot, stored_body
from reviewdesk.errors import DeskError, UsageError
from reviewdesk.store import figures, measures, reruns, runs, verdicts
from reviewdesk.store.connect import lookup, value
from reviewdesk.store.queue import DEFERRED, RunKeys
from reviewdesk.store.verdicts import first_key

COLUMNS = ("name", "rubric", "input", "output", "reasons")
BATCH = 200

IndexRow = tuple[Any, ...]
_THEN = "so a search may be wrong; desk repair makes a desk whose index is built anew"
CheckedCall = Callable[[float, int], object]


def reach(conn: Connection, run: int) -> tuple[int, int]:
    query = """SELECT ifnull(i.verdicts, 0), r.verdicts FROM runs r
               LEFT JOIN indexed_runs i ON i.run = r.key WHERE r.key = ?"""
    indexed, total = conn.execute(query, (run,)).fetchone()
    return indexed, total


def prepare(conn: Connection, run: int, start: int) -> list[IndexRow]:
    """Return the texts of a run's next verdicts, from the ``start``-th in file order."""
    found: list[IndexRow] = []
    size = 0
    first = first_key(conn, run) + start
    query = """SELECT v.key, v.id, v.test, b.body FROM verdicts v JOIN bodies b ON b.verdict = v.key
               WHERE v.key >= ? AND v.key < ? AND +v.run = ? ORDER BY v.key"""
    # Closed before anything is written, because SQLite cannot turn an open reader into a writer.
    with closing(conn.execute(query, (first, first + BATCH, run))) as rows:
        for row in rows:
            texts = _texts(row["id"], row["test"], stored_body(row["body"]))
            found.append((row["key"], *texts))
            size += sum(map(len, texts))
            # So that the write lock is held only briefly.
            if size > 1_000_000:
                break
    return found


def put(conn: Connection, run: int, start: int, batch: list[IndexRow]) -> None:
    """Index a prepared batch, unless another process has indexed it meanwhile."""
    if reach(conn, run)[0] != start:
        return
    add(conn, batch)
    conn.execute("INSERT OR REPLACE INTO indexed_runs VALUES (?, ?)", (run, start + len(batch)))


def add(conn: Connection, batch: list[IndexRow]) -> None:
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    conn.executemany(f"INSERT INTO search (rowid, {', '.join(COLUMNS)}) VALUES ({marks})", batch)


def find(
    conn: Connection,
    run: int,
    text: str,
    reviewer: str,
    withheld: Withheld = NOT_WITHHELD,
    *,
    blind: bool,
) -> "array[int]":
    """Return a run's indexed verdicts whose texts or notes contain every search term.

    Notes of others on ``withheld`` items are left out; if ``blind``, so are all notes of others and
    the jurors' reasons.
    """
    sought = parse_search(text)
    kept = [one for one in notes(conn, run, withheld) if not blind or one[1] == reviewer]
    noted = _keys_by_note(sought, kept)
    # The reasons are the panel's.
    columns = COLUMNS[:-1] if blind else COLUMNS
    if not any(noted):
        return array("q", _matches(conn, run, sought, columns))
    found = [
        keys.union(_matches(conn, run, (one,), columns))
        for one, keys in zip(sought, noted, strict=True)
    ]
    return array("q", set.intersection(*found))


def notes(
    conn: Connection, run: int, withheld: Withheld = NOT_WITHHELD
) -> list[tuple[int, str, str]]:
    """Return verdict key, author and text of each note, without others' on ``withheld`` items."""
    query = """SELECT v.key, c.author, c.item, e.detail FROM current_events c
               CROSS JOIN label_events e ON e.key = c.key
               CROSS JOIN verdicts v ON v.item = c.item AND v.run = ?
               WHERE c.slot = 'note' AND c.label IS NULL"""
    rows = conn.execute(query, (run,))
    found = [
        (row["key"], row["author"], json.loads(row["detail"])["note"])
        for row in rows
        if withheld.shows(row["item"], row["author"])
    ]
    return [note for note in found if note[2]]


def _texts(name: str, test: str, body: CanonicalVerdict) -> list[str]:
    """Return the texts of a verdict, in the order of ``COLUMNS``."""
    reference = body.get("reference") or ""
    references = [reference] if isinstance(reference, str) else reference
    reasons = [body.get("bias_warning")]
    for juror in body["jurors"]:
        reasons += [juror.get("reason"), (juror.get("error") or {}).get("message")]
    parts = (
        (name, test),
        (body.get("rubric"),),
        (body.get("input"),),
        (body.get("output"), body.get("alternative"), *references),
        reasons,
    )
    return [spaced("\n".join(text for text in part if text)) for part in parts]


def _matches(
    conn: Connection, run: int, sought: tuple[SearchTerm, ...], columns: tuple[str, ...]
) -> Iterator[int]:
    first = first_key(conn, run)
    rows = conn.execute(
        "SELECT rowid FROM search WHERE search MATCH ? AND rowid >= ? AND rowid < ?",
        (_query(sought, columns), first, first + reach(conn, run)[1]),
    )
    return (row[0] for row in rows)


def _query(sought: tuple[SearchTerm, ...], columns: tuple[str, ...]) -> str:
    """Write search terms in FTS5 syntax, quoted so that no character in them is an operator."""
    within = f"{{{' '.join(columns)}}} : "
    strings = ('"' + one.text.replace('"', '""') + '"' + " *" * one.beginning for one in sought)
    return " AND ".join(within + string for string in strings)


def _keys_by_note(
    sought: tuple[SearchTerm, ...], kept: Sequence[tuple[int, str, str]]
) -> list[set[int]]:
    """Return for each search term the keys of verdicts whose notes match, by a temporary index."""
    if not kept:
        return [set() for _ in sought]
    with closing(sqlite3.connect(":memory:")) as memory:
        tokenizer = "unicode61 remove_diacritics 2"
        memory.execute(f"CREATE VIRTUAL TABLE notes USING fts5(text, tokenize='{tokenizer}')")
        memory.executemany(
            "INSERT INTO notes (rowid, text) VALUES (?, ?)",
            [(place, spaced(text)) for place, (_, _, text) in enumerate(kept)],
        )
        query = "SELECT rowid FROM notes WHERE notes MATCH ?"
        return [
            {kept[row[0]][0] for row in memory.execute(query, (_query((one,), ("text",)),))}
            for one in sought
        ]


def problems(conn: Connection, told: CheckedCall) -> list[str]:
    found = list[str]()
    # Read one state of the desk, as another process may index meanwhile; the end drops our table.
    conn.execute("BEGIN")
    try:
        for name, kind in (("held_places", "instance"), ("held_words", "row")):
            conn.execute(f"CREATE VIRTUAL TABLE temp.{name} USING fts5vocab(main, search, {kind})")
        held = _sum(conn, "temp.held_places")
        # A search looks a word up in pages that a walk over all words never reads.
        query = "SELECT count(*) FROM temp.held_places WHERE term = CAST(? AS TEXT)"
        words = conn.execute("SELECT CAST(term AS BLOB), cnt FROM temp.held_words").fetchall()
        if lost := sum(value(conn, query, (word,)) != count for word, count in words):
            found.append(f"the search index does not find {lost:,} of its own words, {_THEN}")
        for run, name in conn.execute("SELECT key, name FROM runs ORDER BY key").fetchall():
            indexed, verdicts = reach(conn, run)
            if 0 <= indexed <= verdicts:
                held -= _sum_of_bodies(conn, run, indexed, told)
            else:
                found.append(f"run {name}: {indexed:,} of its {verdicts:,} verdicts are indexed")
        if held:
            found.append(f"the search index differs from the texts of the verdicts, {_THEN}")
        block = lookup(conn, "SELECT block FROM search_data WHERE id = 1")
        # A number for the rows and one for each column; each ends with a byte below 128. Without
        # them the next verdict could not be indexed.
        if block is None or sum(byte < 0x80 for byte in block) not in {0, 1 + len(COLUMNS)}:
            found.append(f"the search index has lost its totals, {_THEN}")
    except (DeskError, sqlite3.Error) as error:
        return [f"the search index cannot be read, {_THEN}: {error}"]
    else:
        return found
    finally:
        conn.execute("ROLLBACK")


def _sum(conn: Connection, table: str) -> int:
    """Return the sum of the hashes, keyed by process, of all words with verdicts and places."""
    # A plain cursor, without explained errors, because nothing else reads so many rows.
    cursor = conn.cursor(Cursor)
    cursor.row_factory = None
    query = f"SELECT CAST(term AS BLOB), doc, col, offset FROM {table}"
    return sum(map(hash, cursor.execute(query)))


def _sum_of_bodies(conn: Connection, run: int, indexed: int, told: CheckedCall) -> int:
    """Return the sum that the index should have of a run's first verdicts."""
    made = value(conn, "SELECT sql FROM sqlite_master WHERE name = 'search'")
    found = done = 0
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        fresh.execute(made)
        fresh.execute("CREATE VIRTUAL TABLE places USING fts5vocab(search, instance)")
        # Another check reports missing bodies.
        while done < indexed and (batch := prepare(conn, run, done)[: indexed - done]):
            fresh.execute("BEGIN")
            add(fresh, batch)
            fresh.execute("COMMIT")
            found += _sum(fresh, "places")
            fresh.execute("INSERT INTO search (search) VALUES ('delete-all')")
            done += len(batch)
            told(done / indexed, done)
    return found


class FilterContext(Struct, frozen=True):
    """The desk and run that a filter reads, and the reviewer whose marks and deferrals count."""

    conn: Connection
    span: RunKeys
    reviewer: str
    withheld: Withheld = NOT_WITHHELD
    memo: dict[str, Any] = field(default_factory=dict)
    """Facts of the run that were read before and cannot change."""

    @property
    def run(self) -> int:
        return self.span.run


def matching(context: FilterContext, term: Term) -> Iterable[int]:
    """Return the keys that match a term without its negation; UsageError until all is indexed."""
    name = term.name if term.kind in {"choice", "state", "panel"} else term.kind
    return _CONDITIONS[name](context, term)


_SPAN = "key >= :first AND key < :end AND +run = :run"
"""Rows are in the order of their runs, so a scan of them is faster than an index."""


def _keys(context: FilterContext, query: str, values: Any = ()) -> Iterable[int]:
    rows = context.conn.execute(query, values)
    rows.row_factory = None
    return (row[0] for row in rows)


def _of_items(context: FilterContext, items: str, *values: Any) -> Iterable[int]:
    """Return the run's verdicts on the items that a query returns; it runs first, and once."""
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
    done, total = reach(context.conn, context.run)
    if done < total:
        raise UsageError(
            f"text~ needs the whole index, and {done:,} of {total:,} verdicts are in it",
            "Wait until it is complete.",
        )
    who = context.reviewer, context.withheld
    return find(context.conn, context.run, term.value, *who, blind=False)


def _rerun(context: FilterContext, _: Term) -> Iterable[int]:
    first = context.span.first
    if "filed" not in context.memo:
        context.memo["filed"] = reruns.filed(context.conn, first, first + context.span.size)
    return reruns.flipped_verdicts(context.conn, context.run, context.memo["filed"])


def _half(context: FilterContext, term: Term) -> Iterable[int]:
    if "split" not in context.memo:
        context.memo["split"] = figures.rubric_of(context.conn, context.run)
    split = figures.split(context.conn, context.memo["split"])
    return figures.of_groups(context.conn, context.run, getattr(split, term.value))


def _tag(context: FilterContext, term: Term) -> Iterable[int]:
    # SQLite folds the case of ASCII letters only, so tags are compared here.
    known = [*verdicts.case_tags(context.conn, context.run), *verdicts.used_tags(context.conn)]
    equal = [tag for tag in known if str(tag).casefold() == term.value.casefold()]
    marks = ", ".join("?" * len(equal))
    query = f"SELECT verdict FROM case_tags WHERE run = ? AND tag IN ({marks})"
    yield from _keys(context, query, (context.run, *equal))
    given = f"SELECT item, author FROM item_tags WHERE tag IN ({marks})"
    yield from _of_authors(context, given, *equal)


def _juror(context: FilterContext, term: Term) -> Iterable[int]:
    """Find the panels with a juror's id or model; bodies are searched only if ids miss panels."""
    wanted = term.value.casefold()
    seats = measures.names(context.conn, context.run)
    # A number sign may belong to an id, or number the seats of one id.
    same = [place for place, name in enumerate(seats) if name.casefold() == wanted]
    if same and "#" not in wanted:
        from reviewdesk.domain.query.matching import rows_with_seat

        windows = measures.windows(context.conn, context.run, ("juror", "seated"))
        found = {context.span.first + row for row in rows_with_seat(windows, "juror", same)}
        if len(found) == context.span.size:
            return found
    query = """SELECT verdict, juror, model FROM ballots
               WHERE run = (SELECT name FROM runs WHERE key = ?)"""
    rows = context.conn.execute(query, (context.run,))
    return (key for key, *names in rows if wanted in {(one or "").casefold() for one in names})


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


def _ballot(context: FilterContext, term: Term) -> Iterable[int]:
    """Find how ballots failed or abstained; only degraded panels have such ballots."""
    query = f"""SELECT v.key, j.value
                FROM (SELECT key FROM verdicts WHERE {_SPAN} AND flags & {int(Flag.DEGRADED)}) v
                CROSS JOIN bodies b ON b.verdict = v.key, json_each(b.body, '$.jurors') j"""
    for key, juror in context.conn.execute(query, context.span.values):
        ballot = read_ballot(0, json.loads(juror), Policy())
        kind = "failed" if ballot.status.failed else ballot.status.value
        if term.name == ("unscaled" if ballot.unscaled else kind):
            yield key


_CONDITIONS: Mapping[str, Callable[[FilterContext, Term], Iterable[int]]] = {
    "text": _text,
    "words": _words,
    "label": _half,
    "rerun": _rerun,
    "tag": _tag,
    "tagged": lambda of, _: chain(
        _keys(of, "SELECT verdict FROM case_tags WHERE run = ?", (of.run,)),
        _of_authors(of, "SELECT item, author FROM item_tags"),
    ),
    "juror": _juror,
    "run": _run,
    "flip": _flip,
    "mark": lambda of, _: _of_items(
        of, "SELECT item FROM item_marks WHERE reviewer = ?", of.reviewer
    ),
    "note": lambda of, _: (key for key, _, _ in notes(of.conn, of.run, of.withheld)),
    "deferred": lambda of, _: _of_items(of, DEFERRED, of.reviewer),
    **dict.fromkeys(BALLOTS, _ballot),
}


def juror_names(conn: Connection, run: int) -> list[str | None]:
    """Return the ids and models of jurors from a sample of a run's panels."""
    first = verdicts.first_key(conn, run)
    count = reach(conn, run)[1]
    step = max(1, count // 200)
    query = """WITH RECURSIVE sample(key) AS
                   (SELECT ? UNION ALL SELECT key + ? FROM sample WHERE key + ? < ?)
               SELECT DISTINCT j.juror, j.model FROM sample s JOIN ballots j ON j.verdict = s.key"""
    return [name for row in conn.execute(query, (first, step, step, first + count)) for name in row]
