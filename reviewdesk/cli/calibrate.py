"""Print calibration figures of a run in the desk, or of a labels file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import chosen_run, open_desk, options, put, put_document, put_json, say
from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    pass


@click.command(epilog="Example: reviewdesk calibrate labels.jsonl --run support-bot")
@click.argument("labels", required=False, shell_complete=completion.files)
@click.option(
    "--confidence",
    type=click.Choice(["support", "score", "reported", "vote_share"]),
    help="What to read as confidence.",
)
@click.option("--full", is_flag=True, help="All figures, by question.")
@click.option("--jurors", is_flag=True, help="Compare each juror with the labels, and over time.")
@options("run", "json")
def calibrate(
    *,
    labels: str | None,
    confidence: str | None,
    full: bool,
    jurors: bool,
    run_name: str | None,
    as_json: bool,
) -> None:
    """Show how far the judge can be trusted.

    Uses LABELS, or the desk's labels if omitted. LABELS with --run are a trusted set from
    elsewhere: where its rows say what the judge decided, they correct the run's pass rate.
    """
    if labels is None:
        _of_run(run_name, confidence, full=full, jurors=jurors, as_json=as_json)
        return
    if jurors:
        raise UsageError(
            "--jurors: a labels file holds no votes", "Leave out the file, or --jurors."
        )
    _of_file(labels, run_name, full=full, as_json=as_json)


def _of_file(labels: str, run_name: str | None, *, full: bool, as_json: bool) -> None:
    from reviewdesk.desk import files
    from reviewdesk.desk.figures.labels_file import calibrate_file, observed
    from reviewdesk.views.calibration import file_calibration
    from reviewdesk.views.json import figures

    over = None
    if run_name is not None:
        with open_desk() as desk:
            over = observed(desk, chosen_run(desk, run_name))
    page = calibrate_file(files.source(labels), over)
    if as_json:
        put_json(figures.filed(page))
        return
    put_document(file_calibration(page, full=full))


def _of_run(
    run_name: str | None, confidence: str | None, *, full: bool, jurors: bool, as_json: bool
) -> None:
    from reviewdesk.desk.figures.calibration import FitScope, calibration_page
    from reviewdesk.desk.figures.jurors import jurors_page
    from reviewdesk.views import jurors as juror_views
    from reviewdesk.views.calibration import calibration
    from reviewdesk.views.json import figures

    with open_desk() as desk:
        run = chosen_run(desk, run_name)
        page = calibration_page(desk, run, confidence, jurors=full, fits=FitScope.HEADLINE)
        seated = jurors_page(desk, run) if jurors else None
    if as_json:
        put_json(figures.run_figures(page) | ({} if seated is None else figures.jurors(seated)))
        return
    put_document(calibration(page, full=full))
    if seated is not None:
        put()
        put_document(juror_views.jurors(seated))
    elif not full:
        say("all figures: calibrate --full")
