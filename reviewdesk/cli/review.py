"""Open and load reports, print the queue and single verdicts, and write a run to a file."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec.structs import replace

from reviewdesk.cli import terminal
from reviewdesk.cli.common import (
    ProgressLine,
    choice,
    complete_runs,
    current_settings,
    file_argument,
    flag,
    help_all,
    leave,
    of_run,
    open_desk,
    option,
    options,
    output_options,
    put,
    put_json,
    put_json_list,
    put_result,
    remember,
    run_option,
    say,
    say_error,
    say_section,
    together,
    verdict_argument,
    wants_json,
)
from reviewdesk.cli.plain import document_text, one_line, section_text
from reviewdesk.desk import files
from reviewdesk.desk import options as option_values
from reviewdesk.desk.core import Desk
from reviewdesk.desk.options import STRATEGIES
from reviewdesk.desk.review import filters
from reviewdesk.desk.review.items import with_reruns
from reviewdesk.desk.review.queue import kept_back
from reviewdesk.desk.review.runs import Opening, named_verdict, overview
from reviewdesk.domain.query.filter import MIXED, parse_order
from reviewdesk.domain.records import Loaded, ProposedMap, QueueRow, Run, View
from reviewdesk.errors import ExitCode, ReviewDeskError, UnclearTableError, UsageError
from reviewdesk.settings import Share
from reviewdesk.system.terminal import is_dumb
from reviewdesk.views import queue as views
from reviewdesk.views.run import run_lines

if TYPE_CHECKING:
    from reviewdesk.desk.loading import LoadOptions

F = TypeVar("F", bound=Callable[..., Any])

reading_options = together(
    option("--format", "FORMAT", "Format of the file; detected if omitted."),
    flag("--skip-bad", "Skip verdicts that are invalid."),
    click.option(
        "--threshold", type=click.FloatRange(0, 1), help="Pass threshold, if the file states none."
    ),
    option("--quorum", "Q", "Quorum, if the file states none: 0.67 or 2/3."),
    choice(
        "--strategy", STRATEGIES, f"Rule, if the file states none: {', '.join(STRATEGIES)}.",
        metavar="NAME",
    ),
    option("--models", "JUROR=MODEL", "Map a juror's name to its model.", multiple=True),
    option("--pass-label pass_labels", "TEXT", "Text that means pass; repeatable.", multiple=True),
    option("--fail-label fail_labels", "TEXT", "Text that means fail; repeatable.", multiple=True),
    option("--scale", "LOW..HIGH", "Range of raw scores, e.g. 1..5."),
    option("--judge-columns", "A,B,C", "Columns with judges' scores."),
    option("--criteria-columns", "A,B,C", "Columns that ask different questions."),
    option("--item-column", "NAME", "The column of a table that names items."),
    option("--output-column", "NAME", "The column with the responses."),
    option("--reason-suffix", "TEXT", "Ending of the columns with judges' reasons."),
    option("--map", "NAME|FILE", "Read a table by this map; see `map -h`."),
    option("--texts", "FILE", "A table with the responses, by id."),
    option(
        "--max-size", "BYTES", "Largest file to read, e.g. 500M or 4G.",
        callback=lambda _ctx, _param, text: option_values.size_of(text),
    ),
)  # fmt: skip
loading_options = together(
    reading_options,
    click.option("--seed", help="Seed of the draw of a new run."),
    flag("--import-labels", "Import the file's human labels."),
)


def _order(default: str | None = None) -> Callable[[F], F]:
    text = "Order: draw, file, score, agreement, margin or id; -score descends."
    return option("--order", "ORDER", text, default=default, show_default=True)


class ShortHelp(click.Command):
    """A command whose ``--help`` lists its most used options, and ``--help-all`` all of them."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; without ``--help-all``, the most used."""
        every = "reviewdesk.all" in ctx.meta
        shown = [
            one
            for one in self.get_params(ctx)
            if every or one.name in _USED or "--help" in one.opts
        ]
        with formatter.section("Options"):
            formatter.write_dl([row for one in shown if (row := one.get_help_record(ctx))])


_USED = frozenset(
    {
        "filter", "order", "blind", "run_name", "map", "format", "threshold", "skip_bad",
        "import_labels", "as_json", "desk", "help_all",
    }
)  # fmt: skip
"""The options of loading that ``--help`` lists."""


def _one_stdin(files: tuple[str, ...]) -> None:
    if files.count("-") > 1:
        raise UsageError("-: standard input can be read only once", "Name it once.")


def load_options(given: dict[str, Any]) -> "LoadOptions":
    """Return the options of `loading_options`, or `reading_options`, as the desk takes them."""
    named = {name: value for name, value in given.items() if name != "max_size"}
    return option_values.load_options(named | {"audit_share": current_settings().audit_share})


def _load(desk: Desk, file: str, given: dict[str, Any]) -> Loaded:
    with ProgressLine(f"loading {file}") as bar:
        return desk.load(files.source(file, given["max_size"]), load_options(given), bar)


def _load_asking(desk: Desk, file: str, given: dict[str, Any]) -> Loaded:
    """Load a report; on a terminal ask about a table whose columns are not understood."""
    try:
        return _load(desk, file, given)
    except UnclearTableError as error:
        if file == "-" or not terminal.can_ask():
            raise

        def propose(made: dict[str, Any]) -> ProposedMap:
            return files.proposed_map(file, load_options(made), made["max_size"])

        answered = terminal.answers(file, given, error, propose)
        if answered is None:
            raise
        return _load(desk, file, answered)


def _remember_share(ctx: click.Context, param: click.Parameter, text: str | None) -> None:
    try:
        remember(ctx, param, None if text is None else Share(text))
    except ValueError:
        problem = f"--{param.name}: {text!r} is not a share from 0 to 1"
        raise UsageError(problem, "Write 5% or 0.05; 0 gives none.") from None


review_options = together(
    option("--filter", "FILTER", "Verdicts to show: 'esc label:none'; see `queue -h`."),
    _order(),
    click.option("--blind/--open", "blind", default=None, help="Hide or show the panel's answers."),
    option(
        "--repeat", "SHARE", "Share of items to label twice; blind only.",
        callback=_remember_share, expose_value=False,
    ),
    option(
        "--double", "SHARE", "Share of items that two people label, e.g. 20%.",
        callback=_remember_share, expose_value=False,
    ),
    option(
        "--opinions", "N", "How many people label these items.", type=click.IntRange(2, 9),
        callback=remember, expose_value=False,
    ),
    run_option,
)  # fmt: skip


@click.command("open", cls=ShortHelp, epilog="Example: reviewdesk open report.json --blind")
@file_argument("files", nargs=-1, metavar="[FILE]...")
@review_options
@loading_options
@options()
@help_all
def open_(*, files: tuple[str, ...], run_name: str | None, **given: Any) -> None:
    """Load reports and review the first one on the screen.

    Without FILE, continues the run opened last. If stdout is not a terminal, prints the queue.
    """
    _one_stdin(files)
    names = ("filter", "order", "blind")
    asked = {name: value for name in names if (value := given.pop(name)) is not None}
    on_screen = is_on_screen()
    with open_desk(on_screen=on_screen, new=bool(files)) as desk:
        loaded = [_load_asking(desk, file, given) for file in files]
        for made in loaded:
            hints = [note for note in made.run.notes if "--" in note]
            for note in (*hints, *made.notes):
                say(f"{made.run.name}: {note}")
            if made.run.human_labels and not on_screen and not given["import_labels"]:
                say(f"{made.run.name}: {views.file_labels(made.run.human_labels)}")
        run = desk.run(run_name) if run_name or not loaded else loaded[0].run
        review_run(desk, run, asked)


def is_on_screen() -> bool:
    """Return True if the app can run here; raise SettingsError, before any work, for wrong keys."""
    on_screen = bool(sys.stdout and sys.stdout.isatty()) and not is_dumb(os.environ)
    if on_screen:
        terminal.named_keys(current_settings())
    return on_screen


def review_run(desk: Desk, run: Run, asked: Mapping[str, Any]) -> None:
    """Review a run where its reviewer left it, changed as asked for; off a terminal, print it."""
    settings = current_settings()
    desk.opened(run)
    kept = desk.view(run)
    view = _view(desk, run, kept or View(blind=settings.blind), asked)
    if not is_on_screen():
        _print_queue(desk, run, view)
        return
    keys = terminal.named_keys(settings)
    notice = terminal.opening_line(kept, view, settings, keys, asked="blind" in asked)
    if settings.source("repeat") == "--repeat" and settings.repeat and not view.blind:
        notice = f"--repeat has no effect in an open session; {keys['blind']} reviews blind"
    terminal.run_app(Opening(desk, run, view, notice or ""), settings)


def _view(desk: Desk, run: Run, left: View, asked: Mapping[str, Any]) -> View:
    """Return the view to start with; what no longer works of the last session is dropped."""
    view = replace(left, **asked)
    try:
        text = ready(desk, run, view.filter)
        if text and "filter" not in asked and not is_on_screen():
            desk.queue(run, text)
    except UsageError as error:
        if "filter" in asked:
            raise
        say(f"the filter of your last session is dropped: {error}")
        text = ""
    try:
        parse_order(view.order)
    except UsageError as error:
        if "order" in asked:
            raise
        say(f"the order of your last session is dropped: {error}")
        view = replace(view, order="draw")
    return replace(view, filter=text)


@click.command(cls=ShortHelp, epilog="Example: reviewdesk ingest runs/*.json --json")
@file_argument("files", nargs=-1, required=True, metavar="FILE...")
@loading_options
@options("json")
@help_all
def ingest(*, files: tuple[str, ...], **given: Any) -> None:
    """Load reports without opening them.

    Reports that cannot be read are named; the others stay loaded.
    """
    from reviewdesk.views.json import review as shapes

    _one_stdin(files)
    lines = []
    bad = False
    with open_desk(new=True) as desk:
        for file in files:
            try:
                made = _load(desk, file, given)
            except ReviewDeskError as error:
                if error.exit_code is not ExitCode.BAD_INPUT:
                    raise
                bad = True
                say_error(error)
                continue
            lines.append(shapes.loaded(file, made))
            if not wants_json():
                put(section_text(views.loaded(file, made)))
    if wants_json():
        put_json(lines)
    if bad:
        leave(ExitCode.BAD_INPUT)


@click.command("map", epilog="Example: reviewdesk map ratings.csv -o ratings.toml")
@file_argument("file")
@output_options("Write the map to this file.")
@reading_options
@options()
def map_(*, file: str, output: Path | None, force: bool, **given: Any) -> None:
    """Propose a map that says how to read a table.

    A map names the columns of items, judges, criteria and texts. Three verdicts are shown as it
    reads them. Correct it in an editor, then open the file with it.
    """
    made = files.proposed_map(file, load_options(given), given["max_size"])
    if output is None:
        put(made.text)
    else:
        files.write(None, output, [made.text], force=force)
    say_section(views.proposed(made))
    lead = "open it" if made.verdicts else "correct it, then open it"
    say(f"{lead}: {made.command(None if output is None else str(output))}")


@click.command(epilog="Example: reviewdesk queue --filter 'esc label:none' --order score")
@option("--filter filter_", "FILTER", "Verdicts to list: 'esc label:none'.", default="")
@_order("draw")
@of_run
@options("json")
def queue(desk: Desk, run: Run, *, filter_: str, order: str) -> None:
    """List a run's verdicts in queue order.

    A filter is made of words such as esc, label:none, score<.6, test~deploy and @saved: a space is
    and, ! not, | or (binds tighter), ( ) group. esc|bias !(mark note) keeps what is escalated or
    carries a bias warning, without what has both your mark and a note. wrong keeps what is labelled
    against the panel, wrong:pass the passes that are labelled fail, wrong:fail the reverse;
    rerun:flipped keeps what its newest re-run decided the other way. Once labels are split, wrong,
    label:pass and label:fail leave the holdout out; label:holdout keeps it.
    """
    view = View(filter=ready(desk, run, filter_, order), order=order)
    if wants_json():
        from reviewdesk.views.json import review as shapes

        rows = _rows(desk, desk.queue(run, view.filter, order))
        put_json_list(shapes.queue_row(run, row) for row in rows)
    else:
        _print_queue(desk, run, view)
    if told := views.kept_back(kept_back(desk, run, view.filter)):
        say(told)


def ready(desk: Desk, run: Run, text: str, order: str = "draw") -> str:
    """Return a filter and check an order, as `reviewdesk.desk.review.filters.ready` does."""
    with ProgressLine(f"indexing {run.name}") as bar:
        return filters.ready(desk, run, text, order, bar)


def _print_queue(desk: Desk, run: Run, view: View) -> None:
    order = MIXED if view.blind and view.order == "draw" else view.order
    put(one_line(views.queue_head(blind=view.blind)))
    for row in _rows(desk, desk.queue(run, view.filter, order)):
        put(one_line(views.queue_row(row, blind=view.blind)))


def _rows(desk: Desk, keys: Sequence[int]) -> Iterator[QueueRow]:
    """Read the rows of the queue a few hundred at a time."""
    for start in range(0, len(keys), 500):
        yield from desk.rows(keys[start : start + 500])


@click.command(epilog="Example: reviewdesk show refund-after-30-days --json")
@verdict_argument
@options("run", "json")
def show(*, verdict: str, run_name: str | None) -> None:
    """Show everything about VERDICT, an id or RUN:ID."""
    from reviewdesk.views import verdict as document
    from reviewdesk.views.json import review as shapes

    with open_desk() as desk:
        _, key = named_verdict(desk, verdict, run_name)
        item, history = with_reruns(desk, key)
    put_result(shapes.verdict(item, history.reruns), document.verdict(item, history))


@click.group(invoke_without_command=True, epilog="Example: reviewdesk runs --json")
@options("json")
@click.pass_context
def runs(ctx: click.Context) -> None:
    """List the loaded runs; --json has everything about them."""
    if ctx.invoked_subcommand is not None:
        return
    from reviewdesk.desk.figures.jurors import over_runs, run_rows

    with open_desk() as desk:
        if wants_json():
            put_json(run_rows(desk))
            return
        say(f"desk: {desk.path}")
        found = overview(desk)
        newest = over_runs(desk).get(found[-1].run.key) if len(found) > 1 else None
    if found:
        put(document_text(run_lines(found, newest)))
    else:
        say("No run is loaded yet. Load one: reviewdesk open REPORT.")


@runs.command(epilog="Example: reviewdesk runs remove support-bot")
@click.argument("run", shell_complete=complete_runs)
@options()
def remove(*, run: str) -> None:
    """Hide RUN; its labels stay, and opening its file brings it back."""
    with open_desk() as desk:
        found = desk.run(run)
        desk.remove(found)
        say(f"{found.name}: hidden; its labels are kept")


# Files of a run

Pieces = Iterable[str]


@click.group()
def export() -> None:
    """Export a run: report, page, Markdown, diagram."""


def _writes(example: str, suffix: str = "") -> Callable[[Callable[..., Pieces]], click.Command]:
    """Return a decorator that makes a command of a function which returns pieces of a file.

    Without ``-o`` they go to stdout or, with a ``suffix``, to a file of the run if that is a
    terminal.
    """

    def add(make: Callable[..., Pieces]) -> click.Command:
        @export.command(epilog=f"Example: reviewdesk export {example}")
        @output_options("File to write; - is stdout.")
        @of_run
        @options()
        @wraps(make)
        def command(desk: Desk, run: Run, output: Path | None, *, force: bool, **more: Any) -> None:
            if output is None and suffix and sys.stdout.isatty():
                output = files.of_run(run, suffix)
            with ProgressLine(f"writing {run.name}") as bar:
                pieces = make(desk, run, output, bar, **more)
                if output is not None:
                    files.write(desk, output, pieces, force=force)
                    say(f"{run.name}: written to {output}")
                    return
                for piece in pieces:
                    # Written as bytes, because the file is UTF-8 whatever encoding the terminal
                    # has. Standard output that a program has replaced by a text stream takes none.
                    click.echo(piece.encode() if hasattr(sys.stdout, "buffer") else piece, nl=False)

        return command

    return add


@_writes("report -o run.jsonl")
def report(desk: Desk, run: Run, output: Path | None, bar: ProgressLine) -> Pieces:
    """Write a run as a canonical report.

    Loading it gives the same run, with the re-runs of this desk. Labels are not included: see
    `labels export`.
    """
    from reviewdesk.desk.export.report import report

    return report(desk, run, output, progress=bar)


@_writes("html -o run.html", ".html")
@flag("--full", "Add up to 1,000 more verdicts, and every figure.")
def html(desk: Desk, run: Run, _: Path | None, bar: ProgressLine, *, full: bool) -> Pieces:
    """Write how good the judge is as one HTML page.

    The page needs no other file, no network and no script, and prints on two pages. Without -o,
    a terminal gets RUN.html.
    """
    from reviewdesk.desk.export.report import html

    return html(desk, run, full=full, progress=bar)


@_writes("markdown > summary.md")
def markdown(desk: Desk, run: Run, *_: object) -> Pieces:
    """Write a short summary of a run in Markdown, for a pull request."""
    from reviewdesk.desk.export.report import summary

    return [summary(desk, run)]


@_writes("diagram -o diagram.svg")
def diagram(desk: Desk, run: Run, *_: object) -> Pieces:
    """Draw how often a judge is right by how sure it is, as SVG."""
    from reviewdesk.desk.export.report import diagram

    return [diagram(desk, run)]
