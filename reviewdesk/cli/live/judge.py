"""Check a panel, and run it over a file of cases: after consent, resumable, within a ceiling."""

import sys
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from reviewdesk.cli.common import (
    ProgressLine,
    current_settings,
    desk_path,
    dump,
    file_argument,
    flag,
    leave,
    option,
    options,
    put,
    put_json,
    say,
    say_section,
)
from reviewdesk.cli.live.options import ask_consent, check_terminal, limit_options
from reviewdesk.cli.plain import section_text
from reviewdesk.errors import ExitCode, UsageError
from reviewdesk.views.document import Facts, Section
from reviewdesk.views.words import money

if TYPE_CHECKING:
    from reviewdesk.desk.live.batch import Order
    from reviewdesk.domain.panel.turnout import BatchSummary, ConsentPlan

_EPILOG = """\b
Examples:
  reviewdesk judge cases.jsonl --panel panel.yaml --dry-run
  reviewdesk judge cases.jsonl --panel panel.yaml -o out.jsonl
  reviewdesk judge cases.jsonl --panel panel.yaml -o out.jsonl --max-cost 5
  reviewdesk judge cases.jsonl --panel panel.yaml -o out.jsonl --yes --resume"""


@click.command(epilog=_EPILOG)
@file_argument("cases")
@option("--panel", "FILE", "Panel file, YAML or TOML.", required=True)
@option("-o --output report", "REPORT", "Report to write; .jsonl means JSON Lines.")
@flag("--resume", "Continue a run that was stopped.")
@limit_options
@flag("--stop-when-decided", "Ask jurors only while they can change the decision.")
@flag("--batch", "Use the vendors' batch interfaces, at half the price.")
@option("--cache", "DIR", "Keep and reuse replies in DIR.")
@flag("--yes", "Send without asking.")
@flag("--dry-run", "Print what would be sent; send nothing.")
@options("force", "json")
def judge(
    *, cases: str, panel: str, report: str | None, resume: bool, force: bool,
    stop_when_decided: bool, batch: bool, cache: str | None, yes: bool, dry_run: bool,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Ask a panel about every case of CASES; write a report.

    CASES is JSON Lines: {"id", "output", "input", "rubric",
    "reference", "tags", "checks", ...}, or - for stdin. Checks (exact, contains, regex, schema)
    come first: a case that fails one asks no juror. Nothing is sent before you agree.

    Every reply is on disk, in REPORT.replies.db or the desk that --desk names, before it is used.
    --resume continues a run that was stopped. Exits 1 if more ballots fail than
    --max-failed allows.

    With --stop-when-decided, asks the next juror only while an answer could change the decision, so
    the decision is that of the full panel. Prints how many calls that saved.

    With --batch, OpenAI, Anthropic, Gemini and Mistral are asked by their batch interfaces, and the
    command ends; --resume fetches the answers, asks other jurors live, and writes the report.

    --max-cost needs a price for each juror, and counts every open call at its worst case.
    """
    settings = current_settings()  # they may name the keys
    stdin = sys.stdin.buffer if cases == "-" else None
    from reviewdesk.desk.live.batch import Order

    order = Order(
        cases=cases, panel=panel, report=report or "", resume=resume, force=force, yes=yes,
        stop_when_decided=stop_when_decided, in_batches=batch, cache=cache,
        desk=desk_path() if settings.source("desk") == "--desk" else None, **given,
    )  # fmt: skip
    if dry_run:
        from reviewdesk.desk.live.batch import preview
        from reviewdesk.views.panel import hosts

        plan, sent = preview(order, stdin=stdin)
        say_section(Section("", (Facts(tuple(hosts(plan.hosts, plan.missing_keys))),)))
        for one in sent:
            click.echo(dump(one))
        return
    if report is None or report == "-":
        raise UsageError("-o is missing: judge writes a report to a file", "Give -o report.jsonl.")
    _judge(order, stdin, as_json=as_json)


def _judge(order: "Order", stdin: BinaryIO | None, *, as_json: bool) -> None:
    from reviewdesk.desk.live.batch import BatchListener, CallsPendingError, judge_cases
    from reviewdesk.views.json import figures as shapes
    from reviewdesk.views.panel import consent

    if not order.yes:
        check_terminal()
    line = ProgressLine("cases")

    def agreed(plan: "ConsentPlan") -> bool:
        return ask_consent(consent(plan), yes=order.yes, note="see it all with --dry-run")

    try:
        found = judge_cases(order, BatchListener(agreed, line.live, line.note), stdin=stdin)
        problem = found.problem
        failed = bool(problem)
    except CallsPendingError as told:
        found = None
        pending = told.pending
        problem = told.message
        failed = bool(pending.unsent)
    finally:
        line.done()
    if as_json:
        put_json(shapes.pending(pending) if found is None else shapes.batch(found))
    elif found is not None:
        _put_plain(found)
    if problem:
        say(problem)
    if failed:
        leave(ExitCode.FAILED)


def _put_plain(found: "BatchSummary") -> None:
    from reviewdesk.views.json import figures as shapes
    from reviewdesk.views.panel import turnout

    figures = shapes.figures(found)
    cost = figures.pop("cost_usd")
    figures.pop("calls_saved", None)
    put(figures.pop("report"))
    put(f"  cost: {'unknown' if cost is None else money(cost)}")
    if found.saved is not None:
        every = found.calls + found.reused + found.spared
        put(
            f"  calls saved: {found.spared} of {every} ({found.saved:.1%}); "
            "no answer of a juror that was not asked could have turned a decision"
        )
    for name, value in figures.items():
        put(f"  {name.replace('_', ' ')}: {value}")
    for text in section_text(Section("", turnout(found.turnouts))).splitlines():
        put(f"  {text}")
