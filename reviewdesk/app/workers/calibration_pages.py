"""The pages of the calibration screen: what each one reads in a worker, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.jurors import jurors_page_lines
from reviewdesk.app.paint.styled import Lines
from reviewdesk.app.paint.whatif import what_if_lines
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.domain.stats.calibration_page import CalibrationPage, DrillDown, drill
from reviewdesk.domain.stats.diagram import bin_drills
from reviewdesk.views import calibration, reliability
from reviewdesk.views.document import Document

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Run


@dataclass(frozen=True, slots=True)
class CalibrationPageKind:
    """One page. ``hidden`` tells a blind session why the page is not shown; it is not read then.

    ``drills`` finds the groups of verdicts behind its figures; ``table`` draws the same page as a
    table; ``source`` names the page whose data it shares.
    """

    name: str
    read: Callable[[Desk, Run], object]
    draw: Callable[..., Lines]
    """Takes the result of ``read``, a width in columns, and whether the session is ``blind``."""
    waiting: str
    hidden: str = ""
    drills: Callable[..., tuple[DrillDown, ...]] | None = None
    """Takes the result of ``read``, and whether the session is ``blind``."""
    table: Callable[..., Lines] | None = None
    source: str = ""
    targets: bool = False
    """Whether its intervals can also be those of such items; ``draw`` then takes a ``target``."""

    @property
    def read_as(self) -> str:
        """The page name under which the result of ``read`` is stored."""
        return self.source or self.name


def _drawn(view: Callable[..., Document]) -> Callable[..., Lines]:
    """Return a function that draws a view's document at a width."""

    def draw(found: Any, width: int, **options: Any) -> Lines:
        return document_lines(view(found, **options), width)

    return draw


def _draw_what_if(found: Any, width: int, *, blind: bool) -> Lines:
    del blind  # A blind session does not read this page.
    return what_if_lines(found, width)


def _figure_drills(found: CalibrationPage, *, blind: bool) -> tuple[DrillDown, ...]:
    del blind  # Labels, and panel answers to labelled items, are not hidden.
    return drill(found)


PAGES = (
    CalibrationPageKind(
        "figures",
        calibration_page,
        _drawn(calibration.calibration),
        "reading the labels …",
        drills=_figure_drills,
        targets=True,
    ),
    CalibrationPageKind(
        "reliability",
        calibration_page,
        _drawn(reliability.reliability),
        "reading the labels …",
        drills=bin_drills,
        table=_drawn(partial(reliability.reliability, as_table=True)),
        source="figures",
    ),
    CalibrationPageKind(
        "jurors", jurors_page, jurors_page_lines, "working out the jurors …", targets=True
    ),
    CalibrationPageKind(
        "what-if",
        what_if,
        _draw_what_if,
        "working out what other rules would have decided …",
        hidden=(
            "Blind: what other rules would have decided rests on what the panel said of verdicts "
            "that have no label, so it is left out."
        ),
    ),
)
