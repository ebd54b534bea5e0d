"""What is said of a row of the queue, of records in rows, and of a file that was loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reviewdesk.domain.assessment.flag_words import in_words
from reviewdesk.domain.canonical import CanonicalBallot
from reviewdesk.domain.records import Loaded, ProposedMap, QueueRow
from reviewdesk.domain.run.archived import Archived
from reviewdesk.domain.verdict import Decision
from reviewdesk.views.document import (
    Column,
    Document,
    Paragraph,
    Section,
    Tone,
    Words,
    joined,
    outside,
    table,
)
from reviewdesk.views.words import NONE, decided, held, number, plural

FIRST = 10
"""How many records of a list are shown."""
_LEFT_OUT = {"run", "item_hash", "agreement_source", "stratum", "audit"}
"""Keys of records that say the same in every row, or nothing to a person."""


def queue_row(row: QueueRow, *, blind: bool = False) -> Words:
    """Return one verdict as one line; with ``blind``, only its id, test and label."""
    mark = NONE if row.label is None else row.label
    test = ("  ", outside(row.test, 120)) if row.test != row.id else ()
    names = (outside(row.id, 80), *test)
    if blind:
        return (f"{mark:9}  ", *names)
    flags = in_words(row.flags)
    made = NONE if row.decision is None else decided(Decision(row.decision))
    facts = (
        f"{mark:9} {made:12} {number(row.score, 2):>5} "
        f"{number(row.agreement, 2):>6} {row.band or NONE:6}  "
    )
    return (facts, *names, f"  [{flags}]" if flags else "")


def queue_head(*, blind: bool = False) -> str:
    """Return the heading of the lines of ``queue_row``."""
    if blind:
        return f"{'label':9}  item  test"
    return f"{'label':9} {'panel':12} {'score':>5} {'agree':>6} {'band':6}  item  test  [flags]"


def loaded(file: str, made: Loaded) -> Section:
    """Return what a loaded file holds, with the notes of its reader."""
    run = made.run
    unknown = made.unknown_ballots
    counts = (
        f" ({'new' if made.new else 'known'}, {run.format}), {plural(run.verdicts, 'verdict')}, "
        f"{plural(run.ballots, 'ballot')}, {run.flagged:,} flagged, "
        f"{plural(run.failed_ballots, 'failed ballot')}, "
        f"{f'{unknown} not understood, ' if unknown else ''}{run.skipped} skipped"
    )
    return _loaded(file, made, counts)


def archived(made: Archived) -> Section:
    """Return what an archive holds, with the notes of its readers."""
    run = made.run
    counts = (
        f" ({'new' if made.new else 'known'}), {held(run)}, {run.ballots:,} ballots, "
        f"{run.flagged:,} flagged, {run.audit:,} in the random check, "
        f"{plural(run.failed_ballots, 'failed ballot')}, {run.skipped:,} skipped"
    )
    return _loaded(run.file, made, counts)


def _loaded(file: str, made: Loaded | Archived, counts: str) -> Section:
    run = made.run
    labels: list[Words] = [file_labels(run.human_labels)] if run.human_labels else []
    notes: list[Words] = [("note: ", outside(note, 5000)) for note in (*run.notes, *made.notes)]
    more = (Paragraph(text, indent=2) for text in (*labels, *notes))
    return Section("", (Paragraph((outside(file), ": ", outside(run.name), counts)), *more))


def proposed(made: ProposedMap) -> Section:
    """Return the first verdicts of a table as a proposed map reads them."""
    blocks = []
    for body in made.verdicts:
        said = [(outside(one["id"], 60), " ", outside(_answer(one), 60)) for one in body["jurors"]]
        human = body.get("human")
        person = f"   a person: {human['label']}" if human else ""
        blocks.append(Paragraph((outside(body["id"], 80), ":  ", *joined(said, "   "), person)))
    notes = [Paragraph(("note: ", outside(note, 500))) for note in made.notes]
    return Section("", (*blocks, *notes))


def _answer(juror: CanonicalBallot) -> str:
    """Return what a juror said, in a word or a number."""
    if juror.get("status") not in (None, "ok"):
        return str(juror["status"])
    if (vote := juror.get("pass")) is not None:
        return "pass" if vote else "fail"
    found = (juror.get(key) for key in ("score", "raw_score", "label"))
    return str(next((one for one in found if one is not None), NONE))


def file_labels(found: int) -> str:
    """Return how many labels came in a file, and the option that imports them."""
    what, them = ("label", "it") if found == 1 else ("labels", "them")
    return f"{found} human {what} in the file; --import-labels takes {them}"


def records(rows: Sequence[Mapping[str, Any]], total: int, what: str) -> Document:
    """Return the first records of ``total``, without the columns that are empty in all of them."""
    found = rows[:FIRST]
    count = f"{what}: {total:,}" + f", of which the first {len(found)}" * (total > len(found))
    keys = [key for key in (found[0] if found else ()) if key not in _LEFT_OUT]
    names = [key for key in keys if any(_is_shown(row[key]) for row in found)]
    heads = [Column(name, right=any(_is_number(row[name]) for row in found)) for name in names]
    cells = [[_cell(row[name]) for name in names] for row in found]
    blocks = (table(heads, cells),) if names else ()
    return Document((Section("", (Paragraph(count, Tone.MUTED), *blocks)),))


def _is_shown(value: object) -> bool:
    return value not in (None, "", [], ()) and not isinstance(value, Mapping)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: object) -> Words:
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:.4g}"
    return outside(", ".join(map(str, value)) if isinstance(value, list) else value, 120)
