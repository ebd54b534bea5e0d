"""The command line: stdout is data, stderr is narration, every error one line.

Each command imports what it needs inside itself, so that start-up stays light.
"""

from __future__ import annotations

import io
import os
import sys
import traceback

import click

from reviewdesk import __version__
from reviewdesk.cli import (
    calibrate,
    completion,
    config,
    desk,
    export,
    filters,
    gate,
    judge,
    labels,
    panel,
    rerun,
    review,
    runs,
    whatif,
)
from reviewdesk.cli.common import say, shared_options
from reviewdesk.errors import ExitCode, ReviewDeskError

_EPILOG = "Start with: reviewdesk open sample_runs/support-bot.jsonl"


@click.group(
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="reviewdesk")
@click.option("--debug", is_flag=True, help="Show a traceback where a command fails.")
@shared_options
def cli(*, debug: bool) -> None:
    """Review what juries of LLM judges decided, and measure how far to trust them.

    `open` is the desk itself; the other commands give the same facts without a screen.
    """
    click.get_current_context().meta["debug"] = debug


for command in (
    review.open_,
    review.ingest,
    runs.runs,
    review.queue,
    review.show,
    labels.label,
    labels.undo,
    labels.redo,
    labels.defer,
    labels.labels,
    export.export,
    filters.filters,
    calibrate.calibrate,
    gate.gate,
    judge.judge,
    whatif.whatif,
    rerun.rerun,
    panel.panel,
    desk.desk,
    config.config,
):
    cli.add_command(command)


def main() -> None:
    """Run a command, or answer a shell that completes one, and end with the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its number instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    try:
        if instruction := os.environ.get(completion.VARIABLE):
            code = completion.answer(cli, instruction)
        else:
            code = run(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 - the boundary: a fault is one line too
        if "--debug" in sys.argv:
            traceback.print_exc()
        say(f"a fault in reviewdesk: {type(error).__name__}: {error}. --debug shows where.")
        code = ExitCode.BAD_INPUT
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; the one place where errors become lines."""
    context: click.Context | None = None
    try:
        with cli.make_context("reviewdesk", arguments) as context:
            cli.invoke(context)
    except ReviewDeskError as error:
        if context is not None and context.meta.get("debug"):
            traceback.print_exc()
        say(str(error))
        return error.exit_code
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        _show(error)
        return ExitCode.BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has closed it, as `head` does.
        _drop_output()
        return ExitCode.OK
    except OSError as error:
        # The desk and the files that were named explain their own errors; what is left is output.
        _drop_output()
        say(f"the output cannot be written: {(error.strerror or str(error)).lower()}")
        return ExitCode.BAD_INPUT
    return ExitCode.OK


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that the end of the process does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show(error: click.ClickException) -> None:
    """What click says of wrong usage, which may quote a file's name."""
    from reviewdesk.domain.safetext import show

    said = io.StringIO()
    error.show(said)
    click.echo(show(said.getvalue().rstrip("\n"), 4000), err=True)
