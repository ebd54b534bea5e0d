"""Find the scorers of a log that leave the scale 0..1, before any sample is mapped."""

from __future__ import annotations

from typing import Any

from reviewdesk.reports.inspectai.config import listed, record
from reviewdesk.reports.inspectai.edits import scores_of
from reviewdesk.reports.inspectai.grades import numeral
from reviewdesk.reports.inspectai.sample import Sample
from reviewdesk.reports.mapping.raw_scores import Scales


def weigh(sample: Sample, scales: Scales) -> None:
    """Record the scores of a sample in ``scales``, which must know all scores of the log."""
    for name, score in scores_of(sample.keys).items():
        for given in (score, *map(record, listed(score.get("history")))):
            _weigh(name, given, scales)


def _weigh(name: str, given: dict[str, Any], scales: Scales) -> None:
    value, panel = given.get("value"), record(record(given.get("metadata")).get("panel"))
    parts: list[tuple[str, Any]] = [(name, vote) for vote in listed(panel.get("votes"))]
    if isinstance(value, dict):
        parts += [(f"{name}.{key}", part) for key, part in value.items()]
    elif isinstance(value, list):
        parts += [(f"{name}.{at}", part) for at, part in enumerate(value)]
    else:
        parts.append((name, value))
    for whose, part in parts:
        scales.off(whose, numeral(part.strip()) if isinstance(part, str) else part)
