"""Keep what belongs to one reviewer: views, settings, filters, drafts, what was seen and done."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import asdict

from reviewdesk.domain.records import Truth, View
from reviewdesk.errors import UsageError
from reviewdesk.store.events import desk_id
from reviewdesk.store.rows import value


def check_name(name: str, place: str = "") -> None:
    """Raise UsageError for a reviewer's name that begins like the chain of the desk itself."""
    if name.startswith("@"):
        raise UsageError(f"{place}{name}: no reviewer's name begins with @", "Use another name.")


def view(conn: sqlite3.Connection, run: int, reviewer: str) -> View | None:
    """Return what a reviewer last had on screen in a run, or ``None``."""
    row = conn.execute(
        "SELECT state FROM views WHERE run = ? AND reviewer = ?", (run, reviewer)
    ).fetchone()
    return _view(row["state"]) if row else None


def _view(text: str) -> View | None:
    """Read a stored view; one that is damaged counts as none."""
    try:
        state = json.loads(text)
        state.pop("hundreds", None)  # kept by older versions
        found = View(**state)
        (found.filter + found.order + (found.item or "")).encode()
    except (AttributeError, RecursionError, TypeError, ValueError):
        return None
    fits = isinstance(found.filter, str) and isinstance(found.item, str | None)
    return found if fits and isinstance(found.blind, bool) else None


def save_view(conn: sqlite3.Connection, run: int, reviewer: str, state: View) -> None:
    """Save what a reviewer has on screen in a run."""
    conn.execute(
        "INSERT OR REPLACE INTO views VALUES (?, ?, ?)", (run, reviewer, json.dumps(asdict(state)))
    )


def views(conn: sqlite3.Connection, reviewer: str) -> dict[str, View]:
    """Return what a reviewer last had on screen in each loaded run, by the run's name."""
    rows = conn.execute(
        """SELECT r.name, v.state FROM views v JOIN runs r ON r.key = v.run
           WHERE v.reviewer = ? AND r.removed_at IS NULL ORDER BY r.key""",
        (reviewer,),
    )
    read = {row[0]: _view(row[1]) for row in rows}
    return {name: view for name, view in read.items() if view is not None}


def kept_settings(conn: sqlite3.Connection, reviewer: str) -> dict[str, str]:
    """Return what a reviewer chose on the screen: JSON by name, as stored; {} on an older desk."""
    if not conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'kept_settings'").fetchone():
        return {}
    rows = conn.execute("SELECT name, value FROM kept_settings WHERE reviewer = ?", (reviewer,))
    return {name: text for name, text in rows if isinstance(text, str)}


def keep_settings(conn: sqlite3.Connection, reviewer: str, values: Mapping[str, str]) -> None:
    """Store values as JSON by name, replacing older ones of those names."""
    conn.executemany(
        "INSERT OR REPLACE INTO kept_settings VALUES (?, ?, ?)",
        [(reviewer, name, value) for name, value in values.items()],
    )


def forget_settings(conn: sqlite3.Connection, reviewer: str, names: Iterable[str]) -> None:
    """Delete the kept values of these names."""
    conn.executemany(
        "DELETE FROM kept_settings WHERE reviewer = ? AND name = ?",
        [(reviewer, name) for name in names],
    )


def forget_in_views(conn: sqlite3.Connection, reviewer: str, part: str) -> None:
    """Take one part, such as ``order``, out of each view of a reviewer: its default holds again."""
    conn.execute(
        """UPDATE views SET state = json_remove(state, ?)
           WHERE reviewer = ? AND json_valid(state)""",
        (f"$.{part}", reviewer),
    )


def saved_filters(conn: sqlite3.Connection, reviewer: str) -> dict[str, str]:
    """Return the text of each saved filter of a reviewer, by name."""
    rows = conn.execute(
        "SELECT name, text FROM filters WHERE reviewer = ? ORDER BY name", (reviewer,)
    )
    return {row["name"]: row["text"] for row in rows}


def save_filter(conn: sqlite3.Connection, reviewer: str, name: str, text: str) -> None:
    conn.execute("INSERT OR REPLACE INTO filters VALUES (?, ?, ?)", (reviewer, name, text))


def forget_filter(conn: sqlite3.Connection, reviewer: str, name: str) -> bool:
    """Delete a saved filter, and return whether it existed."""
    cursor = conn.execute("DELETE FROM filters WHERE reviewer = ? AND name = ?", (reviewer, name))
    return cursor.rowcount > 0


def draft(conn: sqlite3.Connection, key: int, reviewer: str) -> str | None:
    """Return the reviewer's unfinished note on a verdict's content, or ``None``."""
    row = conn.execute(
        """SELECT d.text FROM drafts d JOIN verdicts v ON v.item = d.item
           WHERE v.key = ? AND d.reviewer = ?""",
        (key, reviewer),
    ).fetchone()
    return str(row["text"]) if row else None


def save_draft(conn: sqlite3.Connection, key: int, reviewer: str, text: str) -> None:
    """Store an unfinished note on a verdict's content; an empty text deletes it."""
    if text:
        conn.execute(
            "INSERT OR REPLACE INTO drafts SELECT item, ?, ? FROM verdicts WHERE key = ?",
            (reviewer, text, key),
        )
    else:
        conn.execute(
            """DELETE FROM drafts WHERE reviewer = ?
               AND item = (SELECT item FROM verdicts WHERE key = ?)""",
            (reviewer, key),
        )


def save_seen(conn: sqlite3.Connection, keys: Iterable[int], reviewer: str) -> None:
    """Record that a reviewer has seen the panel's answers on these verdicts' contents."""
    conn.executemany(
        "INSERT OR IGNORE INTO seen SELECT ?, item FROM verdicts WHERE key = ?",
        [(reviewer, key) for key in keys],
    )


def was_seen(conn: sqlite3.Connection, key: int, reviewer: str) -> bool:
    """Return True if a reviewer has seen a panel's answer on this verdict's content."""
    row = conn.execute(
        """SELECT 1 FROM seen s JOIN verdicts v ON v.item = s.item
           WHERE v.key = ? AND s.reviewer = ?""",
        (key, reviewer),
    ).fetchone()
    return row is not None


class Done(Struct, frozen=True):
    """An event of one reviewer; ``target`` is the action that an undo or redo refers to."""

    seq: int
    at: str
    kind: str
    run: str | None
    item: bytes | None
    action: int
    target: int | None
    untimed: bool
    """Whether the event took no time of its own: from a file or the shell, or one of many."""


def done(conn: sqlite3.Connection, reviewer: str, after: int) -> Iterator[Done]:
    """Yield a reviewer's events after a ``seq`` of the chain, oldest first."""
    rows = conn.execute(
        """SELECT seq, at, kind, run, item, action, target,
                  (json_extract(detail, '$.imported') IS NOT NULL OR (
                     kind = 'label' AND json_extract(detail, '$.blind') IS NULL)
                   OR json_extract(detail, '$.together') > 1) AS untimed
           FROM label_events WHERE desk = ? AND reviewer = ? AND seq > ? ORDER BY seq""",
        (desk_id(conn), reviewer, after),
    )
    # By position: a reviewer's labels may be a hundred thousand.
    rows.row_factory = None
    for seq, at, kind, about, item, action, target, untimed in rows:
        yield Done(seq, at, kind, about, item, action, target, bool(untimed))


class WorkEvent(Struct, frozen=True):
    """A label, repeat or defer of one reviewer, or the undo or redo of the action ``target``.

    ``blind`` is ``None`` if the event does not say; ``told`` if the panel's answer was told after
    it; ``again`` is the content, in hex, that came back after it; ``unseen`` if a repeat was given
    without any sight of the panel's answer.
    """

    seq: int
    key: int
    kind: str
    verdict: str
    item: bytes
    label: Truth | None
    blind: bool | None
    told: bool | None
    again: str | None
    unseen: bool
    action: int
    target: int | None


def last_seq(conn: sqlite3.Connection, reviewer: str) -> int:
    """Return the number of the reviewer's newest event, 0 if there is none."""
    query = "SELECT ifnull(max(seq), 0) FROM label_events WHERE desk = ? AND reviewer = ?"
    return int(value(conn, query, (desk_id(conn), reviewer)))


def work(
    conn: sqlite3.Connection, reviewer: str, run: str, after: int, last: int
) -> Iterator[WorkEvent]:
    """Yield what the reviewer labelled, repeated and deferred on screen in a run, oldest first.

    Undos and redos are among it, of any action. The events are those with a ``seq`` above ``after``
    and up to ``last``.
    """
    rows = conn.execute(
        """SELECT seq, key, kind, verdict, item, label,
                  json_extract(detail, '$.blind'), json_extract(detail, '$.told'),
                  json_extract(detail, '$.again'), ifnull(json_extract(detail, '$.unseen'), 0),
                  action, target
           FROM label_events
           WHERE desk = ? AND reviewer = ? AND seq > ? AND seq <= ?
             AND (kind IN ('undo', 'redo')
                  OR author = reviewer AND run = ? AND kind IN ('label', 'repeat', 'defer')
                     AND json_extract(detail, '$.imported') IS NULL
                     AND (kind = 'defer' OR json_extract(detail, '$.blind') IS NOT NULL))
           ORDER BY seq""",
        (desk_id(conn), reviewer, after, last, run),
    )
    rows.row_factory = None
    for seq, key, kind, verdict, item, label, blind, told, *rest in rows:
        again, unseen, action, target = rest
        yield WorkEvent(
            seq,
            key,
            kind,
            verdict,
            item,
            Truth(label) if label else None,
            None if blind is None else bool(blind),
            None if told is None else bool(told),
            again,
            bool(unseen),
            action,
            target,
        )
