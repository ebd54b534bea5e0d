"""What all commands share: the options for the desk, printing, and finding a run or a verdict."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from reviewdesk.cli import completion
from reviewdesk.cli.invocation import current_settings, desk_path
from reviewdesk.errors import ReportError, ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Event, Run
    from reviewdesk.views.document import Document, Section

F = TypeVar("F", bound=Callable[..., Any])


def _remember(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[f"reviewdesk.{param.name}"] = value


_COMPLETED = {
    "FILE": completion.files, "FORMAT": completion.formats, "RUN": completion.runs,
}  # fmt: skip


def flag(names: str, text: str) -> Callable[[F], F]:
    """Return an option without a value; ``names`` are its spellings and its parameter."""
    return click.option(*names.split(), is_flag=True, help=text)


def option(names: str, metavar: str, text: str, **more: Any) -> Callable[[F], F]:
    """Return an option with a value; shells complete files, formats and runs."""
    more.setdefault("shell_complete", _COMPLETED.get(metavar))
    return click.option(*names.split(), metavar=metavar, help=text, **more)


json_option = flag("--json as_json", "Print JSON.")
run_option = option("--run run_name", "RUN", "A run's name, or the start of its hash.")
force_option = flag("--force", "Replace an existing file.")
_OPTIONS = {
    "run": run_option,
    "json": json_option,
    "force": force_option,
    "desk": click.option(
        "--desk", metavar="PATH", expose_value=False, callback=_remember,
        shell_complete=completion.files, help="The desk file (REVIEWDESK_DESK)."
    ),
    "reviewer": click.option(
        "--reviewer", metavar="NAME", expose_value=False, callback=_remember,
        help="Who labels (REVIEWDESK_REVIEWER)."
    ),
}  # fmt: skip


def options(*names: str) -> Callable[[F], F]:
    """Return a decorator that adds options that commands share, always ``--desk``, ``--reviewer``.

    These two work before or after the command's name.
    """

    def add(command: F) -> F:
        for name in reversed((*names, "desk", "reviewer")):
            command = _OPTIONS[name](command)
        return command

    return add


def output_option(text: str, *, folders: bool = False) -> Callable[[F], F]:
    """Return the option ``-o``; ``-`` means stdout, as no file does."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=folders, path_type=Path),
        callback=lambda _ctx, _param, value: None if value == Path("-") else value,
        help=text,
    )


@contextmanager
def open_desk(
    path: Path | None = None, *, on_screen: bool = False, new: bool = False
) -> Iterator[Desk]:
    """Open the desk at ``path``, else that of the options or the settings; close it at the end.

    Only a command that fills a ``new`` desk creates one. Unless it is opened ``on_screen``, where
    they are offered, say that changes are not saved.

    Raises:
        NotFoundError: there is no desk at this path.
    """
    from reviewdesk.desk.core import Desk, existing

    named = path or desk_path()
    reviewer = current_settings().reviewer or None
    desk = Desk.open(named if new else existing(named), reviewer=reviewer)
    with closing(desk):
        if not on_screen:
            from reviewdesk.desk.review import unsaved

            for line in unsaved.notices(desk):
                say(line)
        yield desk


def say(text: str) -> None:
    """Print one message on stderr, with control characters made harmless."""
    from reviewdesk.domain.safetext import show_line

    click.echo(show_line(text, 4000), err=True)


def say_error(error: ReviewDeskError) -> None:
    """Print an error on stderr, with its details if it is one of a report."""
    say(str(error))
    for line in error.details.splitlines() if isinstance(error, ReportError) else ():
        say(line)


def say_section(section: Section) -> None:
    """Print a section on stderr, line by line."""
    from reviewdesk.cli.plain import section_text

    for line in section_text(section).splitlines():
        say(line)


def put(text: str = "") -> None:
    """Print lines of data on stdout, with control characters made harmless."""
    from reviewdesk.domain.safetext import show

    click.echo(show(text, 10_000_000))


def dump(value: object) -> str:
    """Return JSON in plain ASCII on one line, so that no control character reaches a terminal."""
    return json.dumps(value, allow_nan=False).replace("\x7f", "\\u007f")


def put_document(document: Document) -> None:
    """Print a document on stdout as plain text."""
    from reviewdesk.cli.plain import document_text

    put(document_text(document))


def put_json(value: object) -> None:
    """Print one JSON value on stdout."""
    click.echo(dump(value))


def put_result(shape: object, document: Document, *, as_json: bool) -> None:
    """Print a result on stdout: its JSON shape, or its document as plain text."""
    if as_json:
        put_json(shape)
    else:
        put_document(document)


def put_json_list(values: Iterable[object]) -> None:
    """Print a JSON array on stdout, a few hundred entries at a time."""
    left = iter(values)
    mark = "["
    while texts := [dump(value) for value in islice(left, 500)]:
        click.echo(mark + ", ".join(texts), nl=False)
        mark = ", "
    click.echo("]" if mark == ", " else "[]")


def chosen_run(desk: Desk, name: str | None) -> Run:
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


class TerminalLine:
    """A line on stderr that is drawn again and again, on a terminal only, until it is ``done``."""

    def __init__(self) -> None:
        """Start without a drawn line."""
        self._next = 0.0
        self._drawn = False

    def __enter__(self) -> Self:
        """Return the line; it is removed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line from the terminal."""
        self.done()

    def draw(self, text: str, seconds: float) -> None:
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
        """Remove the line from the terminal."""
        if self._drawn:
            click.echo("\r\x1b[2K", nl=False, err=True)
            self._drawn = False


class ProgressLine(TerminalLine):
    """The progress of some work: its share that is done, and a count of ``unit``."""

    def __init__(self, title: str, unit: str = "verdicts") -> None:
        """Store the title and what is counted; nothing is drawn yet."""
        from reviewdesk.domain.safetext import show_line

        super().__init__()
        self._title = show_line(title, 200)
        self._unit = unit

    def __call__(self, share: float, count: int) -> bool:
        """Draw the line and return True, because only ctrl+c stops the work."""
        self.draw(f"{self._title} {share:4.0%}  {count:,} {self._unit}", monotonic())
        return True


def report_event(desk: Desk, made: Event | None, *, as_json: bool, nothing: str = "") -> None:
    """Print an event and the item's label after it."""
    from reviewdesk.desk.review.runs import after
    from reviewdesk.domain.safetext import show_line
    from reviewdesk.views.json import review as shapes

    if made is None:
        say(nothing)
        if as_json:
            put_json(None)
        return
    if as_json:
        put_json(shapes.event(*after(desk, made)))
        return
    what = made.detail.get("was") or made.label or ""
    put(f"{made.kind} {what}".rstrip() + f"  {show_line(made.verdict or '')}")
