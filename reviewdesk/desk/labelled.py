"""Calibration of a labels file, without a desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.domain.calibration import Rows, measure
from reviewdesk.domain.records import Calibration, Design

if TYPE_CHECKING:
    from reviewdesk.reports.source import Source


def calibrate_file(source: Source) -> Calibration:
    """The figures of a file of ``{confidence, correct}`` rows, weighted where every row says so."""
    from reviewdesk.reports.labelsfile import read_scores

    file = read_scores(source)
    weights = [row.weight for row in file.rows]
    heavy = [weight for weight in weights if weight is not None and weight > 0]
    rows = Rows.of(
        [row.confidence for row in file.rows],
        [row.correct for row in file.rows],
        heavy if len(heavy) == len(weights) else None,
    )
    warnings = []
    if not file.rows:
        warnings.append("the file has no rows: ECE is 0 by definition, not by merit")
    if heavy and len(heavy) < len(weights):
        warnings.append("some rows carry no weight, so every row counts as one")
    return Calibration(
        labelled=measure(rows, None),
        population=None,
        design=Design.FILE,
        confidence_source=file.source or "file",
        unsure=0,
        disputed=0,
        no_verdict=0,
        rowless=0,
        waiting=0,
        warnings=tuple(warnings),
    )
