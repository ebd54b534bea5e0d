"""Several reviewers from the shell: how far they agree, what settles it, desks that are merged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import (
    chosen_run,
    json_option,
    open_desk,
    put,
    put_json,
    report_event,
    run_option,
    shared_options,
)
from reviewdesk.desk.review.named import named_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewdesk.desk.team.merge import MergedChain


@click.command(epilog="Example: reviewdesk labels agreement --run support-bot")
@run_option
@json_option
@shared_options
def agreement(*, run_name: str | None, as_json: bool) -> None:
    """Show how far the reviewers of a run agree.

    Raw, by Cohen's kappa for each two and by Krippendorff's alpha for all, with intervals, and each
    reviewer's pace and agreement with themselves.
    """
    from reviewdesk.cli.plain import document_text
    from reviewdesk.desk.team.agreement import team_page
    from reviewdesk.views.json import team as shapes
    from reviewdesk.views.team import team

    with open_desk() as desk:
        run = chosen_run(desk, run_name)
        page = team_page(desk, run)
    if as_json:
        put_json(shapes.team(run, page))
    else:
        put(document_text(team(page)))


@click.command(epilog="Example: reviewdesk labels disagreements --run support-bot")
@run_option
@json_option
@shared_options
def disagreements(*, run_name: str | None, as_json: bool) -> None:
    """List the verdicts on which people differ."""
    from reviewdesk.cli.plain import document_text
    from reviewdesk.desk.team.agreement import disagreements as find
    from reviewdesk.views.json import team as shapes
    from reviewdesk.views.team import disagreements as shown

    with open_desk() as desk:
        run = chosen_run(desk, run_name)
        found = find(desk, run)
    if as_json:
        put_json(shapes.disagreements(run, found))
    else:
        put(document_text(shown(found)))


@click.command(epilog="Example: reviewdesk labels adjudicate refund-after-30-days fail")
@click.argument("verdict", shell_complete=completion.verdicts)
@click.argument("truth", type=click.Choice(["pass", "fail", "unsure"]))
@click.option("--note", help="Keep the reason with it.")
@run_option
@json_option
@shared_options
def adjudicate(
    *, verdict: str, truth: str, note: str | None, run_name: str | None, as_json: bool
) -> None:
    """Settle what VERDICT deserved where people differ.

    Their labels stay, and the newest adjudication of an item is its truth.
    """
    from reviewdesk.desk.team.adjudication import adjudication
    from reviewdesk.domain.records import Truth

    with open_desk() as desk:
        _, key = named_verdict(desk, verdict, run_name)
        report_event(desk, adjudication(desk, key, Truth(truth), note)(desk), as_json=as_json)


@click.command(epilog="Example: reviewdesk desk merge ben.db")
@click.argument("other", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@shared_options
def merge(*, other: Path, as_json: bool) -> None:
    """Take in what people did on the desk OTHER.

    Each reviewer's labels, notes, tags and marks are held to their hashes first. Nothing is lost or
    doubled, in whatever order desks are merged and however often. OTHER is only read.
    """
    from reviewdesk.desk.team.merge import merge as take
    from reviewdesk.views.json.shape import shape

    with open_desk() as desk:
        found = take(desk, other)
    if as_json:
        put_json(shape(found, "new head chains"))
        return
    _tell(found.chains)
    put(f"{found.new} events are new, head {found.head}")


def _tell(chains: Sequence[MergedChain]) -> None:
    for one in chains:
        if one.new:
            put(f"{one.reviewer} on desk {one.desk[:8]}: {one.new} of {one.events} events are new")
