"""One verdict with everything known about it, and events about it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.assess import assess
from reviewdesk.domain.records import Event, Item
from reviewdesk.domain.verdict import Generator, Policy, Verdict, verdict_from_body
from reviewdesk.errors import NotFoundError
from reviewdesk.store import events, queue, runs
from reviewdesk.store.events import Entry

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


def _row(desk: Desk, key: int) -> dict[str, Any]:
    row = desk.conn.execute(
        """SELECT v.*, b.body, r.hash AS run_hash, r.options FROM verdicts v
           JOIN bodies b ON b.verdict = v.key JOIN runs r ON r.key = v.run WHERE v.key = ?""",
        (key,),
    ).fetchone()
    if row is None:
        raise NotFoundError("that verdict is not in the desk", "Open its report again.")
    return dict(row)


def item(desk: Desk, key: int) -> Item:
    """Read a verdict, recompute it, and add what people said of its content."""
    row = _row(desk, key)
    run = runs.by_key(desk.conn, row["run"])
    verdict = read_verdict(row["body"], run.header, json.loads(row["options"]))
    past = events.history(desk.conn, row["item"])
    mine = [event for event in past if event.reviewer == desk.reviewer]
    same = desk.conn.execute(
        "SELECT count(*) FROM verdicts WHERE run = ? AND item = ?", (row["run"], row["item"])
    ).fetchone()[0]
    return Item(
        run=run,
        row=queue.rows(desk.conn, [key], desk.reviewer)[0],
        item_hash=row["item"].hex(),
        verdict=verdict,
        assessment=assess(verdict, escalation_stated=run.escalation_stated),
        same_content=same,
        note=_note(mine),
        revealed_at=next((event.at for event in mine if event.kind == "reveal"), None),
        labelled_before=any(event.kind == "label" for event in mine),
        history=tuple(past),
    )


def read_verdict(body: str, header: Any, options: dict[str, Any]) -> Verdict:
    """A stored body under its report's defaults and what the person filled in."""
    stated = header.get("generator") or {}
    return verdict_from_body(
        json.loads(body),
        Policy.from_body(header.get("defaults")),
        Generator(stated.get("model"), stated.get("vendor")),
        Policy.from_body(options),
    )


def _note(mine: list[Event]) -> str | None:
    """The newest note that stands, given alone or with a label."""
    for event in reversed(mine):
        if not event.undone and "note" in event.detail:
            return event.detail["note"] or None
    return None


def about(desk: Desk, key: int, entry: Entry) -> tuple[int, Entry]:
    """The run's key, and the entry with run, verdict and content filled in."""
    row = desk.conn.execute(
        """SELECT v.id, v.item, v.run, r.hash FROM verdicts v JOIN runs r ON r.key = v.run
           WHERE v.key = ?""",
        (key,),
    ).fetchone()
    if row is None:
        raise NotFoundError("that verdict is not in the desk", "Open its report again.")
    return row["run"], replace(entry, run=row["hash"], verdict=row["id"], item=row["item"])


def turning(desk: Desk, kind: str, action: int) -> Entry:
    """The undo or redo of an action, saying what that action was."""
    taken = events.of_action(desk.conn, desk.reviewer, action)
    first = taken[0]
    was = f"{first.kind} {first.label}" if first.label else first.kind
    if len(taken) > 1:
        was = f"import of {len(taken)} labels"
    return Entry(
        kind,
        desk.at(),
        run=first.run,
        verdict=first.verdict,
        item=bytes.fromhex(first.item_hash) if first.item_hash else None,
        detail={"was": was, "count": len(taken)},
        target=action,
    )
