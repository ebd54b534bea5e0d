"""Read what the figures of a run need: labelled verdicts, jurors, its question and its split."""

import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from sqlite3 import Connection
from typing import Any

import msgspec
from msgspec.structs import replace

from reviewdesk.domain.gates.join import PanelContent
from reviewdesk.domain.jury.family import family
from reviewdesk.domain.labels.improve import KIND, Split, Step, group_of, replay, rubric_name
from reviewdesk.domain.labels.sampling import LabelledRow, RunFigures
from reviewdesk.domain.labels.segments import SegmentVerdict
from reviewdesk.domain.records import Event, Truth
from reviewdesk.domain.report_model import verdict_model
from reviewdesk.domain.stats.figures import ConfidenceSums
from reviewdesk.domain.verdict import Decision, Status, content_digest
from reviewdesk.store.connect import decision, first_column, in_pages, record, value
from reviewdesk.store.events import COUNTER, IN_ORDER, to_event
from reviewdesk.store.queue import NUMBER, code, confidence, filled


def labelled(conn: Connection, run: int) -> list[LabelledRow]:
    query = """SELECT v.*, t.truth, t.seen FROM truths t CROSS JOIN verdicts v
               ON v.item = t.item AND v.run = ? ORDER BY v.draw"""
    return [record(LabelledRow, row) for row in conn.execute(query, (run,))]


def at_places(
    conn: Connection, run: int, places: Collection[tuple[int, int]]
) -> dict[tuple[int, int], tuple[int, str]]:
    """Return key and id of the first verdict at each place of the draw, a stratum and a rank."""
    query = """SELECT stratum, rank, min(key) AS key, id FROM verdicts
           WHERE run = ? AND (stratum, rank) IN (
               SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))
           GROUP BY stratum, rank"""
    rows = conn.execute(query, (run, json.dumps([*places])))
    return {(stratum, rank): (key, name) for stratum, rank, key, name in rows}


_COLUMNS = {
    "decision": ("b", code("decision")),
    **{name: ("d", NUMBER.format(name)) for name in ("score", "stated_score", "confidence")},
    **{name: ("i", name) for name in ("passes", "answered", "stratum", "rank")},
}


def label_columns(conn: Connection, first: int, held: bytes | bytearray) -> "dict[str, array[Any]]":
    """Return the verdicts that have a mark as columns, given the marks of consecutive keys."""
    keys = array("q", (first + place for place, mark in enumerate(held) if mark))
    made: list[array[Any]] = [array(kind, [0]) * len(keys) for kind, _ in _COLUMNS.values()]
    columns = ", ".join(sql for _, sql in _COLUMNS.values())
    query = f"""SELECT {columns} FROM verdicts
                WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key"""
    rows = conn.execute(query, (json.dumps(list(keys)),))
    given = array("B", filter(None, held))
    return {"key": keys, "mark": given, **dict(zip(_COLUMNS, filled(made, rows), strict=True))}


def of_items(
    conn: Connection, run: int, truths: Mapping[bytes, Truth] | None = None
) -> list[LabelledRow]:
    """Return a run's verdicts in draw order: those with ``truths``, else all, as if unsure."""
    rows = conn.execute("SELECT * FROM verdicts WHERE run = ? ORDER BY draw", (run,))
    return [
        record(LabelledRow, row, truth=truths[row["item"]] if truths else Truth.UNSURE)
        for row in rows
        if truths is None or row["item"] in truths
    ]


def contents(conn: Connection, run: int) -> list[PanelContent]:
    """Return the content of every verdict of a run, in the order of its file. Reads every body."""
    query = """SELECT v.id, v.item, v.stratum, v.decision, b.body
               FROM verdicts v JOIN bodies b ON b.verdict = v.key WHERE v.run = ? ORDER BY v.key"""
    rows = conn.execute(query, (run,))
    made = []
    for row in rows:
        body = verdict_model(row["body"])
        whole = "" if body.output else content_digest(body).hex()
        answer = content_digest(replace(body, rubric=None)).hex() if body.output else ""
        made.append(
            PanelContent(row["item"].hex(), row["stratum"], whole, row["id"], decision(row), answer)
        )
    return made


def run_figures(conn: Connection, run: int) -> RunFigures:
    row = conn.execute("SELECT * FROM runs WHERE key = ?", (run,)).fetchone()
    query = "SELECT stratum, size, audit, passed, failed FROM strata WHERE run = ?"
    strata = conn.execute(query, (run,)).fetchall()
    return record(
        RunFigures,
        row,
        sizes={h: size for h, size, *_ in strata},
        audits={h: audit for h, _, audit, *_ in strata},
        decided={h: (passed, failed) for h, _, _, passed, failed in strata if passed is not None},
    )


_BODY = "JOIN bodies b ON b.verdict = v.key"
_GENERATOR = """coalesce(json_extract(b.body, '$.generator.{0}'),
    json_extract((SELECT header FROM runs WHERE key = v.run), '$.generator.{0}'))"""
_WHO = f"{_GENERATOR.format('model')}, {_GENERATOR.format('vendor')}"
_SEGMENTS = {
    "tag": ("c.tag", "JOIN case_tags c ON c.verdict = v.key AND c.run = v.run"),
    "test": ("v.test", ""),
    "decision": ("v.decision", ""),
    "dimension": ("json_extract(b.body, '$.case.dimension')", _BODY),
    "subject": ("json_extract(b.body, '$.case.subject')", _BODY),
    "generator": (_WHO, _BODY),
    "family": (_WHO, _BODY),
    "reviewer": (
        """r.reviewer,
        EXISTS (SELECT 1 FROM labels l WHERE l.item = v.item AND l.reviewer = r.reviewer)""",
        """JOIN (SELECT DISTINCT o.run, l.reviewer FROM labels l JOIN verdicts o ON o.item = l.item)
        AS r ON r.run = v.run""",
    ),
}
"""The ways to split a run: the SQL of a verdict's segment, and the table that it needs."""


def segment_frame(conn: Connection, run: int, by: str) -> list[SegmentVerdict]:
    """Return every verdict of a run in each of its segments; omit verdicts without a segment."""
    value, join = _SEGMENTS[by]
    query = f"SELECT v.key, v.stratum, v.rank, v.decision, {value} FROM verdicts v {join}"
    made = []
    for row in conn.execute(f"{query} WHERE v.run = ? ORDER BY v.key", (run,)):
        key, h, rank, _, name, *more = row
        if by == "family":
            found = family(name, *more)
            name = found and found.name
        if name:
            counts = by != "reviewer" or bool(more[0])
            made.append(SegmentVerdict(name, key, h, rank, decision(row), counts))
    return made


def confidence_sums(
    conn: Connection, run: int, source: str, *, scores_stated: bool
) -> dict[int, ConfidenceSums]:
    query = f"""SELECT stratum, count(c), total(c), total(c * c), total(c * c * c),
                       total(c * c * c * c), min(c), max(c)
                FROM (SELECT stratum, {confidence(":source", ":stated")} AS c FROM verdicts
                      WHERE run = :run AND decision IN ('pass', 'fail'))
                WHERE c IS NOT NULL GROUP BY stratum"""
    rows = conn.execute(query, {"run": run, "source": source, "stated": scores_stated})
    return {
        h: ConfidenceSums(n, (one, two, three, four), low, high)
        for h, n, one, two, three, four, low, high in rows
    }


def blind_by_item(conn: Connection) -> dict[bytes, bool | None]:
    """Return for each labelled item if all its labels were given blind, ``None`` if none says."""
    rows = conn.execute(
        """SELECT item, min(ifnull(json_extract(detail, '$.blind'), 0)) AS blind,
                  count(json_extract(detail, '$.blind')) AS said
           FROM labels GROUP BY item"""
    )
    return {row["item"]: bool(row["blind"]) if row["said"] else None for row in rows}


QUESTION = "question"


def questions(conn: Connection, run: str) -> Iterator[tuple[Event, int, bool]]:
    """Yield the questions of a run, the newest first, with counters and whether each is closed."""
    closed = False
    query = f"""SELECT e.*, {COUNTER} AS counter FROM label_events e
            WHERE e.item IS NULL AND e.kind = ? AND e.run = ? ORDER BY {IN_ORDER}"""
    for row in reversed(conn.execute(query, (QUESTION, run)).fetchall()):
        event = to_event(row)
        if "question" in event.detail:
            yield event, row["counter"], closed
        closed = "question" not in event.detail


def labels_given(conn: Connection, run: int) -> Iterator[tuple[bytes, tuple[int, int], Truth, int]]:
    """Yield item, place, truth and counter of every label that a run ever got, oldest first."""
    query = f"""SELECT e.item, e.label, {COUNTER} AS counter, v.stratum, v.rank
                FROM label_events e JOIN verdicts v ON v.key = (
                    SELECT min(o.key) FROM verdicts o WHERE o.item = e.item AND o.run = ?)
                WHERE e.kind IN ('label', 'adjudicate') AND e.label IS NOT NULL
                ORDER BY {IN_ORDER}"""
    for item, label, counter, stratum, rank in conn.execute(query, (run,)):
        yield item, (stratum, rank), Truth(label), counter


def guesses(conn: Connection, run: int, figure: str) -> dict[int, float]:
    """Return the mean of a question's figure that votes predict in each stratum.

    A verdict is right by the share of its votes for its decision, kept within 0.5 and 0.95.
    """
    share = """min(0.95, max(0.5,
                 1.0 * iif(decision = 'pass', passes, answered - passes) / answered))"""
    value = {
        "accuracy": share,
        "pass_rate": f"iif(decision = 'pass', {share}, 1 - {share})",
        "brier": f"{share} * (1 - {share})",
    }[figure]
    query = f"""SELECT stratum, avg({value}) FROM verdicts
                WHERE run = ? AND answered > 0 AND decision IN ('pass', 'fail') GROUP BY stratum"""
    return {h: round(mean, 6) for h, mean in conn.execute(query, (run,))}


def pair_bodies(conn: Connection, run: int) -> Iterator[tuple[str, Decision | None]]:
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
    query = "SELECT stratum, rank FROM verdicts WHERE run = ? ORDER BY key"
    return list(map(tuple, conn.execute(query, (run,))))


def stating_trims(conn: Connection, keys: list[int]) -> dict[int, str]:
    """Return those bodies of the given verdicts that may state trimmed jurors, by key."""
    query = """SELECT verdict, body FROM bodies WHERE verdict IN (*)
               AND (instr(body, '"trim"') OR instr(body, '"trimmed"'))"""
    return dict(map(tuple, in_pages(conn, query, keys)))


def juror_models(conn: Connection, keys: list[int]) -> dict[tuple[int, int], str | None]:
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


def repeated(
    conn: Connection, run: int, keys: list[int]
) -> Iterator[tuple[int, str, str, float, Decision | None]]:
    """Yield key, id, run, mean score and agreed decision of some cases in every loaded run."""
    chosen = f"WHERE +run = ? AND key IN ({', '.join('?' * len(keys))})"
    query = f"""SELECT s.key, s.id, r.name, s.score, s.decision
                FROM ({_SCORES.replace("WHERE run = ?", chosen)}) s
                JOIN runs r ON r.key = s.run ORDER BY s.key, s.run"""
    for row in conn.execute(query, (run, *keys)):
        yield (*row[:4], decision(row))


def ids(conn: Connection, keys: list[int]) -> dict[int, str]:
    query = "SELECT key, id FROM verdicts WHERE key IN (*)"
    return dict(map(tuple, in_pages(conn, query, keys)))


def costs(conn: Connection, keys: Sequence[int]) -> dict[str, float]:
    query = """SELECT json_extract(j.value, '$.id'), avg(json_extract(j.value, '$.cost_usd'))
               FROM bodies b, json_each(b.body, '$.jurors') j
               WHERE b.verdict IN (SELECT value FROM json_each(?))
               GROUP BY 1 HAVING count(json_extract(j.value, '$.cost_usd'))"""
    return dict(map(tuple, conn.execute(query, (json.dumps(list(keys)),))))


def steps(conn: Connection) -> Iterator[Step]:
    """Yield the steps, in the common order of all desks."""
    query = f"""SELECT json_extract(e.detail, '$.{KIND}') FROM label_events e
                WHERE e.item IS NULL AND e.kind = ? ORDER BY {IN_ORDER}"""
    for (text,) in conn.execute(query, (KIND,)):
        try:
            yield msgspec.json.decode(text or "", type=Step)
        except msgspec.DecodeError:
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


def bodies(conn: Connection, rows: Iterable[LabelledRow]) -> dict[int, str]:
    query = "SELECT verdict, body FROM bodies WHERE verdict IN (*)"
    return dict(map(tuple, in_pages(conn, query, sorted(one.key for one in rows))))
