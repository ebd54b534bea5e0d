"""The layout of the desk, and how an older desk is brought up to it."""

import re
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.labels.chain import COUNTED, DESK
from reviewdesk.errors import DeskError, ReviewDeskError
from reviewdesk.store import events, reruns, runs
from reviewdesk.store.connect import (
    APPLICATION_ID,
    ExplainedConnection,
    damaged,
    first_column,
    lookup,
    refuse_read_only,
    value,
    writing,
)  # fmt: skip
from reviewdesk.store.load import ingest

VERSION = 25

LAYOUT = """
CREATE TABLE migrations (name TEXT PRIMARY KEY, at TEXT NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs ( key INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE, file TEXT NOT NULL, file_hash TEXT NOT NULL,
    format TEXT NOT NULL, options TEXT NOT NULL, loaded_at TEXT NOT NULL, seed TEXT NOT NULL,
    header TEXT NOT NULL, notes TEXT NOT NULL, verdicts INTEGER NOT NULL,
    ballots INTEGER NOT NULL, failed_ballots INTEGER NOT NULL, flagged INTEGER NOT NULL,
    audit INTEGER NOT NULL, skipped INTEGER NOT NULL, passed INTEGER NOT NULL,
    failed INTEGER NOT NULL, escalation_stated INTEGER NOT NULL,
    confidence_source TEXT NOT NULL, scores_stated INTEGER NOT NULL, opened INTEGER NOT NULL,
    removed_at TEXT, human_labels INTEGER NOT NULL DEFAULT 0, content TEXT, archive TEXT,
    contents INTEGER);
CREATE TABLE verdicts ( key INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(key),
    pos INTEGER NOT NULL, id TEXT NOT NULL, test TEXT NOT NULL, item BLOB NOT NULL,
    decision TEXT, score REAL, stated_score REAL, confidence REAL, agreement REAL, band TEXT,
    margin REAL, passes INTEGER NOT NULL, answered INTEGER NOT NULL, seated INTEGER NOT NULL,
    flags INTEGER NOT NULL, stratum INTEGER NOT NULL, rank INTEGER NOT NULL,
    draw INTEGER NOT NULL, mix INTEGER NOT NULL, audit INTEGER NOT NULL, range REAL, mass REAL,
    marks INTEGER NOT NULL DEFAULT 0, agreement_source TEXT NOT NULL DEFAULT 'ours',
    ours_band TEXT);
CREATE UNIQUE INDEX verdicts_by_id ON verdicts (run, id);
CREATE INDEX verdicts_by_item ON verdicts (item, run);
CREATE TABLE bodies ( verdict INTEGER PRIMARY KEY REFERENCES verdicts(key), body TEXT NOT NULL);
CREATE TABLE strata ( run INTEGER NOT NULL REFERENCES runs(key), stratum INTEGER NOT NULL,
    size INTEGER NOT NULL, audit INTEGER NOT NULL, passed INTEGER, failed INTEGER,
    PRIMARY KEY (run, stratum)) WITHOUT ROWID;
CREATE TABLE orders ( run INTEGER NOT NULL REFERENCES runs(key), name TEXT NOT NULL,
    first INTEGER NOT NULL, places BLOB NOT NULL, PRIMARY KEY (run, name, first));
CREATE TABLE packed ( run INTEGER NOT NULL REFERENCES runs(key), first INTEGER NOT NULL,
    scores BLOB NOT NULL, votes BLOB NOT NULL, stated BLOB NOT NULL, failed BLOB NOT NULL,
    weights BLOB NOT NULL, juror BLOB NOT NULL, seated BLOB NOT NULL, threshold BLOB NOT NULL,
    quorum BLOB NOT NULL, strategy BLOB NOT NULL, fraction BLOB NOT NULL,
    rounding BLOB NOT NULL, decision BLOB NOT NULL, score BLOB NOT NULL,
    PRIMARY KEY (run, first));
CREATE TABLE measures ( run INTEGER PRIMARY KEY REFERENCES runs(key), names TEXT NOT NULL,
    quorums TEXT NOT NULL, mass REAL, alpha REAL, alpha_low REAL, alpha_high REAL,
    alpha_votes REAL, alpha_ordinal REAL, reasons TEXT NOT NULL);
CREATE TABLE loads ( run INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, file TEXT NOT NULL,
    first INTEGER NOT NULL, made TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
    token TEXT NOT NULL, bodies INTEGER NOT NULL, rows INTEGER NOT NULL, share REAL NOT NULL);
CREATE TABLE case_tags ( run INTEGER NOT NULL REFERENCES runs(key), tag TEXT NOT NULL,
    verdict INTEGER NOT NULL REFERENCES verdicts(key), PRIMARY KEY (run, tag, verdict))
    WITHOUT ROWID;
CREATE VIRTUAL TABLE search USING fts5( name, rubric, input, output, reasons, content='',
    tokenize='unicode61 remove_diacritics 2');
CREATE TABLE indexed_runs ( run INTEGER PRIMARY KEY REFERENCES runs(key),
    verdicts INTEGER NOT NULL);
CREATE TABLE label_events ( key INTEGER PRIMARY KEY AUTOINCREMENT, desk TEXT NOT NULL,
    reviewer TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL,
    run TEXT, verdict TEXT, item BLOB, label TEXT, author TEXT NOT NULL,
    tentative INTEGER NOT NULL, detail TEXT NOT NULL, action INTEGER NOT NULL, target INTEGER,
    prev_hash TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (desk, reviewer, seq));
CREATE INDEX label_events_by_item ON label_events (item, kind);
CREATE INDEX label_events_by_target ON label_events (target, desk, reviewer, seq)
    WHERE target IS NOT NULL;
CREATE INDEX label_events_deferred ON label_events (reviewer, item) WHERE kind = 'defer';
CREATE TABLE event_places ( key INTEGER PRIMARY KEY REFERENCES label_events(key),
    counter INTEGER NOT NULL);
CREATE TABLE current_events ( item BLOB NOT NULL, slot TEXT NOT NULL, author TEXT NOT NULL,
    key INTEGER NOT NULL, label TEXT, tentative INTEGER NOT NULL, seen INTEGER NOT NULL,
    PRIMARY KEY (item, slot, author)) WITHOUT ROWID;
CREATE INDEX current_events_by_slot ON current_events (slot, author) WHERE label IS NULL;
CREATE TABLE label_marks ( window INTEGER PRIMARY KEY,
    marks BLOB NOT NULL CHECK (typeof(marks) = 'blob' AND length(marks) = 4096));
CREATE TABLE tag_uses ( author TEXT NOT NULL, tag TEXT NOT NULL, items INTEGER NOT NULL,
    PRIMARY KEY (author, tag)) WITHOUT ROWID;
CREATE TABLE claims ( item BLOB PRIMARY KEY, reviewer TEXT NOT NULL, until TEXT NOT NULL)
    WITHOUT ROWID;
CREATE TABLE seen ( reviewer TEXT NOT NULL, item BLOB NOT NULL, PRIMARY KEY (reviewer, item))
    WITHOUT ROWID;
CREATE TABLE drafts ( item BLOB NOT NULL, reviewer TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (item, reviewer)) WITHOUT ROWID;
CREATE TABLE views ( run INTEGER NOT NULL REFERENCES runs(key), reviewer TEXT NOT NULL,
    state TEXT NOT NULL, PRIMARY KEY (run, reviewer)) WITHOUT ROWID;
CREATE TABLE filters ( reviewer TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (reviewer, name)) WITHOUT ROWID;
CREATE TABLE kept_settings ( reviewer TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (reviewer, name)) WITHOUT ROWID;
CREATE TABLE replies ( key INTEGER PRIMARY KEY AUTOINCREMENT, plan INTEGER NOT NULL,
    seat INTEGER NOT NULL, juror TEXT NOT NULL, call TEXT NOT NULL, attempt INTEGER NOT NULL,
    nonce TEXT NOT NULL, at TEXT NOT NULL, ms REAL NOT NULL, status INTEGER,
    body TEXT NOT NULL, headers TEXT NOT NULL, problem TEXT, usd REAL);
CREATE INDEX replies_by_call ON replies (plan, call);
CREATE TABLE reruns ( plan INTEGER PRIMARY KEY, verdict INTEGER NOT NULL REFERENCES verdicts(key),
    ended_at TEXT NOT NULL, stopped INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX reruns_by_verdict ON reruns (verdict)"""
"""The tables and indexes. New columns come last, so that an older table is the first part of ours.

``plan`` is the key of the event that committed the panel before the first request. The index of the
current state leaves labels out: nearly all rows are labels, and each would cost one more page.
"""

RETIRED = {
    "verdicts_by_draw": "CREATE INDEX verdicts_by_draw ON verdicts (run, draw)",
    "replies_by_plan": "CREATE INDEX replies_by_plan ON replies (plan, seat)",
}

_GUARDS = (
    """CREATE TRIGGER label_events_next BEFORE INSERT ON label_events
            WHEN NEW.seq IS NOT (SELECT ifnull(max(seq), 0) + 1 FROM label_events
                                 WHERE desk = NEW.desk AND reviewer = NEW.reviewer)
              OR NEW.prev_hash IS NOT ifnull((SELECT hash FROM label_events
                    WHERE desk = NEW.desk AND reviewer = NEW.reviewer
                    ORDER BY seq DESC LIMIT 1), '')
              OR EXISTS (SELECT 1 FROM label_events WHERE key = NEW.key)
            BEGIN SELECT RAISE(ABORT, 'label_events: not the next event of its chain'); END""",
    """CREATE TRIGGER label_events_fixed BEFORE UPDATE ON label_events
            BEGIN SELECT RAISE(ABORT, 'label_events: events are never changed'); END""",
    """CREATE TRIGGER label_events_kept BEFORE DELETE ON label_events
            BEGIN SELECT RAISE(ABORT, 'label_events: events are never deleted'); END""",
)


_FIRST = "iif(json_extract(e.detail, '$.imported'), 0, 1)"
"""A person's own events rank above events that a file imports for that person: an import only
fills gaps, and its author's own events on any desk replace it."""
# The ids of desks have one length and a desk gives each counter once, so these texts compare like
# the counter, then the desk, then the reviewer.
_RANK = f"printf('%019d', {events.COUNTER}) || e.desk || e.reviewer"


def _slot(name: str, where: str, values: str = "NULL AS label, 0 AS tentative, 1 AS seen") -> str:
    return f"""SELECT item, '{name}' AS slot, author, key, {values},
                   max({_FIRST} || {_RANK}) AS place
            FROM standing_events e WHERE {where} GROUP BY item, author"""


_SEEN = "label, tentative, ifnull(json_extract(detail, '$.seen'), 1) AS seen"
_DEFERRED = """kind = 'defer' AND NOT EXISTS (
                SELECT 1 FROM standing_events l
                WHERE l.item = e.item AND l.kind = 'label' AND l.author = e.author)"""
_ORDERED = "CREATE VIEW replayed_events AS " + " UNION ALL ".join(
    (
        _slot("label", "kind = 'label'", _SEEN),
        _slot("mark", "kind = 'mark'"),
        _slot("defer", _DEFERRED),
        _slot("tags", "kind IN ('tags', 'label') AND json_type(detail, '$.tags') = 'array'"),
        _slot("note", "json_type(detail, '$.note') = 'text'"),
        f"""SELECT item, 'adjudication' AS slot, '' AS author, key, label, 0 AS tentative,
                   1 AS seen, max({_RANK}) AS place
            FROM standing_events e WHERE kind = 'adjudicate' GROUP BY item""",
    )
)


_STATE_VIEWS = (
    f"""CREATE VIEW standing_events AS
            SELECT e.* FROM label_events e
            WHERE e.kind IN ({events.KINDS})
              AND ifnull((SELECT u.kind FROM label_events u
                          WHERE u.target = e.action AND u.desk = e.desk
                            AND u.reviewer = e.reviewer
                          ORDER BY u.seq DESC LIMIT 1), 'redo') = 'redo'""",
    _ORDERED,
    """CREATE VIEW truths AS
            SELECT item,
                   coalesce(max(iif(slot = 'adjudication', label, NULL)),
                            iif(min(label) = max(label), min(label), 'disputed')) AS truth,
                   iif(max(slot = 'adjudication'), 0, max(tentative)) AS tentative,
                   max(seen) AS seen
            FROM current_events WHERE slot IN ('label', 'adjudication') GROUP BY item
            HAVING max(slot = 'label')""",
    # Labels files imported by earlier versions left their tags unnormalized in the log.
    """CREATE VIEW item_tags AS
            SELECT c.item AS item, c.author AS author,
                   lower(replace(trim(t.value), ' ', '-')) AS tag, t.key AS place
            FROM current_events c CROSS JOIN label_events e ON e.key = c.key
                 CROSS JOIN json_each(e.detail, '$.tags') t
            WHERE c.slot = 'tags' AND c.label IS NULL""",
    """CREATE VIEW item_marks AS
            SELECT c.item AS item, c.author AS reviewer
            FROM current_events c CROSS JOIN label_events e ON e.key = c.key
            WHERE c.slot = 'mark' AND c.label IS NULL AND json_extract(e.detail, '$.on')""",
)


VIEWS = (
    "standing_events", "replayed_events", "truths", "item_tags", "item_marks", "labels",
    "verdicts_flat", "ballots",
)  # fmt: skip
_TEXTS = ", ".join(
    f"(SELECT json_extract(b.body, '$.{name}') FROM bodies b WHERE b.verdict = v.key) AS {name}"
    for name in ("rubric", "input", "output")
)
_BALLOT = ", ".join(
    f"json_extract(j.value, '$.{name}') AS {name}"
    for name in ("model", "vendor", "score", "pass", "confidence", "weight", "status", "reason")
)
_PUBLIC_VIEWS = (
    """CREATE VIEW labels AS
            SELECT lower(hex(c.item)) AS item_hash, c.label, c.author,
                   (SELECT r.name FROM runs r WHERE r.hash = e.run) AS run, e.verdict, e.at,
                   e.reviewer, json_extract(e.detail, '$.blind') AS blind,
                   (SELECT json_extract(n.detail, '$.note')
                    FROM current_events m JOIN label_events n ON n.key = m.key
                    WHERE m.item = c.item AND m.slot = 'note' AND m.author = c.author) AS note,
                   (SELECT json_group_array(t.tag) FROM item_tags t
                    WHERE t.item = c.item AND t.author = c.author) AS tags,
                   c.item, e.detail, c.key
            FROM current_events c JOIN label_events e ON e.key = c.key WHERE c.slot = 'label'""",
    f"""CREATE VIEW verdicts_flat AS
            SELECT v.key, r.name AS run, v.id, v.test, lower(hex(v.item)) AS item_hash,
                   v.decision, v.score, v.agreement, v.agreement_source, v.band, v.margin,
                   v.range, v.passes, v.answered, v.seated,
                   trim({
        " || ".join(f"iif(v.flags & {flag:d}, '{flag.label} ', '')" for flag in Flag)
    }) AS flags,
                   iif(v.stratum < 3, 'flagged', 'rest') || '/' ||
                   CASE v.stratum % 3 WHEN 0 THEN 'pass' WHEN 1 THEN 'fail' ELSE 'none' END
                   AS stratum, v.audit & 1 AS audit,
                   (SELECT t.truth FROM truths t WHERE t.item = v.item) AS truth,
                   {_TEXTS}
            FROM verdicts v JOIN runs r ON r.key = v.run WHERE r.removed_at IS NULL""",
    f"""CREATE VIEW ballots AS
            SELECT v.key AS verdict, r.name AS run, v.id AS verdict_id, j.key AS seat,
                   json_extract(j.value, '$.id') AS juror, {_BALLOT}
            FROM verdicts v JOIN runs r ON r.key = v.run JOIN bodies b ON b.verdict = v.key,
                 json_each(b.body, '$.jurors') j""",
)


def make_views(conn: Connection) -> None:
    """Make every view anew, and fill the tables of the current state through them."""
    drop_views(conn)
    for view in (*_STATE_VIEWS, *_PUBLIC_VIEWS):
        conn.execute(view)
    if lookup(conn, "SELECT 1 FROM label_events LIMIT 1"):
        events.fill(conn)


def drop_views(conn: Connection) -> None:
    """Drop the views of any version; the steps read none."""
    for name in VIEWS:
        conn.execute(f"DROP VIEW IF EXISTS {name}")


_COLUMNS = """SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?)"""


def lay_out(conn: Connection) -> None:
    """Make what a desk lacks of the layout; columns that a table lacks are added behind its own."""
    there = set(first_column(conn, "SELECT name FROM sqlite_master"))
    with closing(sqlite3.connect(":memory:")) as fresh:
        for statement in (" ".join(one.split()) for one in LAYOUT.split(";")):
            name = re.split(" TABLE | INDEX ", statement)[1].split()[0]
            fresh.execute(statement)
            if name not in there:
                conn.execute(statement)
                continue
            held = first_column(conn, _COLUMNS, (name,))
            for column, kind, given, default in fresh.execute(_COLUMNS, (name,)).fetchall():
                if column not in held:
                    ends = " NOT NULL" * given + (f" DEFAULT {default}" if default else "")
                    conn.execute(f"ALTER TABLE {name} ADD COLUMN {column} {kind}{ends}")
    for name in there.intersection(RETIRED):
        conn.execute(f"DROP INDEX {name}")
    if "label_events" not in there:
        for trigger in _GUARDS:
            conn.execute(trigger)
    if "meta" not in there:
        conn.execute("INSERT INTO meta VALUES ('desk_id', ?)", (uuid.uuid4().hex,))


def _count_human(conn: Connection, _at: str) -> None:
    # The plain text search comes first, so that most bodies are not parsed as JSON.
    conn.execute(
        """UPDATE runs SET human_labels = (SELECT count(*) FROM verdicts v
           JOIN bodies b ON b.verdict = v.key WHERE v.run = runs.key AND instr(b.body, '"human"')
             AND json_type(b.body, '$.human') = 'object')"""
    )


def _add_counters(conn: Connection, at: str) -> None:
    """Number the events by their places in the log; one new event holds these numbers."""
    conn.execute("INSERT INTO event_places SELECT key, key FROM label_events")
    # Key and seq grow alike as long as one chain continues without a gap in the keys.
    desk = events.desk_id(conn)
    query = """SELECT reviewer, min(seq), min(key) FROM label_events WHERE desk = ?
               GROUP BY reviewer, key - seq ORDER BY reviewer, min(seq)"""
    spans = conn.execute(query, (desk,))
    places: dict[str, dict[str, Any]] = {}
    for reviewer, seq, key in spans.fetchall():
        places.setdefault(reviewer, {"places": []})["places"].append([seq, key])
    last = "SELECT seq, hash FROM label_events WHERE desk = ? AND reviewer = ? ORDER BY seq DESC"
    for reviewer, found in places.items():
        found |= dict(conn.execute(f"{last} LIMIT 1", (desk, reviewer)).fetchone())
    if places:
        events.append(conn, DESK, [events.NewEvent(COUNTED, at, detail={"chains": places})])


def _derive_again(conn: Connection, _at: str) -> None:
    from reviewdesk.store.load.rederive import derive_again

    derive_again(conn)


def _cover(conn: Connection, at: str) -> None:
    """Append an event for each loaded run and each re-run, so that the head depends on them."""
    from reviewdesk.domain.run.digest import RULES

    runs.cover_old(conn, at, RULES)
    for plan in reruns.plans(conn):
        reruns.cover(conn, plan, at, covered_since=at)


_STEPS: tuple[tuple[int, Callable[[Connection, str], object]], ...] = (
    (5, lambda conn, _at: runs.tag_verdicts(conn)),
    (8, _count_human),
    (20, _add_counters),
    (25, _derive_again),
    (16, lambda conn, _at: ingest.rebuild(conn)),
    (15, _cover),
)
"""What is computed in a desk of a version before this one, in order. The runs from before version
22 keep their draw of verdicts, with NULL for their contents."""


def bring_up(conn: Connection, version: int, at: str) -> None:
    """Compute what a desk of an older version lacks, once it has the layout."""
    for number, step in _STEPS:
        if 0 < version < number:
            step(conn, at)


def migrate(conn: ExplainedConnection, path: Path, at: str, *, copies: bool = True) -> None:
    """Give a new or older desk the present layout; if ``copies``, back up one with data first.

    Raise DeskError if a newer version of reviewdesk made the desk, or it cannot be written.
    """
    version = value(conn, "PRAGMA user_version")
    if version > VERSION:
        raise DeskError(
            f"{path}: made by a newer reviewdesk (schema {version}, this one knows {VERSION})",
            "Update reviewdesk, or name another desk with --desk.",
        )
    if version == VERSION:
        return
    held = lookup(conn, "SELECT 1 FROM sqlite_master WHERE name = 'migrations'")
    if held and value(conn, "SELECT count(*) FROM migrations") > version:
        raise DeskError(
            f"{path}: its schema number was changed to {version}", "Restore a backup of it."
        )
    refuse_read_only(conn, "and of an older reviewdesk, so it cannot be brought up to date")
    if version and copies:
        from reviewdesk.store.repair import back_up

        back_up(conn, path, path.with_name(f"{path.name}.schema-{version}.backup"), replace=True)
    with writing(conn):
        drop_views(conn)
        # Another process may have migrated the desk while this one waited for the lock.
        version = value(conn, "PRAGMA user_version")
        conn.execute(f"PRAGMA application_id={APPLICATION_ID}")
        try:
            lay_out(conn)
            bring_up(conn, version, at)
        except (ReviewDeskError, sqlite3.Error, OSError):
            raise
        except Exception as fault:
            what = f"{type(fault).__name__}: {fault}"
            raise damaged(path, f"it cannot be brought up to date: {what}") from fault
        made = [(f"schema {number}", at) for number in range(version + 1, VERSION + 1)]
        conn.executemany("INSERT INTO migrations VALUES (?, ?)", made)
        conn.execute(f"PRAGMA user_version={VERSION}")
        make_views(conn)


def is_current(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    found = (int.from_bytes(head[68:72]), int.from_bytes(head[60:64]))
    return found == (APPLICATION_ID, VERSION)
