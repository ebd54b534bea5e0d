"""List the loaded runs, hide one of them, and compare the panels of two."""

from __future__ import annotations

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import chosen_run, open_desk, options, put_document, put_json, say


@click.group(invoke_without_command=True, epilog="Example: reviewdesk runs --json")
@options("json")
@click.pass_context
def runs(ctx: click.Context, *, as_json: bool) -> None:
    """List the loaded runs; --json has everything about them."""
    if ctx.invoked_subcommand is not None:
        return
    from reviewdesk.desk.figures.jurors import over_runs, run_rows
    from reviewdesk.desk.review.runs import overview
    from reviewdesk.views.run import run_lines

    with open_desk() as desk:
        if as_json:
            put_json(run_rows(desk))
            return
        say(f"desk: {desk.path}")
        found = overview(desk)
        newest = over_runs(desk).get(found[-1].run.key) if len(found) > 1 else None
    if found:
        put_document(run_lines(found, newest))
    else:
        say("No run is loaded yet. Load one: reviewdesk open REPORT.")


@runs.command(epilog="Example: reviewdesk runs remove support-bot")
@click.argument("run", shell_complete=completion.runs)
@options()
def remove(*, run: str) -> None:
    """Hide RUN; its labels stay, and opening its file brings it back."""
    with open_desk() as desk:
        found = desk.run(run)
        desk.remove(found)
        say(f"{found.name}: hidden; its labels are kept")


@click.command(epilog="Example: reviewdesk compare support-bot support-bot-second-panel")
@click.argument("run", shell_complete=completion.runs)
@click.argument("other", required=False, metavar="[RUN]", shell_complete=completion.runs)
@options("json")
def compare(*, run: str, other: str | None, as_json: bool) -> None:
    """Show which of two panels is right more often.

    Uses the labels of the items that both judged. With one RUN, compares it with the run opened
    last. `queue --run RUN --filter flip:OTHER` lists the decisions that differ.
    """
    from reviewdesk.desk.figures.jurors import panel_comparison
    from reviewdesk.views.comparison import two_panels
    from reviewdesk.views.json import figures

    with open_desk() as desk:
        first = chosen_run(desk, run if other is not None else None)
        found = panel_comparison(desk, first, desk.run(other or run))
    if as_json:
        put_json(figures.two_panels(found))
        return
    put_document(two_panels(found))
