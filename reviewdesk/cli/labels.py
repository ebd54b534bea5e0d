"""Label from the shell as the app's keys do; export, import, list, compare and settle labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from reviewdesk.cli.common import (
    Items,
    choice,
    chosen_run,
    complete_verdicts,
    file_argument,
    flag,
    leave,
    of_run,
    open_desk,
    options,
    output_options,
    put,
    put_json_list,
    put_result,
    put_shape,
    report_event,
    say,
    verdict_argument,
    wants_json,
)
from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels import transfer
from reviewdesk.desk.review.runs import GIVEN, label_named, named_verdict
from reviewdesk.desk.team.agreement import adjudication, disagreements, team_page
from reviewdesk.domain.labels.sampling import SOURCES
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ExitCode, UsageError
from reviewdesk.views.team import team
from reviewdesk.views.words import DESIGNS, plural

if TYPE_CHECKING:
    from reviewdesk.desk.labels.rows import ExportedRows

_FORMATS = ("mcptest", "full", "yaml", "csv", "suite")
_TOOLS = ("langfuse", "langsmith", "phoenix", "promptfoo", "argilla", "mlflow")
_SHOWN = 5


class _Label(click.Group):
    """Records a label, unless the first word is one of its commands."""

    allow_extra_args = False
    allow_interspersed_args = True

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        """Parse the line as that of a command, or as a verdict and its label."""
        if args and args[0] in self.commands:
            group = click.Group(self.name, self.commands)
            return group.make_context(info_name, args, parent, **more)
        return super().make_context(info_name, args, parent, **more)


def _first_word(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    commands = [CompletionItem(name) for name in label.commands if name.startswith(incomplete)]
    return commands + complete_verdicts(ctx, param, incomplete)


@click.group(
    cls=_Label,
    invoke_without_command=True,
    no_args_is_help=True,
    subcommand_metavar="",
    epilog="Example: reviewdesk label refund-after-30-days fail --note 'day 31'",
)
@click.argument("verdict", shell_complete=_first_word)
@click.argument("truth", type=click.Choice(GIVEN))
@click.option("--note", help="Note to keep with the label.")
@click.option("--tag", "tags", multiple=True, help="Tag to add to the item; repeatable.")
@flag("--force", "Label an item without a response.")
@options("run", "json")
def label(
    *, verdict: str, truth: str, note: str | None, tags: tuple[str, ...], force: bool,
    run_name: str | None,
) -> None:  # fmt: skip
    """Label VERDICT with what its response deserved.

    `label undo`, `label redo` and `label defer VERDICT` are commands. Write RUN:undo for a verdict
    that is called undo.
    """
    with open_desk() as desk:
        made = label_named(desk, verdict, truth, run_name, note=note, tags=tags, force=force)
        report_event(desk, made)


@label.command(epilog="Example: reviewdesk label defer refund-after-30-days")
@verdict_argument
@flag("--close", "Close an item that you deferred twice.")
@options("run", "json")
def defer(*, verdict: str, close: bool, run_name: str | None) -> None:
    """Move VERDICT to the end of your queue.

    With --close, no label waits for it. In intervals, gates count it as wrong at the lower end, and
    as right at the upper end.
    """
    with open_desk() as desk:
        _, key = named_verdict(desk, verdict, run_name)
        report_event(desk, desk.close_item(key) if close else desk.defer(key))


@label.command(epilog="Example: reviewdesk label undo")
@options("json")
def undo() -> None:
    """Take back your newest label, note, tags, mark or deferral."""
    with open_desk() as desk:
        report_event(desk, desk.undo(), nothing="nothing to undo")


@label.command(epilog="Example: reviewdesk label redo")
@options("json")
def redo() -> None:
    """Bring back what undo took; a new label clears it."""
    with open_desk() as desk:
        report_event(desk, desk.redo(), nothing="nothing to redo")


@click.group()
def labels() -> None:
    """Export, import and list labels."""


@labels.command("export", epilog="Example: reviewdesk labels export --format full -o labels.jsonl")
@choice(
    "--format kind",
    _FORMATS,
    "mcptest, yaml: two keys per row; full, csv: everything; suite: a folder with suite.yml.",
    default="mcptest",
    show_default=True,
)
@choice("--for tool", _TOOLS, "Write labels for this tool's API.")
@choice("--confidence", SOURCES, "Figure to write as confidence.")
@output_options("File to write; with suite, a folder.", folders=True)
@of_run
@options()
def export(
    desk: Desk, run: Run, *, kind: str, tool: str | None, confidence: str | None,
    output: Path | None, force: bool,
) -> None:  # fmt: skip
    """Export a run's labels for a gate, a desk or a tool."""
    chosen = click.get_current_context().get_parameter_source("kind")
    if tool is not None and chosen is ParameterSource.COMMANDLINE:
        raise UsageError("--for and --format exclude each other", "Leave one of them out.")
    found: ExportedRows
    if kind == "suite" and tool is None:
        if output is None:
            raise UsageError("--format suite: writes two files into a folder", "Name it with -o.")
        found = suite = files.write_suite(desk, run, output, confidence, force=force)
        end = f"; check them with: reviewdesk gate {output / 'suite.yml'}"
        rows = suite.n
    else:
        text, found = files.export(desk, run, tool or kind, confidence)
        end = ""
        rows = len(found.rows)
        if output is None:
            click.echo(text, nl=False)
        else:
            files.write(desk, output, [text], force=force)
    for warning in found.warnings:
        say(f"warning: {warning}")
    say(f"{plural(rows, 'row')}, confidence: {found.source}{end}")


@labels.command("import", epilog="Example: reviewdesk labels import labels.jsonl --run support-bot")
@file_argument("file")
@flag("--dry-run", "Show what would be recorded; record nothing.")
@options("run", "json")
def import_(*, file: str, dry_run: bool, run_name: str | None) -> None:
    """Record the labels of FILE: rows with an id and a truth.

    FILE is CSV, TSV, JSON Lines, JSON or YAML. The columns label and item_hash are read in place of
    truth and id. One undo takes back the whole import.
    """
    rows = files.labels(file)
    with open_desk() as desk:
        run = chosen_run(desk, run_name)
        done = transfer.import_labels(desk, run, rows, dry=dry_run)
    if wants_json():
        keys = "rows labelled new unknown conflicts design unusable_tags unknown_lines=places"
        put_shape(done, f"{keys} differing")
    else:
        would = "nothing recorded; it would be: " if dry_run else ""
        put(
            f"{would}{done.rows} rows, {done.labelled} labelled, {done.new} of them new, "
            f"{done.unknown} unknown, {done.conflicts} conflicts; {DESIGNS[done.design]}"
        )
    # Without --dry-run, the first unknown lines and conflicts are enough.
    most = None if dry_run else _SHOWN
    if done.places:
        lines = ", ".join(map(str, done.places[:most]))
        more = " and others" if len(done.places) > len(done.places[:most]) else ""
        say(f"{file}: no verdict of {run.name} matches line {lines}{more}")
    if done.unusable_tags:
        say(f"{done.unusable_tags} tags left out: too long, or with a forbidden character")
    if done.conflicts:
        say(f"{done.conflicts} rows differ from a label of the desk; the desk's labels are kept")
    for one in done.differing[:most]:
        line = f"  line {one.line}: {one.id} by {one.reviewer} is {one.held} on the desk and"
        say(f"{line} {one.truth} in the file")
    if done.unknown == done.rows:
        leave(ExitCode.FAILED)


@labels.command("list", epilog="Example: reviewdesk labels list --run support-bot")
@of_run
@options("json")
def list_(desk: Desk, run: Run) -> None:
    """List every label of a run."""
    found = transfer.list_labels(desk, run)
    if wants_json():
        put_json_list(found)
        return
    put(f"{'label':8} {'panel':13} item  reviewer  at")
    for row in found:
        by = f"{'adjudicated by ' * row['adjudicated']}{row['reviewer']}"
        who = show_line(f"{row['id']}  {by}  {row['at']}")
        tags = f"  [{show_line(', '.join(row['tags']))}]" if row["tags"] else ""
        put(f"{row['label']:8} {row['decision'] or '-':13} {who}{tags}")


@labels.command(epilog="Example: reviewdesk labels agreement --run support-bot")
@of_run
@options("json")
def agreement(desk: Desk, run: Run) -> None:
    """Show how far reviewers agree, and where they differ."""
    from reviewdesk.views.json import review as shapes

    page = team_page(desk, run)
    found = disagreements(desk, run)
    put_result(shapes.team(run, page, found), team(page, found))


@labels.command(epilog="Example: reviewdesk labels adjudicate refund-after-30-days fail")
@verdict_argument
@click.argument("truth", type=click.Choice(GIVEN))
@click.option("--note", help="Reason to record with it.")
@options("run", "json")
def adjudicate(*, verdict: str, truth: str, note: str | None, run_name: str | None) -> None:
    """Settle what VERDICT deserved, if people differ.

    Their labels stay; the newest adjudication counts.
    """
    with open_desk() as desk:
        _, key = named_verdict(desk, verdict, run_name)
        report_event(desk, adjudication(desk, key, Truth(truth), note)(desk))
