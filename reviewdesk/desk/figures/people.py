"""What a calibration page adds to the run's figures: a question, people's errors, parts."""

from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import FitScope, calibration_page, labelled_rows
from reviewdesk.desk.figures.jurors import bias_probes
from reviewdesk.desk.figures.question import answer
from reviewdesk.desk.team.agreement import people_err
from reviewdesk.domain.labels.segments import BY, segment_table
from reviewdesk.domain.labels.team import sensitivity
from reviewdesk.domain.records import Run
from reviewdesk.domain.stats.calibration_page import CalibrationPage, PeopleErr, WorstSegment
from reviewdesk.store import figures
from reviewdesk.store.connect import reading


def headline_page(
    desk: Desk, run: Run, confidence: str | None = None, *, jurors: bool = False
) -> CalibrationPage:
    page = calibration_page(desk, run, confidence, jurors=jurors, fits=FitScope.HEADLINE)
    return with_question_and_people(desk, run, page)


def with_question_and_people(desk: Desk, run: Run, page: CalibrationPage) -> CalibrationPage:
    page = replace(page, answer=answer(desk, run))
    error = people_err(desk, run)
    if error is None:
        return page
    band = None if error.chosen else sensitivity(page.accuracy, error)
    return replace(page, people=PeopleErr(error, band))


def with_parts(desk: Desk, run: Run, page: CalibrationPage) -> CalibrationPage:
    """Return a page with the worst segment by each property and what correlates with the scores."""
    if run.whole != run.verdicts or not page.calibration.labelled.n:
        return page
    worst = []
    with reading(desk.conn):
        made = labelled_rows(desk, run)
        for by in BY:
            frame = figures.segment_frame(desk.conn, run.key, by)
            found = [
                WorstSegment(by, one.segment, one.labels, one.accuracy)
                for one in segment_table(made, frame, by)
                if one.accuracy is not None
            ]
            worst += found[:1] if len(found) > 1 else []
    return replace(page, worst=tuple(worst), probes=bias_probes(desk, run))
