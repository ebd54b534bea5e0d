"""Export labels: rows for a calibration gate or an archive, and the judge's confusion."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import blockers
from reviewdesk.desk.figures.question import given, question
from reviewdesk.domain.gates.join import PanelContent, frame_of
from reviewdesk.domain.labels.improve import Half
from reviewdesk.domain.labels.label_columns import LabelledRows, make_rows
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.records import Design, Run, Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.calibration import scaled_confusion
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.domain.verdict import number
from reviewdesk.errors import UsageError
from reviewdesk.store import figures, verdicts
from reviewdesk.views.queue import waits
from reviewdesk.views.words import DESIGNS, plural


class ExportedRows(Struct, frozen=True):
    """Rows to write, with their confidence source, their design, and warnings for the user."""

    rows: tuple[dict[str, Any], ...]
    source: str
    design: Design
    warnings: tuple[str, ...]


def score_rows(desk: Desk, run: Run, source: str | None) -> ExportedRows:
    """Return rows with the two keys of a calibration file, ``confidence`` and ``correct``."""
    made = _labelled_rows(desk, run, source)
    kept = _counted_places(made)
    warnings = _omission_warnings(made, kept)
    contents = len({made.verdicts[at].item for at in kept})
    if contents < len(kept):
        warnings.append(
            f"{len(kept)} rows rest on {contents} labels, because verdicts on one content share "
            "one, and this format cannot say so; use --format full"
        )
    weighted = made.weighing.design.stands
    if weighted and any(abs(made.weights[at] - 1) > 1e-9 for at in kept):
        warnings.append(
            "the rows stand for different numbers of verdicts, and this format cannot say so; "
            "use --format full"
        )
    rows = tuple(
        {"confidence": float(made.rows.confidence[at]), "correct": bool(made.rows.correct[at])}
        for at in kept
    )
    told = (*warnings, *_blocking(desk, run, made))
    return ExportedRows(rows, made.source, made.weighing.design, told)


class SuiteExport(ExportedRows, frozen=True, kw_only=True):
    """The full rows of a run's labels, with the counts that a suite states for its figures.

    The figures use ``n`` of the rows; a new panel may decide the others. ``frame`` is what the
    labels are drawn from, empty for an archive.
    """

    n: int
    frame: tuple[PanelContent, ...]
    cells: Cells
    observed: float
    decided: int | None
    """The number of verdicts behind ``observed``; ``None`` if the labels have no weights."""
    question: dict[str, Any] | None


def suite_rows(desk: Desk, run: Run, source: str | None) -> SuiteExport:
    """Return the labels of a run that count, a row per verdict, and the panel's confusion."""
    made = _labelled_rows(desk, run, source)
    weighted = made.weighing.design.stands
    kept = _counted_places(made)
    cells = scaled_confusion(made.headline)
    if not kept or cells is None:
        raise UsageError("no pass or fail labels yet", "Label decided verdicts first.")
    full_row, asked = _row_maker(desk, run, made)
    tuned = set[int]()
    if any(figures.steps(desk.conn)):
        split = figures.split(desk.conn, figures.rubric_of(desk.conn, run.key))
        tuned = set(figures.of_groups(desk.conn, run.key, split.tuning - split.spent))
    rows = []
    unanswered = made.columns.unanswered
    for at, verdict in enumerate(made.labelled):
        weight = float(made.weighing.weights[at])
        if unanswered[at] and (made.weighing.drawn[at] or not weighted):
            # A reader counts it against and for the panel, so it must know of it.
            (label, *_) = verdicts.of_item(desk.conn, verdict.item)
            rows.append({**full_row(at, label, 0.0), "truth": Truth.UNSURE.value})
        elif verdict.truth in {Truth.PASS, Truth.FAIL} and (weight or not weighted):
            given = verdicts.of_item(desk.conn, verdict.item)
            label = next((one for one in given if one["label"] == verdict.truth), given[0])
            half = {"half": Half.TUNING} if verdict.key in tuned else {}
            rows.append(full_row(at, label, weight if weighted else None) | half)
    totals = figures.run_figures(desk.conn, run.key)
    decided = totals.passed + totals.failed
    whole = run.whole == run.verdicts
    return SuiteExport(
        tuple(rows),
        made.source,
        made.weighing.design,
        (*_omission_warnings(made, kept), *_blocking(desk, run, made)),
        n=len(kept),
        frame=frame_of(figures.contents(desk.conn, run.key)) if whole else (),
        cells=cells,
        observed=totals.passed / decided,
        decided=decided if weighted else None,
        question=asked,
    )


def _counted_places(made: LabelledRows) -> list[int]:
    """Return the places of the rows that count: those with a weight, or all without weights."""
    weighted = made.weighing.design.stands
    return [at for at, weight in enumerate(made.weights) if weight > 0 or not weighted]


def _omission_warnings(made: LabelledRows, kept: Sequence[int]) -> list[str]:
    """Return warnings about labels that the rows omit, and about a design without weights."""
    warnings = []
    judged = int(made.columns.judged.sum())
    if undecided := len(made.columns) - judged:
        warnings.append(
            f"{plural(undecided, 'label is', 'labels are')} left out: the run states no decision "
            "of pass or fail there; --format full writes them; to open the file with --threshold, "
            "--quorum or --strategy may decide"
        )
    if unsure := judged - int(made.columns.decided.sum()):
        told = plural(unsure, "label is", "labels are")
        warnings.append(f"{told} left out as unsure; --format full writes them")
    warnings += _confidence_warnings(made)
    left = set(range(len(made.verdicts))).difference(kept)
    unseen = sum(not made.verdicts[at].seen for at in left)
    if waiting := len(left) - unseen:
        warnings.append(
            f"{waiting} labels are left out: an earlier item of the draw has no label yet, and "
            "they count once it has one"
        )
    if unseen:
        warnings.append(
            f"{unseen} labels are left out: nobody had the response on screen, and they count once "
            "a label key confirms them"
        )
    if kept and not made.weighing.design.stands:
        warnings.append(f"labels: {DESIGNS[made.weighing.design]}")
    return warnings


def _blocking(desk: Desk, run: Run, made: LabelledRows) -> tuple[str, ...]:
    named = blockers(desk, run, made.weighing.gaps)
    return tuple(f"{before}{show_line(name, 80)}{after}" for before, name, after in waits(named))


def _confidence_warnings(made: LabelledRows) -> list[str]:
    if not made.left_out:
        return []
    return [f"{made.left_out} labelled verdicts have no confidence of the kind {made.source}"]


def full_rows(desk: Desk, run: Run, source: str | None) -> ExportedRows:
    """Return every label of a run in full; without a row, its ``correct`` is ``null``.

    If several people labelled a verdict, only the first label, or an adjudication, carries the
    figures, so that a reader counts the verdict once.
    """
    made = _labelled_rows(desk, run, source)
    weighted = made.weighing.design.stands
    rowed = set(made.places.tolist())
    full_row, _ = _row_maker(desk, run, made)
    rows = []
    for at, verdict in enumerate(made.labelled):
        weight = float(made.weighing.weights[at]) if weighted else None
        origin = verdicts.origin(desk.conn, verdict.key) or None
        for place, label in enumerate(verdicts.of_item(desk.conn, verdict.item)):
            counts = not place and at in rowed
            row = full_row(at, label, weight if counts else 0.0, counts=counts)
            rows.append(row | {"origin": origin})
    warnings = tuple(_confidence_warnings(made))
    return ExportedRows(tuple(rows), made.source, made.weighing.design, warnings)


def _labelled_rows(desk: Desk, run: Run, source: str | None) -> LabelledRows:
    labelled = figures.labelled(desk.conn, run.key)
    return make_rows(labelled, figures.run_figures(desk.conn, run.key), source)


def _row_maker(
    desk: Desk, run: Run, made: LabelledRows
) -> tuple[Callable[..., dict[str, Any]], dict[str, Any] | None]:
    """Return a function that writes a label in full, and the question as a suite states it.

    A row counts if the judge is measured by this label of the verdict.
    """
    asked = question(desk, run)
    items = {} if asked is None else given(desk, run, asked)
    before = {item for item, one in items.items() if one.before}
    head = desk.head()
    sures = made.columns.confidences(made.source, scores_stated=made.figures.scores_stated)
    rowed = set(made.places.tolist())
    unanswered = made.columns.unanswered
    right = made.columns.right

    def row(
        at: int, label: dict[str, Any], weight: float | None, *, counts: bool = True
    ) -> dict[str, Any]:
        verdict = made.labelled[at]
        detail = json.loads(label["detail"])
        measured = counts and at in rowed
        return {
            "confidence": number(float(sures[at])) if measured or unanswered[at] else None,
            "correct": bool(right[at]) if measured else None,
            "confidence_source": made.source,
            "id": verdict.id,
            "test": verdict.test,
            "run": run.name,
            "item_hash": verdict.item.hex(),
            "decision": verdict.decision,
            "truth": label["label"],
            "adjudicated": label["adjudicated"],
            "stratum": STRATA[verdict.stratum],
            "pi": float(made.weighing.inclusion[at]),
            "weight": weight,
            "selection": "draw" if made.weighing.drawn[at] else "ad hoc",
            "blind": detail.get("blind"),
            "seen": detail.get("seen"),
            "reviewer": label["author"],
            "time": detail.get("at") or label["at"],
            "note": label["note"],
            "tags": label["tags"],
            "head": head,
            "question": asked and asked.text,
            "asked_at": asked and asked.at,
            "labelled_before": verdict.item in before if asked else None,
        }

    if asked is None:
        return row, None
    return row, {"text": asked.text, "asked_at": asked.at, "labels_before": len(before)}
