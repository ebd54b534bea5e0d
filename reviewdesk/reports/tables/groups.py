"""Group the rows of a table into verdicts, in the order of the items' first rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mapping.raw_scores import Scales
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import ReportVerdict
from reviewdesk.reports.tables.cells import CellError, likely_number
from reviewdesk.reports.tables.entry import EntryOf, TableEntry, TableShape
from reviewdesk.reports.tables.notes import BallotNotes
from reviewdesk.reports.tables.rows import TableRow
from reviewdesk.reports.tables.verdict import Draft, VerdictMaker
from reviewdesk.reports.wording import FieldProblem

_MOST_NAMED = 5

Key: TypeAlias = tuple[str, str]
Read: TypeAlias = tuple[TableRow, Key, TableEntry | CellError]


class TableSurvey:
    """The results of a first pass over the rows: verdicts, their row counts, and scales."""

    def __init__(self, *, scale_by_judge: bool) -> None:
        """Start with no rows."""
        self.rows: dict[Key, int] = {}
        self.apart = 0
        self._rubrics: dict[str, str | None] = {}
        self._last: Key | None = None
        self._by_judge = scale_by_judge
        self._scales = Scales()
        self._judges: dict[str, None] = {}

    def add(self, key: Key, entry: TableEntry | CellError) -> None:
        """Count one row."""
        if key != self._last and key in self.rows:
            self.apart += 1
        self._last = key
        self.rows[key] = self.rows.get(key, 0) + 1
        if isinstance(entry, CellError):
            return
        item, rubric = key
        if self._rubrics.setdefault(item, rubric) != rubric:
            self._rubrics[item] = None
        for vote in entry.votes:
            if not vote.check and len(self._judges) <= _MOST_NAMED:
                self._judges.setdefault(vote.judge)
            self._scales.off(self._scale_of(vote.judge), likely_number(vote.score))

    def several(self, item: str) -> bool:
        """Return True if an item is judged under more than one rubric."""
        return self._rubrics.get(item, "") is None

    def panel_note(self) -> tuple[str, ...]:
        """Return a note that a tool's scores by name are read as one panel; empty for one judge.

        The scores may answer different questions, which the table does not show.
        """
        if not self._by_judge or len(self._judges) < 2:
            return ()
        named = ", ".join(show_line(name, 40) for name in [*self._judges][:_MOST_NAMED])
        more = ", ..." if len(self._judges) > _MOST_NAMED else ""
        advice = "where these are different questions, export them apart"
        return (f"read as one panel: {named}{more}; {advice}",)

    def off_scale(self, judge: str) -> bool:
        """Return True if the judge's scale is not 0..1, because some score lies outside."""
        return self._scales.off(self._scale_of(judge))

    def _scale_of(self, judge: str) -> str:
        return judge if self._by_judge else ""


def read_rows(rows: Iterable[TableRow], entry_of: EntryOf, remarks: Remarks) -> Iterator[Read]:
    """Yield each row, its key, and its entry or error. Skip rows without a jury."""
    for row in rows:
        wrong = CellError("", row.problem) if row.problem else None
        try:
            entry = entry_of(row, remarks)
        except CellError as error:
            yield row, ("", row.place), wrong or error
            continue
        if entry is not None:
            yield row, entry.key, wrong or entry


def verdicts(
    rows: Iterable[TableRow],
    survey: TableSurvey,
    shape: TableShape,
    options: ReadOptions,
    notes: list[str],
) -> Iterator[ReportVerdict]:
    """Yield verdicts in the order of their first rows, each as soon as its last row is read.

    At the end the notes on the import are appended to ``notes``.
    """
    remarks = BallotNotes()
    maker = VerdictMaker(survey, options, remarks)
    left = dict(survey.rows)
    waiting = deque(left)
    drafts: dict[Key, Draft] = {}
    for row, key, entry in read_rows(rows, shape.entry, remarks):
        draft = drafts.get(key)
        if draft is None:
            draft = drafts[key] = Draft(row)
        if isinstance(entry, CellError):
            draft.wrong(row, entry)
        elif draft.problem is None:
            maker.add(draft, row, entry, repeats=shape.repeats)
        left[key] -= 1
        while waiting and waiting[0] in drafts and not left[waiting[0]]:
            yield _item(drafts.pop(waiting.popleft()), maker)
    notes.extend([*remarks.ballot_notes(options.models), *remarks.notes()])
    if survey.apart:
        notes.append(f"rows of one item that stand apart were brought together ({survey.apart}x)")


def _item(draft: Draft, maker: VerdictMaker) -> ReportVerdict:
    if draft.problem is not None:
        place, text = draft.problem
        return ReportVerdict("", None, place, FieldProblem((), text))
    body: dict[str, Any] = maker.body(draft)
    return ReportVerdict("", body, draft.row.place)
