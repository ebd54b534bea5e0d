"""Derive loaded runs again from their bodies after the rules of derivation have changed."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reviewdesk.domain.report_model import Written, verdict_model
from reviewdesk.store import measures, runs, verdicts
from reviewdesk.store.connect import first_column
from reviewdesk.store.load.ingest import with_undecided

BATCH = 500
"""Bodies read at once."""


def derive_again(conn: sqlite3.Connection) -> None:
    """Derive every verdict again from its body by the present rules, and the counts of each run.

    The draw stays: strata, ranks, audit and places in the queue are not touched, nor are items,
    labels and bodies. One window of verdicts is held in memory at a time.
    """
    for run in first_column(conn, "SELECT key FROM runs ORDER BY key"):
        # Imported here because both load numpy, which opening a desk does not need.
        from reviewdesk.domain.run.window import DERIVED, WindowReader, final_flags

        one = runs.by_key(conn, run)
        reader = WindowReader(one.header, runs.options(conn, run), one.hash)
        first = verdicts.first_key(conn, run)
        assigned = ", ".join(f"{name} = ?" for name in (*DERIVED, "flags"))
        conn.execute("DELETE FROM packed WHERE run = ?", (run,))
        for window in reader.windows(_bodies(conn, run)):
            flags = final_flags(window.flags, stated=one.escalation_stated).tolist()
            keys = range(first + window.first, first + window.first + len(flags))
            derived = [window.columns[name] for name in DERIVED]
            conn.executemany(
                f"UPDATE verdicts SET {assigned} WHERE key = ?",
                zip(*derived, flags, keys, strict=True),
            )
            measures.put_window(conn, run, window)
        # The figures of an archive cover more verdicts than the desk holds.
        if runs.archive_text(conn, run) is None:
            measures.enter(conn, run, measures.figures(conn, run, reader))
            notes = with_undecided(list(one.notes), reader.tally)
            # The flagged and the drawn stay.
            made = runs.counted(reader.tally) | {"notes": json.dumps(notes, ensure_ascii=False)}
            assigned = ", ".join(f"{name} = :{name}" for name in made)
            conn.execute(f"UPDATE runs SET {assigned} WHERE key = :key", {**made, "key": run})
            runs.count_decided(conn, run)
        else:
            measures.rename(conn, run, reader)
        runs.cover_again(conn, run)


_SHOWN = 5
"""How many verdicts of a run are named."""


def differences(
    conn: sqlite3.Connection, run: int, progress: Callable[[float, int], object]
) -> Iterator[str]:
    """Decide every verdict of a run again from its body, and report where the desk differs.

    The draw is not repeated; the content hash covers it and the figures of an archive.
    """
    from reviewdesk.domain.run.digest import RunDigest
    from reviewdesk.domain.run.window import DERIVED, WindowReader, final_flags

    one = runs.by_key(conn, run)
    reader = WindowReader(one.header, runs.options(conn, run), one.hash)
    first = verdicts.first_key(conn, run)
    names = ("id", "test", "item", *DERIVED, "flags")
    query = f"SELECT {', '.join(names)} FROM verdicts WHERE key >= ? AND key < ? ORDER BY key"
    count = 0
    made = RunDigest()
    tags = RunDigest()
    for window in reader.windows(_bodies(conn, run)):
        flags = final_flags(window.flags, stated=one.escalation_stated).tolist()
        start = first + window.first
        held = conn.execute(query, (start, start + len(flags))).fetchall()
        made_rows = zip(*window.columns.values(), flags, strict=True)
        for row, stored in zip(made_rows, held, strict=True):
            if text := _difference(names, row, stored):
                count += 1
                if count <= _SHOWN:
                    yield f"verdict {row[0]}: {text}"
        made.add_packed(window.packed)
        tags.add_tags(window.tags)
        progress(reader.tally.verdicts / one.verdicts, reader.tally.verdicts)
    if count > _SHOWN:
        yield f"{count:,} verdicts differ from what their bodies give"
    same = {
        "packed ballots": made.columns() == runs.packed_digest(conn, run).columns(),
        "tags": tags.hexdigest() == runs.tag_hash(conn, run),
    }
    if not runs.archive_text(conn, run):
        same["figures"] = measures.holds(conn, run, measures.figures(conn, run, reader))
        same["counts"] = runs.counts_are(conn, run, reader.tally)
    yield from (f"its {name} are not what its bodies give" for name in same if not same[name])


def _difference(names: Sequence[str], made: Sequence[Any], stored: Sequence[Any]) -> str:
    """Say in which column a row differs; SQLite stores NaN as NULL."""
    for name, ours, theirs in zip(names, made, stored, strict=True):
        if ours != theirs and not (theirs is None and ours != ours):  # noqa: PLR0124 - NaN
            shown = "other than its body gives" if isinstance(ours, bytes) else (
                f"{theirs}, and its body gives {ours}"
            )  # fmt: skip
            return f"{name} is {shown}"
    return ""


def _bodies(conn: sqlite3.Connection, run: int) -> Iterator[Written]:
    """Yield the bodies of a run in file order with their JSON, reading a few at a time."""
    start = 0
    while found := verdicts.window(conn, run, start, BATCH):
        for row in found:
            text = row["body"].encode()
            yield verdict_model(text), text
        start += len(found)
