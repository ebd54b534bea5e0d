"""What a page of a run is made from: gathered by the desk, drawn here."""

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
    """A run with all its figures, and how many of its verdicts are ``listed``."""

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
    """A verdict that is listed, with what was asked again."""

    item: Item
    reruns: tuple[Rerun, ...]
