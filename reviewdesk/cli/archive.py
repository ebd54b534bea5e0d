"""Put many report parts together as one run, read by several processes or machines."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewdesk.cli import completion, invocation
from reviewdesk.cli.common import (
    ProgressLine,
    force_option,
    open_desk,
    options,
    output_option,
    put,
    put_json,
    say,
)
from reviewdesk.cli.review import load_options, loading_options
from reviewdesk.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reviewdesk.desk import Desk


@click.command(epilog="Example: reviewdesk desk archive 's3://runs/2026/*.jsonl.gz' -o 2026.db")
@click.argument(
    "patterns", nargs=-1, required=True, metavar="PATTERN...", shell_complete=completion.files
)
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler, tcp://HOST:8786.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Local workers; one per core if omitted."
)
@output_option("New desk for the archive; your desk if omitted.")
@force_option
@loading_options
@options("json")
def archive(
    *, patterns: tuple[str, ...], scheduler: str | None, workers: int | None, output: Path | None,
    force: bool, as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Combine many report parts into one run.

    The run has the figures of all parts, but holds only flagged verdicts and the random check.
    PATTERN is a path or an address (s3://, gs://, az://, https://) with * and **. Parts are
    reports, also gzipped, or Parquet. Bad parts are named and skipped.
    """
    from reviewdesk.cli.plain import section_text
    from reviewdesk.desk.archive.archive import put_together, workers_at
    from reviewdesk.views import queue as views
    from reviewdesk.views.json import review as shapes

    options = load_options(given)
    limit = given["max_size"]
    size = invocation.bytes_of(limit) if limit else None
    # The target first: what cannot be written is refused before any worker starts.
    with (
        _target(output, force=force) as desk,
        workers_at(scheduler, workers) as crew,
        ProgressLine(f"archiving {', '.join(patterns)}") as bar,
    ):
        made = put_together(desk, patterns, options, crew, max_size=size, told=bar)
    for reason in made.bad:
        say(reason)
    if as_json:
        put_json(shapes.archived(made))
    else:
        put(section_text(views.archived(made)))
    if made.bad:
        click.get_current_context().exit(ExitCode.BAD_INPUT)


@contextmanager
def _target(output: Path | None, *, force: bool) -> Iterator[Desk]:
    """Open the desk of the options, or a new one, which has its name only once it is whole."""
    if output is None:
        with open_desk(new=True) as desk:
            yield desk
        return
    from reviewdesk.desk.core import default_path
    from reviewdesk.desk.files import whole_desk

    own = invocation.desk_path() or default_path()
    with whole_desk(output, own, force=force) as part, open_desk(part) as desk:
        yield desk
