"""Read the labels and the frame of a suite, to which a new report is joined."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict

from reviewdesk.domain.gates.join import DrawnLabel, FrameContent, SuiteLabels, stratum_index
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import SLACK, Decision
from reviewdesk.errors import LabelsFileError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import failing
from reviewdesk.reports.labels.reader import checked_row, label_file_rows
from reviewdesk.reports.validation import FILLED, Amount, Strict, Unit, Wanted

_NO_VERDICT = "is a calibration row, which names no verdict of a report"
_NO_CONTENT = "names no content: it has neither item_hash nor id"
_EXPORT = "Export the suite again: reviewdesk labels export --format suite -o FOLDER."
_DECIDED = {Decision.PASS.value, Decision.FAIL.value}


class _LabelModel(Strict):
    model_config = ConfigDict(extra="ignore")

    truth: Literal["pass", "fail", "unsure"]
    id: str | None = None
    item_hash: str | None = None
    decision: str | None = None
    stratum: str | None = None
    pi: Unit = None
    weight: Amount = None
    selection: str | None = None
    confidence_source: str | None = None


class _FrameModel(Strict):
    item_hash: Annotated[str, FILLED]
    stratum: Annotated[str, Wanted("the name of a stratum", STRATA)]
    content: str = ""
    id: str = ""
    decision: Literal["pass", "fail", "inconclusive"] | None = None
    answer: str = ""


def read_suite_labels(labels: Source, frame: Source | None) -> SuiteLabels:
    """Read the labels that count in a suite, and the frame that they were drawn from.

    Raises:
        LabelsFileError: a row names no verdict and its truth, two rows of one content have
            different truths, or the frame lacks the content of a label.
    """
    fail = failing(labels, LabelsFileError)
    held = None if frame is None else _frame(frame)
    found: dict[tuple[str | None, str | None], DrawnLabel] = {}
    unanswered: dict[str | None, DrawnLabel] = {}
    sources: dict[str | None, None] = {}
    for line, values in label_file_rows(labels, fail):
        if "truth" not in values:
            raise fail(f"line {line}", _NO_VERDICT, _EXPORT)
        row = checked_row(_LabelModel, values, line, fail)
        if not row.id and not row.item_hash:
            raise fail(f"line {line}", _NO_CONTENT, _EXPORT)
        # A label has a stratum only if its row states the chance by which it was drawn.
        drawn = row.selection == "draw" and row.pi is not None and 0 < row.pi <= 1 + SLACK
        label = DrawnLabel(
            line=line,
            id=row.id,
            item_hash=row.item_hash,
            truth=Truth(row.truth),
            stratum=stratum_index(row.stratum) if drawn else None,
            weight=row.weight,
            decided=row.decision is None or row.decision in _DECIDED,
        )
        if row.truth == "unsure" and row.selection == "draw":
            unanswered.setdefault(row.item_hash or row.id, label)
        if row.truth == "unsure" or row.weight == 0:
            continue
        key = (row.item_hash, None if row.item_hash else row.id)
        first = found.setdefault(key, label)
        if first.truth is not label.truth:
            problem = (
                f"truth is {label.truth}, but {first.truth} in line {first.line}, for the same"
            )
            raise fail(f"line {line}", f"{problem} content", "Settle it, and export again.")
        sources[row.confidence_source] = None
    made = tuple(found.values())
    if not made:
        raise fail("", "has no label that counts", "Label verdicts, and export again.")
    if held is not None and frame is not None:
        known = {one.item_hash for one in held}
        if lost := [one for one in made if one.item_hash not in known]:
            problem = f"{len(lost)} of {len(made)} labels are of contents that are not in "
            raise fail(f"line {lost[0].line}", problem + frame.shown_name, _EXPORT)
    source = next(iter(sources)) if len(sources) == 1 else None
    return SuiteLabels(made, held, source, tuple(unanswered.values()))


def _frame(source: Source) -> tuple[FrameContent, ...]:
    fail = failing(source, LabelsFileError)
    found: dict[str, FrameContent] = {}
    for line, row in label_file_rows(source, fail):
        one = checked_row(_FrameModel, row, line, fail)
        if bool(one.content) is not bool(one.id):
            raise fail(f"line {line}", "has only one of content and id", _EXPORT)
        found[one.item_hash] = FrameContent(
            one.item_hash,
            STRATA.index(one.stratum),
            one.content,
            one.id,
            Decision(one.decision) if one.decision else None,
            one.answer,
        )
    if not found:
        raise fail("", "lists no content", _EXPORT)
    return tuple(found.values())
