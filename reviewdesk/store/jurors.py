"""Read a run's facts about its jurors: labelled verdicts, bad replies, scores in other runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from sqlite3 import Connection

from msgspec import Struct

from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import Decision, Status
from reviewdesk.store.connect import decision, in_pages, record, value
from reviewdesk.store.search import reach
from reviewdesk.store.verdicts import first_key

_PANELS = 200
"""Panels sampled for juror names, spread over the run, as panels of one run are much alike."""


class RepeatedCase(Struct, frozen=True):
    """A case of a run, with its panel score in one of the runs that judged the same item.

    Of several verdicts of that run the score is the mean; they have a decision if all agree.
    """

    key: int
    id: str
    run: str
    score: float
    decision: Decision | None


def labelled_bodies(
    conn: Connection, run: int
) -> Iterator[tuple[int, str, Decision | None, Truth]]:
    """Yield key, body, decision and truth of a run's verdicts with a pass or fail label."""
    query = """SELECT v.key, b.body, v.decision, t.truth FROM truths t
               CROSS JOIN verdicts v ON v.item = t.item AND v.run = ?
               JOIN bodies b ON b.verdict = v.key
               WHERE t.truth IN ('pass', 'fail') ORDER BY v.key"""
    for row in conn.execute(query, (run,)):
        yield row["key"], row["body"], decision(row), Truth(row["truth"])


def pair_bodies(conn: Connection, run: int) -> Iterator[tuple[str, Decision | None]]:
    """Yield body and decision of every verdict on a pair of responses."""
    query = """SELECT b.body, v.decision FROM verdicts v JOIN bodies b ON b.verdict = v.key
               WHERE v.run = ? AND (instr(b.body, '"alternative"') OR instr(b.body, '"swapped"'))"""
    for row in conn.execute(query, (run,)):
        yield row["body"], decision(row)


def unparsed(conn: Connection, failed: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield verdict key and seat of each reply to failed verdicts that could not be parsed."""
    query = """SELECT b.verdict, j.key FROM bodies b, json_each(b.body, '$.jurors') j
               WHERE json_extract(j.value, '$.status') = ? AND b.verdict IN (*)"""
    yield from map(tuple, in_pages(conn, query, failed, Status.PARSE_FAIL.value))


def places(conn: Connection, run: int) -> list[tuple[int, int]]:
    """Return the stratum and the rank of every verdict of a run, in file order."""
    query = "SELECT stratum, rank FROM verdicts WHERE run = ? ORDER BY key"
    return list(map(tuple, conn.execute(query, (run,))))


def stating_trims(conn: Connection, keys: list[int]) -> dict[int, str]:
    """Return those bodies of the given verdicts that may state trimmed jurors, by key."""
    query = """SELECT verdict, body FROM bodies WHERE verdict IN (*)
               AND (instr(body, '"trim"') OR instr(body, '"trimmed"'))"""
    return dict(map(tuple, in_pages(conn, query, keys)))


def models(conn: Connection, keys: list[int]) -> dict[tuple[int, int], str | None]:
    """Return the model named on each ballot of the given verdicts, by verdict key and seat."""
    rows = in_pages(conn, "SELECT verdict, seat, model FROM ballots WHERE verdict IN (*)", keys)
    return {(verdict, seat): model for verdict, seat, model in rows}


_SCORES = """SELECT mine.key, mine.id, v.run, avg(v.score) AS score,
           iif(min(ifnull(v.decision, '')) = max(ifnull(v.decision, '')), min(v.decision), NULL)
               AS decision
    FROM (SELECT item, min(key) AS key, id FROM verdicts WHERE run = ? GROUP BY item) mine
    CROSS JOIN verdicts v ON v.item = mine.item
    WHERE v.score IS NOT NULL AND v.run IN (SELECT key FROM runs WHERE removed_at IS NULL)
    GROUP BY mine.key, v.run"""


def moving(conn: Connection, run: int, most: int) -> tuple[list[int], int]:
    """Return ``most`` keys of the cases whose scores vary most between runs, and how many do."""
    if value(conn, "SELECT count(*) FROM runs WHERE removed_at IS NULL") < 2:
        return [], 0
    rows = conn.execute(
        f"""SELECT key, count(*) OVER () AS cases FROM ({_SCORES}) GROUP BY key HAVING count(*) > 1
            ORDER BY round((sum(score * score) - count(*) * avg(score) * avg(score))
                           / (count(*) - 1), 12) DESC,
                     round(max(score) - min(score), 12) DESC, key LIMIT ?""",
        (run, most),
    ).fetchall()
    return [row["key"] for row in rows], rows[0]["cases"] if rows else 0


def repeated(conn: Connection, run: int, keys: list[int]) -> Iterator[RepeatedCase]:
    """Yield the scores of the given cases in every loaded run, by case, oldest run first."""
    chosen = f"WHERE +run = ? AND key IN ({', '.join('?' * len(keys))})"
    query = f"""SELECT s.key, s.id, s.score, s.decision, r.name AS run
                FROM ({_SCORES.replace("WHERE run = ?", chosen)}) s
                JOIN runs r ON r.key = s.run ORDER BY s.key, s.run"""
    yield from (record(RepeatedCase, row) for row in conn.execute(query, (run, *keys)))


def ids(conn: Connection, keys: list[int]) -> dict[int, str]:
    query = "SELECT key, id FROM verdicts WHERE key IN (*)"
    return dict(map(tuple, in_pages(conn, query, keys)))


def names(conn: Connection, run: int) -> list[str | None]:
    """Return the ids and models of jurors from a sample of a run's panels."""
    first = first_key(conn, run)
    count = reach(conn, run)[1]
    step = max(1, count // _PANELS)
    query = """WITH RECURSIVE sample(key) AS
                   (SELECT ? UNION ALL SELECT key + ? FROM sample WHERE key + ? < ?)
               SELECT DISTINCT j.juror, j.model FROM sample s JOIN ballots j ON j.verdict = s.key"""
    return [name for row in conn.execute(query, (first, step, step, first + count)) for name in row]


def costs(conn: Connection, keys: Sequence[int]) -> dict[str, float]:
    """Return the mean cost in US dollars of a ballot of each juror, over some verdicts."""
    query = """SELECT json_extract(j.value, '$.id'), avg(json_extract(j.value, '$.cost_usd'))
               FROM bodies b, json_each(b.body, '$.jurors') j
               WHERE b.verdict IN (SELECT value FROM json_each(?))
               GROUP BY 1 HAVING count(json_extract(j.value, '$.cost_usd'))"""
    return dict(map(tuple, conn.execute(query, (json.dumps(list(keys)),))))
