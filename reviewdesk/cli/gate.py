"""Run a suite of gates, for people and for build servers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import json_option, open_desk, put, put_json, say, shared_options
from reviewdesk.cli.invocation import current_settings
from reviewdesk.cli.review import load_options, reading_options, size_limit
from reviewdesk.errors import NotFoundError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk

_MOST_KEPT = 100
"""The most findings of each status that are kept for the XML; JSON keeps all."""


@click.command(epilog="Example: reviewdesk gate judge/suite.yml --report report.jsonl")
@click.argument("suite", metavar="SUITE.yml", shell_complete=completion.files)
@click.option(
    "--report",
    metavar="FILE",
    shell_complete=completion.files,
    help="Check the panel of this report, by the labels of the suite; - reads standard input.",
)
@click.option(
    "--junit",
    metavar="FILE",
    shell_complete=completion.files,
    help="Write JUnit XML to FILE as well.",
)
@click.option(
    "--markdown",
    metavar="FILE",
    shell_complete=completion.files,
    help="Write the result as Markdown to FILE as well, as the summary of a job.",
)
@click.option(
    "--require-representative",
    "strict",
    is_flag=True,
    help="Exit 3 if the labels of a calibration entry are no sample of a whole run, or too few.",
)
@json_option
@reading_options
@shared_options
def gate(
    *,
    suite: str,
    report: str | None,
    junit: str | None,
    markdown: str | None,
    strict: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Hold juries and judges to what SUITE.yml expects.

    A suite names reports, loaded runs and labels files. Exits 0 where nothing failed, 1 where a
    gate failed, 2 where something could not be read, 3 where it is not shown.

    With --report, the panel of a new report is checked. The labels of each calibration entry join
    its verdicts by content; by id only where neither side has an answer. It exits 2 if no label
    joins, and 3 if fewer than nine tenths do or the panel decides fewer than nine tenths of these.
    Jury entries check the report in place of what they name.

    With --require-representative it exits 3 where all passed but the labels behind a calibration do
    not stand for a whole run, or are too few: the interval of an expected accuracy, brier, gap,
    sensitivity, specificity, kappa or honest_rate must keep to its minimum or maximum too. The
    labels of a run stand for it in the designs weighted and census. A file does only if it says so:
    every row that counts has a weight, a pi, a stratum and the selection draw, as a full export
    writes them, and some are of the rest that nothing flagged. A file of confidence and correct
    alone never does, and neither does a reliability block of another set.
    """
    from reviewdesk.desk import files
    from reviewdesk.desk.gates.result_files import write_junit, write_markdown
    from reviewdesk.desk.gates.suite import run_suite
    from reviewdesk.views.gates import doubt_lines, text
    from reviewdesk.views.json import gates

    options = load_options(given)
    limit = size_limit(given)
    with ExitStack() as stack:
        found = run_suite(
            suite,
            lambda: _desk(stack),
            keep=None if as_json else _MOST_KEPT,
            report=None if report is None else files.source(report, limit),
            options=options,
        )
    if as_json:
        put_json(gates.suite(found))
    else:
        for line in text(found):
            put(line)
    for error in found.errors:
        say(error)
    for line in doubt_lines(found, strict=strict):
        say(line)
    if junit is not None:
        write_junit(found, Path(junit))
    if markdown is not None:
        write_markdown(found, Path(markdown), representative=strict)
    click.get_current_context().exit(found.exit_code(strict=strict))


def _desk(stack: ExitStack) -> Desk:
    """Open the desk that holds the runs; raise NotFoundError rather than create one."""
    from reviewdesk.desk.core import default_path

    named = current_settings().desk
    path = Path(named) if named else default_path()
    if not path.exists():
        raise NotFoundError(f"there is no desk at {path}", "Name it with --desk, or use report:.")
    return stack.enter_context(open_desk())
