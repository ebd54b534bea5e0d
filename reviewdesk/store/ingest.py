"""One report into the desk: one transaction, all of it or none."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reviewdesk.domain.assess import Assessment, State, assess
from reviewdesk.domain.flags import Flag
from reviewdesk.domain.provenance import canonical_json, content_hash, item_hash
from reviewdesk.domain.sampling import FIRST_REST, STRATA, draw, stratum
from reviewdesk.domain.verdict import (
    Body,
    Decision,
    Generator,
    Policy,
    Verdict,
    verdict_from_body,
)

BATCH = 500

_DERIVED_ESCALATION = 1 << 30
"""A bit used only while loading: would be escalated, if the report never states it."""

_COLUMNS = (
    "key", "run", "pos", "id", "test", "item", "decision", "score", "stated_score", "confidence",
    "agreement", "band", "margin", "passes", "answered", "seated", "flags", "stratum", "rank",
    "draw", "mix", "audit",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewRun:
    """What identifies a run before its verdicts are read."""

    hash: str
    name: str
    file: str
    file_hash: str
    format: str
    options: Mapping[str, Any]
    loaded_at: str
    header: Mapping[str, Any]
    seed: str | None
    filled: Policy


@dataclass(slots=True)
class _Tally:
    """What is known of a run only once every verdict has been seen."""

    ids: list[str] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    decisions: list[Decision | None] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    reviewed: list[bool] = field(default_factory=list)
    ballots: int = 0
    failed: int = 0
    stated_scores: int = 0
    decided: int = 0
    decided_stated: int = 0
    decided_scored: int = 0
    undecidable: int = 0
    stated_escalation: bool = False
    contents: Any = field(default_factory=hashlib.sha256)


def ingest(
    conn: sqlite3.Connection,
    new: NewRun,
    bodies: Iterable[dict[str, Any]],
    progress: Callable[[int], None],
    notes: Callable[[], tuple[list[str], int]],
) -> int:
    """Write a run and its verdicts inside the caller's transaction; the key of the run.

    ``progress`` is told how many verdicts are in and may raise to cancel; ``notes`` is asked for
    the reader's notes and its skipped rows once all bodies have been read.
    """
    key = conn.execute("SELECT ifnull(max(key), 0) + 1 FROM runs").fetchone()[0]
    first = conn.execute("SELECT ifnull(max(key), 0) + 1 FROM verdicts").fetchone()[0]
    _insert_placeholder(conn, key, new)
    tally = _Tally()
    defaults = Policy.from_body(new.header.get("defaults"))
    generator = _generator(new.header)
    rows: list[tuple[Any, ...]] = []
    texts: list[tuple[int, str]] = []
    for pos, body in enumerate(bodies):
        verdict = verdict_from_body(body, defaults, generator, new.filled)
        found = assess(verdict)
        _count(tally, verdict, found, first + pos)
        rows.append(_row(first + pos, key, pos, new.hash, verdict, found))
        texts.append((first + pos, json.dumps(body, ensure_ascii=False, separators=(",", ":"))))
        if len(rows) == BATCH:
            _flush(conn, rows, texts)
            progress(pos + 1)
    _flush(conn, rows, texts)
    progress(len(tally.ids))
    _finish(conn, key, new, tally, *notes())
    return int(key)


def _insert_placeholder(conn: sqlite3.Connection, key: int, new: NewRun) -> None:
    opened = conn.execute("SELECT ifnull(max(opened), 0) + 1 FROM runs").fetchone()[0]
    conn.execute(
        """INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, '[]',
                                    0, 0, 0, 0, 0, 0, 0, 0, 0, '', 0, ?, NULL)""",
        (
            key, new.hash, new.name, new.file, new.file_hash, new.format,
            json.dumps(new.options), new.loaded_at,
            json.dumps(new.header, ensure_ascii=False, separators=(",", ":")), opened,
        ),
    )  # fmt: skip


def _generator(header: Mapping[str, Any]) -> Generator:
    stated = header.get("generator") or {}
    return Generator(stated.get("model"), stated.get("vendor"))


def _count(tally: _Tally, verdict: Verdict, found: Assessment, key: int) -> None:
    decided = found.decision in {Decision.PASS, Decision.FAIL}
    tally.ids.append(verdict.id)
    tally.keys.append(key)
    tally.decisions.append(found.decision)
    tally.flags.append(int(found.flags) | (_DERIVED_ESCALATION if found.escalation else 0))
    tally.reviewed.append(
        bool(verdict.escalate)
        or verdict.bias_warning is not None
        or bool(found.flags & Flag.DISPUTE)
        or found.decision is Decision.INCONCLUSIVE
    )
    tally.ballots += len(found.seats)
    tally.failed += sum(seat.state is State.FAILED for seat in found.seats)
    tally.stated_scores += verdict.score is not None
    tally.decided += decided
    tally.decided_stated += decided and verdict.score is not None
    tally.decided_scored += decided and found.score is not None
    tally.undecidable += found.decision is None
    tally.stated_escalation |= verdict.escalate is not None
    tally.contents.update(canonical_json([verdict.id, content_hash(verdict.body)]))


def _row(
    key: int, run: int, pos: int, run_hash: str, verdict: Verdict, found: Assessment
) -> tuple[Any, ...]:
    confidences = [
        seat.ballot.confidence for seat in found.seats if seat.ballot.confidence is not None
    ]
    agreement = verdict.agreement.value if verdict.agreement else found.agreement.spread.raw
    return (
        key, run, pos, verdict.id, verdict.test, bytes.fromhex(item_hash(verdict.body, run_hash)),
        found.decision, found.score, verdict.score,
        sum(confidences) / len(confidences) if confidences else None,
        agreement, found.band, found.agreement.margin,
        found.votes.passes, found.votes.answered, found.votes.seated,
        int(found.flags), 0, 0, 0, 0, 0,
    )  # fmt: skip


def _flush(
    conn: sqlite3.Connection, rows: list[tuple[Any, ...]], texts: list[tuple[int, str]]
) -> None:
    conn.executemany(
        f"INSERT INTO verdicts ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})",
        rows,
    )
    conn.executemany("INSERT INTO bodies VALUES (?, ?)", texts)
    rows.clear()
    texts.clear()


def _finish(
    conn: sqlite3.Connection, run: int, new: NewRun, tally: _Tally, notes: list[str], skipped: int
) -> None:
    """Draw the strata and write down what only the whole run tells."""
    flags = _final_flags(tally)
    strata = _strata(tally, flags)
    # Drawn from the contents and not from the panel's answers, so that two runs of one set of items
    # ask for the same ones, and the order of a blind queue tells nothing.
    seed = new.seed or tally.contents.hexdigest()
    drawn = draw(tally.ids, strata, seed)
    conn.executemany(
        """UPDATE verdicts SET flags = ?, stratum = ?, rank = ?, draw = ?, mix = ?, audit = ?
           WHERE key = ?""",
        zip(flags, strata, drawn.rank, drawn.order, drawn.mixed, drawn.audit, tally.keys,
            strict=True),
    )  # fmt: skip
    conn.executemany(
        "INSERT INTO strata VALUES (?, ?, ?, ?)",
        [
            (run, h, drawn.sizes[h], drawn.audited.get(h, 0))
            for h in range(len(STRATA))
            if h in drawn.sizes
        ],
    )
    if tally.undecidable:
        notes = [*notes, f"{tally.undecidable} without a decision: {_UNDECIDED}"]
    conn.execute(
        """UPDATE runs SET seed = ?, notes = ?, verdicts = ?, ballots = ?, failed_ballots = ?,
               flagged = ?, audit = ?, skipped = ?, passed = ?, failed = ?, escalation_stated = ?,
               confidence_source = ?, scores_stated = ? WHERE key = ?""",
        (
            seed, json.dumps(notes, ensure_ascii=False), len(tally.ids), tally.ballots,
            tally.failed, sum(h < FIRST_REST for h in strata), sum(drawn.audit), skipped,
            tally.decisions.count(Decision.PASS), tally.decisions.count(Decision.FAIL),
            tally.stated_escalation, _confidence_source(tally), bool(tally.stated_scores), run,
        ),
    )  # fmt: skip


_UNDECIDED = (
    "neither stated nor to be had (--threshold, --quorum and --strategy fill what is unknown)"
)


def _final_flags(tally: _Tally) -> list[int]:
    """The flags to store; the recomputed escalation counts where the report never states one."""
    clear = ~_DERIVED_ESCALATION
    if tally.stated_escalation:
        return [bits & clear for bits in tally.flags]
    return [
        (bits & clear) | (Flag.ESCALATED if bits & _DERIVED_ESCALATION else 0)
        for bits in tally.flags
    ]


def _strata(tally: _Tally, flags: list[int]) -> list[int]:
    """The stratum of each verdict: stated escalations are flagged, else the recomputed ones."""
    flagged = [
        reviewed or (not tally.stated_escalation and bool(bits & Flag.ESCALATED))
        for reviewed, bits in zip(tally.reviewed, flags, strict=True)
    ]
    return [
        stratum(decision, flagged=is_flagged)
        for decision, is_flagged in zip(tally.decisions, flagged, strict=True)
    ]


def _confidence_source(tally: _Tally) -> str:
    """``support`` wherever every decided verdict has a score, the report's own if it has any."""
    scored = tally.decided_stated if tally.stated_scores else tally.decided_scored
    return "support" if scored == tally.decided else "vote_share"


def body_of(text: str) -> Body:
    """A stored body, decoded."""
    body: Body = json.loads(text)
    return body
