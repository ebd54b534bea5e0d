"""From a report file to a run: known ones are opened, new ones read in one transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.provenance import canonical_json
from reviewdesk.domain.records import Loaded, Run, Truth
from reviewdesk.domain.verdict import Policy
from reviewdesk.errors import Cancelled, UsageError
from reviewdesk.store import events, runs
from reviewdesk.store.connect import writing
from reviewdesk.store.events import Entry
from reviewdesk.store.ingest import NewRun, ingest

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.reports import Report
    from reviewdesk.reports.source import Source

ProgressCall = Callable[[float, int], bool]
"""Told the share of the file read and the verdicts so far; ``False`` cancels."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to read a report; the policy keys fill only what the file leaves unknown."""

    format: str | None = None
    skip_bad: bool = False
    seed: str | None = None
    threshold: float | None = None
    quorum: float | str | None = None
    strategy: str | None = None
    import_labels: bool = False

    def identity(self) -> dict[str, Any]:
        """The options that make another run of the same bytes."""
        options = {
            "skip_bad": self.skip_bad or None,
            "threshold": self.threshold,
            "quorum": self.quorum,
            "strategy": self.strategy,
        }
        return {name: value for name, value in options.items() if value is not None}


def load(desk: Desk, source: Source, options: LoadOptions, progress: ProgressCall | None) -> Loaded:
    """Load a report, or open the run it already is."""
    from reviewdesk.reports import ReadOptions, read

    report = read(source, ReadOptions(format=options.format, skip_bad=options.skip_bad))
    file_hash = source.sha256()
    # A name that is not UTF-8 can be opened, but neither stored nor printed.
    file = source.name.encode(errors="backslashreplace").decode()
    identity = canonical_json([file_hash, report.format, options.identity()])
    run_hash = hashlib.sha256(identity).hexdigest()
    with writing(desk.conn, desk.path):
        known = runs.by_hash(desk.conn, run_hash)
        if known is not None:
            _refuse_other_seed(known, options)
            runs.touch(desk.conn, known.key)
            notes: tuple[str, ...] = ()
        else:
            notes = _notice(desk, file_hash)
            new = NewRun(
                hash=run_hash,
                name=runs.unique_name(desk.conn, str(report.header.get("report_id") or ""), file),
                file=file,
                file_hash=file_hash,
                format=report.format,
                options=options.identity(),
                loaded_at=desk.at(),
                header=report.header,
                seed=options.seed,
                filled=Policy.from_body(options.identity()),
            )
            _ingest(desk, new, report, source.size, progress)
        run = runs.by_hash(desk.conn, run_hash)
        assert run is not None  # noqa: S101 - written above, in this transaction
        if options.import_labels:
            notes = (*notes, _import_human(desk, run))
    return Loaded(run, new=known is None, notes=notes)


def _ingest(
    desk: Desk, new: NewRun, report: Report, size: int, progress: ProgressCall | None
) -> None:
    def tell(count: int) -> None:
        share = min(1.0, report.position / size) if size else 1.0
        if progress is not None and not progress(share, count):
            raise Cancelled("loading was cancelled; nothing was kept")

    ingest(desk.conn, new, report.verdicts(), tell, lambda: (list(report.notes), report.skipped))


def _refuse_other_seed(known: Run, options: LoadOptions) -> None:
    if options.seed is not None and options.seed != known.seed:
        raise UsageError(
            f"{known.name} is drawn with seed {known.seed}, and a draw is never repeated",
            "Leave out --seed.",
        )


def _notice(desk: Desk, file_hash: str) -> tuple[str, ...]:
    first = runs.by_file_hash(desk.conn, file_hash)
    if first is None:
        return ()
    return (f"the same file is loaded as {first.name} with other options; this is a new run",)


def _import_human(desk: Desk, run: Run) -> str:
    """Turn the labels found in the file into label events, once."""
    rows = desk.conn.execute(
        """SELECT v.id, v.item, b.body FROM verdicts v JOIN bodies b ON b.verdict = v.key
           WHERE v.run = ? AND json_type(b.body, '$.human') = 'object'
             AND v.item NOT IN (SELECT item FROM labels) ORDER BY v.pos""",
        (run.key,),
    )
    entries: dict[bytes, Entry] = {}
    for row in rows:
        human = json.loads(row["body"])["human"]
        kept = {name: human[name] for name in ("note", "at") if human.get(name)}
        entries[row["item"]] = Entry(
            "label",
            desk.at(),
            run=run.hash,
            verdict=row["id"],
            item=row["item"],
            label=Truth(human["label"]),
            author=human.get("by"),
            detail={"imported": True, **kept},
        )
    if entries:
        events.append(desk.conn, desk.reviewer, list(entries.values()))
    return f"{len(entries)} labels taken from the file"
