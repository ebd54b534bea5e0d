"""List, save and remove filters, and prepare a run for a filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import ProgressLine, open_desk, options, put, put_json, say

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Run


def ready(desk: Desk, run: Run, text: str, order: str = "draw") -> str:
    """Return the filter with its saved filters expanded.

    The run is indexed first, if the filter needs that. Raise UsageError for an unknown order.
    """
    from reviewdesk.domain.query.filter import parse_filter, parse_order

    parse_order(order)
    if not text:
        return text
    from reviewdesk.desk.review.filters import expand

    text = expand(desk, text)
    if parse_filter(text).searches:
        from reviewdesk.desk.review.search import index

        with ProgressLine(f"indexing {run.name}") as bar:
            index(desk, run, bar)
    return text


@click.group(invoke_without_command=True)
@options("json")
@click.pass_context
def filters(ctx: click.Context, *, as_json: bool) -> None:
    """List your saved filters; use one as --filter @NAME."""
    if ctx.invoked_subcommand is not None:
        return
    from reviewdesk.desk.review.filters import saved
    from reviewdesk.domain.safetext import show_line

    with open_desk() as desk:
        found = saved(desk)
        if as_json:
            put_json(found)
            return
        for name, text in found.items():
            put(f"@{show_line(name):20} {show_line(text)}")


@filters.command(epilog="Example: reviewdesk config filters save todo 'esc label:none'")
@click.argument("name", shell_complete=completion.saved_filters)
@click.argument("filter_", metavar="FILTER", shell_complete=completion.filter_words)
@options()
def save(*, name: str, filter_: str) -> None:
    """Save FILTER as NAME, replacing an older one of that name."""
    from reviewdesk.desk.review.filters import save as keep

    with open_desk() as desk:
        keep(desk, name, filter_)
        say(f"@{name.removeprefix('@')}: saved")


@filters.command(epilog="Example: reviewdesk config filters remove todo")
@click.argument("name", shell_complete=completion.saved_filters)
@options()
def remove(*, name: str) -> None:
    """Remove the saved filter NAME."""
    from reviewdesk.desk.review.filters import forget

    with open_desk() as desk:
        forget(desk, name)
        say(f"@{name.removeprefix('@')}: removed")
