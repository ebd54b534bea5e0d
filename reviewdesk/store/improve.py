"""The steps from labels to better panels, and what people wrote about labelled contents."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from reviewdesk.domain.labels.split import KIND, Split, Step, TryBegun, replay, step_of
from reviewdesk.store import reruns
from reviewdesk.store.label_state import COUNTER
from reviewdesk.store.rows import in_pages


class StoredStep(Struct, frozen=True):
    """A step, with the key and the time of its event, and the facts beside it."""

    key: int
    at: str
    step: Step
    facts: Mapping[str, Any]


def steps(conn: sqlite3.Connection) -> Iterator[StoredStep]:
    """Yield every step, in the common order of all desks."""
    rows = conn.execute(
        f"""SELECT e.key, e.at, e.detail, {COUNTER} AS counter FROM label_events e
            WHERE e.item IS NULL AND e.kind = ? ORDER BY counter, e.desk, e.reviewer, e.seq""",
        (KIND,),
    )
    for row in rows:
        facts = json.loads(row["detail"])
        step = step_of(facts)
        if step is not None:
            yield StoredStep(row["key"], row["at"], step, facts)


def split(conn: sqlite3.Connection, rubric: str) -> Split:
    """Return the split of a rubric as it stands."""
    return replay(rubric, (one.step for one in steps(conn)))


def begun(conn: sqlite3.Connection, name: str) -> list[StoredStep]:
    """Return the events that began a try, and then continued it."""
    return [one for one in steps(conn) if isinstance(one.step, TryBegun) and one.step.name == name]


def is_under_way(conn: sqlite3.Connection, name: str) -> bool:
    """Return True if another living process began or continued a try last."""
    found = begun(conn, name)
    facts = found[-1].facts if found else {}
    return "pid" in facts and reruns.is_other_alive(facts["pid"], facts.get("started"))


def rubrics(conn: sqlite3.Connection, run: int) -> list[str | None]:
    """Return the different rubrics of a run's verdicts. Reads every body."""
    rows = conn.execute(
        """SELECT DISTINCT json_extract(b.body, '$.rubric') AS rubric
           FROM verdicts v JOIN bodies b ON b.verdict = v.key WHERE v.run = ?""",
        (run,),
    )
    return [row["rubric"] for row in rows]


def bodies(conn: sqlite3.Connection, keys: Collection[int]) -> dict[int, str]:
    """Return the stored bodies of some verdicts by key."""
    query = "SELECT verdict, body FROM bodies WHERE verdict IN (*)"
    return {row["verdict"]: row["body"] for row in in_pages(conn, query, sorted(keys))}


def notes(conn: sqlite3.Connection, items: Collection[bytes]) -> dict[bytes, list[str]]:
    """Return the notes that stand on some contents, of all authors."""
    query = """SELECT c.item, e.detail FROM current_events c JOIN label_events e ON e.key = c.key
               WHERE c.slot = 'note' AND c.item IN (*) ORDER BY c.key"""
    found: dict[bytes, list[str]] = {}
    for row in in_pages(conn, query, sorted(items)):
        if text := json.loads(row["detail"]).get("note"):
            found.setdefault(row["item"], []).append(text)
    return found


def tags(conn: sqlite3.Connection, items: Collection[bytes]) -> dict[bytes, list[str]]:
    """Return the tags of some contents, of all authors, without repeats."""
    query = "SELECT DISTINCT item, tag FROM item_tags WHERE tag IS NOT NULL AND item IN (*)"
    found: dict[bytes, list[str]] = {}
    for row in in_pages(conn, query, sorted(items)):
        found.setdefault(row["item"], []).append(row["tag"])
    return found
