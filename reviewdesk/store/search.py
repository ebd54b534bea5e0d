"""The full-text index: fill it in batches, search it, and hold it to the bodies."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from reviewdesk.domain.canonical import CanonicalBallot, CanonicalVerdict, stored_body
from reviewdesk.domain.labels.second_opinions import NOTHING, Withheld
from reviewdesk.domain.query.search import SearchTerm, parse_search, spaced
from reviewdesk.errors import DeskError
from reviewdesk.store.rows import value
from reviewdesk.store.verdicts import first_key

TOKENIZER = "unicode61 remove_diacritics 2"
COLUMNS = ("name", "rubric", "input", "output", "reasons")
_OPEN_COLUMNS = COLUMNS[:-1]
"""The columns that a blind session may search: reasons are left out, as they are the panel's."""
BATCH = 200
_MOST_CHARACTERS = 1_000_000
"""A batch ends early at this many characters, so that the write lock is held only briefly."""

Texts = tuple[int, str, str, str, str, str]
_THEN = "so a search may be wrong; desk repair makes a desk whose index is built anew"
CheckedCall = Callable[[float, int], object]
Sums = defaultdict[int, int]
"""The XOR of the hashes of a verdict's words, each with its place, by the verdict's key.

Python keys hashes of bytes anew in each process, so nobody can choose words whose sums agree.
"""


def reach(conn: sqlite3.Connection, run: int) -> tuple[int, int]:
    """Return how many of a run's verdicts are indexed, and how many there are."""
    row = conn.execute(
        """SELECT ifnull(i.verdicts, 0), r.verdicts FROM runs r
           LEFT JOIN indexed_runs i ON i.run = r.key WHERE r.key = ?""",
        (run,),
    ).fetchone()
    return row[0], row[1]


def prepare(conn: sqlite3.Connection, run: int, start: int) -> list[Texts]:
    """Return the texts of a run's next verdicts, from the ``start``-th in file order."""
    found: list[Texts] = []
    size = 0
    first = first_key(conn, run) + start
    query = """SELECT v.key, v.id, v.test, b.body FROM verdicts v JOIN bodies b ON b.verdict = v.key
               WHERE v.key >= ? AND v.key < ? AND +v.run = ? ORDER BY v.key"""
    # Closed before anything is written: SQLite does not let an open reader become a writer.
    with closing(conn.execute(query, (first, first + BATCH, run))) as rows:
        for row in rows:
            texts = _texts(row["id"], row["test"], stored_body(row["body"]))
            found.append((row["key"], *texts))
            size += sum(map(len, texts))
            if size > _MOST_CHARACTERS:
                break
    return found


def put(conn: sqlite3.Connection, run: int, start: int, batch: list[Texts]) -> None:
    """Index a prepared batch, unless another process has indexed it meanwhile."""
    if reach(conn, run)[0] != start:
        return
    add(conn, batch)
    conn.execute("INSERT OR REPLACE INTO indexed_runs VALUES (?, ?)", (run, start + len(batch)))


def add(conn: sqlite3.Connection, batch: list[Texts]) -> None:
    """Put the texts of verdicts into an index, inside the caller's transaction."""
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    conn.executemany(f"INSERT INTO search (rowid, {', '.join(COLUMNS)}) VALUES ({marks})", batch)


def find(
    conn: sqlite3.Connection,
    run: int,
    text: str,
    reviewer: str,
    withheld: Withheld = NOTHING,
    *,
    blind: bool,
) -> array[int]:
    """Return the keys of a run's indexed verdicts whose texts or notes contain every search term.

    ``blind`` leaves out the jurors' reasons and all notes but those of ``reviewer``; the notes of
    others on what is ``withheld`` are left out in any case.
    """
    sought = parse_search(text)
    kept = [one for one in notes(conn, run, withheld) if not blind or one[1] == reviewer]
    noted = _keys_by_note(sought, kept)
    columns = _OPEN_COLUMNS if blind else COLUMNS
    if not any(noted):
        return array("q", _matches(conn, run, sought, columns))
    found = [
        keys.union(_matches(conn, run, (one,), columns))
        for one, keys in zip(sought, noted, strict=True)
    ]
    return array("q", set.intersection(*found))


def notes(
    conn: sqlite3.Connection, run: int, withheld: Withheld = NOTHING
) -> list[tuple[int, str, str]]:
    """Return verdict key, author and text of each author's newest standing note on each item.

    Those of others on what is ``withheld`` are left out.
    """
    rows = conn.execute(
        """SELECT v.key, c.author, c.item, e.detail FROM current_events c
           CROSS JOIN label_events e ON e.key = c.key
           CROSS JOIN verdicts v ON v.item = c.item AND v.run = ?
           WHERE c.slot = 'note' AND c.label IS NULL""",
        (run,),
    )
    found = [
        (row["key"], row["author"], json.loads(row["detail"])["note"])
        for row in rows
        if withheld.shows(row["item"], row["author"])
    ]
    return [note for note in found if note[2]]


def _texts(name: str, test: str, body: CanonicalVerdict) -> tuple[str, str, str, str, str]:
    reference = body.get("reference") or ""
    parts = (
        (name, test),
        (body.get("rubric"),),
        (body.get("input"),),
        (
            body.get("output"),
            body.get("alternative"),
            *([reference] if isinstance(reference, str) else reference),
        ),
        (
            body.get("bias_warning"),
            *(text for juror in body["jurors"] for text in _juror_texts(juror)),
        ),
    )
    columns = [spaced("\n".join(text for text in part if text)) for part in parts]
    return columns[0], columns[1], columns[2], columns[3], columns[4]


def _juror_texts(juror: CanonicalBallot) -> Iterator[str | None]:
    yield juror.get("reason")
    error = juror.get("error")
    yield error["message"] if error else None


def _matches(
    conn: sqlite3.Connection, run: int, sought: tuple[SearchTerm, ...], columns: tuple[str, ...]
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
        memory.execute(f"CREATE VIRTUAL TABLE notes USING fts5(text, tokenize='{TOKENIZER}')")
        memory.executemany(
            "INSERT INTO notes (rowid, text) VALUES (?, ?)",
            [(place, spaced(text)) for place, (_, _, text) in enumerate(kept)],
        )
        query = "SELECT rowid FROM notes WHERE notes MATCH ?"
        return [
            {kept[row[0]][0] for row in memory.execute(query, (_query((one,), ("text",)),))}
            for one in sought
        ]


# Held to the bodies


def problems(conn: sqlite3.Connection, told: CheckedCall) -> list[str]:
    """Name the runs whose part of the index is not what their bodies give."""
    # One state of the desk, as another process may index meanwhile; its end drops our table.
    conn.execute("BEGIN")
    try:
        sums, lost = _held(conn)
        return [*_differences(conn, sums, lost, told), *_lost_totals(conn)]
    except (DeskError, sqlite3.Error) as error:
        return [f"the search index cannot be read, {_THEN}: {error}"]
    finally:
        conn.execute("ROLLBACK")


def _lost_totals(conn: sqlite3.Connection) -> Iterator[str]:
    """Name the record of totals if it is gone: the next verdict could not be indexed."""
    row = conn.execute("SELECT block FROM search_data WHERE id = 1").fetchone()
    # A number for the rows and one for each column; each ends with a byte below 128.
    if row is None or sum(byte < 0x80 for byte in row[0]) not in {0, 1 + len(COLUMNS)}:
        yield f"the search index has lost its totals, {_THEN}"


def _differences(
    conn: sqlite3.Connection, sums: Sums, lost: int, told: CheckedCall
) -> Iterator[str]:
    for run, name in conn.execute("SELECT key, name FROM runs ORDER BY key").fetchall():
        indexed = reach(conn, run)[0]
        verdicts = value(conn, "SELECT count(*) FROM verdicts WHERE run = ?", (run,))
        possible = 0 <= indexed <= verdicts
        if possible:
            _take_out(conn, run, indexed, sums, told)
        first = first_key(conn, run)
        wrong = sum(sums.pop(key, 0) != 0 for key in range(first, first + verdicts))
        if not possible:
            yield f"run {name}: {indexed:,} of its {verdicts:,} verdicts are in the search index"
        elif wrong:
            yield f"run {name}: the search index differs for {wrong:,} of its verdicts, {_THEN}"
    if any(sums.values()):
        yield f"the search index holds words of verdicts that are not here, {_THEN}"
    if lost:
        yield f"the search index does not find {lost:,} of its own words, {_THEN}"


def _held(conn: sqlite3.Connection) -> tuple[Sums, int]:
    """Return the sums of the index as it is, and how many of its words a search does not find."""
    for name, kind in (("held_places", "instance"), ("held_words", "row")):
        conn.execute(f"CREATE VIRTUAL TABLE temp.{name} USING fts5vocab(main, search, {kind})")
    sums = Sums(int)
    _add_hashes(conn, "temp.held_places", sums)
    # A search looks a word up in pages that a walk over all words never reads.
    query = "SELECT count(*) FROM temp.held_places WHERE term = CAST(? AS TEXT)"
    words = conn.execute("SELECT CAST(term AS BLOB), cnt FROM temp.held_words").fetchall()
    return sums, sum(value(conn, query, (word,)) != count for word, count in words)


def _add_hashes(conn: sqlite3.Connection, table: str, sums: Sums) -> None:
    # A cursor without explanations of its own: these are the most rows that anything reads.
    cursor = conn.cursor(sqlite3.Cursor)
    cursor.row_factory = None
    for row in cursor.execute(f"SELECT CAST(term AS BLOB), doc, col, offset FROM {table}"):
        sums[row[1]] ^= hash(row)


def _take_out(
    conn: sqlite3.Connection, run: int, indexed: int, sums: Sums, told: CheckedCall
) -> None:
    """Combine what a run's bodies give with what is held; where both agree the sum becomes 0."""
    made = value(conn, "SELECT sql FROM sqlite_master WHERE name = 'search'")
    done = 0
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        fresh.execute(made)
        fresh.execute("CREATE VIRTUAL TABLE places USING fts5vocab(search, instance)")
        while done < indexed:
            batch = prepare(conn, run, done)[: indexed - done]
            if not batch:
                return  # bodies are gone, which another check names
            fresh.execute("BEGIN")
            add(fresh, batch)
            fresh.execute("COMMIT")
            _add_hashes(fresh, "places", sums)
            fresh.execute("INSERT INTO search (search) VALUES ('delete-all')")
            done += len(batch)
            told(done / indexed, done)
