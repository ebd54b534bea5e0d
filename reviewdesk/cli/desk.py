"""Describe, copy and verify the desk file."""

from __future__ import annotations

from pathlib import Path

import click

from reviewdesk.cli import team
from reviewdesk.cli.archive import archive
from reviewdesk.cli.common import (
    ProgressLine,
    open_desk,
    options,
    output_option,
    put,
    put_json,
    say,
)
from reviewdesk.cli.invocation import desk_path
from reviewdesk.errors import ExitCode, UsageError


@click.group()
def desk() -> None:
    """Back up, verify, merge and share the desk file."""


@desk.command(epilog="Example: reviewdesk desk info")
@options("json")
def info(*, as_json: bool) -> None:
    """Show where the desk is and what it holds."""
    from reviewdesk.desk.access import info as facts_of
    from reviewdesk.views.team import chain_name
    from reviewdesk.views.words import plural

    with open_desk() as opened:
        facts = facts_of(opened)
    if as_json:
        put_json(facts)
        return
    facts.setdefault("backup", "none yet")
    loading = facts.pop("loading")
    chains = [
        f"{chain_name(one['reviewer'], one['desk'])}: {plural(one['events'], 'event')}, "
        f"head {one['hash']}"
        for one in facts.pop("chains")
    ]
    more = *(("loading", one) for one in loading), *(("chain", one) for one in chains)
    for name, value in [*facts.items(), *more]:
        put(f"{name:10} {value}")


@desk.command(epilog="Example: reviewdesk desk backup desk-copy.db")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@options()
def backup(*, file: Path) -> None:
    """Copy the desk to FILE, even while it is open elsewhere."""
    with open_desk() as opened:
        opened.backup(file)
        say(f"{file}: a copy of {opened.path}")


@desk.command(epilog="Example: reviewdesk desk restore backups/desk-2026-03-02.db")
@click.argument("backup", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Restore a backup that is not whole.")
@options()
def restore(*, backup: Path, force: bool) -> None:
    """Replace the desk by BACKUP.

    The desk that was there is kept under another name. The backup is checked first, and stays
    where it is.
    """
    from reviewdesk.desk import backups
    from reviewdesk.desk.core import default_path, now

    path = desk_path() or default_path()
    found = backups.restore(path, backup, now, force=force)
    if found.kept is not None:
        say(f"the desk before is kept as {found.kept}")
    say(f"{path}: restored from {backup}")
    if not found.runs:
        say("it holds no runs: load the reports again, and their labels are there")


@desk.command(epilog="Example: reviewdesk desk repair -o saved.db")
@output_option("New desk; DESK-repaired if omitted.")
@options("force", "json")
def repair(*, output: Path | None, force: bool, as_json: bool) -> None:
    """Recover what can be read of a damaged desk into a new one.

    The damaged file is only read. What was lost is listed; then the exit code is 1.
    """
    from reviewdesk.desk import backups
    from reviewdesk.desk.core import default_path, now
    from reviewdesk.views.json.shape import shape

    path = desk_path() or default_path()
    target = output or backups.repaired_name(path)
    with ProgressLine(f"reading {path}") as bar:
        found = backups.repair_desk(path, target, now, bar, replaced=force)
    if as_json:
        put_json(shape(found, "head events runs lost", path=str(found.path)))
    else:
        put(f"{found.path}: {found.events} events, {len(found.runs)} runs, head {found.head}")
        put("nothing was lost" if not found.lost else "lost:")
        for line in found.lost:
            put(f"  {line}")
        say(f"to use it: reviewdesk desk restore {found.path}")
    if found.lost:
        click.get_current_context().exit(ExitCode.FAILED)


@desk.command(epilog="Example: reviewdesk desk share --group evals")
@click.option("--group", metavar="GROUP", help="Let this group read and write the desk.")
@click.option("--private", is_flag=True, help="Let only the owner read and write the desk.")
@options()
def share(*, group: str | None, private: bool) -> None:
    """Choose who else on this machine may open the desk.

    For a group, the desk's folder belongs to the group too, because SQLite keeps files beside the
    desk.
    """
    from reviewdesk.desk import access

    if private == (group is not None):
        raise UsageError("share: takes one of --group and --private", "Give one of them.")
    with open_desk() as opened:
        access.share(opened.path, group)
        say(f"{opened.path}: {access.access(opened.path)}")


@desk.command(epilog="Example: reviewdesk desk verify --json")
@click.option("--expect-head", metavar="SEQ:HASH", help="Check that the log still holds this head.")
@click.option(
    "--full",
    is_flag=True,
    help="Also recompute every verdict from its report, and rebuild the text index.",
)
@options("json")
def verify(*, expect_head: str | None, full: bool, as_json: bool) -> None:
    """Verify the label log and runs.

    Exits 1 if anything was changed or cut.
    """
    from reviewdesk.desk.core import verify as verified
    from reviewdesk.views.json.shape import shape

    with ProgressLine("deciding again") as progress:
        found = verified(desk_path(), expect_head, progress if full else None)
    if as_json:
        put_json(shape(found))
    else:
        put(f"{'whole' if found.ok else 'NOT WHOLE'}: {found.events} events, head {found.head}")
        for line in (*found.problems, *found.older, *found.loading):
            put(f"  {line}")
    if not found.ok:
        click.get_current_context().exit(ExitCode.FAILED)


desk.add_command(archive)
desk.add_command(team.merge)
desk.add_command(team.sync)
