"""What the files about a run hold: the records that the desk collects, and their documents."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jurors.facts import JurorsPage
from reviewdesk.domain.panel.rerun import FlipRate
from reviewdesk.domain.panel.rerun_result import RerunHistory
from reviewdesk.domain.records import Item
from reviewdesk.domain.run.details import RunDetails
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.stats.figures import Target
from reviewdesk.domain.whatif.policies import WhatIfTable
from reviewdesk.views.calibration import calibration
from reviewdesk.views.document import Section
from reviewdesk.views.jurors import flips, jurors, rates
from reviewdesk.views.reliability import reliability
from reviewdesk.views.run import run
from reviewdesk.views.whatif import what_if


class RunPage(Struct, frozen=True):
    """A run with all its figures; ``listed`` is the number of verdicts that the page shows."""

    details: RunDetails
    written_at: str
    calibration: CalibrationPage
    jurors: JurorsPage
    what_if: WhatIfTable
    flips: tuple[FlipRate, ...]
    listed: int


ListedVerdict: TypeAlias = tuple[Item, RerunHistory]
"""A verdict that a file lists, with its re-runs."""


class PagePart(Struct, frozen=True):
    """A part of a page under a heading of its own; ``name`` is what links to it."""

    name: str
    title: str
    sections: tuple[Section, ...]


def parts(found: RunPage) -> tuple[PagePart, ...]:
    """Return all that is said of a run. What a key switches on the screen stands side by side."""
    page, every = found.calibration, jurors(found.jurors).every
    measured, seated = page.calibration.labelled.n > 0, bool(found.jurors.jurors)
    metrics, *figures = calibration(page).every
    such: tuple[Section, ...] = ()
    # Without a population line both targets have the intervals of the labels alone.
    if page.calibration.population is not None:
        first = calibration(page, target=Target.ITEMS).every[0]
        such = (replace(first, title="Metrics for such items"),)
    drawn = reliability(page).every if measured else ()
    rated = [rates(found.jurors, Target.ITEMS)] if seated else []
    return (
        PagePart("run", "Run", run(found.details).every),
        PagePart("calibration", "Calibration", (metrics, *such, *drawn, *figures)),
        PagePart("jurors", "Jurors", (every[0], *rated, *every[1:], *flips(found.flips))),
        PagePart("what-if", "What if", what_if(found.what_if).every),
    )
