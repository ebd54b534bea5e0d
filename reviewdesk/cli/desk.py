"""Describe, copy, verify, merge and share the desk file, and put archives into one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from reviewdesk.cli.common import (
    ProgressLine,
    desk_path,
    file_argument,
    flag,
    force_option,
    leave,
    open_desk,
    option,
    options,
    output_option,
    put,
    put_json,
    put_shape,
    say,
    wants_json,
)
from reviewdesk.cli.plain import section_text
from reviewdesk.cli.review import load_options, loading_options
from reviewdesk.desk import backups, core, files
from reviewdesk.desk.core import Desk
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ExitCode, UsageError
from reviewdesk.views.queue import archived
from reviewdesk.views.team import chain_name
from reviewdesk.views.words import plural


@click.group()
def desk() -> None:
    """Back up, verify, merge and share the desk file."""


@desk.command(epilog="Example: reviewdesk desk info")
@options("json")
def info() -> None:
    """Show where the desk is, and how many runs and labels it has."""
    with open_desk() as opened:
        facts = backups.info(opened)
    if wants_json():
        put_json(facts)
        return
    facts.setdefault("backup", "none yet")
    rows = [("loading", one) for one in facts.pop("loading")]
    for one in facts.pop("chains"):
        events = f"{plural(one['events'], 'event')}, head {one['hash']}"
        rows.append(("chain", f"{chain_name(one['reviewer'], one['desk'])}: {events}"))
    for name, value in (*facts.items(), *rows):
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
@flag("--force", "Restore a damaged backup.")
@options()
def restore(*, backup: Path, force: bool) -> None:
    """Replace the desk by BACKUP.

    The previous desk is kept under another name. The backup is checked first, and stays
    where it is.
    """
    path = desk_path()
    kept, runs = backups.restore(path, backup, core.now, force=force)
    if kept is not None:
        say(f"the previous desk is kept as {kept}")
    say(f"{path}: restored from {backup}")
    if not runs:
        say("it has no runs: load the reports again, and their labels are back")


@desk.command(epilog="Example: reviewdesk desk repair -o saved.db")
@output_option("New desk; DESK-repaired if omitted.")
@options("force", "json")
def repair(*, output: Path | None, force: bool) -> None:
    """Recover what can be read of a damaged desk into a new one.

    The damaged file is only read. What was lost is listed; then the exit code is 1.
    """
    path = desk_path()
    with ProgressLine(f"reading {path}") as bar:
        found = backups.repair_desk(path, output, core.now, bar, replaced=force)
    if wants_json():
        put_shape(found, "head events runs lost", path=str(found.path))
    else:
        put(f"{found.path}: {found.events} events, {len(found.runs)} runs, head {found.head}")
        put("nothing was lost" if not found.lost else "lost:")
        for line in found.lost:
            put(f"  {line}")
        say(f"to use it: reviewdesk desk restore {found.path}")
    if found.lost:
        leave(ExitCode.FAILED)


@desk.command(epilog="Example: reviewdesk desk share --group evals")
@option("--group", "GROUP", "Let this group read and write the desk.")
@flag("--private", "Let only the owner read and write the desk.")
@options()
def share(*, group: str | None, private: bool) -> None:
    """Choose who else on this machine may open the desk.

    For a group, the desk's folder belongs to the group too, because SQLite keeps files beside the
    desk.
    """
    if private == (group is not None):
        raise UsageError("share: needs --group or --private", "Give one of them.")
    with open_desk() as opened:
        backups.share(opened.path, group)
        say(f"{opened.path}: {backups.access(opened.path)}")


@desk.command(epilog="Example: reviewdesk desk verify --json")
@option("--expect-head", "SEQ:HASH", "Check that the log has this entry.")
@flag("--full", "Also recompute every verdict from its report, and rebuild the text index.")
@options("json")
def verify(*, expect_head: str | None, full: bool) -> None:
    """Verify the label log and runs.

    Exits 1 if anything was changed or cut.
    """
    with ProgressLine("deciding again") as progress:
        found = core.verify(desk_path(), expect_head, progress if full else None)
    if wants_json():
        put_shape(found)
    else:
        put(f"{'whole' if found.ok else 'NOT WHOLE'}: {found.events} events, head {found.head}")
        for line in (*found.problems, *found.older, *found.loading):
            put(f"  {line}")
    if not found.ok:
        leave(ExitCode.FAILED)


@desk.command(epilog="Example: reviewdesk desk merge ben.db")
@click.argument("other", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options("json")
def merge(*, other: Path) -> None:
    """Merge what people did on the desk OTHER into this one.

    Labels, notes, tags and marks are verified first. The result is the same in every order,
    and merging again changes nothing. OTHER is only read.
    """
    from reviewdesk.desk.team.sync import merge as take

    with open_desk(new=True) as desk:
        found = take(desk, other)
    if wants_json():
        chains = [
            {"desk": one.desk, "reviewer": one.reviewer, "events": one.events, "new": one.taken}
            for one in found.chains
        ]
        put_shape(found, "new head", chains=chains)
        return
    for one in found.chains:
        if one.taken:
            put(f"{chain_name(one.reviewer, one.desk)}: {one.taken} of {one.events} events are new")
    put(f"{found.new} events are new, head {found.head}")


@desk.command(epilog="Example: reviewdesk desk sync /mnt/team/labels")
@file_argument("where")
@flag("--no-runs", "Exchange labels only.")
@options("json")
def sync(*, where: str, no_runs: bool) -> None:
    """Exchange labels and runs through the folder WHERE.

    WHERE may be a mounted share, or a folder that git, rclone or Syncthing copies. Each reviewer
    and desk has a file of its own there. Files are verified first; one that was changed is refused,
    and the exit code is 1.
    """
    from reviewdesk.desk.team import sync as team

    with open_desk(new=True) as desk, ProgressLine(f"syncing with {where}", "files") as bar:
        found = team.sync(desk, team.SharedFolder(where), bar, with_runs=not no_runs)
    if wants_json():
        put_shape(found, "place taken sent head chains runs refused notes")
    else:
        for chain in found.chains:
            who = chain_name(chain.reviewer, chain.desk)
            for new, side in ((chain.taken, "here"), (chain.sent, "there")):
                if new:
                    put(f"{who}: {new} of {chain.events} events are new {side}")
        for run in found.runs:
            put(f"run {show_line(run.name)}: {'taken' if run.taken else 'sent'}")
        refused = [f"{one.file}: {one.problem}. {one.hint}" for one in found.refused]
        for line in (*found.notes, *refused):
            say(line)
        moved = f"{plural(found.taken, 'event')} taken, {found.sent:,} sent"
        is_same = not (found.taken or found.sent or found.runs or found.refused)
        put(f"{'nothing new here or there' if is_same else moved}, head {found.head}")
    if found.refused:
        leave(ExitCode.FAILED)


@desk.command(epilog="Example: reviewdesk desk archive 's3://runs/2026/*.jsonl.gz' -o 2026.db")
@file_argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@option("--scheduler", "ADDRESS", "Dask scheduler, tcp://HOST:8786.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Local workers; one per core if omitted."
)
@output_option("New desk for the archive; your desk if omitted.")
@force_option
@loading_options
@options("json")
def archive(
    *, patterns: tuple[str, ...], scheduler: str | None, workers: int | None, output: Path | None,
    force: bool, **given: Any,
) -> None:  # fmt: skip
    """Combine many report parts into one run.

    The run has the figures of all parts, but keeps only flagged verdicts and the random check.
    PATTERN is a path or an address (s3://, gs://, az://, https://) with * and **. Parts are
    reports, also gzipped. Bad parts are named and skipped.
    """
    from reviewdesk.desk.archive import put_together, workers_at
    from reviewdesk.views.json import review as shapes

    options = load_options(given)
    # The target first: what cannot be written is refused before any worker starts.
    with (
        _target(output, force=force) as desk,
        workers_at(scheduler, workers) as crew,
        ProgressLine(f"archiving {', '.join(patterns)}") as bar,
    ):
        made = put_together(desk, patterns, options, crew, max_size=given["max_size"], told=bar)
    for reason in made.bad:
        say(reason)
    if wants_json():
        put_json(shapes.archived(made))
    else:
        put(section_text(archived(made)))
    if made.bad:
        leave(ExitCode.BAD_INPUT)


@contextmanager
def _target(output: Path | None, *, force: bool) -> Iterator[Desk]:
    """Open the desk of the options, or a new one, which has its name only once it is whole."""
    if output is None:
        with open_desk(new=True) as desk:
            yield desk
        return
    own = desk_path()
    with files.whole_desk(output, own, force=force) as part, open_desk(part, new=True) as desk:
        yield desk
