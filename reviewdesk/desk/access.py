"""The contents of a desk file, and who on this machine may open it."""

import os
import stat
import sys
from pathlib import Path
from typing import Any

from reviewdesk.desk.core import Desk
from reviewdesk.errors import UsageError, reason

_BESIDE = ("-wal", "-shm", "-journal")


def info(desk: Desk) -> dict[str, Any]:
    """Return the paths of the desk and its newest backup, its contents, reviewer and chains."""
    from reviewdesk.desk.backups import newest
    from reviewdesk.store.connect import reading
    from reviewdesk.store.reviewers import ends
    from reviewdesk.store.verification import desk_facts

    facts = desk_facts(desk.conn, desk.path)
    who = {"access": access(desk.path), "reviewer": desk.reviewer}
    backup = newest(desk.path)
    made = {} if backup is None else {"backup": str(backup[0]), "backup_at": backup[1]}
    with reading(desk.conn):
        log = [
            {"reviewer": one.reviewer, "desk": one.desk, "events": one.seq, "hash": one.hash}
            for one in ends(desk.conn)
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
        for name in ("", *_BESIDE):
            path = desk.with_name(desk.name + name)
            if path.exists():
                if number is not None:
                    os.chown(path, -1, number)
                path.chmod(0o600 if number is None else 0o660)
    except OSError as error:
        hint = "Its owner can share it, with a group that the owner belongs to."
        raise UsageError(f"{desk}: {reason(error)}", hint) from error
