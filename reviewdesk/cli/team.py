"""Several reviewers from the shell: how far they agree, what settles it, desks that are merged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import (
    ProgressLine,
    chosen_run,
    open_desk,
    options,
    put,
    put_document,
    put_json,
    report_event,
    say,
)
from reviewdesk.desk.review.runs import named_verdict
from reviewdesk.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewdesk.desk.team.merge import MergedChain
    from reviewdesk.desk.team.sync import Synced

_SHOWN = 20
"""The most refused files, and notes, of a sync that are printed."""


@click.command(epilog="Example: reviewdesk labels agreement --run support-bot")
@options("run", "json")
def agreement(*, run_name: str | None, as_json: bool) -> None:
    """Show how far reviewers agree, and where they differ."""
    from reviewdesk.desk.team.agreement import disagreements, team_page
    from reviewdesk.views.json import review as shapes
    from reviewdesk.views.team import team

    with open_desk() as desk:
        run = chosen_run(desk, run_name)
        page = team_page(desk, run)
        found = disagreements(desk, run)
    if as_json:
        put_json(shapes.team(run, page, found))
    else:
        put_document(team(page, found))


@click.command(epilog="Example: reviewdesk labels adjudicate refund-after-30-days fail")
@click.argument("verdict", shell_complete=completion.verdicts)
@click.argument("truth", type=click.Choice(["pass", "fail", "unsure"]))
@click.option("--note", help="Reason to keep with it.")
@options("run", "json")
def adjudicate(
    *, verdict: str, truth: str, note: str | None, run_name: str | None, as_json: bool
) -> None:
    """Settle what VERDICT deserved, if people differ.

    Their labels stay; the newest adjudication counts.
    """
    from reviewdesk.desk.team.agreement import adjudication
    from reviewdesk.domain.records import Truth

    with open_desk() as desk:
        _, key = named_verdict(desk, verdict, run_name)
        report_event(desk, adjudication(desk, key, Truth(truth), note)(desk), as_json=as_json)


@click.command(epilog="Example: reviewdesk desk merge ben.db")
@click.argument("other", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options("json")
def merge(*, other: Path, as_json: bool) -> None:
    """Merge what people did on the desk OTHER into this one.

    Labels, notes, tags and marks are verified first. Merging twice, or in another order, loses and
    doubles nothing. OTHER is only read.
    """
    from reviewdesk.desk.team.merge import merge as take
    from reviewdesk.views.json.shape import shape

    with open_desk(new=True) as desk:
        found = take(desk, other)
    if as_json:
        put_json(shape(found, "new head chains"))
        return
    _tell(found.chains)
    put(f"{found.new} events are new, head {found.head}")


def _tell(chains: Sequence[MergedChain]) -> None:
    from reviewdesk.views.team import chain_name

    for one in chains:
        if one.new:
            put(f"{chain_name(one.reviewer, one.desk)}: {one.new} of {one.events} events are new")


@click.command(epilog="Example: reviewdesk desk sync /mnt/team/labels")
@click.argument("where", shell_complete=completion.files)
@click.option("--no-runs", is_flag=True, help="Exchange labels only.")
@click.option("--dry-run", is_flag=True, help="Show what would be exchanged; write nothing.")
@options("json")
def sync(*, where: str, no_runs: bool, dry_run: bool, as_json: bool) -> None:
    """Exchange labels and runs through the folder WHERE.

    WHERE may be a mounted share, or a folder that git, rclone or Syncthing copies. Each reviewer
    and desk has a file of its own there. Files are verified first; one that was changed is refused,
    and the exit code is 1.
    """
    from reviewdesk.desk.team.sync import SharedFolder, SyncOptions
    from reviewdesk.desk.team.sync import sync as exchange
    from reviewdesk.views.json import review as shapes

    options = SyncOptions(runs=not no_runs, dry=dry_run)
    with open_desk(new=True) as desk, ProgressLine(f"syncing with {where}", "files") as bar:
        found = exchange(desk, SharedFolder(where), options, bar)
    if as_json:
        put_json(shapes.synced(found))
    else:
        _tell_synced(found, dry=dry_run)
    if found.refused:
        click.get_current_context().exit(ExitCode.FAILED)


def _tell_synced(found: Synced, *, dry: bool) -> None:
    from reviewdesk.views.team import chain_name
    from reviewdesk.views.words import plural

    for chain in found.chains:
        who = chain_name(chain.reviewer, chain.desk)
        if chain.taken:
            put(f"{who}: {chain.taken} of {chain.events} events are new here")
        if chain.sent:
            put(f"{who}: {chain.sent} of {chain.events} events are new there")
    for run in found.runs:
        put(f"run {run.name}: {'taken' if run.taken else 'sent'}")
    for note in found.notes[:_SHOWN]:
        say(note)
    if len(found.notes) > _SHOWN:
        say(f"{len(found.notes) - _SHOWN:,} more notes are in --json")
    for one in found.refused[:_SHOWN]:
        say(f"{one.file}: {one.problem}. {one.hint}")
    if len(found.refused) > _SHOWN:
        say(f"{len(found.refused) - _SHOWN:,} more files were refused; --json names them all")
    if not found.taken and not found.sent and not found.runs and not found.refused:
        put(f"nothing new here or there, head {found.head}")
        return
    does = "would be taken and" if dry else "taken,"
    put(f"{plural(found.taken, 'event')} {does} {found.sent:,} sent, head {found.head}")
