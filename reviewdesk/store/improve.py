"""The steps from labels to better panels, and what people wrote about labelled contents."""

from collections.abc import Collection, Iterable, Iterator
from sqlite3 import Connection

from msgspec import DecodeError, json

from reviewdesk.domain.labels.improve import (
    KIND,
    LabelledCase,
    Split,
    Step,
    group_of,
    replay,
    rubric_name,
)
from reviewdesk.domain.labels.sampling import LabelledRow
from reviewdesk.domain.verdict import CanonicalVerdict, stored_body
from reviewdesk.store.connect import first_column, in_pages
from reviewdesk.store.events import IN_ORDER


def steps(conn: Connection) -> Iterator[Step]:
    """Yield the steps, in the common order of all desks."""
    query = f"""SELECT json_extract(e.detail, '$.{KIND}') FROM label_events e
                WHERE e.item IS NULL AND e.kind = ? ORDER BY {IN_ORDER}"""
    for (text,) in conn.execute(query, (KIND,)):
        try:
            yield json.decode(text or "", type=Step)
        except DecodeError:
            continue


def split(conn: Connection, rubric: str) -> Split:
    return replay(rubric, steps(conn))


def of_groups(conn: Connection, run: int, groups: Collection[str]) -> Iterator[int]:
    """Yield the keys of a run's labelled verdicts that belong to groups of near-copies."""
    query = """SELECT v.key, v.id, v.test, json_extract(b.body, '$.input') AS input
               FROM truths t CROSS JOIN verdicts v ON v.item = t.item AND v.run = ?
               JOIN bodies b ON b.verdict = v.key"""
    for row in conn.execute(query, (run,)):
        if group_of(row["input"], row["test"], row["id"]) in groups:
            yield row["key"]


def rubrics(conn: Connection, run: int) -> list[str | None]:
    query = """SELECT DISTINCT json_extract(b.body, '$.rubric')
               FROM verdicts v JOIN bodies b ON b.verdict = v.key WHERE v.run = ?"""
    return first_column(conn, query, (run,))


def rubric_of(conn: Connection, run: int) -> str:
    return rubric_name(rubrics(conn, run))


def bodies(
    conn: Connection, cases: Iterable[LabelledCase | LabelledRow]
) -> dict[int, CanonicalVerdict]:
    query = "SELECT verdict, body FROM bodies WHERE verdict IN (*)"
    found = in_pages(conn, query, sorted(one.key for one in cases))
    return {key: stored_body(text) for key, text in found}
