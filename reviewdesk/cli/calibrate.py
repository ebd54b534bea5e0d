"""Print calibration figures of a run in the desk, or of a labels file."""

from __future__ import annotations

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import chosen_run, open_desk, options, put, put_document, put_json, say
from reviewdesk.errors import UsageError


@click.command(epilog="Example: reviewdesk calibrate labels.jsonl --run support-bot")
@click.argument("labels", required=False, shell_complete=completion.files)
@click.option(
    "--confidence",
    type=click.Choice(["support", "score", "reported", "vote_share"]),
    help="What to read as confidence.",
)
@click.option("--full", is_flag=True, help="All figures, by question.")
@click.option("--jurors", is_flag=True, help="Compare each juror with the labels, and over time.")
@click.option(
    "--by",
    type=click.Choice(["tag", "test", "dimension", "subject", "generator", "family", "decision"]),
    help="Split the figures, the worst first.",
)
@click.option("--suite", help="With --by subject: a suite that weighs dimensions.")
@click.option(
    "--simulate",
    "simulated",
    type=click.IntRange(20, 10_000),
    metavar="RUNS",
    help="Check the intervals on so many runs like this one.",
)
@options("run", "json")
def calibrate(
    *,
    labels: str | None,
    confidence: str | None,
    full: bool,
    jurors: bool,
    by: str | None,
    suite: str | None,
    simulated: int | None,
    run_name: str | None,
    as_json: bool,
) -> None:
    """Show how far the judge can be trusted.

    Uses LABELS, or the desk's labels if omitted. With --run, LABELS come from elsewhere, and
    correct the run's pass rate if their rows say what the judge decided.
    """
    if suite and by != "subject":
        raise UsageError("--suite: only subjects have a composite", "Add --by subject.")
    if labels is None:
        _of_run(
            run_name, confidence, by, suite, simulated, full=full, jurors=jurors, as_json=as_json
        )
        return
    if by:
        raise UsageError(
            "--by: a labels file holds no run to split", "Leave out the file, or --by."
        )
    if simulated:
        raise UsageError("--simulate: a labels file holds no run", "Leave out one of them.")
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
    run_name: str | None,
    confidence: str | None,
    by: str | None,
    suite: str | None,
    simulated: int | None,
    *,
    full: bool,
    jurors: bool,
    as_json: bool,
) -> None:
    from reviewdesk.desk.figures.calibration import composite_table, segments, simulation
    from reviewdesk.desk.figures.jurors import bias_probes, jurors_page
    from reviewdesk.desk.figures.people import headline_page, with_parts
    from reviewdesk.desk.gates.suite import suite_weights
    from reviewdesk.views import jurors as juror_views
    from reviewdesk.views.calibration import calibration
    from reviewdesk.views.json import figures
    from reviewdesk.views.json.review import shape
    from reviewdesk.views.run import composites as composite_document
    from reviewdesk.views.run import segments as segment_document
    from reviewdesk.views.run import simulation as simulation_document

    with open_desk() as desk:
        run = chosen_run(desk, run_name)
        page = headline_page(desk, run, confidence, jurors=full)
        page = with_parts(desk, run, page) if full else page
        seated = jurors_page(desk, run, worth=True) if jurors else None
        probes = bias_probes(desk, run) if jurors else ()
        split = segments(desk, run, by) if by else ()
        checked = simulation(desk, run, simulated, confidence) if simulated else ()
        weighed = composite_table(desk, run, suite_weights(suite)) if suite else ()
    if as_json:
        more = {} if seated is None else figures.jurors(seated) | figures.bias(probes)
        more |= figures.segments(by, split) if by else {}
        more |= {"simulation": [shape(one) for one in checked]} if checked else {}
        put_json(figures.run_figures(page) | more | figures.composites(weighed))
        return
    put_document(calibration(page, full=full))
    if by:
        put()
        put_document(segment_document(by, split))
    if weighed:
        put()
        put_document(composite_document(weighed))
    if checked:
        put()
        put_document(simulation_document(checked, simulated or 0))
    if seated is not None:
        put()
        put_document(juror_views.jurors(seated))
        put()
        put_document(juror_views.bias(probes))
    elif not full:
        say("all figures: calibrate --full")


@click.command(epilog='Example: reviewdesk ask "accuracy >= 0.9"')
@click.argument("question", required=False)
@click.option("--width", type=float, help="How wide the interval may be at the end, e.g. 0.1.")
@click.option(
    "--labels", "planned", type=click.IntRange(1), default=100, help="How many labels you plan."
)
@click.option("--level", type=float, default=0.95, help="The level of the interval.")
@click.option("--close", "closing", is_flag=True, help="Close the question that is open.")
@options("run", "json")
def ask(
    *,
    question: str | None,
    width: float | None,
    planned: int,
    level: float,
    closing: bool,
    run_name: str | None,
    as_json: bool,
) -> None:
    """Ask how good the judge is, and when one may stop labelling.

    QUESTION is a figure with a limit, such as "accuracy >= 0.9", "pass rate <= 40%" or "accuracy of
    panel less JUROR >= 0", or a figure with --width. Ask before you label: the interval then holds
    however often you look. Without QUESTION, the answer so far.
    """
    from reviewdesk.desk.figures import question as questions
    from reviewdesk.domain.labels.question import parse_question
    from reviewdesk.views.json.figures import asked
    from reviewdesk.views.queue import question as document

    if question and closing:
        raise UsageError("--close: a question is given too", "Leave out one of them.")
    with open_desk() as desk:
        run = chosen_run(desk, run_name)
        if question:
            parsed = parse_question(question, width, planned, level)
            found = questions.ask(desk, run, parsed)
        elif closing:
            found = questions.close(desk, run)
        else:
            answered = questions.answer(desk, run)
            if answered is None:
                raise UsageError(
                    f"{run.name}: nothing was asked yet", 'Ask: reviewdesk ask "accuracy >= 0.9"'
                )
            found = answered
    if as_json:
        put_json(asked(found))
    else:
        put_document(document(found))
