"""Write a run to a file: its report, an HTML page or a summary."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from reviewdesk.cli.common import (
    F,
    ProgressLine,
    flag,
    force_option,
    of_run,
    options,
    output_option,
    say,
)
from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Run
from reviewdesk.errors import UsageError


@click.group()
def export() -> None:
    """Export a run: report, page, Markdown, diagram."""


def _output_option(command: F) -> F:
    """Add the options ``-o`` and ``--force``; without a file, the output goes to stdout."""
    return output_option("File to write; - is stdout.")(force_option(command))


@export.command(epilog="Example: reviewdesk export report -o run.jsonl")
@_output_option
@of_run
@options()
def report(desk: Desk, run: Run, *, output: Path | None, force: bool) -> None:
    """Write a run as a canonical report.

    Loading it gives the same run, with the re-runs of this desk. Labels are not included: see
    `labels export`.
    """
    from reviewdesk.desk.export.report import report as pieces

    with ProgressLine(f"writing {run.name}") as bar:
        made = pieces(desk, run, output, progress=bar)
        _put(desk, run, output, made, force=force)


def _put(
    desk: Desk, run: Run, output: Path | None, pieces: Iterable[str | bytes], *, force: bool,
    suffix: str = "",
) -> None:  # fmt: skip
    """Write to a file; without one to stdout, or to RUN and ``suffix`` if that is a terminal."""
    if output is None and suffix and sys.stdout.isatty():
        output = Path((re.sub(r"[^\w.-]+", "-", run.name).strip("-.") or "run") + suffix)
    if output is not None:
        files.write(desk, output, pieces, force=force)
        say(f"{run.name}: written to {output}")
        return
    for piece in pieces:
        data = piece if isinstance(piece, bytes) else piece.encode()
        # Written as bytes, because the file is UTF-8 whatever encoding the terminal has. Standard
        # output that a program has replaced by a text stream takes no bytes.
        click.echo(data if hasattr(sys.stdout, "buffer") else data.decode(), nl=False)


@export.command(epilog="Example: reviewdesk export html -o run.html")
@flag("--full", "Add up to 1,000 more verdicts, and every figure.")
@_output_option
@of_run
@options()
def html(desk: Desk, run: Run, *, full: bool, output: Path | None, force: bool) -> None:
    """Write how good the judge is as one HTML page.

    The page needs no other file, no network and no script, and prints on two pages. Without -o,
    a terminal gets RUN.html.
    """
    from reviewdesk.desk.export.report import html as pieces

    with ProgressLine(f"writing {run.name}") as bar:
        made = pieces(desk, run, full=full, progress=bar)
        _put(desk, run, output, made, force=force, suffix=".html")


@export.command(epilog="Example: reviewdesk export markdown > summary.md")
@_output_option
@of_run
@options()
def markdown(desk: Desk, run: Run, *, output: Path | None, force: bool) -> None:
    """Write a short summary of a run in Markdown, for a pull request."""
    from reviewdesk.desk.export.report import summary

    _put(desk, run, output, [summary(desk, run)], force=force)


@export.command(epilog="Example: reviewdesk export diagram -o diagram.svg")
@_output_option
@of_run
@options()
def diagram(desk: Desk, run: Run, *, output: Path | None, force: bool) -> None:
    """Draw a judge's reliability diagram as SVG or PNG.

    It shows how often the judge is right by how sure it is. The name of the file says which
    format; stdout gets SVG. PNG needs the extra `reviewdesk[png]`.
    """
    from reviewdesk.desk.export.report import diagram as drawn

    kind = ".svg" if output is None else output.suffix.lower()
    if kind not in {".svg", ".png"}:
        raise UsageError(f"{output}: a diagram is SVG or PNG", "Name d.svg or d.png.")
    _put(desk, run, output, [drawn(desk, run, as_png=kind == ".png")], force=force)
