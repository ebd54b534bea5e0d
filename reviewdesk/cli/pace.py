"""Print how a reviewer's work goes: pace, agreement with oneself, and how the figures moved."""

from __future__ import annotations

import click

from reviewdesk.cli.common import (
    chosen_run,
    json_option,
    open_desk,
    put,
    put_json,
    run_option,
    shared_options,
)


@click.command(epilog="Example: reviewdesk pace --run support-bot")
@run_option
@json_option
@shared_options
def pace(*, run_name: str | None, as_json: bool) -> None:
    """Show your labels an hour, your agreement with yourself, and what the last hundred moved."""
    from reviewdesk.cli.plain import document_text
    from reviewdesk.desk.figures.work import work_page
    from reviewdesk.views.json import work as shapes
    from reviewdesk.views.pace import work

    with open_desk() as desk:
        run = chosen_run(desk, run_name)
        page = work_page(desk, run)
        reviewer = desk.reviewer
    if as_json:
        put_json(shapes.work(run, reviewer, page))
    else:
        put(document_text(work(page)))
