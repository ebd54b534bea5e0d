"""List the loaded runs, and hide one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import json_option, open_desk, put, put_json, say, shared_options

if TYPE_CHECKING:
    pass


@click.group(invoke_without_command=True)
@json_option
@shared_options
@click.pass_context
def runs(ctx: click.Context, *, as_json: bool) -> None:
    """List the loaded runs with what they hold, how far their jurors agree, and their audit."""
    if ctx.invoked_subcommand is not None:
        return
    from reviewdesk.cli.plain import section_text
    from reviewdesk.desk.review.runs import overview, run_details, tallies
    from reviewdesk.views.json import review as shapes
    from reviewdesk.views.run import short

    with open_desk() as desk:
        if as_json:
            counted = tallies(desk)
            put_json([shapes.run_line(line, counted.get(line.run.key)) for line in overview(desk)])
            return
        say(f"desk: {desk.path}")
        texts = [section_text(short(run_details(desk, run))) for run in desk.runs()]
    for text in texts:
        put(text)


@runs.command()
@click.argument("run", shell_complete=completion.runs)
@shared_options
def remove(*, run: str) -> None:
    """Hide RUN; its labels stay, and opening its file shows it again."""
    with open_desk() as desk:
        found = desk.run(run)
        desk.remove(found)
        say(f"{found.name}: hidden; its labels are kept")
