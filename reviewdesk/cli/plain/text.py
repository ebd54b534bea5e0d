"""Queue rows and loaded files as plain text, for people and pipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewdesk.domain.assessment.flags import SHORT
from reviewdesk.domain.records import QueueRow
from reviewdesk.domain.safetext import show_line


def number(value: float | None, digits: int = 3) -> str:
    """Format a figure, or return ``-`` if it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}"


def queue_row(row: QueueRow, *, blind: bool = False) -> str:
    """Return one verdict as one line; with ``blind``, only its id, test and label."""
    mark = "-" if row.label is None else row.label + ("?" if row.tentative else "")
    name = show_line(row.id, 80)
    test = "" if row.test == row.id else f"  {show_line(row.test, 120)}"
    if blind:
        return f"{mark:9}  {name}{test}"
    flags = ",".join(short for flag, short in SHORT.items() if flag in row.flags)
    return (
        f"{mark:9} {row.decision or '-':12} {number(row.score, 2):>5} "
        f"{number(row.agreement, 2):>6} {row.band or '-':6}  {name}{test}"
        + (f"  [{flags}]" if flags else "")
    )


def loaded(line: Mapping[str, Any]) -> str:
    """Return one loaded file as text, with the notes of its reader."""
    unknown = line["unknown_ballots"]
    text = (
        f"{show_line(line['file'])}: {show_line(line['run'])} "
        f"({'new' if line['new'] else 'known'}, {line['format']}), {line['verdicts']} verdicts, "
        f"{line['ballots']} ballots, {line['flagged']} flagged, {line['failed_ballots']} failed "
        f"ballots, {f'{unknown} not understood, ' if unknown else ''}{line['skipped']} skipped"
    )
    labels = line["human_labels"]
    more = [human_labels(labels)] if labels else []
    more += [f"note: {show_line(note, 5000)}" for note in line["notes"]]
    return "\n  ".join([text, *more])


def human_labels(found: int) -> str:
    """Return how many labels came in a file, and the option that imports them."""
    what, them = ("label", "it") if found == 1 else ("labels", "them")
    return f"{found} human {what} in the file; --import-labels takes {them}"
