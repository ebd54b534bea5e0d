"""The desk as a file: what it holds, who may open it, automatic backups, restoring, repairing."""

import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from glob import escape
from itertools import chain, count
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from msgspec import Struct

from reviewdesk.desk.core import Clock, Desk
from reviewdesk.desk.files import check_target
from reviewdesk.errors import Cancelled, DeskError, ReviewDeskError, UsageError, reason
from reviewdesk.file_output import BESIDE, whole_file, whole_path
from reviewdesk.store import events, repair, reviewers, runs, verification
from reviewdesk.store.connect import connect, connect_read_only, explained, fold, reading, writing
from reviewdesk.store.load import ingest
from reviewdesk.store.repair import back_up, copy_into, is_in_use
from reviewdesk.store.schema import VERSION, bring_up, migrate

SMALL = 256 << 20
"""The size in bytes up to which a whole desk is copied; of a larger one, only what people made.

Runs can be loaded again from their reports, and copies of gigabytes would fill a disk.
"""

Report = Callable[[object], bool]


def info(desk: Desk) -> dict[str, Any]:
    """Return the paths of the desk and its newest backup, its contents, reviewer and chains."""
    facts = verification.desk_facts(desk.conn, desk.path)
    who = {"access": access(desk.path), "reviewer": desk.reviewer}
    backup = newest(desk.path)
    made = {} if backup is None else {"backup": str(backup[0]), "backup_at": backup[1]}
    with reading(desk.conn):
        log = [
            {"reviewer": one.reviewer, "desk": one.desk, "events": one.seq, "hash": one.hash}
            for one in reviewers.ends(desk.conn)
        ]
        return {**facts, **who, **made, "head": desk.head(), "chains": log}


def access(desk: Path) -> str:
    if sys.platform == "win32":
        return "as the folder allows"
    found = desk.stat()
    if found.st_mode & 0o007:
        return "everybody on this machine can read it: desk share --private changes that"
    if found.st_mode & 0o070:
        import grp

        try:
            name = grp.getgrgid(found.st_gid).gr_name
        except KeyError:
            name = str(found.st_gid)
        return f"private to the owner and the group {name}"
    return "private to the owner"


def share(desk: Path, group: str | None) -> None:
    """Give a group access to a desk and its folder, or with ``None`` take it from all others."""
    if sys.platform == "win32":
        problem = "share: this system has no such groups"
        raise UsageError(problem, "Set the folder's access there.")
    import grp

    try:
        number = None if group is None else grp.getgrnam(group).gr_gid
    except KeyError as error:
        hint = "Name one of `getent group`."
        raise UsageError(f"{group}: there is no such group", hint) from error
    try:
        if number is not None:
            folder = desk.parent
            os.chown(folder, -1, number)
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_ISGID | 0o070)
        for name in BESIDE:
            path = desk.with_name(desk.name + name)
            if path.exists():
                if number is not None:
                    os.chown(path, -1, number)
                path.chmod(0o600 if number is None else 0o660)
    except OSError as error:
        hint = "Its owner can share it, with a group that the owner belongs to."
        raise UsageError(f"{desk}: {reason(error)}", hint) from error


# Automatic backups, as many as the setting ``backups`` says


def folder(desk: Path) -> Path:
    return desk.with_name("backups")


def _dated(desk: Path) -> list[tuple[str, Path]]:
    """Return day and path of each backup after a day with labels, the oldest first."""
    stem = re.escape(desk.stem)
    pattern = re.compile(rf"{stem}-(\d{{4}}-\d\d-\d\d)(-labels)?{re.escape(desk.suffix)}")
    try:
        found = [(pattern.fullmatch(one.name), one) for one in folder(desk).iterdir()]
    except OSError:
        return []
    return sorted((match[1], path) for match, path in found if match)


def newest(desk: Path) -> tuple[Path, str] | None:
    """Return path and time of the newest backup: after a day with labels, or before a migration."""
    found = [path for _, path in _dated(desk)]
    with suppress(OSError):
        found += desk.parent.glob(f"{escape(desk.name)}.schema-*.backup")
    times = [(path.stat().st_mtime, path) for path in found]
    if not times:
        return None
    made, path = max(times)
    return path, datetime.fromtimestamp(made, UTC).isoformat(timespec="seconds")


def after_labels(desk: Desk, report: Report, keep: int, small: int = SMALL) -> Path | None:
    """Make a backup if no backup has what people made on an earlier day; drop the oldest ones.

    ``report`` is called between short steps and returns whether to continue; Cancelled if not.
    """
    today = desk.at()[:10]
    made = _dated(desk.path)
    if not keep or desk.read_only or (made and made[-1][0] >= today):
        return None
    newest_kept = 0
    """The newest event of this log that the newest backup has."""
    if made:
        with suppress(ReviewDeskError), connect_read_only(made[-1][1]) as conn:
            with explained(made[-1][1]):
                head = events.head(conn)
            newest_kept = head.key if events.holds(desk.conn, head) else 0
    if not events.any_before(desk.conn, newest_kept, today):
        return None

    go_on = partial(report, 0.0)
    place = folder(desk.path)
    with explained(place):
        if not place.exists():
            place.mkdir(mode=0o700, exist_ok=True)
            if desk.path.stat().st_mode & 0o020:
                # The members of the group make backups too.
                place.chmod(0o2770)
    large = desk.path.stat().st_size > small
    name = f"{desk.path.stem}-{today}{'-labels' if large else ''}{desk.path.suffix}"
    if large:
        _copy_made(desk, place / name, go_on)
    else:
        back_up(desk.conn, desk.path, place / name, replace=True, go_on=go_on)
    for _, old in _dated(desk.path)[:-keep]:
        with suppress(OSError):
            old.unlink()
    return place / name


def _copy_made(desk: Desk, target: Path, go_on: Callable[[], bool]) -> None:
    """Write a desk without runs: the log, and all else that reports cannot restore."""

    def told(*_: object) -> None:
        if not go_on():
            raise Cancelled("the backup was stopped; nothing of it is left")

    with (
        explained(target),
        whole_path(target, replace=True, of_desk=True) as part,
        closing(connect(part)) as new,
    ):
        migrate(new, part, desk.at(), copies=False)
        with reading(desk.conn):
            repair.copy_made(desk.conn, new, told)
        with writing(new):
            events.rebuild(new)
        if bad := _problems(new):
            raise DeskError(f"{target}: the copy is damaged: {bad[0]}", "Run desk verify.")
        fold(new)
        if desk.path.stat().st_mode & 0o020:
            part.chmod(0o660)


def _problems(conn: Connection) -> list[str]:
    """Return the problems of a backup; a run that must be loaded again is not a problem."""
    found = verification.verify(conn).problems
    return [problem for problem in found if not problem.endswith(verification.NOT_HERE)]


# Putting a backup back


def restore(desk: Path, backup: Path, clock: Clock, *, force: bool) -> tuple[Path | None, int]:
    """Check a backup and replace the desk with it; the old desk is kept under another name.

    Return that name, ``None`` if there was no desk, and the number of the backup's runs.
    """
    with connect_read_only(backup) as source:
        if desk.exists() and desk.samefile(backup):
            raise UsageError(f"{backup}: is the desk itself", "Name a backup of it.")
        with explained(desk):
            desk.parent.mkdir(parents=True, exist_ok=True)
        with explained(desk), whole_path(desk, replace=True) as part:
            copy_into(source, part)
            with explained(backup), closing(connect(part)) as conn:
                migrate(conn, backup, clock().isoformat(timespec="milliseconds"), copies=False)
                bad = _problems(conn)
                held = len(runs.all_runs(conn))
                fold(conn)
            if bad and not force:
                raise DeskError(
                    f"{backup}: is damaged: {bad[0]}",
                    "Name another backup, recover its content with desk repair, or restore it with "
                    "--force.",
                )
            if desk.exists() and not os.access(desk, os.W_OK):
                raise DeskError(f"{desk}: is read-only", "Make it writable, then try again.")
            if is_in_use(desk):
                raise DeskError(
                    f"{desk}: another process has it open", "Close reviewdesk everywhere, then try."
                )
            kept = None
            if desk.exists():
                part.chmod(desk.stat().st_mode & 0o777)
                stamp = clock().strftime("%Y%m%d-%H%M%S")
                numbers = chain([""], (f"-{number}" for number in count(2)))
                names = (f"{desk.stem}-replaced-{stamp}{more}{desk.suffix}" for more in numbers)
                kept = next(
                    path for name in names if not os.path.lexists(path := desk.with_name(name))
                )
                try:
                    # The name of the desk is never without a file.
                    os.link(desk, kept)
                except OSError:
                    desk.rename(kept)
                for beside in ("-wal", "-journal"):
                    log = desk.with_name(desk.name + beside)
                    if log.exists():
                        log.rename(kept.with_name(kept.name + beside))
                desk.with_name(f"{desk.name}-shm").unlink(missing_ok=True)
    return kept, held


# Recovering the contents of a damaged desk


class Repaired(Struct, frozen=True):
    """The new desk, how much it holds, and what was lost, in sentences."""

    path: Path
    head: str
    events: int
    runs: tuple[str, ...]
    lost: tuple[str, ...]


def repair_desk(
    desk: Path, target: Path | None, clock: Clock, told: repair.Told, *, replaced: bool = False
) -> Repaired:
    """Copy everything readable in a desk file into a new desk; the file itself is only read.

    Verdicts of an incomplete run, and labels behind the end of a chain, go into files beside it.
    """
    target = target or desk.with_name(f"{desk.stem}-repaired{desk.suffix}")
    if not desk.is_file() or not desk.stat().st_size:
        raise DeskError(f"{desk}: there is nothing to repair", "Name a desk file with --desk.")
    labels = target.with_name(f"{target.stem}-labels.jsonl")
    # An older file would keep what is saved here from being written.
    older = target.parent.glob(f"{escape(target.stem)}-run-*.json")
    for path in (target, labels, *older):
        check_target(desk, path, force=replaced)
    if not target.parent.is_dir():
        raise DeskError(f"{target}: there is no such folder", "Name a file in an existing folder.")
    at = clock().isoformat(timespec="milliseconds")
    with (
        explained(target),
        tempfile.TemporaryDirectory(".part", ".reviewdesk-", target.parent) as beside,
        whole_path(target, replace=replaced) as part,
        closing(connect(part)) as conn,
    ):
        copy = repair.working_copy(desk, Path(beside))
        version = repair.stated_version(copy, VERSION)
        migrate(conn, part, at, copies=False)
        lost, behind = repair.salvage(copy, conn, told, older=version < VERSION)
        broken = repair.incomplete(conn)
        lost += _give_up(conn, broken, target, replaced=replaced)
        repair.drop(conn, broken, ())
        with writing(conn):
            bring_up(conn, version, at)
            runs.cover_old(conn, at)
            runs.tag_verdicts(conn)
            ingest.rebuild(conn)
        problems = [*verification.run_problems(conn)]
        broken = sorted({key for key, _ in problems if key is not None})
        gone = (text.removesuffix(verification.NOT_HERE) for key, text in problems if key is None)
        lost += [
            f"{run}could not be read; load its report again, and its labels are there"
            for run in gone
            if not any(line.startswith(run) for line in lost)
        ]
        plans = sorted({plan for plan, _ in verification.rerun_problems(conn) if plan is not None})
        lost += _give_up(conn, broken, target, replaced=replaced)
        with writing(conn):
            repair.drop(conn, broken, plans)
            events.rebuild(conn)
        lost += [f"re-run {plan}: is not as it was recorded, and is left out" for plan in plans]
        if rows := [_label_row(event) for event in repair.standing_labels(behind)]:
            with whole_file(labels, replace=replaced, private=True) as out:
                out.writelines(json.dumps(row).encode() + b"\n" for row in rows)
            lost.append(f"{labels}: {len(rows)} labels of these events; labels import takes them")
        names = tuple(run.name for run in runs.all_runs(conn))
        head = verification.head(conn)
        fold(conn)
    return Repaired(target, head, int(head.partition(":")[0]), names, tuple(lost))


def _label_row(event: Mapping[str, Any]) -> dict[str, Any]:
    detail = json.loads(event["detail"])
    return {
        "id": event["verdict"],
        "item_hash": event["item"].hex(),
        "truth": event["label"],
        "reviewer": event["author"],
        "time": event["at"],
        **{name: detail[name] for name in ("note", "tags", "blind", "seen") if name in detail},
    }


def _give_up(conn: Connection, broken: Sequence[int], target: Path, *, replaced: bool) -> list[str]:
    """Write the readable verdicts of runs that are not whole to reports, and report both."""
    from reviewdesk.desk.export.report import header_of
    from reviewdesk.reports.canonical.writer import harmless, report_pieces

    lost = []
    for key in broken:
        name = str(key)
        kept = ""
        with suppress(Exception):  # a damaged row may hold any value
            run = runs.by_key(conn, key)
            name = run.name
            header = {**header_of(conn, run), "report_id": f"{name} (repaired)"}
            path = target.with_name(f"{target.stem}-run-{key}.json")
            bodies = repair.bodies_of(conn, key)
            pieces = report_pieces(header, map(harmless, bodies), as_lines=False)
            with whole_file(path, replace=replaced, private=True) as out:
                out.writelines(piece.encode() for piece in pieces)
            kept = f"; {path} has the {len(bodies):,} of its verdicts that could be read"
        lost.append(f"run {name}: is incomplete; load its report again{kept}")
    return lost
