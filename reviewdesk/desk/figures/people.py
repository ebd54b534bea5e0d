"""What a calibration page says beside the run's figures: an asked question, and people's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reviewdesk.desk.figures.question import answer
from reviewdesk.desk.team.agreement import people_err
from reviewdesk.domain.stats.calibration_page import CalibrationPage, PeopleErr
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.stats.reviewers import sensitivity

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.records import Run


def with_question_and_people(desk: Desk, run: Run, page: CalibrationPage) -> CalibrationPage:
    """Return a page with the question that was asked, and its accuracy if people err."""
    page = replace(page, answer=answer(desk, run))
    error = people_err(desk, run)
    if error is None:
        return page
    found = page.accuracy
    band = None
    if found.estimate is not None and found.low is not None and found.high is not None:
        band = sensitivity(Estimate(found.estimate, found.low, found.high), error)
    return replace(page, people=PeopleErr(error, band))
