"""Labels out of a desk: rows for a calibration gate, for an archive, and the judge's confusion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.gates.calibration_targets import Reliability
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.labels.summary import LabelledRow, LabelledRows, make_rows
from reviewdesk.domain.records import Design, Run
from reviewdesk.domain.stats.calibration import confusion_of, effective_sample_size
from reviewdesk.domain.stats.resample import resample
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import UsageError
from reviewdesk.store import figures, tags

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

_WEIGHTED = frozenset({Design.WEIGHTED, Design.CENSUS})


@dataclass(frozen=True, slots=True)
class Resample:
    """How many rows to draw by weight, and the seed that fixes which."""

    count: int
    seed: str = "0"


@dataclass(frozen=True, slots=True)
class ExportedRows:
    """Rows to write with the mapping and design behind them, and what a person should know."""

    rows: tuple[dict[str, Any], ...]
    source: str
    design: Design
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfusionCounts:
    """A judge against the labels that count, and its pass rate over the whole run."""

    cells: Reliability
    observed: float
    n: int
    design: Design
    warnings: tuple[str, ...]


def score_rows(
    desk: Desk, run: Run, source: str | None, drawn: Resample | None = None
) -> ExportedRows:
    """The two keys per row that a calibration file holds, and no more.

    With ``drawn`` they are drawn by their weights, so that a reader that weighs every row 1 finds
    what the weighted labels say.
    """
    made = _made(desk, run, source)
    places, warnings = _places(made, drawn)
    rows = tuple(
        {
            "confidence": float(made.rows.confidence[at]),
            "correct": bool(made.rows.correct[at]),
        }
        for at in places
    )
    return ExportedRows(rows, made.source, made.weighing.design, warnings)


def judge_counts(desk: Desk, run: Run, drawn: Resample | None = None) -> ConfusionCounts:
    """How the judge and the labels agree, counted over the rows that ``score_rows`` writes.

    Raises:
        UsageError: no label makes a row.
    """
    made = _made(desk, run, None)
    places, warnings = _places(made, drawn)
    if not places:
        raise UsageError("no label makes a row yet", "Label verdicts that passed or failed first.")
    totals = figures.run_figures(desk.conn, run.key)
    said = [
        (made.verdicts[at].decision is Decision.PASS, made.verdicts[at].correct) for at in places
    ]
    cells = Reliability(
        tp=said.count((True, True)),
        fn=said.count((False, False)),
        tn=said.count((False, True)),
        fp=said.count((True, False)),
    )
    observed = totals.passed / (totals.passed + totals.failed)
    return ConfusionCounts(cells, observed, len(places), made.weighing.design, warnings)


@dataclass(frozen=True, slots=True)
class SuiteExport:
    """The rows behind a run's figures in full, with what a suite over them says beside."""

    rows: tuple[dict[str, Any], ...]
    cells: Reliability
    observed: float
    decided: int | None
    """How many verdicts the rate is of; ``None`` while the labels say nothing of all of them."""
    source: str
    design: Design
    warnings: tuple[str, ...]


def suite_rows(desk: Desk, run: Run, source: str | None) -> SuiteExport:
    """The rows that the figures of a run count, one for each verdict, and their confusion.

    Labels that no weights are known of yet carry ``null``, for a reader to count each once as the
    desk does.

    Raises:
        UsageError: no label makes a row.
    """
    made = _made(desk, run, source)
    weighted = made.weighing.design in _WEIGHTED
    kept = _counted(made)
    cells = confusion_of(made.rows.weighted(made.weights) if weighted else made.rows)
    if not kept or cells is None:
        raise UsageError("no label makes a row yet", "Label verdicts that passed or failed first.")
    head, rows = desk.head(), []
    for at in kept:
        verdict = made.verdicts[at]
        weight = made.weights[at] if weighted else None
        row = (float(made.rows.confidence[at]), bool(made.rows.correct[at]), weight)
        given = labels_of(desk, verdict.item)
        label = next((one for one in given if one["label"] == verdict.place.truth), given[0])
        rows.append(_full_row(run, verdict, label, row, made, head))
    totals = figures.run_figures(desk.conn, run.key)
    decided = totals.passed + totals.failed
    return SuiteExport(
        tuple(rows),
        Reliability.of(cells),
        totals.passed / decided,
        decided if weighted else None,
        made.source,
        made.weighing.design,
        tuple(_shortfalls(made, kept)),
    )


def _counted(made: LabelledRows) -> list[int]:
    """The rows that figures count: those with a weight, or all while there are no weights."""
    weighted = made.weighing.design in _WEIGHTED
    return [at for at, weight in enumerate(made.weights) if weight > 0 or not weighted]


def _shortfalls(made: LabelledRows, kept: Sequence[int]) -> list[str]:
    """What the rows leave out, and the design if it gives no weights."""
    warnings = _without_confidence(made)
    if left := len(made.verdicts) - len(kept):
        warnings.append(
            f"{left} labels are left out: an earlier item of the draw has no label yet, and they "
            "count once it has one"
        )
    if kept and made.weighing.design not in _WEIGHTED:
        warnings.append(f"design: {made.weighing.design}")
    return warnings


def _places(made: LabelledRows, drawn: Resample | None) -> tuple[list[int], tuple[str, ...]]:
    """Which rows a file without weights holds, and what it cannot say."""
    kept = _counted(made)
    warnings = _shortfalls(made, kept)
    if drawn is not None:
        return _drawn(made, kept, drawn, warnings)
    weighted = made.weighing.design in _WEIGHTED
    if weighted and any(abs(made.weights[at] - 1) > 1e-9 for at in kept):
        warnings.append(
            "the rows stand for different numbers of verdicts, and this format cannot say so; "
            "use --format full, or --resample N for a reader that knows no weights"
        )
    return kept, tuple(warnings)


def _without_confidence(made: LabelledRows) -> list[str]:
    if not made.left_out:
        return []
    return [f"{made.left_out} labelled verdicts have no confidence of the kind {made.source}"]


def _drawn(
    made: LabelledRows, kept: Sequence[int], drawn: Resample, warnings: list[str]
) -> tuple[list[int], tuple[str, ...]]:
    if made.weighing.design not in _WEIGHTED or not kept:
        problem = f"--resample: the labels have no weights yet (design: {made.weighing.design})"
        raise UsageError(problem, "Label on until the design is weighted or census.")
    weights = [made.weights[at] for at in kept]
    places = [kept[at] for at in resample(weights, drawn.count, drawn.seed)]
    worth = effective_sample_size(weights) or 0.0
    warnings.append(
        f"{len(places)} rows drawn by weight from {len(kept)} labels (seed {drawn.seed}), so "
        f"rows repeat: for intervals and tests they are worth {worth:.4g} labels"
    )
    return places, tuple(warnings)


def full_rows(desk: Desk, run: Run, source: str | None) -> ExportedRows:
    """Every label of a run with all that is known of it; those without a row say ``null``.

    Of several people's labels on a verdict the first is the row, so that a reader of the file
    counts the verdict once; a design without weights writes none.
    """
    made = _made(desk, run, source)
    weighted = made.weighing.design in _WEIGHTED
    rowed = {
        verdict.key: (
            float(made.rows.confidence[i]),
            bool(made.rows.correct[i]),
            made.weights[i] if weighted else None,
        )
        for i, verdict in enumerate(made.verdicts)
    }
    head = desk.head()
    rows = [
        _full_row(run, verdict, label, rowed.pop(verdict.key, None), made, head)
        for verdict in figures.labelled(desk.conn, run.key)
        for label in labels_of(desk, verdict.item)
    ]
    warnings = tuple(_without_confidence(made))
    return ExportedRows(tuple(rows), made.source, made.weighing.design, warnings)


def _made(desk: Desk, run: Run, source: str | None) -> LabelledRows:
    labelled = figures.labelled(desk.conn, run.key)
    return make_rows(labelled, figures.run_figures(desk.conn, run.key), source)


def labels_of(desk: Desk, item: bytes) -> list[dict[str, Any]]:
    """The labels of an item, each with its author's newest note and tags, whenever given."""
    # SQLite's json_extract ends a text at NUL, so only the choice of the event is made there.
    rows = desk.conn.execute(
        """SELECT l.*, (SELECT n.detail FROM standing_events n
                        WHERE n.item = l.item AND n.author = l.author
                          AND json_type(n.detail, '$.note') IS NOT NULL
                        ORDER BY n.key DESC LIMIT 1) AS noted
           FROM labels l WHERE l.item = ? ORDER BY l.author""",
        (item,),
    )
    tagged = tags.of_item(desk.conn, item)
    return [
        {
            **dict(row),
            "note": (json.loads(row["noted"])["note"] if row["noted"] else None) or None,
            "tags": list(tagged.get(row["author"], ())),
        }
        for row in rows
    ]


def _full_row(
    run: Run,
    verdict: LabelledRow,
    label: dict[str, Any],
    row: tuple[float, bool, float | None] | None,
    made: LabelledRows,
    head: str,
) -> dict[str, Any]:
    detail = json.loads(label["detail"])
    confidence, correct, weight = row or (None, None, 0.0)
    return {
        "confidence": confidence,
        "correct": correct,
        "confidence_source": made.source,
        "id": verdict.id,
        "run": run.name,
        "item_hash": verdict.item.hex(),
        "decision": verdict.decision,
        "truth": label["label"],
        "tentative": bool(label["tentative"]),
        "stratum": STRATA[verdict.place.stratum],
        "pi": made.weighing.inclusion.get(verdict.place.stratum),
        "weight": weight,
        "selection": "draw" if made.drawn[verdict.key] else "ad hoc",
        "blind": detail.get("blind"),
        "reviewer": label["author"],
        "time": detail.get("at") or label["at"],
        "note": label["note"],
        "tags": label["tags"],
        "head": head,
    }
