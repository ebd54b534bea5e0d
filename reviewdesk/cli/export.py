"""Write a run to a file: its report, an HTML page or a summary."""

import re
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from reviewdesk.cli.common import (
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

Pieces = Iterable[str | bytes]


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
        @output_option("File to write; - is stdout.")
        @force_option
        @of_run
        @options()
        @wraps(make)
        def command(desk: Desk, run: Run, output: Path | None, *, force: bool, **more: Any) -> None:
            if output is None and suffix and sys.stdout.isatty():
                output = Path((re.sub(r"[^\w.-]+", "-", run.name).strip("-.") or "run") + suffix)
            with ProgressLine(f"writing {run.name}") as bar:
                pieces = make(desk, run, output, bar, **more)
                if output is not None:
                    files.write(desk, output, pieces, force=force)
                    say(f"{run.name}: written to {output}")
                    return
                for piece in pieces:
                    data = piece if isinstance(piece, bytes) else piece.encode()
                    # Written as bytes, because the file is UTF-8 whatever encoding the terminal
                    # has. Standard output that a program has replaced by a text stream takes none.
                    click.echo(data if hasattr(sys.stdout, "buffer") else data.decode(), nl=False)

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
def diagram(desk: Desk, run: Run, output: Path | None, _: ProgressLine) -> Pieces:
    """Draw a judge's reliability diagram as SVG or PNG.

    It shows how often the judge is right by how sure it is. The name of the file says which
    format; stdout gets SVG. PNG needs the extra `reviewdesk[png]`.
    """
    from reviewdesk.desk.export.report import diagram

    kind = ".svg" if output is None else output.suffix.lower()
    if kind not in {".svg", ".png"}:
        raise UsageError(f"{output}: a diagram is SVG or PNG", "Name d.svg or d.png.")
    return [diagram(desk, run, as_png=kind == ".png")]
