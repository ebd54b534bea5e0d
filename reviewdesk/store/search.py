"""The full-text index: fill it in batches, report how far it has come, and search it."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing

from reviewdesk.domain.canonical import CanonicalBallot, CanonicalVerdict, stored_body
from reviewdesk.domain.labels.second_opinions import NOTHING, Withheld
from reviewdesk.domain.query.search import SearchTerm, parse_search, spaced
from reviewdesk.store.verdicts import first_key

TOKENIZER = "unicode61 remove_diacritics 2"
COLUMNS = ("name", "rubric", "input", "output", "reasons")
_OPEN_COLUMNS = COLUMNS[:-1]
"""The columns that a blind session may search: reasons are left out, as they are the panel's."""
BATCH = 200
_MOST_CHARACTERS = 1_000_000
"""A batch ends early at this many characters, so that the write lock is held only briefly."""

Texts = tuple[int, str, str, str, str, str]


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
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    conn.executemany(f"INSERT INTO search (rowid, {', '.join(COLUMNS)}) VALUES ({marks})", batch)
    conn.execute("INSERT OR REPLACE INTO indexed_runs VALUES (?, ?)", (run, start + len(batch)))


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
