"""The command line: data goes to stdout, messages to stderr, and every error takes one line.

Each command imports what it needs in its own body, so that start-up stays fast.
"""

import gc
import io
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import FrameType

import click

from reviewdesk.cli.common import (
    VARIABLE,
    answer,
    desk_path,
    flag,
    help_all,
    options,
    say,
    say_error,
)
from reviewdesk.domain.safetext import show
from reviewdesk.errors import Cancelled, Ended, ExitCode, ReviewDeskError, UsageError, reason
from reviewdesk.system.signals import asked_to_end, on_end
from reviewdesk.version import REPOSITORY, __version__

_REPORT = (
    "What is saved stays saved. Please report it at https://github.com/{}/issues with what you did,"
    " `reviewdesk --version`, and what the same command prints with --debug."
)
_EPILOG = """\b
Start with: reviewdesk demo, or reviewdesk open report.json
To complete names in your shell: reviewdesk completion --help
For agents (MCP): reviewdesk mcp"""

GROUPS = {
    "Review": """start.demo start.init review.open_ review.ingest review.map_ review.runs
        review.queue review.show labels.label labels.labels review.export""",
    "Figures and gates": """figures.calibrate figures.ask figures.compare figures.whatif
        figures.gate start.explain""",
    "Ask jurors": "live.panel live.judge live.rerun improve.improve",
    "Desk and program": """desk.desk desk.serve desk.mcp desk.config start.completion""",
}
"""The places of the commands in ``cli``, by the groups of ``--help``."""
_UNLISTED = """labels.undo labels.redo labels.defer desk.filters desk.archive
    desk.console"""
"""Commands that also run by their earlier names, and the one that ``serve`` starts."""


def _name(place: str) -> str:
    return place.rpartition(".")[2].rstrip("_")


class _Program(click.Group):
    """The commands in groups; each is loaded when it is asked for."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of the commands; ``--help`` lists those that are not hidden."""
        return [_name(place) for places in GROUPS.values() for place in places.split()]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        for place in (*" ".join(GROUPS.values()).split(), *_UNLISTED.split()):
            if _name(place) == cmd_name:
                module, _, command = place.rpartition(".")
                found: click.Command = getattr(import_module(f"reviewdesk.cli.{module}"), command)
                return found
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        wide = max(map(len, self.list_commands(ctx)))
        for title, places in GROUPS.items():
            commands = [self.get_command(ctx, _name(place)) for place in places.split()]
            shown = [one for one in commands if one is not None and not one.hidden]
            rows = [(f"{one.name:{wide}}", one.get_short_help_str(60)) for one in shown]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(
    cls=_Program,
    invoke_without_command=True,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="reviewdesk")
@flag("--debug", "Show a traceback if a command fails.")
@options()
@help_all
def cli(*, debug: bool) -> None:
    """Review what juries of LLM judges decided, and measure how far to trust them.

    `open` is the desk itself; the other commands print the same facts. Without a command,
    reviewdesk says what to do next.
    """
    context = click.get_current_context()
    context.meta["debug"] = debug
    if context.invoked_subcommand is None:
        from reviewdesk.cli.start import put_next_steps

        put_next_steps()


def main() -> None:
    """Run a command, or answer a shell's request for completions, and exit with the exit code."""
    # The threads of numpy's library wait for work by turning on a core; no sum here is for them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Loading modules makes little garbage; looking for it took a tenth of the start.
    gc.set_threshold(200_000, 20, 50)
    # Else the next file that is opened, such as the desk, would get the number of a closed stream,
    # and what is printed.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets an escape instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    on_end(_end)
    try:
        if instruction := os.environ.get(VARIABLE):
            code = answer(cli, instruction)
        else:
            code = run(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 - the boundary: a fault is one line too
        if "--debug" in sys.argv:
            _show_traceback()
        say(f"a fault in reviewdesk, not in your input: {type(error).__name__}: {error}")
        say(_REPORT.format(REPOSITORY))
        code = ExitCode.FAULT
    # Looking for garbage as the process ends took a fifth of a short command.
    gc.freeze()
    sys.exit(code)


def _end(number: int, _frame: FrameType | None) -> None:
    raise Ended(number)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; only this function turns errors into lines."""
    context: click.Context | None = None
    try:
        with cli.make_context("reviewdesk", arguments) as context:
            _invoke(context, arguments)
    except ReviewDeskError as error:
        if context is not None and context.meta.get("debug"):
            _show_traceback()
        say_error(error)
        number = asked_to_end() if isinstance(error, Cancelled) else None
        return error.exit_code if number is None else Ended(number).exit_code
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        # It may quote a file's name.
        click.echo(show(message.getvalue().rstrip("\n"), 4000), err=True)
        return ExitCode.BAD_INPUT
    except Ended as ended:
        say(str(ended))
        return ended.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the output, as `head` does.
        _drop_output()
        return ExitCode.OK
    except OSError as error:
        # Most files raise errors of their own, so one that names no file comes from the output.
        _drop_output()
        what = error.filename or "the output cannot be written"
        say(f"{what}: {reason(error)}")
        return ExitCode.BAD_INPUT
    return ExitCode.OK


def _invoke(context: click.Context, arguments: list[str]) -> None:
    """Run the command; a fault on a damaged desk is raised as that damage."""
    broken = [word for word in arguments if not _is_text(word)]
    try:
        cli.invoke(context)
    except (ReviewDeskError, click.ClickException, click.exceptions.Exit, click.Abort, OSError):
        raise
    except Exception as fault:
        if broken and isinstance(fault, UnicodeEncodeError):
            # File names may be any bytes; what is stored, such as a note or a name, must be text.
            raise UsageError(f"{broken[0]}: contains bytes that are not UTF-8") from fault
        from reviewdesk.desk.core import found_damage

        named = [Path(word) for word in arguments if _is_text(word)]
        if (damage := found_damage(fault, desk_path(), *named)) is None:
            raise
        raise damage from fault


def _is_text(word: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in word)


def _drop_output() -> None:
    """Discard what is still buffered, so that the end of the process does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_traceback() -> None:
    """Print the traceback of the error that is handled, made safe because it may quote a report."""
    click.echo(show(traceback.format_exc(), 1_000_000), err=True, nl=False)
