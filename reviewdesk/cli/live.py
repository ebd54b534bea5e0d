"""Ask jurors, after consent and within a ceiling: panels, cases to judge, verdicts once more.

`improve try` shares the options of calls, and the consent to them.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from msgspec.structs import replace

from reviewdesk.cli.common import (
    ProgressLine,
    complete_verdicts,
    current_settings,
    desk_path,
    dump,
    file_argument,
    flag,
    leave,
    open_desk,
    option,
    options,
    put,
    put_json,
    put_result,
    say,
    say_section,
    together,
    wants_json,
)
from reviewdesk.cli.plain import document_text, section_text
from reviewdesk.cli.review import ready
from reviewdesk.cli.terminal import agreed, can_ask
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.items import of_item, unfinished
from reviewdesk.desk.review.runs import named_verdict
from reviewdesk.domain.panel.asking import Allowance, BatchSummary, ConsentPlan, Listener
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope, RerunSummary
from reviewdesk.domain.verdict import CanonicalBallot, Generator
from reviewdesk.errors import Cancelled, ExitCode, UsageError
from reviewdesk.views import panel as views
from reviewdesk.views.document import Facts, Section, plain
from reviewdesk.views.words import money

if TYPE_CHECKING:
    from reviewdesk.desk.live.judge import Order
    from reviewdesk.desk.live.rerun import ReadyRerun, RerunOrder


def _allowance(_ctx: click.Context, _param: click.Parameter, text: str) -> Allowance:
    """Parse a count of ballots, or a share of them if the text has a percent sign or a point."""
    is_percent = text.endswith("%")
    is_share = is_percent or "." in text
    try:
        value = float(text.removesuffix("%")) / (100 if is_percent else 1)
    except ValueError:
        value = math.nan
    if not (0 <= value <= 1 if is_share else text.isdecimal() and text.isascii()):
        hint = "Write a whole number such as 3, or a share such as 5% or 0.05."
        raise click.BadParameter(f"{text!r} is neither a count nor a share of ballots. {hint}")
    return Allowance(value, is_share)


_CALLS = click.IntRange(1, 1000)
_SECONDS = click.FloatRange(0, 86_400, min_open=True)
limit_options = together(
    option("--max-cost", "USD", "Stop before spending more.", type=click.FloatRange(0)),
    option("--concurrency", "N", "Simultaneous calls; 16 by default.", type=_CALLS, default=16),
    option("--per-host", "N", "Simultaneous calls to one host.", type=_CALLS),
    option(
        "--deadline", "SECONDS", "Seconds to keep trying for each ballot; 600 by default.",
        type=_SECONDS,
    ),
    option(
        "--max-wait", "SECONDS",
        "Longest pause of a model before its jurors are skipped; 600 by default.", type=_SECONDS,
    ),
    option(
        "--max-failed", "N", "Ballots that may fail: a count, or a share such as 5%; 0 by default.",
        default="0", callback=_allowance,
    ),
)  # fmt: skip
"""What a run may spend, open, wait for and lose: the fields of an order."""


def ask_consent(section: Section, *, yes: bool, note: str = "") -> bool:
    """Show what would be sent; return whether it may be, as agreed in advance or now."""
    say_section(section)
    if note:
        say(note)
    return yes or agreed("send?")


def require_consent(section: Section, *, yes: bool) -> None:
    """Show what would be sent; unless that is agreed to, end the command."""
    if not ask_consent(section, yes=yes):
        say("nothing was sent")
        leave(ExitCode.INTERRUPTED)


def check_terminal() -> None:
    """Raise UsageError, before anything is read, if there is no terminal to ask on."""
    if not can_ask():
        raise UsageError(
            "nothing is sent without consent, and there is no terminal to ask on", "Give --yes."
        )


@click.group()
def panel() -> None:
    """Create and check panels of LLM jurors."""


@panel.command(epilog="Example: reviewdesk panel check panel.yaml")
@file_argument("path", metavar="PANEL")
@option("--generator", "MODEL", "Model whose responses are judged.")
@options("json")
def check(*, path: str, generator: str | None) -> None:
    """Check a panel file.

    Shows jurors, families, weights, what the panel tolerates, cost and keys. Sends nothing.
    """
    from reviewdesk.desk.live.panel_new import check_panel
    from reviewdesk.views.json import figures as shapes

    current_settings()  # they may name the keys
    found = check_panel(path, generator=Generator(generator) if generator else None)
    put_result(shapes.check(found), views.panel(found))


_NEW = """\b
Examples:
  reviewdesk panel new panel.yaml
  reviewdesk panel new panel.yaml --from report.jsonl --probe
  reviewdesk panel new p.yaml --juror claude-haiku-5-5 --juror ollama/qwen3:8b"""


@panel.command(epilog=_NEW)
@file_argument("path", metavar="FILE")
@option("--from report", "FILE", "Report whose jurors and rule to take.")
@option("--juror jurors", "VENDOR/MODEL", "Model to add; repeatable.", multiple=True)
@option("--rubric", "TEXT", "Rubric for cases without one.")
@flag("--probe", "Try each juror with one call.")
@flag("--yes", "Send without asking.")
@flag("--force", "Replace FILE.")
@options("json")
def new(
    *, path: str, report: str | None, jurors: tuple[str, ...], rubric: str | None, probe: bool,
    yes: bool, force: bool,
) -> None:  # fmt: skip
    """Write a panel file.

    Without --from and --juror, takes a current model of each vendor whose key is set. Shows what a
    case costs. Only --probe sends anything; it exits 1 if a juror gives no answer.
    """
    from reviewdesk.desk.live import panel_new
    from reviewdesk.views.json import figures as shapes

    if report and jurors:
        raise UsageError("--from and --juror choose different jurors", "Give one of them.")
    if probe and not yes:
        check_terminal()
    current_settings()  # they may name the keys
    notes: tuple[str, ...] = ()
    if report:
        made, notes = panel_new.from_report(report)
    else:
        made = panel_new.from_models(jurors) if jurors else panel_new.from_environment()
    made = dataclasses.replace(made, rubric=rubric)
    panel_new.write_panel(made, notes, Path(path), force=force)
    found = panel_new.check_panel(path)
    if wants_json():
        put_json({**shapes.check(found), "notes": list(notes)})
    else:
        put(document_text(views.panel(found)))
        for note in notes:
            put(f"note      {note}")
        put(f"written   {path}")
    if not probe:
        return
    import asyncio

    require_consent(views.consent(panel_new.probe_plan(found.spec)), yes=yes)
    ballots = asyncio.run(panel_new.probe(found.spec))
    for ballot in ballots:
        cost = ballot.get("cost_usd")
        seconds = (ballot.get("latency_ms") or 0) / 1000
        price = "" if cost is None else f" · ${cost:.2g}"
        say(f"{plain_ballot(ballot)} · {seconds:.1f} s{price}")
    if not all(ballot.get("status") in {"ok", "abstained"} for ballot in ballots):
        leave(ExitCode.FAILED)


_JUDGE = """\b
Examples:
  reviewdesk judge cases.jsonl --panel panel.yaml --dry-run
  reviewdesk judge cases.jsonl --panel panel.yaml -o out.jsonl
  reviewdesk judge cases.jsonl --panel panel.yaml -o out.jsonl --max-cost 5
  reviewdesk judge cases.jsonl --panel panel.yaml -o out.jsonl --yes --resume"""


@click.command(epilog=_JUDGE)
@file_argument("cases")
@option("--panel", "FILE", "Panel file, YAML or TOML.", required=True)
@option("-o --output report", "REPORT", "Report to write; .jsonl means JSON Lines.")
@flag("--resume", "Continue a run that was stopped.")
@limit_options
@flag("--stop-when-decided", "Ask jurors only while they can change the decision.")
@flag("--batch in_batches", "Use the vendors' batch interfaces, at half the price.")
@option("--cache", "DIR", "Keep and reuse replies in DIR.")
@flag("--yes", "Send without asking.")
@flag("--dry-run", "Print what would be sent; send nothing.")
@options("force", "json")
def judge(*, cases: str, report: str | None, dry_run: bool, **given: Any) -> None:
    """Ask a panel about every case of CASES; write a report.

    CASES is JSON Lines or a JSON list: {"id", "output", "input", "rubric",
    "reference", "tags", "checks", ...}, or - for stdin. Checks (exact, contains, regex, schema)
    come first: no juror is asked about a case that fails one. Nothing is sent before you agree.

    Every reply is on disk, in REPORT.replies.db or the desk that --desk names, before it is used.
    --resume continues a run that was stopped. Exits 1 if more ballots fail than
    --max-failed allows.

    With --stop-when-decided, asks the next juror only while an answer could change the decision, so
    the decision is that of the full panel. Prints how many calls that saved.

    With --batch, OpenAI, Anthropic, Gemini and Mistral are asked by their batch interfaces, and the
    command ends; --resume fetches the answers, asks other jurors live, and writes the report.

    --max-cost needs a price for each juror, and counts every open call at its worst case.
    """
    from reviewdesk.desk.live.judge import Order, preview

    settings = current_settings()  # they may name the keys
    stdin = sys.stdin.buffer if cases == "-" else None
    named = desk_path() if settings.source("desk") == "--desk" else None
    order = Order(cases=cases, report=report or "", desk=named, **given)
    if dry_run:
        plan, sent = preview(order, stdin=stdin)
        say_section(Section("", (Facts(tuple(views.hosts(plan.hosts, plan.missing_keys))),)))
        for one in sent:
            click.echo(dump(one))
        return
    if report in {None, "", "-"}:
        raise UsageError("-o is missing: judge writes a report to a file", "Give -o report.jsonl.")
    _judge(order, stdin)


def _judge(order: Order, stdin: BinaryIO | None) -> None:
    from reviewdesk.desk.live.judge import CallsPendingError, judge_cases
    from reviewdesk.views.json import figures as shapes

    def agreed(plan: ConsentPlan) -> bool:
        return ask_consent(views.consent(plan), yes=order.yes, note="see it all with --dry-run")

    if not order.yes:
        check_terminal()
    try:
        with ProgressLine("cases") as line:
            found = judge_cases(order, Listener(agreed, line.live, line.note), stdin=stdin)
    except CallsPendingError as told:
        if wants_json():
            put_json(shapes.pending(told.pending))
        say(told.message)
        leave(ExitCode.FAILED if told.pending.unsent else ExitCode.OK)
    if wants_json():
        put_json(shapes.batch(found))
    else:
        _put_plain(found)
    if found.problem:
        say(found.problem)
        leave(ExitCode.FAILED)


def _put_plain(found: BatchSummary) -> None:
    from reviewdesk.views.json import figures as shapes

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
    said = {"inconclusive": "no decision", "no_decision": "nobody voted"}
    for name, value in figures.items():
        if value:
            put(f"  {said.get(name, name.replace('_', ' '))}: {value}")
    for text in section_text(Section("", views.turnout(found.turnouts))).splitlines():
        put(f"  {text}")


_RERUN = """\b
Examples:
  reviewdesk rerun support/017 --panel panel.yaml
  reviewdesk rerun support/017 --missing --yes
  reviewdesk rerun --filter 'esc label:none' --panel panel.yaml --max-cost 2
  reviewdesk rerun --resume"""


@click.command(epilog=_RERUN)
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
    missing: bool, resume: bool, give_up: bool, dry_run: bool, run_name: str | None,
    **given: Any,
) -> None:  # fmt: skip
    """Ask jurors again, about verdicts or a filter.

    The new verdicts are shown beside the old ones. Labels stay as they are. Nothing is sent without
    --yes or your `y`. Every reply is in the desk before it is used: a re-run that was killed or
    stopped continues with --resume, and pays for no answer twice. --max-cost needs a price for each
    juror, and counts all that the re-run has spent. Exits 1 if more ballots fail than
    --max-failed allows.
    """
    from reviewdesk.desk.live import rerun as reruns

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
    if not (given["yes"] or dry_run or give_up):
        check_terminal()
    order = reruns.RerunOrder(wish=wish, source=panel or "", **given)
    with open_desk() as desk:
        if give_up:
            _give_up(desk)
            return
        found = (
            [reruns.survey(desk, order, resumes=record) for record in unfinished(desk)]
            if resume
            else [reruns.survey(desk, _chosen(desk, order, verdicts, filter_, run_name))]
        )
        if not found:
            hint = "Begin one with --filter, or name verdicts."
            raise UsageError("no re-run was interrupted", hint)
        for one in found:
            if not dry_run:
                _carry_out(desk, one)
                continue
            for body in one.payloads(one.prepared(desk, key) for key in one.keys):
                click.echo(dump(body))


def _chosen(
    desk: Desk, order: RerunOrder, names: tuple[str, ...], filter_: str | None, run_name: str | None
) -> RerunOrder:
    if filter_ is None:
        keys = [named_verdict(desk, name, run_name)[1] for name in dict.fromkeys(names)]
        return replace(order, keys=keys)
    run = desk.run(run_name)
    text = ready(desk, run, filter_)
    keys = list(desk.queue(run, text, "file"))
    if not keys:
        raise UsageError(f"{run.name}: no verdict passes the filter", "Try it with queue --filter.")
    return replace(order, keys=keys, shown=text)


def _give_up(desk: Desk) -> None:
    from reviewdesk.desk.live.rerun import give_up
    from reviewdesk.views.verdict import unfinished_text

    for one in unfinished(desk):
        give_up(desk, one)
        say(f"given up: {unfinished_text(one.extent)}")


def _carry_out(desk: Desk, ready: ReadyRerun) -> None:
    """Ask the jurors and print each result; of several verdicts, only those that turned over."""
    import asyncio

    from reviewdesk.desk.live.rerun import carry_out
    from reviewdesk.views import verdict
    from reviewdesk.views.json import review as shapes

    asked = verdict.asked(ready.asked)
    section = views.consent(ready.plan, asked, ready.contracts, ready.order.max_cost)
    require_consent(section, yes=ready.order.yes)
    many = len(ready.keys) > 1
    found = RerunSummary()
    try:
        with ProgressLine("verdicts") as line:
            listener = Listener(noted=line.note, told=line.live)
            if not many:
                came = lambda ballot: say(plain_ballot(ballot))  # noqa: E731
                listener = Listener(noted=line.note, came=came)
            asyncio.run(carry_out(desk, ready, found, listener))
    except KeyboardInterrupt:
        hint = "Continue with rerun --resume." if many else ""
        raise Cancelled(f"stopped: {found.text()}", hint) from None
    records = (
        (item, next(one for one in of_item(desk, item) if one.plan == done.plan))
        for key in ready.keys
        if (done := found.done.get(key))
        for item in [desk.item(key)]
    )
    if wants_json():
        put_json([shapes.rerun(item, made) for item, made in records])
    elif ready.order.shown is None:
        for item, made in records:
            put(section_text(verdict.result(item, made)))
    else:
        put(found.text())
        for item, made in records:
            if turned := verdict.turned(item, made):
                put(turned)
    say_section(Section("", views.turnout(found.turnouts)))
    if ready.order.max_failed.is_passed(found.turnouts.failed, found.turnouts.ballots):
        leave(ExitCode.FAILED)


def plain_ballot(ballot: CanonicalBallot) -> str:
    from reviewdesk.views.verdict import answer_text

    return f"{ballot['id']}: {plain(answer_text(ballot))}"
