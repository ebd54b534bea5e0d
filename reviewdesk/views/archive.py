"""What is said of an archive that was put together."""

from __future__ import annotations

from reviewdesk.domain.archive.result import Archived
from reviewdesk.views import words
from reviewdesk.views.document import Paragraph, Section, outside


def archived(made: Archived) -> Section:
    """Return what an archive holds, with the notes of its readers."""
    run = made.run
    counts = (
        f" ({'new' if made.new else 'known'}, {words.plural(made.parts, 'part')}), "
        f"{words.held(run)}, {run.ballots:,} ballots, {run.flagged:,} flagged, {run.audit:,} to "
        f"audit, {run.failed_ballots:,} failed ballots, {run.skipped:,} skipped"
    )
    notes = [
        Paragraph(("note: ", outside(note, 5000)), indent=2) for note in (*run.notes, *made.notes)
    ]
    return Section("", (Paragraph((outside(run.file), ": ", outside(run.name), counts)), *notes))
