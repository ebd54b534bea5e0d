"""Compare the panels of two loaded runs."""

from __future__ import annotations

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import chosen_run, json_option, open_desk, put, put_json, shared_options


@click.command(epilog="Example: reviewdesk compare support-bot support-bot-second-panel")
@click.argument("run", shell_complete=completion.runs)
@click.argument("other", required=False, metavar="[RUN]", shell_complete=completion.runs)
@json_option
@shared_options
def compare(*, run: str, other: str | None, as_json: bool) -> None:
    """Show which of two panels is right more often on the items that both judged.

    With one RUN, it is compared with the run opened last. The difference is paired and taken
    through the draw; queue --run RUN --filter flip:OTHER lists the decisions that differ.
    """
    from reviewdesk.cli.plain import document_text
    from reviewdesk.desk.figures.two_panels import panel_comparison
    from reviewdesk.views.comparison import two_panels
    from reviewdesk.views.json import figures

    with open_desk() as desk:
        first = chosen_run(desk, run if other is not None else None)
        found = panel_comparison(desk, first, desk.run(other or run))
    if as_json:
        put_json(figures.two_panels(found))
        return
    put(document_text(two_panels(found)))
