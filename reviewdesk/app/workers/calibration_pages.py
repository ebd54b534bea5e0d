"""The pages of the calibration screen: what each one reads in a worker, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewdesk.app.paint.calibration import calibration_lines
from reviewdesk.app.paint.jurors import jurors_page_lines
from reviewdesk.app.paint.reliability import reliability_lines, reliability_table
from reviewdesk.app.paint.styled import Lines
from reviewdesk.app.paint.whatif import what_if_lines
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.domain.stats.calibration_page import CalibrationPage, DrillDown, drill
from reviewdesk.domain.stats.diagram import bin_drills

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Run


@dataclass(frozen=True, slots=True)
class CalibrationPageKind:
    """One page. ``hidden`` says why a blind session is not shown it; nothing is read for it then.

    ``drills`` finds the groups of verdicts behind its figures; ``table`` draws the same page as a
    table; ``source`` names the page whose reading it shares.
    """

    name: str
    read: Callable[[Desk, Run], object]
    draw: Callable[..., Lines]
    """Takes what was read, a width, and whether the session is ``blind``."""
    waiting: str
    hidden: str = ""
    drills: Callable[..., tuple[DrillDown, ...]] | None = None
    """Takes what was read, and whether the session is ``blind``."""
    table: Callable[..., Lines] | None = None
    source: str = ""
    targets: bool = False
    """Whether its intervals can be those of such items: it draws with a ``target`` then."""

    @property
    def read_as(self) -> str:
        """The name under which what was read is kept."""
        return self.source or self.name


def _what_if(found: Any, width: int, *, blind: bool) -> Lines:
    del blind  # Nothing is read for a blind session.
    return what_if_lines(found, width)


def _figures(found: CalibrationPage, *, blind: bool) -> tuple[DrillDown, ...]:
    del blind  # What people and the panel said of labelled verdicts is no secret.
    return drill(found)


PAGES = (
    CalibrationPageKind(
        "figures",
        calibration_page,
        calibration_lines,
        "reading the labels …",
        drills=_figures,
        targets=True,
    ),
    CalibrationPageKind(
        "reliability",
        calibration_page,
        reliability_lines,
        "reading the labels …",
        drills=bin_drills,
        table=reliability_table,
        source="figures",
    ),
    CalibrationPageKind(
        "jurors", jurors_page, jurors_page_lines, "working out the jurors …", targets=True
    ),
    CalibrationPageKind(
        "what-if",
        what_if,
        _what_if,
        "working out what other rules would have decided …",
        hidden=(
            "Blind: what other rules would have decided rests on what the panel said of verdicts "
            "that have no label, so it is left out."
        ),
    ),
)
