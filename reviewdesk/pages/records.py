"""The records that a page is made from; the desk collects them, and this folder renders them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.jurors.facts import JurorsPage
from reviewdesk.domain.panel.rerun import FlipRate, Rerun
from reviewdesk.domain.records import Item, Progress, Run
from reviewdesk.domain.run.measures import RunAlphas
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.verdict import Decision


@dataclass(frozen=True, slots=True)
class RunPage:
    """A run with all its figures; ``listed`` is the number of verdicts that the page shows."""

    run: Run
    file_hash: str
    written_at: str
    head: str
    filled: Mapping[str, Any]
    decisions: Mapping[Decision | None, int]
    flags: Mapping[Flag, int]
    alphas: RunAlphas
    progress: Progress
    calibration: CalibrationPage
    jurors: JurorsPage
    flips: tuple[FlipRate, ...]
    escalated: int
    listed: int


@dataclass(frozen=True, slots=True)
class ListedVerdict:
    """A verdict that the page shows, with its re-runs."""

    item: Item
    reruns: tuple[Rerun, ...]
