"""Print figures: calibration, an answer, two panels compared, other rules, and gates on them."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from reviewdesk.cli.common import (
    choice,
    chosen_run,
    complete_runs,
    complete_verdicts,
    file_argument,
    flag,
    leave,
    of_run,
    open_desk,
    option,
    options,
    put,
    put_json,
    put_result,
    say,
    wants_json,
)
from reviewdesk.cli.plain import document_text
from reviewdesk.cli.review import load_options, reading_options
from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures import question as questions
from reviewdesk.desk.options import STRATEGIES
from reviewdesk.desk.review.runs import named_verdict
from reviewdesk.domain.labels.question import parse_question
from reviewdesk.domain.labels.sampling import SOURCES
from reviewdesk.domain.labels.segments import BY
from reviewdesk.domain.records import Run
from reviewdesk.errors import UsageError
from reviewdesk.views import jurors as juror_views
from reviewdesk.views import run as run_views
from reviewdesk.views.calibration import calibration, file_calibration
from reviewdesk.views.gates import doubt_lines, text
from reviewdesk.views.queue import question as question_document


@click.command(epilog="Example: reviewdesk calibrate labels.jsonl --run support-bot")
@file_argument("labels", required=False)
@choice("--confidence", SOURCES, "Figure to use as confidence.")
@flag("--full", "All figures, by question.")
@flag("--jurors", "Compare each juror with the labels, and over time.")
@choice("--by", BY, "Split the figures, the worst first.")
@click.option("--suite", help="With --by subject: a suite that weighs dimensions.")
@option(
    "--simulate",
    "RUNS",
    "Check the intervals on this many simulated runs.",
    type=click.IntRange(20, 10_000),
)
@options("run", "json")
def calibrate(*, labels: str | None, run_name: str | None, full: bool, **chosen: Any) -> None:
    """Show how far the judge can be trusted.

    Uses LABELS, or the desk's labels if omitted. With both LABELS and --run, the labels come from
    another run, and correct this run's pass rate if their rows say what the judge decided.
    """
    if chosen["suite"] and chosen["by"] != "subject":
        raise UsageError("--suite: only subjects have a composite", "Add --by subject.")
    if labels is None:
        _of_run(run_name, full=full, **chosen)
        return
    for name in ("by", "simulate", "jurors"):
        if chosen[name]:
            raise UsageError(
                f"--{name} needs a run, and a labels file has none",
                f"Leave out the file, or --{name}.",
            )
    from reviewdesk.desk.figures.labels_file import file_page, file_rows, observed
    from reviewdesk.views.json import figures

    over = None
    if run_name is not None:
        with open_desk() as desk:
            over = observed(desk, chosen_run(desk, run_name))
    page = file_page(file_rows(files.source(labels)), over)
    put_result(figures.filed(page), file_calibration(page, full=full))


def _of_run(
    run_name: str | None, *, confidence: str | None, by: str | None, suite: str | None,
    simulate: int | None, full: bool, jurors: bool,
) -> None:  # fmt: skip
    from reviewdesk.desk.figures.calibration import (
        bias_probes,
        calibration_page,
        composite_table,
        segments,
        simulation,
    )
    from reviewdesk.desk.figures.jurors import jurors_page
    from reviewdesk.desk.gates.suite import suite_weights
    from reviewdesk.views.json import figures
    from reviewdesk.views.json.review import shape

    with open_desk() as desk:
        run = chosen_run(desk, run_name)
        page = calibration_page(desk, run, confidence, jurors=full, full=full)
        seated = jurors_page(desk, run, worth=True) if jurors else None
        probes = bias_probes(desk, run) if jurors else ()
        split = segments(desk, run, by) if by else ()
        checked = simulation(desk, run, simulate, confidence) if simulate else ()
        weighed = composite_table(desk, run, suite_weights(suite)) if suite else ()
    if wants_json():
        more = {} if seated is None else figures.jurors(seated) | figures.bias(probes)
        more |= figures.segments(by, split) if by else {}
        more |= {"simulation": [shape(one) for one in checked]} if checked else {}
        put_json(figures.run_figures(page) | more | figures.composites(weighed))
        return
    documents = [calibration(page, full=full)]
    documents += [run_views.segments(by, split)] if by else []
    documents += [run_views.composites(weighed)] if weighed else []
    documents += [run_views.simulation(checked, simulate)] if checked and simulate else []
    documents += [juror_views.jurors(seated), juror_views.bias(probes)] if seated else []
    put("\n\n".join(map(document_text, documents)))
    if not full and not jurors:
        say("all figures: calibrate --full")


@click.command(epilog='Example: reviewdesk ask "accuracy >= 0.9"')
@click.argument("question", required=False)
@click.option("--width", type=float, help="Target width of the interval, e.g. 0.1.")
@click.option(
    "--labels", "planned", type=click.IntRange(1), default=100, help="Number of labels planned."
)
@click.option("--level", type=float, default=0.95, help="The level of the interval.")
@flag("--close closing", "Close the question that is open.")
@of_run
@options("json")
def ask(
    desk: Desk, run: Run, *, question: str | None, width: float | None, planned: int, level: float,
    closing: bool,
) -> None:  # fmt: skip
    """Ask how good the judge is, and when you may stop labelling.

    QUESTION is a figure with a limit, such as "accuracy >= 0.9", "pass rate <= 40%" or "accuracy of
    panel less JUROR >= 0", or a figure with --width. Ask before you label: the interval then holds
    however often you look. Without QUESTION, shows the answer so far.
    """
    from reviewdesk.views.json.figures import asked

    if question and closing:
        raise UsageError("--close: a question is given too", "Leave out one of them.")
    if question:
        questions.ask(desk, run, parse_question(question, width, planned, level))
    elif closing:
        questions.close(desk, run)
    found = questions.answer(desk, run)
    if found is None:
        hint = 'Ask: reviewdesk ask "accuracy >= 0.9"'
        raise UsageError(f"{run.name}: no question was asked yet", hint)
    put_result(asked(found), question_document(found))


@click.command(epilog="Example: reviewdesk compare support-bot support-bot-second-panel")
@click.argument("run", shell_complete=complete_runs)
@click.argument("other", required=False, metavar="[RUN]", shell_complete=complete_runs)
@options("json")
def compare(*, run: str, other: str | None) -> None:
    """Show which of two panels is right more often.

    Uses the labels of the items that both judged. With one RUN, compares it with the run opened
    last. `queue --run RUN --filter flip:OTHER` lists the decisions that differ.
    """
    from reviewdesk.desk.figures.jurors import panel_comparison
    from reviewdesk.views.comparison import two_panels
    from reviewdesk.views.json import figures

    with open_desk() as desk:
        first = chosen_run(desk, run if other is not None else None)
        found = panel_comparison(desk, first, desk.run(other or run))
    put_result(figures.two_panels(found), two_panels(found))


_EPILOG = """\b
Examples:
  reviewdesk whatif
  reviewdesk whatif --strategy median --strategy mean --threshold 0.6
  reviewdesk whatif --trim 0.1 --trim 0.3 --rounding nearest
  reviewdesk whatif --drop judge-a --json
  reviewdesk whatif support/017"""


@click.command(epilog=_EPILOG)
@click.argument("verdict", required=False, shell_complete=complete_verdicts)
@choice(
    "--strategy",
    STRATEGIES,
    f"Rule to try: {', '.join(STRATEGIES)}.",
    metavar="NAME",
    multiple=True,
)
@option("--trim", "F", "Trim at each end, 0 to 0.49.", multiple=True)
@choice(
    "--rounding", ("down", "nearest", "up"), "How to round a trim to whole jurors.", multiple=True
)
@option("--quorum", "Q", "Quorum, e.g. 0.67 or 2/3.", multiple=True)
@option("--supermajority", "S", "Supermajority, e.g. 2/3.", multiple=True)
@option("--threshold", "T", "Pass threshold.", multiple=True)
@option("--drop", "JUROR", "Juror to leave out.", multiple=True)
@options("run", "json")
def whatif(*, verdict: str | None, run_name: str | None, **given: tuple[str, ...]) -> None:
    """Show what other rules would have decided.

    They are applied to the stored ballots. Without options: every rule, trims, quorums, thresholds,
    and each juror left out. Options may be repeated and are combined, under the run's own rule if
    no --strategy is given.

    For one VERDICT, also shows the outlier rules (sigma, tukey, winsorised), and how far bought
    jurors could move each rule. A changed threshold also changes how jurors' scores vote.
    """
    from reviewdesk.desk.figures.whatif import variants_of, what_if, what_if_item
    from reviewdesk.domain.whatif import attacks
    from reviewdesk.views import whatif as views
    from reviewdesk.views.json import figures

    variants = variants_of(**given)
    every = variants is None
    with open_desk() as desk:
        if verdict is None:
            table = what_if(desk, chosen_run(desk, run_name), variants)
            shape = figures.what_if(table, every=every)
            put_result(shape, views.what_if(table))
            return
        item = desk.item(named_verdict(desk, verdict, run_name)[1])
    rows = what_if_item(item, variants)
    bought = [(row.variant, attacks(item.verdict, row.variant)) for row in rows if every]
    shape = figures.what_if_item(item, rows, every=every)
    put_result(shape, views.policies(item, rows, bought))


@click.command(epilog="Example: reviewdesk gate judge/suite.yml --report report.jsonl")
@file_argument("suite", metavar="SUITE.yml")
@option("--report", "FILE", "Report whose panel to check; - is stdin.")
@option("--against", "FILE", "Report of the previous panel, to compare with.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Loss of accuracy that is allowed, such as 0.02.",
)
@option("--baseline", "FILE", "Report of the first panel, if not the one that was labelled.")
@option("--junit", "FILE", "Also write JUnit XML to FILE.")
@option("--markdown", "FILE", "Also write the result as Markdown to FILE.")
@flag("--require-representative strict", "Exit 3 if labels are too few, or not of a whole run.")
@reading_options
@options("json")
def gate(
    *, suite: str, report: str | None, against: str | None, margin: float | None,
    baseline: str | None, junit: str | None, markdown: str | None, strict: bool, **given: Any,
) -> None:  # fmt: skip
    """Check juries and judges against SUITE.yml.

    A suite names reports, loaded runs and labels files. Exits 0 if every gate passed, 1 if one
    failed, 2 if something could not be read, and 3 if the labels do not prove it.

    With --report, checks the panel of a new report by the labels of the suite: they join by
    content, and by id only if neither side has an answer. Exits 2 if no label joins, and 3 if fewer
    than nine tenths join, or have a decision.

    With --against, also compares that panel with the one before and with the first, item by item.
    Exits 1 if it is worse than one of them by more than --margin, and 3 if the labels cannot tell.
    The first panel is the one that was labelled, as exported with the labels, so that many small
    steps down are refused too.

    With --require-representative, exits 3 also if the labels do not represent a whole run, or if
    the interval of an expected figure reaches past its limit. Labels represent a run if they
    are weighted by group, or if every decided verdict has one. Those of a file represent it only if
    it is a full export that also has rows without a flag.
    """
    from reviewdesk.desk.gates.suite import run_suite, write_junit, write_markdown
    from reviewdesk.views.json import figures

    options = load_options(given)
    new, parent, first = (
        None if name is None else files.source(name, given["max_size"])
        for name in (report, against, baseline)
    )
    with ExitStack() as stack:
        found = run_suite(
            suite,
            lambda: stack.enter_context(open_desk()),
            keep=None if wants_json() else 100,
            report=new,
            options=options,
            against=parent,
            baseline=first,
            margin=margin,
        )
    if wants_json():
        put_json(figures.suite(found))
    else:
        for line in text(found, strict=strict):
            put(line)
    for line in (*found.errors, *doubt_lines(found, strict=strict)):
        say(line)
    if junit is not None:
        write_junit(found, Path(junit))
    if markdown is not None:
        write_markdown(found, Path(markdown), representative=strict)
    leave(found.exit_code(strict=strict))
