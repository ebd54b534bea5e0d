"""Write an archive as a run of the desk: the verdicts that it keeps, the figures of the whole."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.archive.figures import archive_measures
from reviewdesk.desk.archive.scratch import Scratch
from reviewdesk.desk.archive.selection import Selection
from reviewdesk.desk.loading import LoadOptions, write_new
from reviewdesk.store import runs
from reviewdesk.store.connect import refuse_read_only
from reviewdesk.store.explain import explained
from reviewdesk.store.load.ingest import Ingest, NewRun, ReadReport, with_undecided
from reviewdesk.views.words import plural

if TYPE_CHECKING:
    from reviewdesk.desk.open_file import OpenFile
    from reviewdesk.domain.records import Run
    from reviewdesk.domain.run.stats import Stats

ALL = 1.0
"""The audit share of the verdicts that are kept: the rest of them is the audit."""


class WholeArchive(Struct, frozen=True):
    """An archive whose parts are read, with what is kept of them in ``scratch``."""

    hash: str
    name: str
    file: str
    file_hash: str
    format: str
    header: Mapping[str, Any]
    seed: str
    options: LoadOptions
    parts: tuple[int, ...]
    stats: Stats
    selection: Selection
    scratch: Scratch
    notes: list[str]
    skipped: int


def write_archive(
    desk: OpenFile, found: WholeArchive, told: Callable[[float, int], object]
) -> tuple[Run, bool]:
    """Write an archive as a run, unless it is there; return the run and whether it is new."""
    refuse_read_only(desk.conn, "so no archive can be written")
    with explained(desk.path):
        known = runs.by_hash(desk.conn, found.hash)
    if known is not None:
        return known, False
    new = NewRun(
        hash=found.hash,
        file=found.file,
        file_hash=found.file_hash,
        format=found.format,
        options=found.options.identity(),
        loaded_at=desk.at(),
        header=found.header,
        seed=found.seed,
        audit_share=ALL,
        name=found.name,
    )
    total = found.stats.counts.verdicts

    def progress(share: float, _count: int) -> bool:
        told(0.9 + 0.1 * share, total)
        return True

    # What another archive has left is never gone on with: its parts may have been others.
    return write_new(
        desk, new, secrets.token_hex(8), lambda ingest: _read(ingest, new, found), progress
    )


def _read(ingest: Ingest, new: NewRun, found: WholeArchive) -> ReadReport:
    """Write the kept verdicts in the order of the parts, and draw them."""
    from reviewdesk.domain.archive.joined import JoinedWindows
    from reviewdesk.domain.run.tally import final_flags

    joined, strata = JoinedWindows(), array("b")
    for number, part in enumerate(found.parts):
        for piece in found.scratch.pieces(part):
            for window in piece.windows:
                made = joined.add(window, piece.names, piece.quorums)
                ingest.keep(made, number / len(found.parts))
        strata.frombytes(found.selection.strata[part])
    counts = found.stats.counts
    flags = final_flags(joined.flags, stated=counts.stated_escalation)
    drawn, columns = ingest.draw(flags, strata, found.seed, ALL)
    whole = replace(
        drawn,
        sizes=dict(found.selection.sizes),
        audited=dict(found.selection.audited),
        decided=dict(found.selection.decided),
    )
    measures = archive_measures(
        found.scratch, found.parts, found.stats, joined.names, joined.quorums
    )
    parts = plural(len(found.parts), "part")
    kept = f"an archive of {parts}, of which the desk keeps the flagged verdicts"
    about = f"{kept} and the audit: {joined.verdicts:,} of {counts.verdicts:,}"
    return ReadReport(
        new=new,
        counts=counts,
        measures=measures,
        drawn=whole,
        columns=columns,
        seed=found.seed,
        notes=with_undecided([about, *found.notes], counts),
        skipped=found.skipped,
        archive=found.stats.as_json(),
    )
