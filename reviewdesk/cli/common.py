"""What all commands share: options, completion, settings, printing, and finding a run."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import wraps
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import click
from click.shell_completion import CompletionItem, shell_complete

from reviewdesk.cli.plain import document_text, section_text
from reviewdesk.domain.safetext import show, show_line
from reviewdesk.errors import ExitCode, ReportError, ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.panel.asking import LiveProgress
    from reviewdesk.domain.records import Event, Run
    from reviewdesk.settings import Settings
    from reviewdesk.views.document import Document, Section

F = TypeVar("F", bound=Callable[..., Any])


def current_settings() -> "Settings":
    """Return the settings of this command: options first, then the environment, then the file."""
    from reviewdesk.settings import load_settings

    meta = click.get_current_context().meta
    if "reviewdesk.settings" not in meta:
        # The file is read once, because it may be a pipe.
        names = ("desk", "reviewer", "repeat", "double", "opinions")
        options = {name: meta.get(f"reviewdesk.{name}") for name in names}
        meta["reviewdesk.settings"] = given = load_settings(options)
        if given.api_key_command or given.api_key_keyring:
            from reviewdesk.desk.live.panel import use_references

            use_references(given.api_key_command, given.api_key_keyring)
    found: Settings = meta["reviewdesk.settings"]
    return found


def desk_path() -> Path:
    """Return the desk that the options or the settings name, else the user's own."""
    from reviewdesk.desk.core import default_path

    named = current_settings().desk
    return Path(named) if named else default_path()


def _every(ctx: click.Context) -> Iterator[click.Context]:
    yield ctx
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            if command := ctx.command.get_command(ctx, name):
                yield from _every(click.Context(command, parent=ctx, info_name=name))


def _show_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta["reviewdesk.all"] = True
        click.echo("\n\n".join(one.get_help() for one in _every(ctx)))
        ctx.exit()


help_all = click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all,
    help="Show every option.",
)  # fmt: skip


# Completion: it creates, migrates and prints nothing. Without a usable desk it offers nothing.

VARIABLE = "_REVIEWDESK_COMPLETE"
"""The variable that a shell's script sets; click derives it from the program's name."""
Items = list[CompletionItem[str]]
_PLAIN = re.compile(r"[\w@%+=:./][\w@%+=:./-]*")
"""Names that no shell treats specially, because bash inserts a completion without quoting it."""


def answer(cli: click.Command, instruction: str) -> int:
    """Print the completions or script for a shell; return the exit code, 1 if it is unknown."""
    return shell_complete(cli, {}, "reviewdesk", VARIABLE, instruction)


def complete_files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    return [CompletionItem(incomplete, type="file")]


def _formats(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    from reviewdesk.desk.files import formats

    return [CompletionItem(name) for name in formats() if name.startswith(incomplete)]


def _of_desk(
    find: "Callable[[Desk, str | None, str], Iterable[str]]",
) -> Callable[[click.Context, click.Parameter, str], Items]:
    """Return a completer; ``find`` takes the desk, the name after ``--run``, and what is typed."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
        try:
            with ctx.scope(cleanup=False), own_desk() as desk:
                run = ctx.params.get("run_name")
                names = [] if desk is None else [*find(desk, run, incomplete)]
        except ReviewDeskError:
            return []
        fitting = (name for name in names if name.startswith(incomplete))
        return [CompletionItem(name) for name in fitting if _PLAIN.fullmatch(name)]

    return complete


def _ids(desk: "Desk", run: str | None, incomplete: str) -> Iterable[str]:
    from reviewdesk.desk.review.items import ids_from

    return ids_from(desk, desk.run(run) if run else None, incomplete)


complete_runs = _of_desk(lambda desk, _run, _typed: (run.name for run in desk.runs()))
complete_verdicts = _of_desk(_ids)
"""Verdicts of the run that ``--run`` names, else of all runs."""


# Options and arguments


def remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Keep the value of an option for the settings of this command, or for ``wants_json``."""
    if value is not None:
        ctx.meta[f"reviewdesk.{param.name}"] = value


_COMPLETED = {"FILE": complete_files, "FORMAT": _formats, "RUN": complete_runs}
verdict_argument = click.argument("verdict", shell_complete=complete_verdicts)


def file_argument(name: str, **more: Any) -> Callable[[F], F]:
    return click.argument(name, shell_complete=complete_files, **more)


def flag(names: str, text: str) -> Callable[[F], F]:
    """Return an option without a value; ``names`` are its spellings and its parameter."""
    return click.option(*names.split(), is_flag=True, help=text)


def option(names: str, metavar: str, text: str, **more: Any) -> Callable[[F], F]:
    """Return an option with a value; shells complete files, formats and runs."""
    more.setdefault("shell_complete", _COMPLETED.get(metavar))
    return click.option(*names.split(), metavar=metavar, help=text, **more)


def choice(names: str, values: Iterable[str], text: str, **more: Any) -> Callable[[F], F]:
    return click.option(*names.split(), type=click.Choice(list(values)), help=text, **more)


def together(*adds: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds several options, in this order."""

    def add(command: F) -> F:
        for one in reversed(adds):
            command = one(command)
        return command

    return add


run_option = option("--run run_name", "RUN", "A run's name, or the start of its hash.")
_force = flag("--force", "Replace an existing file.")
_OPTIONS = {
    "run": run_option,
    "json": click.option(
        "--json", "as_json", is_flag=True, help="Print JSON.", expose_value=False,
        callback=remember,
    ),
    "force": _force,
    "desk": option(
        "--desk", "PATH", "The desk file (REVIEWDESK_DESK).", expose_value=False,
        callback=remember, shell_complete=complete_files,
    ),
    "reviewer": option(
        "--reviewer", "NAME", "Who labels (REVIEWDESK_REVIEWER).", expose_value=False,
        callback=remember,
    ),
}  # fmt: skip


def options(*names: str) -> Callable[[F], F]:
    """Return a decorator that adds options that commands share, always ``--desk``, ``--reviewer``.

    These two work before or after the command's name.
    """
    return together(*(_OPTIONS[name] for name in (*names, "desk", "reviewer")))


def output_options(text: str, *, folders: bool = False) -> Callable[[F], F]:
    """Return the options ``-o``, where ``-`` means stdout, as no file does, and ``--force``."""
    output = click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=folders, path_type=Path),
        callback=lambda _ctx, _param, value: None if value == Path("-") else value,
        help=text,
    )
    return together(output, _force)


@contextmanager
def open_desk(
    path: Path | None = None, *, on_screen: bool = False, new: bool = False
) -> "Iterator[Desk]":
    """Open the desk at ``path``, else that of the options or the settings; close it at the end.

    Only a command that fills a ``new`` desk creates one. Unless it is opened ``on_screen``, where
    they are offered, say that changes are not saved.
    """
    from reviewdesk.desk.core import Desk, existing

    named = path or desk_path()
    reviewer = current_settings().reviewer
    with closing(Desk.open(named if new else existing(named), reviewer=reviewer)) as desk:
        if not on_screen:
            from reviewdesk.desk.review import unsaved

            for line in unsaved.notices(desk):
                say(line)
        yield desk


@contextmanager
def own_desk() -> "Iterator[Desk | None]":
    """Open the user's desk as it is; ``None`` if that would create or migrate it."""
    from reviewdesk.desk.core import glance

    desk = glance(desk_path(), current_settings().reviewer)
    with nullcontext() if desk is None else closing(desk):
        yield desk


def leave(code: ExitCode) -> NoReturn:
    """End the command with an exit code, after everything is printed."""
    raise click.exceptions.Exit(code)


def say(text: str) -> None:
    """Print one message on stderr, with control characters made harmless."""
    click.echo(show_line(text, 4000), err=True)


def say_error(error: ReviewDeskError) -> None:
    """Print an error on stderr, with its details if it is one of a report."""
    say(str(error))
    for line in error.details.splitlines() if isinstance(error, ReportError) else ():
        say(line)


def say_section(section: "Section") -> None:
    for line in section_text(section).splitlines():
        say(line)


def put(text: str = "") -> None:
    """Print lines of data on stdout, with control characters made harmless."""
    click.echo(show(text, 10_000_000))


def dump(value: object) -> str:
    """Return JSON in plain ASCII on one line, so that no control character reaches a terminal."""
    return json.dumps(value, allow_nan=False).replace("\x7f", "\\u007f")


def put_json(value: object) -> None:
    click.echo(dump(value))


def wants_json() -> bool:
    return bool(click.get_current_context().meta.get("reviewdesk.as_json"))


def put_result(shape: object, document: "Document") -> None:
    if wants_json():
        put_json(shape)
    else:
        put(document_text(document))


def put_shape(record: object, keys: str = "*", /, **more: object) -> None:
    from reviewdesk.views.json.review import shape

    put_json(shape(record, keys, **more))


def put_json_list(values: Iterable[object]) -> None:
    """Print a JSON array on stdout, a few hundred entries at a time."""
    left = iter(values)
    mark = "["
    while texts := [dump(value) for value in islice(left, 500)]:
        click.echo(mark + ", ".join(texts), nl=False)
        mark = ", "
    click.echo("]" if mark == ", " else "[]")


def chosen_run(desk: "Desk", name: str | None) -> "Run":
    """Return the named run, else the run opened last, and print the latter's name on stderr."""
    run = desk.run(name)
    if name is None:
        say(f"run: {run.name}")
    return run


def of_run(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option ``--run``; the command takes the open desk and the run that it names."""

    @run_option
    @wraps(command)
    def call(run_name: str | None, **given: Any) -> None:
        with open_desk() as desk:
            command(desk, chosen_run(desk, run_name), **given)

    return call


class ProgressLine:
    """The progress of some work: a line on stderr, on a terminal only, drawn until it is ``done``.

    It is called with the share that is done and a count of ``unit``, or by ``live``.
    """

    def __init__(self, title: str, unit: str = "verdicts") -> None:
        """Store the title and what is counted; nothing is drawn yet."""
        self._title = show_line(title, 200)
        self._unit = unit
        self._next = 0.0
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.done()

    def __call__(self, share: float, count: int) -> bool:
        """Draw the line and return True, because only ctrl+c stops the work."""
        self._draw(f"{self._title} {share:4.0%}  {count:,} {self._unit}", monotonic())
        return True

    def live(self, progress: "LiveProgress") -> None:
        """Draw the progress of a live run; the title says what is counted."""
        from reviewdesk.views.panel import live_text

        self._draw(f"{self._title} {live_text(progress)}", progress.seconds)

    def _draw(self, text: str, seconds: float) -> None:
        """Draw the text, at most ten times a second."""
        if seconds >= self._next and sys.stderr.isatty():
            self._next = seconds + 0.1
            self._drawn = True
            click.echo(f"\r\x1b[2K{text}", nl=False, err=True)

    def note(self, text: str) -> None:
        """Print a line of its own; the progress is drawn again below it."""
        self.done()
        say(text)

    def done(self) -> None:
        if self._drawn:
            click.echo("\r\x1b[2K", nl=False, err=True)
            self._drawn = False


def report_event(desk: "Desk", made: "Event | None", nothing: str = "") -> None:
    """Print an event and the item's label after it."""
    from reviewdesk.desk.review.runs import after
    from reviewdesk.views.json import review as shapes

    if made is None:
        say(nothing)
    if wants_json():
        put_json(None if made is None else shapes.event(*after(desk, made)))
    elif made is not None:
        what = made.detail.get("was") or made.label or ""
        put(f"{made.kind} {what}".rstrip() + f"  {show_line(made.verdict or '')}")
