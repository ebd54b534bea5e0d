"""The steps from labels to better panels, and what people wrote about labelled contents."""

import json
from collections.abc import Collection, Iterator, Mapping
from sqlite3 import Connection
from typing import Any

from msgspec import ValidationError, convert

from reviewdesk.domain.labels.improve import (
    KIND,
    Split,
    Step,
    TryBegun,
    group_of,
    replay,
    rubric_name,
)
from reviewdesk.store.connect import first_column, in_pages
from reviewdesk.store.events import IN_ORDER


def steps(conn: Connection) -> Iterator[tuple[int, Step, Mapping[str, Any]]]:
    """Yield the key, step and facts of each step's event, in the common order of all desks."""
    query = f"""SELECT e.key, e.detail FROM label_events e
                WHERE e.item IS NULL AND e.kind = ? ORDER BY {IN_ORDER}"""
    for row in conn.execute(query, (KIND,)):
        facts = json.loads(row["detail"])
        try:
            yield row["key"], convert(facts.get(KIND), Step), facts
        except ValidationError:
            continue


def split(conn: Connection, rubric: str) -> Split:
    return replay(rubric, (step for _, step, _ in steps(conn)))


def of_groups(conn: Connection, run: int, groups: Collection[str]) -> Iterator[int]:
    """Yield the keys of a run's labelled verdicts that belong to groups of near-copies."""
    query = """SELECT v.key, v.id, v.test, json_extract(b.body, '$.input') AS input
               FROM truths t CROSS JOIN verdicts v ON v.item = t.item AND v.run = ?
               JOIN bodies b ON b.verdict = v.key"""
    for row in conn.execute(query, (run,)):
        if group_of(row["input"], row["test"], row["id"]) in groups:
            yield row["key"]


def began(conn: Connection, name: str) -> tuple[int | None, Mapping[str, Any]]:
    """Return the key of the event that began a try, and the facts of its newest consent."""
    key = None
    newest: Mapping[str, Any] = {}
    for at, step, facts in steps(conn):
        if isinstance(step, TryBegun) and step.name == name:
            key = key or at
            newest = facts
    return key, newest


def rubrics(conn: Connection, run: int) -> list[str | None]:
    """Return the different rubrics of a run's verdicts. Reads every body."""
    query = """SELECT DISTINCT json_extract(b.body, '$.rubric')
               FROM verdicts v JOIN bodies b ON b.verdict = v.key WHERE v.run = ?"""
    return first_column(conn, query, (run,))


def rubric_of(conn: Connection, run: int) -> str:
    """Return the name under which a run's split is kept. Reads every body."""
    return rubric_name(rubrics(conn, run))


def bodies(conn: Connection, keys: Collection[int]) -> dict[int, str]:
    query = "SELECT verdict, body FROM bodies WHERE verdict IN (*)"
    return dict(map(tuple, in_pages(conn, query, sorted(keys))))
