"""Ask the jurors of verdicts again: named ones, what a filter shows, or what was cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from reviewdesk.cli.common import (
    ProgressLine,
    complete_verdicts,
    dump,
    flag,
    leave,
    open_desk,
    option,
    options,
    put,
    put_json,
    say,
    say_section,
)
from reviewdesk.cli.live.options import check_terminal, limit_options, require_consent
from reviewdesk.cli.plain import section_text
from reviewdesk.cli.review import ready
from reviewdesk.desk.review.items import of_item, unfinished
from reviewdesk.desk.review.runs import named_verdict
from reviewdesk.errors import Cancelled, ExitCode, UsageError
from reviewdesk.views.document import Section

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.desk.live.rerun import ReadyRerun, RerunOrder
    from reviewdesk.domain.panel.rerun import RerunSummary
    from reviewdesk.domain.verdict import CanonicalBallot

_EPILOG = """\b
Examples:
  reviewdesk rerun support/017 --panel panel.yaml
  reviewdesk rerun support/017 --missing --yes
  reviewdesk rerun --filter 'esc label:none' --panel panel.yaml --max-cost 2
  reviewdesk rerun --resume"""


@click.command(epilog=_EPILOG)
@click.argument("verdicts", nargs=-1, metavar="[VERDICT]...", shell_complete=complete_verdicts)
@option("--filter filter_", "FILTER", "Ask about every verdict that matches.")
@option("--panel", "FILE", "Panel file to ask, or @jurors; the report's own if omitted.")
@option("--juror jurors", "NAME", "Ask only this juror.", multiple=True)
@flag("--missing", "Ask only jurors that gave no answer.")
@flag("--resume", "Finish interrupted re-runs.")
@flag("--give-up", "End interrupted re-runs; keep what arrived.")
@limit_options
@flag("--yes", "Send without asking.")
@flag("--dry-run", "Print what would be sent; send nothing.")
@options("run", "json")
def rerun(
    *, verdicts: tuple[str, ...], filter_: str | None, panel: str | None, jurors: tuple[str, ...],
    missing: bool, resume: bool, give_up: bool, yes: bool, dry_run: bool, run_name: str | None,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Ask jurors again, about verdicts or a filter.

    The new verdicts are shown beside the old ones. Labels stay as they are. Nothing is sent without
    --yes or your `y`. Every reply is in the desk before it is used: a re-run that was killed or
    stopped continues with --resume, and pays for no answer twice. --max-cost needs a price for each
    juror, and counts all that the re-run has spent. Exits 1 if more ballots fail than
    --max-failed allows.
    """
    from reviewdesk.desk.live.rerun import RerunOrder, survey
    from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope

    if jurors and missing:
        raise UsageError("--juror and --missing ask different jurors", "Give one of them.")
    if len(set(jurors)) > 1:
        raise UsageError(
            "--juror asks one juror, and more than one is named", "Ask them one after the other."
        )
    scope = RerunScope.MISSING if missing else RerunScope.JUROR if jurors else RerunScope.PANEL
    wish = RerunRequest(scope, *jurors[:1])
    if sum((bool(verdicts), filter_ is not None, resume, give_up)) != 1:
        raise UsageError(
            "rerun takes verdicts, --filter, --resume or --give-up",
            "Give one of them; --filter '' is the whole run.",
        )
    if not (yes or dry_run or give_up):
        check_terminal()
    order = RerunOrder(wish=wish, source=panel or "", yes=yes, **given)
    with open_desk() as desk:
        if give_up:
            _give_up(desk)
            return
        found = (
            [survey(desk, order, resumes=record) for record in unfinished(desk)]
            if resume
            else [_chosen(desk, order, verdicts, filter_, run_name)]
        )
        if not found:
            hint = "Begin one with --filter, or name verdicts."
            raise UsageError("no re-run was interrupted", hint)
        for one in found:
            if dry_run:
                _print_payloads(desk, one)
            else:
                _carry_out(desk, one, as_json=as_json)


def _chosen(
    desk: Desk, order: RerunOrder, names: tuple[str, ...], filter_: str | None, run_name: str | None
) -> ReadyRerun:
    from reviewdesk.desk.live.rerun import survey

    if filter_ is None:
        keys = [named_verdict(desk, name, run_name)[1] for name in dict.fromkeys(names)]
        return survey(desk, replace(order, keys=keys))
    run = desk.run(run_name)
    text = ready(desk, run, filter_)
    keys = list(desk.queue(run, text, "file"))
    if not keys:
        raise UsageError(f"{run.name}: no verdict passes the filter", "Try it with queue --filter.")
    return survey(desk, replace(order, keys=keys, shown=text))


def _give_up(desk: Desk) -> None:
    from reviewdesk.desk.live.rerun import give_up
    from reviewdesk.views.verdict import unfinished_text

    for one in unfinished(desk):
        give_up(desk, one)
        say(f"given up: {unfinished_text(one.extent)}")


def _print_payloads(desk: Desk, ready: ReadyRerun) -> None:
    for body in ready.payloads(ready.prepared(desk, key) for key in ready.keys):
        click.echo(dump(body))


def _carry_out(desk: Desk, ready: ReadyRerun, *, as_json: bool) -> None:
    import asyncio

    from reviewdesk.desk.live.rerun import RerunListener, carry_out
    from reviewdesk.views.panel import consent, turnout
    from reviewdesk.views.verdict import asked

    section = consent(ready.plan, asked(ready.asked), ready.contracts, ready.order.max_cost)
    require_consent(section, yes=ready.order.yes)
    many = len(ready.keys) > 1
    line = ProgressLine("verdicts")
    ends: list[RerunSummary] = []
    if many:
        listener = RerunListener(told=line.live, ended=ends.append, noted=line.note)
    else:
        came = lambda _key, ballot: say(plain_ballot(ballot))  # noqa: E731
        listener = RerunListener(came, ended=ends.append, noted=line.note)
    try:
        found = asyncio.run(carry_out(desk, ready, listener))
    except KeyboardInterrupt:
        kept = f": {ends[0].text}" if many and ends else ": the answers are kept"
        hint = "Continue with rerun --resume." if many else ""
        raise Cancelled(f"stopped{kept}", hint) from None
    finally:
        line.done()
    _report(desk, ready, found, as_json=as_json)
    say_section(Section("", turnout(found.turnouts)))
    if ready.order.max_failed.is_passed(found.turnouts.failed, found.turnouts.ballots):
        leave(ExitCode.FAILED)


def _report(desk: Desk, ready: ReadyRerun, found: RerunSummary, *, as_json: bool) -> None:
    """Print the result of each verdict; of those that a filter chose, the ones that turned over."""
    from reviewdesk.views import verdict as views
    from reviewdesk.views.json import review as shapes

    records = (
        (item, next(one for one in of_item(desk, item) if one.plan == done.plan))
        for key in ready.keys
        if (done := found.done.get(key))
        for item in [desk.item(key)]
    )
    if as_json:
        put_json([shapes.rerun(item, made) for item, made in records])
        return
    if ready.order.shown is None:
        for item, made in records:
            put(section_text(views.result(item, made)))
        return
    put(found.text)
    for item, made in records:
        if line := views.turned(item, made):
            put(line)


def plain_ballot(ballot: CanonicalBallot) -> str:
    """Return a ballot as one line of text, for printing as it arrives."""
    from reviewdesk.views.document import plain
    from reviewdesk.views.verdict import answer_text

    return f"{ballot['id']}: {plain(answer_text(ballot))}"
