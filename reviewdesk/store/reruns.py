"""Store live replies as they came and the verdicts made from them; neither is ever changed."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection, Row
from typing import Any

from msgspec import Struct

from reviewdesk.domain.labels.chain import DESK
from reviewdesk.domain.labels.improve import KIND as IMPROVE
from reviewdesk.domain.panel.rerun import flipped
from reviewdesk.domain.records import Event
from reviewdesk.domain.values import Decision
from reviewdesk.domain.verdict import Policy, json_sha256, stored_body, verdict_from_body
from reviewdesk.store import events, runs
from reviewdesk.store.connect import decision, first_column, in_pages, insert, record
from reviewdesk.store.events import NewEvent
from reviewdesk.store.load.hidden_runs import process_start


class StoredRerun(Struct, frozen=True):
    """A finished re-run, with the time, reviewer and detail of the event that committed it."""

    plan: int
    verdict: int
    at: str
    reviewer: str
    detail: Mapping[str, Any]
    stopped: bool
    body: str


def keep_reply(conn: Connection, plan: int, reply: Mapping[str, Any]) -> None:
    row = {**reply, "plan": plan, "headers": json.dumps(dict(reply["headers"]))}
    insert(conn, "replies", row)


def enter(
    conn: Connection, plan: int, verdict: int, ended_at: str, body: str, *, stopped: bool
) -> None:
    """Insert the verdict of a re-run and the event with its hashes, in the caller's transaction."""
    conn.execute(
        "INSERT INTO reruns VALUES (?, ?, ?, ?, ?)", (plan, verdict, ended_at, int(stopped), body)
    )
    cover(conn, plan, ended_at)


def cover(conn: Connection, plan: int, at: str, **more: Any) -> None:
    run, verdict, detail = hashes(conn, plan)
    entry = NewEvent("rerun", at, run=run, verdict=verdict, detail={**detail, **more})
    events.append(conn, DESK, [entry])


class PlannedRerun(Struct, frozen=True):
    """A verdict of a re-run, with the event that planned it."""

    plan: int
    verdict: int
    panel_hash: str
    done: bool


def this_process() -> dict[str, Any]:
    return {"pid": os.getpid(), "started": process_start(os.getpid())}


def is_other_alive(pid: int, started: str | None) -> bool:
    return pid != os.getpid() and process_start(pid) == started


_WHOLE = """SELECT * FROM label_events
            WHERE item IS NULL AND kind IN ('rerun_planned', 'rerun_ended')"""


def of_reviewer(conn: Connection, reviewer: str) -> list[Event]:
    query = f"{_WHOLE} AND desk = ? AND reviewer = ? ORDER BY seq"
    return list(map(events.to_event, conn.execute(query, (events.desk_id(conn), reviewer))))


def of_word(conn: Connection, word: str) -> list[Event]:
    """Return the events of a run of jurors that share a word, or a try's name, the oldest first."""
    query = f"""{_WHOLE} AND json_extract(detail, '$.batch') = ?1
                UNION ALL SELECT * FROM label_events
                WHERE item IS NULL AND kind = '{IMPROVE}'
                  AND json_extract(detail, '$.{IMPROVE}.type') = 'try'
                  AND json_extract(detail, '$.{IMPROVE}.name') = ?1 ORDER BY key"""
    return list(map(events.to_event, conn.execute(query, (word,))))


def planned(conn: Connection, whole: Event) -> list[PlannedRerun]:
    rows = conn.execute(
        """SELECT e.key AS plan, v.key AS verdict,
                  json_extract(e.detail, '$.panel_hash') AS panel_hash, r.plan IS NOT NULL AS done
           FROM label_events e JOIN runs n ON n.hash = e.run
           JOIN verdicts v ON v.run = n.key AND v.id = e.verdict
           LEFT JOIN reruns r ON r.plan = e.key
           WHERE e.desk = ? AND e.reviewer = ? AND e.seq BETWEEN ? AND ?
             AND e.kind = 'rerun_planned' AND e.item IS NOT NULL
             AND json_extract(e.detail, '$.batch') = ? ORDER BY e.seq""",
        (
            events.desk_id(conn), whole.reviewer, whole.detail["first"], whole.seq,
            whole.detail["batch"],
        ),
    )  # fmt: skip
    return [record(PlannedRerun, row) for row in rows]


def reply(conn: Connection, plan: int, call: str) -> dict[str, Any] | None:
    query = """SELECT call, attempt, nonce, at, ms, status, body, headers, problem FROM replies
               WHERE plan = ? AND call = ? ORDER BY key DESC LIMIT 1"""
    row = conn.execute(query, (plan, call)).fetchone()
    return None if row is None else {**dict(row), "headers": json.loads(row["headers"])}


def spent(conn: Connection, plans: Sequence[int]) -> float:
    rows = in_pages(conn, "SELECT total(usd) FROM replies WHERE plan IN (*)", plans)
    return float(sum(row[0] for row in rows))


def are_booked(conn: Connection, plans: Sequence[int]) -> bool:
    """Return True unless a reply to a plan has no booked cost, as of a version that kept none."""
    query = "SELECT 1 FROM replies WHERE usd IS NULL AND plan IN (*)"
    return next(in_pages(conn, query, plans), None) is None


def kept_values(conn: Connection, prefix: str) -> dict[str, str]:
    query = "SELECT substr(key, 1 + length(?1)), value FROM meta WHERE instr(key, ?1) = 1"
    return dict(map(tuple, conn.execute(query, (prefix,))))


def keep_value(conn: Connection, key: str, value: str | None) -> None:
    if value is None:
        conn.execute("DELETE FROM meta WHERE key = ?", (key,))
    else:
        conn.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def plans(conn: Connection) -> list[int]:
    return first_column(conn, "SELECT plan FROM reruns ORDER BY plan")


def hashes(conn: Connection, plan: int) -> tuple[str | None, str | None, dict[str, Any]]:
    """Return the run and the id of a re-run's verdict, and its hashes as its event holds them."""
    # The booked cost of a reply was added later, and is not part of the hash.
    query = """SELECT key, plan, seat, juror, call, attempt, nonce, at, ms, status, body, headers,
                      problem FROM replies WHERE plan = ? ORDER BY key"""
    replies = [list(row) for row in conn.execute(query, (plan,))]
    query = """SELECT n.hash, v.id, r.ended_at, r.stopped, r.body
               FROM reruns r LEFT JOIN verdicts v ON v.key = r.verdict
               LEFT JOIN runs n ON n.key = v.run WHERE r.plan = ?"""
    run, verdict, *result = conn.execute(query, (plan,)).fetchone()
    parts = {"result": result, "replies": replies}
    found = {name: json_sha256(part) for name, part in parts.items()}
    return run, verdict, {"plan": plan, **found}


_STORED = """SELECT r.plan, r.verdict, r.stopped, r.body, e.at, e.reviewer, e.detail
             FROM reruns r JOIN label_events e ON e.key = r.plan"""


def of_verdict(conn: Connection, verdict: int) -> list[StoredRerun]:
    return _read(conn.execute(f"{_STORED} WHERE r.verdict = ? ORDER BY r.plan", (verdict,)))


def of_plans(conn: Connection, plans: Sequence[int]) -> list[StoredRerun]:
    found = _read(in_pages(conn, f"{_STORED} WHERE r.plan IN (*)", plans))
    return sorted(found, key=lambda one: (one.verdict, one.plan))


def plans_of_run(conn: Connection, run: int) -> list[int]:
    # Runs at each key that moves, so the few re-runs are looked up in the many verdicts.
    query = "SELECT r.plan FROM reruns r CROSS JOIN verdicts v ON v.key = r.verdict WHERE v.run = ?"
    return first_column(conn, query, (run,))


def filed(conn: Connection, first: int, end: int) -> list[int]:
    # Most bodies hold no re-run, and the plain text search spares parsing them as JSON.
    query = """SELECT verdict FROM bodies WHERE verdict >= ? AND verdict < ?
                 AND body LIKE '%"reruns"%' AND json_array_length(body, '$.reruns')"""
    return first_column(conn, query, (first, end))


def flipped_verdicts(conn: Connection, run: int, came: Sequence[int]) -> list[int]:
    """Return the verdicts whose newest re-run turned a pass into a fail, or the reverse."""
    # Imported here because it loads numpy.
    from reviewdesk.domain.assessment.assess import assess

    query = """SELECT v.key, v.decision, json_extract(r.body, '$.decision') AS stored,
                  iif(r.plan IS NULL, json_extract(b.body, '$.reruns[#-1]'), NULL) AS filed
           FROM (SELECT value AS key FROM json_each(?)
                 UNION SELECT verdict FROM reruns) c
           CROSS JOIN verdicts v ON v.key = c.key AND v.run = ?
           JOIN bodies b ON b.verdict = v.key
           LEFT JOIN reruns r ON r.plan = (SELECT max(plan) FROM reruns WHERE verdict = v.key)"""
    rows = conn.execute(query, (json.dumps(list(came)), run))
    defaults = Policy.from_body(runs.by_key(conn, run).header.get("defaults"))
    found = []
    for row in rows:
        made = Decision(row["stored"]) if row["stored"] else None
        if row["filed"] is not None:
            made = assess(verdict_from_body(stored_body(row["filed"]), defaults)).decision
        if flipped(decision(row), made):
            found.append(row["key"])
    return found


def _read(rows: Iterable[Row]) -> list[StoredRerun]:
    return [record(StoredRerun, row, detail=json.loads(row["detail"])) for row in rows]
