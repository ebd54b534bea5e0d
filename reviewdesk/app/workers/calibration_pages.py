"""The pages of the calibration screen: what each one reads in a worker, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewdesk.app.paint import Lines
from reviewdesk.app.paint_calibration import calibration_lines
from reviewdesk.app.paint_jurors import jurors_page_lines
from reviewdesk.app.paint_reliability import reliability_lines, reliability_table
from reviewdesk.app.paint_whatif import what_if_lines
from reviewdesk.desk.judge import calibration_page
from reviewdesk.desk.jurors import jurors_page
from reviewdesk.desk.whatif import what_if
from reviewdesk.domain.diagram import bin_drills
from reviewdesk.domain.judgement import CalibrationPage, Drill, drill

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Run


@dataclass(frozen=True, slots=True)
class JudgePage:
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
    drills: Callable[..., tuple[Drill, ...]] | None = None
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


def _figures(found: CalibrationPage, *, blind: bool) -> tuple[Drill, ...]:
    del blind  # What people and the panel said of labelled verdicts is no secret.
    return drill(found)


PAGES = (
    JudgePage(
        "figures",
        calibration_page,
        calibration_lines,
        "reading the labels …",
        drills=_figures,
        targets=True,
    ),
    JudgePage(
        "reliability",
        calibration_page,
        reliability_lines,
        "reading the labels …",
        drills=bin_drills,
        table=reliability_table,
        source="figures",
    ),
    JudgePage("jurors", jurors_page, jurors_page_lines, "working out the jurors …", targets=True),
    JudgePage(
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
