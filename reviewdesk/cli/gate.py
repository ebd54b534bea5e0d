"""Run a suite of gates, for people and for build servers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import flag, json_option, open_desk, option, options, put, put_json, say
from reviewdesk.cli.review import load_options, reading_options, size_limit

_MOST_KEPT = 100
"""The most findings of each status that are kept for the XML; JSON keeps all."""


@click.command(epilog="Example: reviewdesk gate judge/suite.yml --report report.jsonl")
@click.argument("suite", metavar="SUITE.yml", shell_complete=completion.files)
@option("--report", "FILE", "Report whose panel to check; - is stdin.")
@option("--against", "FILE", "Report of the panel before, to compare with by --margin.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="How much less often it may be right, such as 0.02.",
)
@option("--baseline", "FILE", "Report of the first panel, if not the one that was labelled.")
@option("--junit", "FILE", "Also write JUnit XML to FILE.")
@option("--markdown", "FILE", "Also write the result as Markdown to FILE.")
@flag("--require-representative strict", "Exit 3 if labels are too few, or not of a whole run.")
@json_option
@reading_options
@options()
def gate(
    *,
    suite: str,
    report: str | None,
    against: str | None,
    margin: float | None,
    baseline: str | None,
    junit: str | None,
    markdown: str | None,
    strict: bool,
    as_json: bool,
    **given: Any,
) -> None:
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
    the interval of an expected figure reaches past its limit. The labels of a run represent it if
    they are weighted by group or if every verdict has one; a file only if it is a full export with
    rows that have no flag.
    """
    from reviewdesk.desk import files
    from reviewdesk.desk.gates.new_report import compared_with
    from reviewdesk.desk.gates.result_files import write_junit, write_markdown
    from reviewdesk.desk.gates.suite import run_suite
    from reviewdesk.views.gates import doubt_lines, text
    from reviewdesk.views.json import figures

    options = load_options(given)
    limit = size_limit(given)
    parent, first = (
        None if name is None else files.source(name, limit) for name in (against, baseline)
    )
    with ExitStack() as stack:
        found = run_suite(
            suite,
            lambda: stack.enter_context(open_desk()),
            keep=None if as_json else _MOST_KEPT,
            report=None if report is None else files.source(report, limit),
            options=options,
            against=compared_with(parent, first, margin),
        )
    if as_json:
        put_json(figures.suite(found))
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
